#!/usr/bin/env bash
# Trains the paper's parser and the recommended one on a treebank, parses its test part, and scores both beside
# parsers that learn nothing and, for LANG eu nl fr de it pl pt es, the published figures of Li et al. (2019), which
# are of UD 1.4 and of checkpoints that GOLD dev trees chose (in the released code); `paper` takes its last.
#
#   bash run/train_ud.sh                               the embedded demo treebank, in a minute or two
#   bash run/train_ud.sh LANG DIR... [-- OPTIONS]      LANG-ud-{train,test}*.conllu[.gz] of a UD treebank
#
# as in   bash run/train_ud.sh eu UD_Basque -- --seed 2          results in runs/eu
#         bash run/train_ud.sh fr UD_French -- --preset as_released --preset best
# OPTIONS: --preset NAME, once for each parser, and others of `vdgi train`. Without OPTIONS, for these languages, every
# row of the paper's table 6 is made, too, with one seed, which takes some minutes more: RF+H1+H2, LC-DMV, Convex-MST,
# UniversalRules, L-WeaklySupervised. Results are in runs/LANG; VDGI_RUN=FOLDER changes that. Run again, it goes on
# where it was stopped.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
    sed -n '2,15s/^# \{0,1\}//p' run/train_ud.sh
}

wrong_use() {
    usage >&2
    exit 2
}

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    usage
    exit
fi

language=demo folders=(resources/demo)
if [ $# -gt 0 ]; then
    [[ $# -ge 2 && "$1" != -* && "$2" != -- ]] || wrong_use
    language="$1" folders=()
    shift
    while [ $# -gt 0 ] && [ "$1" != "--" ]; do
        folders+=("$(cd "$CALLED_FROM" && realpath -m "$1")")
        shift
    done
    [ $# -eq 0 ] || shift
fi
[ $# -eq 0 ] && table6=yes || table6=""
presets=() options=()
while [ $# -gt 0 ]; do
    if [ "$1" = --preset ] && [ $# -gt 1 ]; then
        presets+=("$2")
        shift
    else
        options+=("$1")
    fi
    shift
done
[ ${#presets[@]} -gt 0 ] || presets=(paper best)
beside=(--baselines) release=""
case "$language" in
eu) release=UD_Basque ;; nl) release=UD_Dutch ;; fr) release=UD_French ;; de) release=UD_German ;;
it) release=UD_Italian ;; pl) release=UD_Polish ;; pt) release=UD_Portuguese ;; es) release=UD_Spanish ;;
esac
[ -z "$release" ] && table6="" || beside+=(--published "$language")

part() { # NAME: files of this part of the treebank, into the array `files`
    local folder
    shopt -s nullglob
    files=()
    for folder in "${folders[@]}"; do
        files+=("$folder/$language-ud-$1"*.conllu* "$folder/${language}_"*"-ud-$1"*.conllu*)
    done
    shopt -u nullglob
    if [ ${#files[@]} -eq 0 ] && [ "$1" != dev ]; then
        echo "no $language-ud-$1*.conllu in ${folders[*]}" >&2
        exit 2
    fi
}

part train && train=("${files[@]}")
part dev && dev=(${files[@]+"${files[@]}"})
part test && tests=("${files[@]}")
install
vdgi="$VENV/bin/vdgi" out="${VDGI_RUN:-runs/$language}" runs=()
for preset in "${presets[@]}"; do
    run="$out/$(basename "$preset" .toml)" chosen=()
    if grep -qs '^select = "dev"' "$preset" "resources/presets/$preset.toml" && [ ${#dev[@]} -gt 0 ]; then
        chosen=(--dev "${dev[@]}")
    fi
    "$vdgi" train --train "${train[@]}" ${chosen[@]+"${chosen[@]}"} --preset "$preset" \
        ${options[@]+"${options[@]}"} --out "$run" --resume
    runs+=("$run")
    for test in "${tests[@]}"; do
        name="$(basename "${test%.gz}" .conllu)"
        "$vdgi" parse "$run" "$test" -o "$run/$name.parsed.conllu"
    done
done
for test in "${tests[@]}"; do
    name="$(basename "${test%.gz}" .conllu)"
    "$vdgi" evaluate "$test" "${runs[@]/%//$name.parsed.conllu}" "${beside[@]}"
done
[ ${#beside[@]} -eq 1 ] || echo "published: of checkpoints chosen by gold dev trees, as in the released code"

lay() { # PART FILE...: the files as the part of a release, where the plans look for them
    local k=0 file
    for file in "${@:2}"; do
        k=$((k + 1))
        if [[ "$file" = *.gz ]]; then
            gzip -dc "$file" >"$data/$release/$language-ud-$1-$k.conllu"
        else
            ln -sfn "$(realpath "$file")" "$data/$release/$language-ud-$1-$k.conllu"
        fi
    done
}

if [ -n "$table6" ]; then
    data="$out/data"
    mkdir -p "$data/$release"
    lay train "${train[@]}"
    lay test "${tests[@]}"
    lay dev ${dev[@]+"${dev[@]}"}
    rows=("$out/table6")
    "$vdgi" experiment paper-ud --data "$data" --out "$out/table6" --seeds 1 \
        --only "$language" RF+H1+H2 LC-DMV Convex-MST UniversalRules >/dev/null ||
        echo "table 6: not all rows could be made" >&2
    if [ ${#dev[@]} -gt 0 ]; then
        rows+=("$out/table6-words")
        [ -e "$data/$language.vec" ] ||
            "$VENV/bin/python" run/vectors.py "$data/$release/$language-ud-train"*.conllu "$data/$language.vec"
        [ -e "$data/$language.paths" ] ||
            "$vdgi" clusters "$data/$release/$language-ud-train"*.conllu -o "$data/$language.paths"
        "$vdgi" experiment paper-ud-words --data "$data" --out "$out/table6-words" --seeds 1 \
            --only "$language" L-WeaklySupervised-dev >/dev/null ||
            echo "table 6: L-WeaklySupervised could not be made" >&2
    else
        echo "L-WeaklySupervised is not made: there is no $language-ud-dev*.conllu to choose its checkpoint by" >&2
    fi
    printf '\n%s\n\n' "Table 6, one seed here, five in the paper; word vectors are made from the training text, where \
the paper has FastText's. All seeds: $vdgi experiment paper-ud --data $data --out $out/table6"
    "$vdgi" experiment table "${rows[@]}" --like Li2019-T6
fi
echo "written to $out: model, log, settings and parse of each"
echo "next: $vdgi parse ${runs[${#runs[@]} - 1]} YOUR.conllu -o YOUR.parsed.conllu"
echo "(to call vdgi by its name: source $VENV/bin/activate)"
