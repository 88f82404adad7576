#!/usr/bin/env bash
# Sets up .venv with the development tools, then lints, checks spelling, phrases, types and imports, and tests. With all
# tests, readers are fed with damaged files for half a minute meanwhile, always the same ones; `run/fuzz.sh` takes others.
# With npm, the scripts of the annotation page are linted and type-checked, too.
#
#   bash run/test.sh [PYTEST OPTIONS]
#   bash run/test.sh --core           what a change of the algorithms must not break, in about a minute
#
# Real treebanks are looked for in VDGI_DATA, by default ../shared/data; without them their tests are skipped,
# unless VDGI_REQUIRE_DATA=1.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

check_page() { # lints and type-checks the page's scripts, with tools that npm installs once into tests/page/node_modules
    local installed=node_modules/.package-lock.json
    cd tests/page
    if ! command -v npm >/dev/null; then
        echo "the page's scripts are not checked: no npm on the PATH" >&2
        return
    fi
    if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
        if ! npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=0 --fetch-timeout=30000 >/dev/null 2>&1; then
            echo "the page's scripts are not checked: \`npm ci\` failed in tests/page (no network?)" >&2
            return
        fi
    fi
    npm run --silent check
}

# Charts, transitions, the posterior, gradients, CoNLL-U and the parser.
CORE=(
    tests/inference
    tests/paper/test_{transitions,posterior,scores,per_sentence,optimiser,phases}.py
    tests/conllu/test_{conllu,text,projective,vocabulary}.py
    tests/parser/test_{decoding,keep,parser}.py
    tests/unsupervised/test_dmv.py
)

export PIP_COMPILE=0 # it takes half a minute; Python compiles what is imported
install "[dev]"
unset PYTHONDONTWRITEBYTECODE # or each of some hundred processes would compile the package again
said="$(mktemp)"
if [ "${1:-}" = --core ]; then
    shift
    exec "$VENV/bin/python" -m pytest --numprocesses auto --dist loadfile -m "not slow" "${CORE[@]}" "$@"
fi
if [ $# -eq 0 ]; then # beside the checks, which keep one processor busy
    # In the order of the names, so that the files with few but slow tests do not all come last.
    set -- --numprocesses auto --dist loadfile --no-loadscope-reorder --durations=30
    PYTHONPATH="tests:." "$VENV/bin/python" -m fuzz 0.5 --seed 1 >"$said" 2>&1 &
    fuzzing=$!
fi
trap 'kill ${fuzzing:-} 2>/dev/null || true; rm -f "$said"' EXIT
"$VENV/bin/ruff" check .
"$VENV/bin/ruff" format --check .
"$VENV/bin/codespell"
"$VENV/bin/python" run/prose.py
"$VENV/bin/mypy"
"$VENV/bin/lint-imports" --no-cache
(check_page)
status=0
"$VENV/bin/python" -m pytest "$@" || status=$?
if [ -n "${fuzzing:-}" ]; then
    wait "$fuzzing" || status=1
    echo "fuzzing: $(cat "$said")" >&2
fi
exit $status
