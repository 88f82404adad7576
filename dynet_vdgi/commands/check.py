"""Check CoNLL-U files before training or parsing.

Lists every structural fault as FILE:LINE, also in unfinished trees, then describes the file:
sentences, words, tags, lengths, trees, how much of it training would use, and how well the rules
fit. Exits with status 3 if there are faults.

With --ud, tells what Universal Dependencies forbids but this program reads: runs UD's own validator
(udtools, the extra `validate`) on the files together, as one treebank, and lists what it says by
rule, with number and first places. Levels 1 and 2 are the form of lines, columns and trees, 3 the
guidelines of all languages, 4 and 5 those of the language that --lang names by its code in UD.
Exits with status 3 if there are errors, with 0 if there are warnings only.

With --find, lists the words of which a query holds: conditions on columns, feats.NAME and misc.NAME
of a word and, after head., of its head (head.head.: of that one's head), with = or != (the same
value), ~ or !~ (a part that a regular expression matches, such as upos~^(NOUN|VERB)$). Values with
blanks stand in quotes: form="New York". With --json, vdgi annotate --list steps through them.

With --consistency, lists the words whose head, relation, tag, features or lemma the rest of the
files contradicts, the most suspicious first: what it is, what such words are elsewhere or what the
parser says, and how often the two are there. The parser learns from one half of the sentences to
judge the other.

  vdgi check my.conllu
  vdgi check my.conllu --find 'upos=NOUN deprel=obj head.upos!=VERB'
  vdgi check my.conllu --find 'feats.Case=Loc lemma~^a' --json > found.json
  vdgi check my.conllu --consistency -n 200 --json > suspicious.json
  vdgi check new.conllu --model runs/my
  vdgi check my.conllu --ud --lang ta
  vdgi check train.conllu test.conllu --ud --level 2
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from itertools import count

from dynet_vdgi.commands import FaultsFoundError, add_ignore_feats, print_places
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu.extra_columns import extra_in, has_header, header, without_extra
from dynet_vdgi.conllu.protocols import protocol_of
from dynet_vdgi.conllu.reading import TAG_COLUMNS
from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count as counted
from dynet_vdgi.system.messages import printable_text

logger = logging.getLogger("dynet_vdgi")

FAULTS, PLACES = 20, 5
"""Faults shown of a file, and places of a rule of UD."""


def add_arguments(add: Options) -> None:
    add("FILE...", "CoNLL-U files; - is standard input", dest="files")
    add("--rules FILE", "rule table to check against (default: best)")
    add("--model MODEL", "take rules, tags and limits from this model file or run folder")
    add("--tags", "column of the tags (default: upos, or the model's)", choices=TAG_COLUMNS)
    add_ignore_feats(add)
    shown = f"faults shown of a file (default: {FAULTS}), with --ud of a rule (default: {PLACES})"
    add("--max-faults N", shown, least=0)
    add("--find QUERY", "list the words of which a query holds instead")
    add("--consistency", "list the words that the rest of the files contradicts instead")
    add("-n --number N", "words listed by --consistency (default: 100)", least=1)
    add("--json", "list words as JSON")
    add("--ud", "run UD's own validator instead")
    add(
        "--level", "the last level of --ud (default: 5 with --lang, else 3)", choices=tuple("12345")
    )
    add("--lang CODE", "the language for --ud, such as ta; ud: what holds in all (default)")


def run(arguments: argparse.Namespace) -> None:
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    if arguments.find is not None:
        from dynet_vdgi.conllu import places

        words = list(places.find(names, arguments.find))
        print_places(words, arguments.json)
        if not words and (why := places.why_none(names, arguments.find)):
            logger.info("%s", why)
    elif arguments.consistency:
        from dynet_vdgi.page.learn.consistency import inconsistent_words

        print_places(inconsistent_words(names)[: arguments.number or 100], arguments.json)
    else:
        (_validate if arguments.ud else _check)(names, arguments)


def _check(names: Sequence[str], arguments: argparse.Namespace) -> None:
    from dynet_vdgi.evaluation.treebank_check import check
    from dynet_vdgi.models import model_file
    from dynet_vdgi.models.run_folder import DEFAULT_RULES, model_path, rules_named
    from dynet_vdgi.rule_tables.tag_warnings import TO_A_MODEL, check_known
    from dynet_vdgi.settings.presets import load_settings

    if arguments.model:
        model = model_file.load(model_path(arguments.model))
        rules, data = model.rules, model.settings.data
        known_tags, hint = frozenset(model.vocabulary.tags), TO_A_MODEL
    else:
        rules, data = rules_named(arguments.rules or DEFAULT_RULES).rules, load_settings().data
        known_tags, hint = UD_TAGS | rules.mentioned_tags(), ""
    tags, most = (
        arguments.tags or data.tags,
        FAULTS if arguments.max_faults is None else arguments.max_faults,
    )
    n_faults = 0
    for name in names:
        faults = count()

        def report(fault: DataError, faults: count[int] = faults) -> None:
            if next(faults) < most:
                print(printable_text(str(fault)))

        protocol = protocol_of(data.protocol)
        summary = check(name, rules, protocol, data.max_len, tags=tags, on_fault=report)
        try:
            check_known(summary.tags, known_tags, files.shown(name), hint)
        except DataError as fault:
            report(fault)
        in_file = next(faults)
        n_faults += in_file
        print(
            printable_text(
                f"{files.shown(name)}: {counted(in_file, 'fault') if in_file else 'sound'}"
            )
        )
        print(
            printable_text(
                "\n".join(summary.lines(with_unused=bool(arguments.rules or arguments.model)))
            )
        )
    if n_faults:
        raise FaultsFoundError(f"{counted(n_faults, 'fault')} found")
    print("sound: this program can use it; vdgi check --ud tells whether it is valid UD")


def _of_ten_columns(name: str) -> str:
    """The text of a file without columns after MISC, which UD's validator does not know."""
    lines = files.read_text(name, are_limited=False).split("\n")
    extra: dict[str, None] = {}  # names in order
    for line in lines:
        if has_header([line]):
            extra.update(dict.fromkeys(extra_in([line], ())))
    if not extra:
        return "\n".join(lines)
    logger.info("%s: columns after MISC are not validated: %s", files.shown(name), " ".join(extra))
    return "\n".join(header(()) if has_header([line]) else without_extra(line) for line in lines)


def _validate(names: Sequence[str], arguments: argparse.Namespace) -> None:
    from dynet_vdgi.validation import udtools

    most = PLACES if arguments.max_faults is None else arguments.max_faults
    level, language = arguments.level or "", arguments.lang or ""
    if level in ("4", "5") and not language:
        raise UsageError(f"--level {level} needs the language, such as --lang ta")
    if language and level in ("", "4", "5") and udtools.code_in_ud(language):
        raise UsageError(udtools.unknown_language_message(language))
    texts = [_of_ten_columns(name) for name in names]
    for name, text in zip(names, texts):
        if not text.strip("\ufeff \t\r\n"):
            raise DataError(files.shown(name), None, "no sentences", "there is nothing to check")
    messages = udtools.messages(texts, language, level)
    if udtools.lacks_language(messages):
        raise UsageError(udtools.unknown_language_message(language))
    called = udtools.command(language, level) or [""]
    hint = " (--max-faults N shows them)"

    def place(message: udtools.Message) -> str:
        return f"{files.shown(names[message.file])}:{message.line}"

    print(printable_text("\n".join(udtools.report(messages, place, called, most, hint))))
    if n_errors := sum(message.is_error for message in messages):
        raise FaultsFoundError(f"{counted(n_errors, 'error')} found")
