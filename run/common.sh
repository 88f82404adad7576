# Sourced by the scripts of this folder: finds a Python that DyNet has wheels for, makes .venv, installs.
# Set VDGI_PYTHON to choose the interpreter, VDGI_VENV to put the environment elsewhere.
set -euo pipefail
CALLED_FROM="$PWD"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV="${VDGI_VENV:-.venv}"
# Matrices are small: one thread a process is fastest.
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

is_usable() { # INTERPRETER: Python 3.10 to 3.13, which DyNet has wheels for
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    local candidate version only="DyNet has wheels for Python 3.10 to 3.13 only"
    if [ -n "${VDGI_PYTHON:-}" ]; then
        is_usable "$VDGI_PYTHON" && echo "$VDGI_PYTHON" && return
        version="$("$VDGI_PYTHON" --version 2>/dev/null || true)"
        echo "VDGI_PYTHON=$VDGI_PYTHON is ${version:-no interpreter}, but $only" >&2
        return 2
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.10 python; do
        if is_usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "No Python 3.10 to 3.13 found ($only; python3 here is $(python3 --version 2>&1 || true))." \
        "Install one, or name it: VDGI_PYTHON=/path/to/python3.12 bash run/..." >&2
    return 2
}

install() { # EXTRAS, such as [dev] or nothing; does nothing if that is installed already
    local stamp="$VENV/installed${1:-}" python
    if [ -x "$VENV/bin/python" ] && ! is_usable "$VENV/bin/python"; then
        rm -rf "$VENV" # made by an interpreter that is gone or too new
    fi
    if [ ! -x "$VENV/bin/python" ]; then
        python="$(find_python)"
        echo "making $VENV with $("$python" --version)" >&2
        if ! "$python" -m venv "$VENV" >&2; then
            rm -rf "$VENV"
            echo "$python cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2
            return 2
        fi
    fi
    if [ ! -e "$stamp" ] || [ setup.py -nt "$stamp" ]; then
        echo "installing into $VENV" >&2
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
            --config-settings editable_mode=compat --editable ".${1:-}" >&2 # compat: type checkers find it, too
        touch "$stamp"
    fi
}
