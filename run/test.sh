#!/usr/bin/env bash
# Sets up .venv with the development tools, then lints, checks types and imports, and tests.
#
#   bash run/test.sh [PYTEST OPTIONS]
#
# Real treebanks are looked for in VDGI_DATA, by default ../shared/data; without them their tests are skipped,
# unless VDGI_REQUIRE_DATA=1.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install "[dev]"
"$VENV/bin/ruff" check .
"$VENV/bin/ruff" format --check .
"$VENV/bin/mypy"
"$VENV/bin/lint-imports" --no-cache
if [ $# -eq 0 ]; then
    set -- --numprocesses auto --dist loadfile --durations=30
fi
exec "$VENV/bin/python" -m pytest "$@"
