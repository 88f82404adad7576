#!/usr/bin/env bash
# Learns the universal parser that comes with the package from the treebanks of a folder, in half an hour of CPU time.
#
#   bash run/train_universal.sh DIR [FILE]
#
# DIR holds `ud2_sources` and `ud2`, as resources/universal/treebanks.csv lists their files; treebanks with
# NonCommercial or GPL licences are left out. FILE, by default resources/models/universal.vdgi, is the result.
# The weights are the same each time on one kind of processor; with SOURCE_DATE_EPOCH set, so is the whole file.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ "$1" == -* ]]; then
    sed -n '2,8s/^# \{0,1\}//p' run/train_universal.sh >&2
    [[ "${1:-}" == --help || "${1:-}" == -h ]] && exit
    exit 2
fi
ROOT="$PWD"
data="$(cd "$CALLED_FROM" && realpath "$1")"
file="$(cd "$CALLED_FROM" && realpath -m "${2:-$ROOT/resources/models/universal.vdgi}")"

install "[dev]"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$VENV/bin/python" benchmarks/universal.py learn --data "$data" --free --members 3 --out "$work/weights.npz"
"$VENV/bin/python" benchmarks/universal.py ship "$work/weights.npz" resources/universal/calibration.npz \
    resources/universal/expectation.npz --data "$data" --members 3 --out "$file"
