# PYTHON_ARGCOMPLETE_OK
"""The `vdgi` command, also as `python -m dynet_vdgi`."""

import sys


def run() -> int:
    """Runs the command and returns its exit status, also where Ctrl-C comes while the program is
    loaded."""
    try:
        from dynet_vdgi.cli import main

        return main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
