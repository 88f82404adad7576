#!/usr/bin/env bash
# The paper's WSJ experiments (tables 1 to 5) on a Penn Treebank: trains every row of the paper's own systems, sets it
# beside the paper's. In the released code gold dev trees choose checkpoints: rows -dev do so, others take the last.
#
#   bash run/train_wsj.sh PTB_DIR [OPTIONS]         folder of .mrg files: sections 2-21, 22 and 23
#   bash run/train_wsj.sh --sample DIR [OPTIONS]    folder of a sample, such as NLTK's: 80, 10, 10 % of its files
#   bash run/train_wsj.sh                           the embedded demo treebank instead, in a minute or two
#
# Options: --quick          one seed of the rows of table 5 only
#          --glove FILE     word vectors (default: made from the training text)
#          -- OPTIONS       go to vdgi experiment, such as --jobs 2 or --only RL-BL
# Results in runs/wsj; VDGI_RUN=FOLDER changes that, VDGI_PLAN=paper-wsj-released (or FILE.toml) what is run.
# Run again, it goes on where it was stopped.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
    sed -n '2,14s/^# \{0,1\}//p' run/train_wsj.sh
}

wrong_use() {
    usage >&2
    exit 2
}

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    usage
    exit
fi

absolute() { # PATH as seen from where the script was called
    cd "$CALLED_FROM" && realpath -m "$1"
}

refuse() { # MESSAGE...
    echo "$@" >&2
    exit 2
}

files() { # PATTERN: the number of files of this name, without .mrg, in the treebank
    { find -L "$ptb" -iname "$1.mrg" 2>/dev/null || true; } | wc -l
}

make() { # FILE VDGI_ARGUMENTS...: makes the file in the folder of data if it is not there
    [ -e "$data/$1" ] || "$VENV/bin/vdgi" "${@:2}" -o "$data/$1"
}

if [ $# -eq 0 ]; then
    echo "No Penn Treebank named: bash run/train_wsj.sh PTB_DIR, with a folder of .mrg files, which LDC" \
        "distributes. The demo treebank instead:" >&2
    install
    exec bash run/train_ud.sh
fi
ptb="" sample="" glove="" chosen=() what=""
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
    case "$1" in
    --quick)
        chosen=(--seeds 1 --only UniversalRules L-WeaklySupervised RF RF+H1+H2 Convex-MST HDP-DEP)
        what=$'\n--quick: one seed of the systems of table 5, where the paper has means (and bests) of five.'
        ;;
    --sample) sample=yes ;;
    --glove) [ $# -ge 2 ] && glove="$(absolute "$2")" && shift || wrong_use ;;
    -*) wrong_use ;;
    *) [ -z "$ptb" ] && ptb="$(absolute "$1")" || wrong_use ;;
    esac
    shift
done
[ $# -eq 0 ] || shift
[ -n "$ptb" ] || wrong_use
[ -d "$ptb" ] || refuse "$ptb: no such folder"
if [ -n "$glove" ]; then
    [ -f "$glove" ] || refuse "--glove $glove: no such file"
else
    what+=$'\nWord vectors are made from the training text, where the paper has those of GloVe.'
fi

if [ -z "$sample" ]; then
    for section in 02 22 23; do
        n="$(files "wsj_$section[0-9][0-9]")"
        [ "$n" -gt 0 ] || refuse "$ptb: no files wsj_${section}00.mrg ... of section $section; if it is a sample of the" \
            "treebank, such as NLTK's: bash run/train_wsj.sh --sample $ptb"
    done
    train=(--sections 2-21) dev=(--sections 22) test=(--sections 23)
    what="The paper's split of the WSJ: trained on sections 2-21, dev section 22, test section 23.$what"
else
    every='wsj_[0-9][0-9][0-9][0-9]'
    n="$(files "$every")"
    [ "$n" -ge 10 ] || refuse "$ptb: $n files wsj_*.mrg; at least 10 are needed"
    ptb="$(dirname "$(find -L "$ptb" -iname "$every.mrg" -print -quit)")" # however deep they lie
    [ "$(files "$every")" -eq "$n" ] || ptb="$(dirname "$ptb")"
    first=$((n * 8 / 10)) second=$((n * 9 / 10))
    train=(--files "1-$first") dev=(--files "$((first + 1))-$second") test=(--files "$((second + 1))-$n")
    what="A sample of the WSJ, NOT the paper's data: trained on the first 80 % of $n files, dev the next 10 %, test the last
10 %, where the paper has sections 2-21, 22 and 23. So figures here can be compared with each other, not with the
published ones in the same tables; column WSJ23 is the end of the sample for rows marked (here).$what"
fi

install
out="${VDGI_RUN:-runs/wsj}" data="${VDGI_RUN:-runs/wsj}/data"
mkdir -p "$data"
origin="$ptb ${sample:+sample }${glove:-no GloVe}"
if [ "$(cat "$data/origin" 2>/dev/null)" != "$origin" ]; then
    rm -f "$data"/{train.conllu,dev.conllu,test.conllu,vectors.vec,vectors.vec.gz,clusters.paths}
    echo "$origin" >"$data/origin"
fi
make train.conllu convert wsj "$ptb" "${train[@]}"
make dev.conllu convert wsj "$ptb" "${dev[@]}"
make test.conllu convert wsj "$ptb" "${test[@]}"
if [ -n "$glove" ]; then
    [[ "$glove" = *.gz ]] && gz=.gz || gz=""
    ln -sfn "$glove" "$data/vectors.vec$gz"
else
    echo "No --glove FILE: word vectors are made from the training text." >&2
    [ -e "$data/vectors.vec" ] || "$VENV/bin/python" run/vectors.py "$data/train.conllu" "$data/vectors.vec"
fi
make clusters.paths clusters "$data/train.conllu"

plan="${VDGI_PLAN:-paper-wsj}"
[[ "$plan" != *.toml ]] || plan="$(absolute "$plan")"
"$VENV/bin/vdgi" experiment "$plan" --data "$data" --out "$out" ${chosen[@]+"${chosen[@]}"} "$@"
note="In the released code gold dev trees choose checkpoints; rows -dev and -released do so, others take the last."
printf '\n%s\n%s\n\n' "$note" "$what"
"$VENV/bin/vdgi" experiment table "$out" --like paper
