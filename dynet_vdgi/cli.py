"""The `vdgi` command: verbs, exit statuses, messages.

Exit statuses: 0 done; 1 a bug, or the system failed; 2 wrong use, or an output cannot be written
(disk full); 3 bad data; 4 bad settings, rules or model; 130 interrupted (129 and 143 by SIGHUP and
SIGTERM); 141 output pipe closed. Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import argparse
import errno
import gc
import importlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn

from dynet_vdgi._version import __version__
from dynet_vdgi.commands import (
    HelpFormatter,
    add_parser,
    wrapped,
)
from dynet_vdgi.commands.options import check_together
from dynet_vdgi.errors import (
    DataError,
    UsageError,
    VdgiError,
)
from dynet_vdgi.system.limits import limit
from dynet_vdgi.system.messages import (
    did_you_mean,
    of_these,
    printable_text,
)
from dynet_vdgi.system.signals import ended_by_signals

# Matrices here are small: more than one thread makes NumPy ten times slower on a busy machine.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

VERBS = (
    "train", "annotate", "parse", "expect", "choose", "evaluate", "check", "draw", "info",
    "tokenize", "tag", "rules", "convert", "release", "clusters", "experiment",
)  # fmt: skip

_ON_PROCESSOR = "it computes on the processor; vdgi parse --jobs N uses several processes"

DYNET = {
    "--dynet-mem": "its memory grows as it needs more",
    "--dynet-seed": "vdgi train has --seed N",
    "--dynet-weight-decay": "vdgi train has --set train.l2=X",
    "--dynet-l2": "vdgi train has --set train.l2=X",
    "--dynet-autobatch": "it takes sentences of one length together by itself",
    **dict.fromkeys(
        ("--dynet-gpu", "--dynet-gpus", "--dynet-gpu-ids", "--dynet-devices"), _ON_PROCESSOR
    ),
}
"""Options that programs with DyNet take, and what to say or know instead."""

FORMER = {
    "doubts": "vdgi choose --words FILE",
    "agreement": "vdgi evaluate --agreement A B",
    "validate": "vdgi check --ud FILE",
    "report": "vdgi info RUN, vdgi evaluate --by, or vdgi draw --gold",
    "table": "vdgi experiment table DIR",
    "demo": "bash run/train_ud.sh",
    "vectors": "python run/vectors.py TEXT OUT.vec",
    "tokenize evaluate": "vdgi evaluate --raw GOLD FILE",
}
"""What to say instead of verbs of earlier versions, and of one that somebody may expect."""

EXIT_BUG, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 130, 141

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

logger = logging.getLogger("dynet_vdgi")


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        return prefix + printable_text(record.getMessage())


class ArgumentParser(argparse.ArgumentParser):
    """The parser of one verb. Options may stand between positional arguments, on every version of
    Python; the error for an unknown option shows this verb's usage and the most similar option."""

    _is_inside = False
    default_task = ""  # what is meant where none is named
    overview = ""  # instead of the help that argparse makes

    # Typed loosely, because argparse's own method has overloads that differ by version.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The arguments; unlike the base class, rejects unknown ones."""
        is_nested = any(
            action.nargs == argparse.PARSER for action in self._get_positional_actions()
        )
        if self.default_task and args and args[0] not in (*self.tasks(), "-h", "--help"):
            args = [self.default_task, *args]
        if self._is_inside or is_nested:
            return super().parse_known_args(args, namespace)
        self._is_inside = True
        try:
            arguments, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_inside = False
        if unknown:
            self._refuse(unknown)
        return arguments, unknown

    def tasks(self) -> dict[str, argparse.ArgumentParser]:
        """The parsers of this verb's tasks."""
        actions = [each for each in self._get_positional_actions() if each.nargs == argparse.PARSER]
        return {
            name: parser for each in actions for name, parser in dict(each.choices or {}).items()
        }

    def explain(self, task: str) -> None:
        """Prints the help of this verb or of one of its tasks. Raises: UsageError, it has no such
        task."""
        parsers = {"": self, **self.tasks()}
        if task not in parsers:
            raise UsageError(f"{self.prog} has no task '{task}'{did_you_mean(task, self.tasks())}")
        parsers[task].print_help()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reports an unknown task of a verb in this program's words; argparse lists all tasks."""
        if action.nargs == argparse.PARSER and value not in (action.choices or ()):
            names = list(action.choices or ())
            self.error(f"no {str(action.metavar).lower()} '{value}'{of_these(value, names)}")
        super()._check_value(action, value)

    def format_help(self) -> str:
        """The help of the verb; of the program, a screen."""
        return self.overview or super().format_help()

    def print_usage(self, file: Any = None) -> None:
        """The first line of the usage, so that the error after it is in sight."""
        first, *rest = self.format_usage().splitlines()
        self._print_message(first + " ..." * bool(rest) + "\n", file)

    def error(self, message: str) -> NoReturn:
        """Ends the program with a message, which tells where the model belongs if it may be
        missing."""
        first = next(iter(self._get_positional_actions()), None)
        if first is not None and first.metavar == "MODEL" and "required: " in message:
            message += (
                ""
                if "MODEL" in message
                else " (what is there is taken for MODEL, which comes first)"
            )
        super().error(message)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Raises: OSError, help or the version cannot be printed; argparse would ignore it."""
        (file or sys.stderr).write(printable_text(message))

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        options = [option for option in unknown if option.startswith("-") and option != "-"]
        if not options:
            meant = (
                f"; did you mean --train {' '.join(unknown)}?"
                if self.prog.endswith(" train")
                else ""
            )
            self.error(f"unexpected arguments: {' '.join(unknown)}{meant}")
        name = options[0].partition("=")[0]
        if name.startswith("--dynet"):
            instead = f"; {DYNET[name]}" if name in DYNET else ""
            self.error(f"no option {name}: this program sets DyNet's options itself{instead}")
        options_there = [
            option
            for option in self._option_string_actions
            if option[:2] == name[:2] or name[1] != "-"
        ]
        self.error(f"no option {name}{did_you_mean(name, options_there)}")


def build_parser(verb: str | None = None) -> ArgumentParser:
    """The parser of the command line; loads nothing heavy.

    With a `verb` it knows the arguments of this verb only, and summaries of the others, so that the
    program starts at once; "" is no verb.
    """
    about = "Parses languages without a treebank, and learns from the trees that you correct."
    parser = ArgumentParser(prog="vdgi", description=about, formatter_class=HelpFormatter)
    parser.add_argument("--version", action="version", version=f"vdgi {__version__}")
    quiet = "print only warnings and errors on standard error"
    parser.add_argument("-q", "--quiet", action="store_true", help=quiet)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    summaries = []
    for name in VERBS:
        with (Path(__file__).parent / "commands" / f"{name}.py").open(encoding="utf-8") as source:
            summaries.append(source.readline().strip('"\n'))  # an import takes long
        if verb in (None, name):
            module = importlib.import_module(f"dynet_vdgi.commands.{name}")
            add_parser(
                verbs, name, module.__doc__, module.add_arguments, getattr(module, "run", None)
            )
        else:
            verbs.add_parser(name, help=summaries[-1])
    lines = [f"  {name:10}  {summary}" for name, summary in zip(VERBS, summaries)]
    last = "`vdgi help VERB` explains a verb. -q: print only warnings and errors."
    screen = [
        "usage: vdgi [-h] [--version] [-q] [--debug] VERB ...",
        "",
        about,
        "",
        *lines,
        "",
        last,
    ]
    parser.overview = "".join(f"{wrapped(line, ' ' * 14)}\n" for line in screen)
    summary = "Explain a verb."
    described = f"{summary} The same as `vdgi VERB --help` or `vdgi VERB TASK --help`."
    sub = verbs.add_parser(
        "help", help=summary, description=described, formatter_class=HelpFormatter
    )
    sub.add_argument(
        "topic", nargs="?", metavar="VERB", choices=VERBS, help=f"one of {', '.join(VERBS)}"
    )
    sub.add_argument(
        "task", nargs="?", default="", metavar="TASK", help="a task of it: vdgi help tag train"
    )
    parsers = {"": parser, **verbs.choices}
    sub.set_defaults(
        run=lambda arguments: parsers[arguments.topic or ""].explain(arguments.task), parser=sub
    )
    return parser


def _check_verb(parser: ArgumentParser, argv: Sequence[str], verb: str) -> None:
    """Ends the program if there is no verb, or it does not exist; argparse would list them all."""
    if not argv:
        parser.print_help(sys.stderr)
        raise SystemExit(UsageError.exit_status)
    if unknown := [each for each in argv if not verb and each not in parser._option_string_actions]:
        parser._refuse(unknown)
    if argv[0].startswith("--dynet"):  # what follows is its value, not the verb
        parser._refuse(argv[:1])
    words = [each for each in argv if not each.startswith("-")]
    for former in (verb, " ".join(words[:2])):
        if former in FORMER:
            parser.error(f"there is no `vdgi {former}`: say {FORMER[former]}")
    if verb and verb not in (*VERBS, "help") and not verb.startswith("-"):
        parser.error(f"no verb '{verb}'{of_these(verb, VERBS)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status; never raises for a user's mistake."""
    # sentences have no cycles; to look for some takes a tenth of the time
    gc.set_threshold(50_000, 20, 100)
    if sys.stdout is None:  # closed by the caller: results sent there are lost, which is an error
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:  # messages are not wanted
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    can_all = isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() in (
        "utf-8",
        "utf8",
    )
    if isinstance(sys.stdout, io.TextIOWrapper) and (sys.stdout.errors == "strict" or not can_all):
        # for a terminal that lacks a letter of a name
        sys.stdout.reconfigure(errors="backslashreplace")
    argv = sys.argv[1:] if argv is None else argv
    words = [argument for argument in argv if not argument.startswith("-")][:2]
    verb = words[-1] if words[:1] == ["help"] else (words or [""])[0]
    parser = build_parser(None if "_ARGCOMPLETE" in os.environ else verb)
    if "_ARGCOMPLETE" in os.environ:  # completes a command line for a shell
        with suppress(ImportError):
            import argcomplete

            argcomplete.autocomplete(parser)
    try:
        _check_verb(parser, argv, verb)
        arguments = parser.parse_args(argv)
    except VdgiError as error:  # of the value of an option
        print(printable_text(str(error)), file=sys.stderr)
        return error.exit_status
    except SystemExit as finished:  # after --help, --version or a wrong argument
        return _flush(int(finished.code or 0))
    except OSError as error:  # help or the version could not be printed
        return _report_failed_output(error)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.WARNING if arguments.quiet else logging.INFO)
    with ended_by_signals() as received:
        try:
            status = _run_verb(arguments)
        except KeyboardInterrupt:  # while an error was being reported
            status = EXIT_INTERRUPTED
    return 128 + received[0] if received else status


def _run_verb(arguments: argparse.Namespace) -> int:
    try:
        limit("line")  # a bad VDGI_LIMITS is reported whatever the verb
        check_together(arguments.verb, arguments.parser, arguments)
        with _feats_option(arguments):
            arguments.run(arguments)
        return _flush(0)
    except BrokenPipeError as error:
        return _report_failed_output(error)
    except (Exception, KeyboardInterrupt) as error:
        if arguments.debug:
            traceback.print_exc()
        message, status = _message_and_status(error)
        print(printable_text(message), file=sys.stderr)
        return _flush(status)


def _feats_option(arguments: argparse.Namespace) -> AbstractContextManager[None]:
    """How CoNLL-U is read meanwhile."""
    ignores = getattr(arguments, "ignore_feats", None)
    if ignores is False:
        return nullcontext()
    from dynet_vdgi.conllu.faults import ignoring_feats, without_feats_option

    return ignoring_feats() if ignores else without_feats_option()


def _flush(status: int) -> int:
    """The exit status once the output is flushed; that of a failed output if that fails, see
    `_report_failed_output`."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _report_failed_output(error, status)
    return status


def _report_failed_output(error: OSError, status: int = 0) -> int:
    """Abandons the output, and reports why if the command itself has not failed; returns the exit
    status.

    Faults of data (3) do not hide it: they are listed in the output, which is not complete.
    """
    message, failed = _message_and_status(error)
    if status in (0, DataError.exit_status) and not isinstance(error, BrokenPipeError):
        print(printable_text(message), file=sys.stderr)
        final = failed
    else:
        final = status or failed
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # Python would complain again when it flushes at exit
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return final


def _message_and_status(error: BaseException) -> tuple[str, int]:
    """The message about an error, and the exit status."""
    if isinstance(error, VdgiError):
        return str(error), error.exit_status
    if isinstance(error, KeyboardInterrupt):
        return f"interrupted; {error}" if str(error) else "interrupted", EXIT_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return "nobody reads the output", EXIT_BROKEN_PIPE
    if isinstance(error, MemoryError):
        return "there is not enough memory (ulimit -v?); nothing was written", EXIT_BUG
    if isinstance(error, OSError):
        if error.errno in (errno.EMFILE, errno.ENFILE):
            remedy = "allow more (ulimit -n 256) or use fewer --jobs"
            return f"there are too many open files: {remedy}; nothing was written", EXIT_BUG
        if error.errno in _FULL:
            name = f" {error.filename!r}" if error.filename else " the output"
            return f"cannot write{name}: {error.strerror}", UsageError.exit_status
        if error.errno == errno.EBADF and not error.filename:
            return "cannot write the output: standard output is closed", UsageError.exit_status
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", EXIT_BUG
    bug = "This is a bug. Please report it with what `vdgi --debug ...` prints."
    return f"internal error: {type(error).__name__}: {error}\n{bug}", EXIT_BUG
