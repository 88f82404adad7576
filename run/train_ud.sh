#!/usr/bin/env bash
# Trains on a treebank, parses its test part, and scores the parse beside parsers that learn nothing.
#
#   bash run/train_ud.sh                                  the embedded demo treebank, in a minute
#   bash run/train_ud.sh LANG DIR... [-- TRAIN OPTIONS]   LANG-ud-{train,test}*.conllu[.gz] of a UD treebank
#
# as in   bash run/train_ud.sh eu UD_Basque -- --seed 2       results in runs/eu (VDGI_RUN=FOLDER changes that)
#         bash run/train_ud.sh fr UD_French -- --preset as_released
# Gold dev trees are used where the options ask for them: --preset as_released, --set train.select=dev.
# Run again, it goes on where it was stopped.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
    sed -n '2,9s/^# \{0,1\}//p' run/train_ud.sh >&2
    exit 2
}

treebank_files() { # PART: files of the language's train, dev or test part, in all folders
    local dir
    for dir in "${dirs[@]}"; do
        compgen -G "$dir/$lang-ud-$1*.conllu*" || compgen -G "$dir/${lang}_*-ud-$1*.conllu*" || true
    done
}

require() { # PART FILE...
    [ $# -gt 1 ] && return
    echo "no $lang-ud-$1*.conllu in ${dirs[*]}" >&2
    exit 2
}

if [ $# -eq 0 ]; then
    install
    exec "$VENV/bin/vdgi" demo --out "${VDGI_RUN:-runs/demo}"
fi
[[ $# -ge 2 && "$1" != -* && "$2" != -- ]] || usage
lang="$1" dirs=()
shift
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
    dirs+=("$(cd "$CALLED_FROM" && realpath -m "$1")")
    shift
done
[ $# -eq 0 ] || shift

mapfile -t train < <(treebank_files train)
mapfile -t dev < <(treebank_files dev)
mapfile -t test < <(treebank_files test)
require train ${train[@]+"${train[@]}"}
require test ${test[@]+"${test[@]}"}
gold_dev=()
if [[ " $* " =~ (as_released|select=[\"\']?dev) ]]; then
    require dev ${dev[@]+"${dev[@]}"}
    gold_dev=(--dev "${dev[@]}")
fi

install
out="${VDGI_RUN:-runs/$lang}"
"$VENV/bin/vdgi" train --train "${train[@]}" ${gold_dev[@]+"${gold_dev[@]}"} --out "$out" --resume "$@"
protocol="$(sed -n 's/^protocol = "\(.*\)"$/\1/p' "$out/settings.toml")"
for gold in "${test[@]}"; do
    parsed="$out/$(basename "${gold%.gz}" .conllu).parsed.conllu"
    "$VENV/bin/vdgi" parse "$out/model.vdgi" "$gold" -o "$parsed"
    "$VENV/bin/vdgi" evaluate "$gold" "$parsed" --protocol "$protocol" --baselines
    echo "written: $out/model.vdgi $out/log.jsonl $out/settings.toml $parsed"
done
