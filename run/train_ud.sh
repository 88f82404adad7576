#!/usr/bin/env bash
# Trains the paper's parser and the recommended one on a treebank, parses its test part, and scores both beside
# parsers that learn nothing and, where there are any, the published figures of that treebank.
#
#   bash run/train_ud.sh                               the embedded demo treebank, in a minute or two
#   bash run/train_ud.sh LANG DIR... [-- OPTIONS]      LANG-ud-{train,test}*.conllu[.gz] of a UD treebank
#
# as in   bash run/train_ud.sh eu UD_Basque -- --seed 2          results in runs/eu
#         bash run/train_ud.sh fr UD_French -- --preset as_released --preset best
# OPTIONS are those of `vdgi demo`. Results are in runs/LANG; VDGI_RUN=FOLDER changes that. Run again, it goes
# on where it was stopped.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
    sed -n '2,11s/^# \{0,1\}//p' run/train_ud.sh
}

wrong_use() {
    usage >&2
    exit 2
}

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    usage
    exit
fi

arguments=()
if [ $# -gt 0 ]; then
    [[ $# -ge 2 && "$1" != -* && "$2" != -- ]] || wrong_use
    arguments+=("$1")
    shift
    while [ $# -gt 0 ] && [ "$1" != "--" ]; do
        arguments+=("$(cd "$CALLED_FROM" && realpath -m "$1")")
        shift
    done
    [ $# -eq 0 ] || shift
fi

install
"$VENV/bin/vdgi" demo ${arguments[@]+"${arguments[@]}"} ${VDGI_RUN:+--out "$VDGI_RUN"} "$@"
echo "(to call vdgi by its name: source $VENV/bin/activate)"
