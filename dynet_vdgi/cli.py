"""The `vdgi` command: verbs, exit statuses, messages.

Exit statuses: 0 done; 1 a bug, or the system failed (disk full); 2 wrong use; 3 bad data; 4 bad settings,
rules or model; 130 interrupted; 141 the reader of the output went away. Results go to standard output,
everything else to standard error.
"""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence

# Matrices here are small: more threads than one make NumPy ten times slower on a busy machine.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from dynet_vdgi import __version__  # noqa: E402 - the environment must be set before NumPy is imported
from dynet_vdgi.errors import VdgiError  # noqa: E402

VERBS = (
    "train",
    "parse",
    "evaluate",
    "check",
    "convert",
    "info",
    "demo",
    "draw",
    "clusters",
    "rules",
    "experiment",
    "table",
    "vectors",
    "report",
)
EXIT_BUG, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 130, 141

logger = logging.getLogger("dynet_vdgi")


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        return prefix + record.getMessage()


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command line; loads nothing heavy."""
    parser = argparse.ArgumentParser(
        prog="vdgi",
        description="Learns to parse a language from part-of-speech-tagged sentences, without trees.",
        epilog="Every verb has its own help: vdgi VERB --help.",
    )
    parser.add_argument("--version", action="version", version=f"vdgi {__version__}")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="only warnings and errors on standard error"
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        module = importlib.import_module(f"dynet_vdgi.commands.{verb}")
        summary, _, details = (module.__doc__ or "").partition("\n")
        sub = verbs.add_parser(
            verb,
            help=summary,
            description=f"{summary}\n{details}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status; never raises for a user's mistake."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the caller: what would go there is not wanted
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # for a terminal that lacks a letter of a name
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as finished:  # after --help, --version or a wrong argument
        return int(finished.code or 0)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.WARNING if arguments.quiet else logging.INFO)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # Nobody reads on; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if arguments.debug:
            traceback.print_exc()
        message, status = _explained(error)
        print(message, file=sys.stderr)
        return status


def _explained(error: BaseException) -> tuple[str, int]:
    """What the user is told about an error, and the exit status."""
    if isinstance(error, VdgiError):
        return str(error), error.exit_status
    if isinstance(error, KeyboardInterrupt):
        return f"interrupted; {error}" if str(error) else "interrupted", EXIT_INTERRUPTED
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", EXIT_BUG
    bug = "This is a bug. Please report it with what `vdgi --debug ...` prints."
    return f"internal error: {type(error).__name__}: {error}\n{bug}", EXIT_BUG
