#!/usr/bin/env bash
# Feeds damaged files to every reader of the program for some minutes; exit status 1 if one was not refused well.
#
#   bash run/fuzz.sh MINUTES [--kind conllu rules ...] [--seed N]
#
# Files that made it fail are kept in tests/fuzz/found; move one that is mended to tests/fuzz/kept.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install "[dev]"
PYTHONPATH="tests:." exec "$VENV/bin/python" -m fuzz "$@"
