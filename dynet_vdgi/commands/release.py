"""Make a treebank in the form of Universal Dependencies of annotated files.

Writes to FOLDER what a repository of UD holds: xx_mine-ud-train.conllu, -dev and -test, README.md,
LICENSE.txt, CONTRIBUTING.md and stats.xml. Takes sentences that are finished in `vdgi annotate`,
without marks and notes; FILE stays as it is. FOLDER/not-to-release/release.toml asks for what only
you know, such as the licence. After more work, run it again: it writes what has changed, and
sentences keep their names, documents their part.

UD's own validator (udtools, the extra `validate`) reads the result, at level 5 where it knows the
language, else at level 3. Errors are listed by rule, with number and first place in FILE. Exits
with status 3 if there are errors, with 4 if values in release.toml are missing, or are not what UD
takes. With 0, UD's checks of data and README.md find no error; warnings say where the treebank is
smaller than UD asks for.

  vdgi release UD_Scottish_Gaelic-Mine --code gd --name Mine a.conllu b.conllu
"""

from __future__ import annotations

import argparse
import logging
import os
import re
from pathlib import Path

from dynet_vdgi.commands import FaultsFoundError
from dynet_vdgi.commands.options import Options
from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count, listed, printable_text

logger = logging.getLogger("dynet_vdgi")

LONGEST_NAME = 100


def add_arguments(add: Options) -> None:
    add("FOLDER", "where the release is, or will be")
    add("FILE...", "annotated CoNLL-U files", dest="files")
    add("--code XX", "the language's code in UD, such as gd", required=True)
    add("--name NAME", "the treebank's name in UD, such as Mine", required=True)
    add("--all", "take unfinished sentences, too, if they have tags and a tree")
    add("--fewer", "documents of which no FILE has sentences any more leave the release")
    add("--copies", "take a document even if half of its sentences are those of another one")


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.conllu.extra_columns import NAMELESS
    from dynet_vdgi.release.documents import AnnotatedFiles, repeated_sentences
    from dynet_vdgi.release.folder import VALUES, release_of
    from dynet_vdgi.release.split import shortfall, size_fault
    from dynet_vdgi.validation import udtools

    folder, code, name = Path(arguments.folder), arguments.code, arguments.name
    if not re.fullmatch("[a-z]{2,3}", code) or not re.fullmatch("[A-Z][A-Za-z0-9]*", name):
        raise UsageError(
            f"--code {code} --name {name}: expected as in UD, such as --code gd --name Mine"
        )
    if len(name) > LONGEST_NAME:
        raise UsageError(
            f"--name has {len(name)} letters; names of files take at most {LONGEST_NAME}"
        )
    if other := udtools.code_in_ud(code):
        raise UsageError(f"--code {code}: UD's code of this language is {other} (--code {other})")
    files.check_named(arguments.folder, "folder")
    names = files.expand(arguments.files)
    file_checks.check_read_again(names, "a release is made of files")
    for path in names:
        if os.path.dirname(os.path.realpath(path)) == os.path.realpath(folder):
            raise UsageError(f"{path}: the files to release must not be in {folder}")
    annotated = AnnotatedFiles()
    for path in names:
        annotated.read(path, everything=arguments.all)
    if annotated.faults:
        print(printable_text("\n".join(map(str, annotated.faults[:20]))))
        raise FaultsFoundError(
            f"{count(len(annotated.faults), 'text')} to correct; nothing was written"
        )
    for repeats in repeated_sentences(annotated.documents):
        if repeats.is_copy and not arguments.copies:
            raise UsageError(
                f"{repeats}; nothing was written: name one of the two files, "
                "or take both with --copies"
            )
        logger.warning("%s", repeats)
    release = release_of(folder, f"{code}_{name.lower()}", annotated, everything=arguments.all)
    if release.gone and not arguments.fewer:
        remedy = (
            "nothing was written: name all files of the treebank, "
            "or take these documents out with --fewer"
        )
        raise UsageError(
            f"no FILE has sentences of {', '.join(map(repr, release.gone))} any more; {remedy}"
        )
    logger.info("written: %s", ", ".join(release.write()) or "nothing, because nothing has changed")
    for part, size in release.sizes.items():
        if size["words"]:
            logger.info(
                "%s: %s, %s",
                part,
                count(size["sentences"], "sentence"),
                count(size["words"], "word"),
            )
    which = (
        "without tags or tree" if arguments.all else "not finished (--all takes those with a tree)"
    )
    logger.info("left out: %s %s", count(annotated.left_out, "sentence"), which)
    if release.renamed:
        renamed = [f"{one.written_name!r} is {one.name}," for one in release.renamed]
        what = (
            "UD takes no blanks or slashes in sent_id, "
            f"so {count(len(renamed), 'sentence')} got another"
        )
        logger.warning("%s: %s", what, listed(renamed, 5).rstrip(","))
    whole = [sum(size[unit] for size in release.sizes.values()) for unit in ("sentences", "words")]
    if too_small := size_fault(*whole):
        logger.warning("%s", too_small)
    if named := sorted(annotated.dropped - {NAMELESS}) or sorted(annotated.dropped):
        logger.warning(
            "columns after MISC are not released, because UD has ten: %s", ", ".join(named)
        )
    for warning in shortfall({part: size["words"] for part, size in release.sizes.items()}):
        logger.warning("%s", warning)
    texts = [release.files[path] for path in release.places]
    messages, language = udtools.messages(texts, code), code
    if udtools.lacks_language(messages):
        messages, language = udtools.messages(texts), ""
    places, called = list(release.places.values()), udtools.command(language) or [""]
    lines = udtools.report(
        messages, lambda each: "{}:{}".format(*places[each.file][each.line - 1]), called
    )
    print(printable_text("\n".join(lines)))
    missing = (
        f"{folder / VALUES}: {count(len(release.missing), 'value')} missing: "
        f"{', '.join(release.missing)}"
    )
    if n_errors := sum(message.is_error for message in messages):
        raise FaultsFoundError(
            "\n".join([f"{count(n_errors, 'error')} found"] + [missing] * bool(release.missing))
        )
    if release.missing:
        raise ConfigError(missing)
