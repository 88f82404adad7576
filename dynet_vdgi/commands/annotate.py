"""Correct trees in a page of your browser while the parser learns from it.

Opens a page on this computer (127.0.0.1) that shows the sentences of FILE with trees, their doubtful arcs
marked. The parser learns from the arcs that you confirm: after every ten sentences it parses the rest again,
and when you correct an arc it parses the rest of the sentence at once. Needs the extra `annotate`.

  vdgi annotate my.conllu
  vdgi annotate my.conllu --rules my-rules.txt --language-facts facts.txt
  vdgi annotate my.conllu --export trees.conllu

Each change is on the disk before the page says so, in FILE.journal; FILE follows within seconds and stays
CoNLL-U, with HeadBy= and LabelBy= in MISC for confirmed heads and relations. End the program with Ctrl-C; the
next start continues where you were. --export writes the file without these marks: finished sentences with
their trees, others without. A file that has trees but no marks needs --given: `right` trees are kept and
learnt from; `guessed` ones, such as those of `vdgi parse`, are replaced by better ones.
"""

from __future__ import annotations

import argparse
import getpass
import logging
import re
import threading
import webbrowser
from pathlib import Path

from dynet_vdgi.data import file_checks, files
from dynet_vdgi.errors import UsageError

logger = logging.getLogger("dynet_vdgi")

TEXT_BROWSERS = ("www-browser", "links", "elinks", "lynx", "w3m")
"""These browsers would share the terminal with this program, and cannot show the page."""

_NAME = re.compile(r"[\w.@+-]{1,40}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="CoNLL-U file with tags; it is written to")
    parser.add_argument(
        "--given", choices=("right", "guessed"), help="what the trees of a file without marks are"
    )
    parser.add_argument("--annotator", metavar="NAME", help="name in the marks (default: your user name)")
    parser.add_argument(
        "--every",
        type=int,
        metavar="N",
        help="sentences after which the parser learns again (default: 10)",
    )
    parser.add_argument(
        "--order",
        choices=("choose", "document"),
        help="which sentence is next: the most useful one (default), or the next one of the file",
    )
    parser.add_argument("--port", type=int, metavar="N", help="port of the page (default: 0, any free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument(
        "--preset",
        action="append",
        metavar="NAME",
        help="how the parser learns: few-trees (default), best, another preset of these recipes, or a .toml "
        "file; if repeated, the last is on top",
    )
    parser.add_argument("--rules", metavar="FILE", help="rule table: a file, or a name such as best")
    parser.add_argument(
        "--language-facts", metavar="FILE", help="facts about the language, such as `objects = before`"
    )
    parser.add_argument("--export", metavar="OUT", help="write FILE without marks to OUT, and open no page")


def run(arguments: argparse.Namespace) -> None:
    path = arguments.file
    if path == files.STANDARD or path.lower().endswith(".gz"):
        raise UsageError(f"{path}: the file is written to while you annotate; unpack it, and name it here")
    (path,) = files.expand([path])
    if arguments.export is not None:
        _export(path, arguments)
        return
    every = 10 if arguments.every is None else arguments.every
    port = arguments.port or 0
    name = arguments.annotator or _user()
    if every < 1:
        raise UsageError(f"--every {every}: must be at least 1")
    if not 0 <= port < 65536:
        raise UsageError(f"--port {port}: must be from 0 to 65535")
    if not _NAME.fullmatch(name):
        raise UsageError(f"--annotator {name!r}: up to 40 letters, digits and any of . @ + - _")
    from dynet_vdgi.annotation import server
    from dynet_vdgi.annotation.helpers import Helpers
    from dynet_vdgi.annotation.live import ORDERS, Live
    from dynet_vdgi.annotation.loop import Course
    from dynet_vdgi.annotation.session import Session

    presets = arguments.preset or ["few-trees"]
    course = Course.of(presets, arguments.rules, arguments.language_facts)
    with server.listening(port) as listener:
        session = Session(path, name, arguments.given)
        try:
            live = Live(session, Helpers(course), every, arguments.order or ORDERS[0])
            server.serve(live, listener, lambda address: _announce(address, not arguments.no_browser))
        finally:
            session.close()
    logger.info("%s: %s", path, "everything you confirmed is saved" if not session.fault else session.fault)


def _announce(address: str, opens_browser: bool) -> None:
    print(address, flush=True)
    logger.info("the page is there; end with Ctrl-C")
    if opens_browser:
        _open_browser(address)


def _open_browser(address: str) -> None:
    """Opens the address without waiting for the browser, which may run as long as this program."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        logger.info("no browser is found: open the address in one")
        return
    name = Path(getattr(browser, "name", "")).name
    if name in TEXT_BROWSERS:
        logger.info("%s shows text only: open the address in another browser", name)
        return
    threading.Thread(target=browser.open, args=(address,), daemon=True).start()


def _user() -> str:
    try:
        return re.sub(r"[^\w.@+-]", "_", getpass.getuser())[:40] or "me"
    except (OSError, KeyError, ImportError):
        return "me"


def _export(path: str, arguments: argparse.Namespace) -> None:
    """Writes the file without marks."""
    for option in ("given", "annotator", "every", "order", "port", "preset", "rules", "language-facts"):
        if getattr(arguments, option.replace("-", "_")) is not None:
            raise UsageError(f"--{option} has no effect with --export")
    if arguments.no_browser:
        raise UsageError("--no-browser has no effect with --export")
    from dynet_vdgi.annotation.marked import write_marked
    from dynet_vdgi.annotation.session import exported
    from dynet_vdgi.system.names import count

    files.check_named(arguments.export)
    file_checks.check_output(arguments.export, [path])
    sentences = exported(path)
    write_marked(sentences, arguments.export, marks=False)
    done = sum(marked.is_done for marked in sentences)
    logger.info("%s with trees, %s without", count(done, "sentence"), len(sentences) - done)
