"""Correct trees in your browser while the parser learns from them.

Opens a page on this computer (127.0.0.1) that shows the sentences of FILE with trees, their
doubtful arcs marked. The parser learns from the arcs that you confirm: after every ten sentences it
parses the rest again, and when you correct an arc it parses the rest of the sentence at once. Needs
the extra `annotate`.

  vdgi annotate my.conllu
  vdgi annotate my.conllu --rules my-rules.txt --language-facts facts.txt
  vdgi annotate raw.txt                                      # begins with plain text, in raw.conllu
  vdgi annotate my.conllu --export trees.conllu
  vdgi annotate ben.conllu --beside anna.conllu -o both.conllu

Words without UPOS get tags from a tagger that learns while you tag, or at first from --tagger.
Plain text is split by --tokeniser, or by a simple rule at spaces and marks, into a CoNLL-U file
beside it.

Each change is on the disk before the page says so, in FILE.journal; FILE follows within seconds and
stays CoNLL-U, with HeadBy= and LabelBy= in MISC for confirmed heads and relations. End the program
with Ctrl-C; the next start continues where you were. --export writes the file without these marks,
even while the page is open: finished sentences with their trees, and others without them or, with
--finished, not at all.

A file that has trees but no marks needs --given: `right` trees are kept, punctuation too, and
learnt from; `guessed` ones, such as those of `vdgi parse`, are replaced by better ones. Those of
`vdgi choose` are known. Heads that no tree can have, such as a second root or a cycle, are open
arcs, with the problem beside them.

--beside opens another page, with the differences of two annotations of one text. What you decide
goes to the file of -o, and so do DEPS, empty nodes, entries of MISC and comments that only one file
has; see also vdgi evaluate --agreement.
"""

from __future__ import annotations

import argparse
import getpass
import logging
import os
import re
from typing import TYPE_CHECKING

from dynet_vdgi.commands import add_ignore_feats
from dynet_vdgi.commands.options import Options
from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.store.journal import ENDING
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count

if TYPE_CHECKING:
    from dynet_vdgi.page.store.session import Session

logger = logging.getLogger("dynet_vdgi")

_NAME = re.compile(r"[\w.@+-]{1,40}")


def add_arguments(add: Options) -> None:
    add("FILE", "CoNLL-U, which is written to; or text (.txt)")
    add("--given", "what the trees of a file without marks are", choices=("right", "guessed"))
    add("--annotator NAME", "name in the marks (default: your user name)")
    add("--every N", "sentences after which the parser learns again (default: 10)", least=1)
    orders = "which sentence is next: the most useful one (default), or the next one of the file"
    add("--order", orders, choices=("choose", "document"))
    add("--port N", "port of the page (default: 0, any free one)", least=0, most=65535)
    host = "name, with its port, by which a tunnel or proxy shows the page, such as localhost:8000"
    add("--allow-host HOST", f"{host}; may be repeated", action="append")
    add("--prefix PATH", "path of the page behind a proxy, such as /annotate")
    add("--no-browser", "print the address only")
    presets = (
        "how the parser learns: universal-trees (default), best, another preset of these recipes"
    )
    add(
        "--preset NAME",
        f"{presets}, or a .toml file; if repeated, the last is on top",
        action="append",
    )
    add("--rules FILE", "rule table: a file, or a name such as best")
    add("--language-facts FILE", "facts about the language, such as `objects = before`")
    add("--tagger FILE", "a tagger that proposes tags until it is clear what yours are")
    add("--tokeniser FILE", "a tokeniser that splits FILE, if it is text")
    add("--lines", "each line of FILE is a sentence, if it is text")
    add_ignore_feats(add)
    add("--labels LIST", "file of the project's relations; others are marked, never lost")
    add(
        "--list LIST",
        "words for the page's search to step through: "
        "what vdgi check or choose has written with --json",
    )
    add(
        "--beside OTHER",
        "decide between FILE and OTHER, two annotations of one text; neither is written to",
    )
    add("-o --output OUT", "file of the decisions, with --beside")
    add("--export OUT", "write FILE without marks to OUT, and open no page")
    add("--finished", "with --export: write finished sentences only")


def run(arguments: argparse.Namespace) -> None:
    path = arguments.file
    if path == files.STANDARD or path.lower().endswith(".gz"):
        raise UsageError(
            f"{path}: the file is written to while you annotate; unpack it, and name it here"
        )
    if os.path.lexists(path) or not os.path.exists(path + ENDING):  # otherwise it is written again
        (path,) = files.expand([path])
    for name in ("tokeniser", "lines"):
        if getattr(arguments, name) and not path.endswith(".txt"):
            raise UsageError(
                f"--{name} has no effect: the file is CoNLL-U (text is a file named .txt)"
            )
    if arguments.export is not None:
        _export(path, arguments)
        return
    name = arguments.annotator
    if not name:
        try:
            name = re.sub(r"[^\w.@+-]", "_", getpass.getuser())[:40] or "me"
        except (OSError, KeyError, ImportError):
            name = "me"
    if not _NAME.fullmatch(name):
        raise UsageError(f"--annotator {name!r}: up to 40 letters, digits and any of . @ + - _")
    (_annotate if arguments.beside is None else _decide)(path, name, arguments.port or 0, arguments)


def _annotate(path: str, name: str, port: int, arguments: argparse.Namespace) -> None:
    from dynet_vdgi.page.learn.arc_lessons import PRESET, Course
    from dynet_vdgi.page.learn.learner import Learner
    from dynet_vdgi.page.learn.live import Live
    from dynet_vdgi.page.learn.next_sentence import ORDERS
    from dynet_vdgi.page.store.plain_text import write_as_conllu
    from dynet_vdgi.page.store.session import Session
    from dynet_vdgi.page.text.annotated_text import listed_words
    from dynet_vdgi.page.text.offered_relations import read_list
    from dynet_vdgi.page.web import server, session_page
    from dynet_vdgi.parser.steps import step_file
    from dynet_vdgi.words.tagger.tagger import Tagger

    reach = server.reach(arguments.allow_host or (), arguments.prefix or "")
    presets = arguments.preset or [PRESET]
    course = Course.of(presets, arguments.rules, arguments.language_facts)
    labels = read_list(arguments.labels) if arguments.labels is not None else frozenset()
    if arguments.tagger is not None:
        Tagger.load(*step_file("tagger", arguments.tagger))  # refused here if it cannot be used
    shows = server.announcing(not arguments.no_browser)
    with server.listening_socket(port) as listener, shows as announce:
        if path.endswith(".txt"):
            path = write_as_conllu(path, arguments.tokeniser, lines=arguments.lines)
            logger.info("%s is what you annotate; %s is not needed any more", path, arguments.file)
        session = Session(path, name, arguments.given)
        session.text.relations.project = labels
        _tell_opened(session)
        try:
            if arguments.list is not None:
                session.text.listed = listed_words(arguments.list, session.text)
                logger.info(
                    "the page's search has %s of %s",
                    count(len(session.text.listed), "word"),
                    arguments.list,
                )
            learner = Learner(course, arguments.tagger)
            live = Live(session, learner, arguments.every or 10, arguments.order or ORDERS[0])
            server.serve(session_page.SessionPage(live), listener, announce, reach)
        finally:
            session.close()
    logger.info(
        "%s: %s", path, "everything you confirmed is saved" if not session.fault else session.fault
    )


def _tell_opened(session: Session) -> None:
    """Says how many sentences have arcs that were opened, and where the first is."""
    opened = [marked for marked in session.sentences if marked.open_conflicts]
    if opened:
        why = next(iter(opened[0].open_conflicts.values()))
        have = count(len(opened), "sentence has", "sentences have")
        place = f"first sentence {1 + session.text.number(opened[0])}: {why}"
        what = "heads that no tree can have; their arcs are open until you set them"
        logger.warning("%s %s (%s; Search, problems, finds all)", have, what, place)


def _decide(path: str, name: str, port: int, arguments: argparse.Namespace) -> None:
    """The page on which somebody decides between two files."""
    from dynet_vdgi.page.adjudication.decision_page import DecisionPage
    from dynet_vdgi.page.adjudication.decisions import Adjudication
    from dynet_vdgi.page.web import server

    reach = server.reach(arguments.allow_host or (), arguments.prefix or "")
    files.check_named(arguments.output)
    file_checks.check_output(arguments.output, [path, arguments.beside])
    file_checks.check_read_again([path, arguments.beside], "decisions are taken up again later")
    shows = server.announcing(not arguments.no_browser)
    with server.listening_socket(port) as listener, shows as announce:
        work = Adjudication(path, arguments.beside, arguments.output, name)
        if more := work.remark_on_not_compared():
            logger.info("%s", more)
        try:
            server.serve(DecisionPage(work), listener, announce, reach)
        finally:
            work.close()
    counts = work.counts()
    left = counts["differences"] - counts["decided"]
    logger.info(
        "%s: %s", arguments.output, work.fault or f"{left:,} of {counts['differences']:,} are open"
    )


def _export(path: str, arguments: argparse.Namespace) -> None:
    from dynet_vdgi.page.store.session import exported_sentences
    from dynet_vdgi.page.text.sentence_blocks import write_marked
    from dynet_vdgi.page.text.sentence_state import NO_VALUE
    from dynet_vdgi.page.web.problems import deps_to_look_at, problems_of

    files.check_named(arguments.export)
    file_checks.check_output(arguments.export, [path], option="--export")
    if os.path.lexists(arguments.export + ENDING):
        what = (
            f"this file is annotated, too, as {arguments.export}{ENDING} shows; name another file"
        )
        raise UsageError(f"--export {arguments.export}: {what}")
    sentences = exported_sentences(path)
    done = [marked for marked in sentences if marked.is_done]
    rest = [marked for marked in sentences if not marked.is_done]
    if arguments.finished and not done:
        raise UsageError(f"{path}: no sentence is finished, so there is nothing to write")
    write_marked(done if arguments.finished else sentences, arguments.export, "export")
    untagged = sum(any(word.upos == NO_VALUE for word in marked.state.columns) for marked in rest)
    what = "left out" if arguments.finished else "without"
    if untagged and not arguments.finished:
        what += (
            " trees and without tags"
            if untagged == len(rest)
            else f", {untagged:,} of them without tags"
        )
    logger.info("%s with trees, %s %s", count(len(done), "sentence"), f"{len(rest):,}", what)
    if stale := sum(bool(deps_to_look_at(marked)) for marked in done):
        logger.warning(
            "%s with DEPS made for other heads than those of the tree",
            count(stale, "finished sentence"),
        )
    if faulty := sum(bool(problems_of(marked)) for marked in done):
        which = f"{count(faulty, 'of these has', 'of these have')} errors of form"
        logger.info("%s: vdgi check --ud %s --level 2 lists them", which, arguments.export)
