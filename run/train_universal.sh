#!/usr/bin/env bash
# Learns the universal parser and the universal retagger that come with the package from the treebanks of a folder,
# in half an hour of CPU time.
#
#   bash run/train_universal.sh DIR [FILE [RETAGGER]]
#
# DIR holds `ud2_sources` and `ud2`, as resources/universal/treebanks.csv lists their files; treebanks with
# NonCommercial or GPL licences are left out. FILE and RETAGGER, by default resources/models/universal.vdgi and
# resources/tagging/universal.retagger, are the results. The weights are the same each time on one kind of
# processor; so is the whole RETAGGER, and with SOURCE_DATE_EPOCH set the whole FILE.
#
# FILE has the table resources/rules/best.txt of that day. After a change of the table FILE stays as it is, until
# `python experiments/universal.py table FILE` puts the new one in; weights and all else stay byte for byte.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [ $# -lt 1 ] || [ $# -gt 3 ] || [[ "$1" == -* ]]; then
    sed -n '2,13s/^# \{0,1\}//p' run/train_universal.sh >&2
    [[ "${1:-}" == --help || "${1:-}" == -h ]] && exit
    exit 2
fi
ROOT="$PWD"
data="$(cd "$CALLED_FROM" && realpath "$1")"
file="$(cd "$CALLED_FROM" && realpath -m "${2:-$ROOT/resources/models/universal.vdgi}")"
retagger="$(cd "$CALLED_FROM" && realpath -m "${3:-$ROOT/resources/tagging/universal.retagger}")"

install "[dev]"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$VENV/bin/python" experiments/universal.py learn --data "$data" --free --members 3 --out "$work/weights.npz"
"$VENV/bin/python" experiments/universal.py ship "$work/weights.npz" resources/universal/calibration.npz \
    resources/universal/expectation.npz --data "$data" --members 3 --out "$file"
"$VENV/bin/python" experiments/retagger.py learn --data "$data" --free --out "$retagger"
