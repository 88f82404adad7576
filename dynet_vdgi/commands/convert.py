"""Convert interlinear text, tables of words and the Penn Treebank to CoNLL-U.

FLExText, ELAN's EAF, Toolbox, CoNLL-X, CoNLL-2009, CoNLL-2003, Malt-TAB, MST and CSV are
recognised: see vdgi help convert file. The corpus wsj is the Wall Street Journal of the Penn
Treebank: see vdgi help convert wsj.

  vdgi convert story.flextext -o story.conllu
  vdgi convert story.eaf -o story.conllu
  vdgi convert old.conll -o new.conllu
  vdgi convert wsj treebank_3 --sections 2-21 -o train.conllu
"""

from __future__ import annotations

import argparse
import logging
import re
from pathlib import Path

from dynet_vdgi.commands import add_output, add_tasks
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu import head_rules, penn
from dynet_vdgi.converters import conversion
from dynet_vdgi.converters.conversion import FORMATS
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count

logger = logging.getLogger("dynet_vdgi")

_RANGE = re.compile("([0-9]{1,6})(?:-([0-9]{1,6}))?")


def add_arguments(add: Options) -> None:
    """The tasks; `vdgi convert FILE` is short for `vdgi convert file FILE`."""
    add_tasks(
        add, {"file": (_add_file, _convert), "wsj": (_add_wsj, _run)}, usual="file", metavar="WHAT"
    )


def _add_file(add: Options) -> None:
    add("FILE...", "files to convert; - is standard input", dest="files")
    what = f"the format, if content and ending do not show it: {', '.join(FORMATS)}"
    add("--from FORMAT", what, dest="format", choices=tuple(FORMATS))
    add(
        "--encoding NAME",
        "encoding of the text (default: as its byte-order mark or XML says, else UTF-8)",
    )
    add("--tags FILE", "a table of the text's own tags with their UPOS, such as: vt VERB")
    add(
        "--columns NAME,NAME", "what the columns of a table hold, such as id,form,_,tag,head,deprel"
    )
    add(
        "--tier ROLE=NAME...",
        "what tiers of ELAN or markers of Toolbox hold, such as words=Wort",
        dest="tiers",
    )
    add(
        "--language CODE",
        "language of translations of which the file does not say it",
        default="und",
    )
    add_output(add)


def _convert(arguments: argparse.Namespace) -> None:
    """Convert interlinear text and tables of words; `file` may be left out.

    From FLEx (FLExText), ELAN (EAF) and Toolbox: words, punctuation, lemmas, tags, glosses, morphs,
    translations, speakers, times and notes. From tables: CoNLL-X, CoNLL-2009, CoNLL-2003, Malt-TAB,
    MST, CSV or TSV with headings, and with --columns any table: heads and relations stay as they
    are.

    A file's tags become UPOS if nearly all are UD's, or by the table --tags; others become XPOS.
    FEATS that are not Name=Value go to MISC as OrigFeats. What CoNLL-U cannot hold is counted, with
    its first place. docs/convert.md has tables of what becomes what.

      vdgi convert story.flextext --tags mine.tags -o story.conllu
      vdgi convert story.eaf --tier text=Utterance words=Wort --language en -o story.conllu
      vdgi convert old.conll --from conll-x --encoding latin-1 -o new.conllu
    """
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    file_checks.check_output(arguments.output, names)
    reading = conversion.ConversionSettings(
        arguments.format or "",
        arguments.encoding or "",
        arguments.columns or "",
        arguments.language,
        conversion.roles_of(arguments.tiers),
        conversion.upos_of(arguments.tags) if arguments.tags else {},
    )
    used: dict[str, int] = {}
    n_without, uses_table = 0, False
    there: set[str] = set()
    with files.atomic_writer(arguments.output) as handle:
        for name in names:
            made = conversion.write(name, handle, reading, used)
            sizes = f"{count(made.n_sentences, 'sentence')}, {count(made.n_words, 'word')}"
            logger.info("%s (%s): %s", files.shown(name), conversion.FORMATS[made.format], sizes)
            for loss in made.losses:
                logger.warning("%s", loss)
            n_without += made.n_without_upos
            uses_table |= made.uses_table
            there |= made.names
        if nowhere := [name for name in reading.roles if name not in there]:
            which = f"there are: {', '.join(sorted(there - {''}))}" if there else "there are none"
            raise UsageError(
                f"--tier: no tier, type of tiers or marker has the name {nowhere[0]!r} ({which})"
            )
    if arguments.tags and not uses_table:
        logger.warning("--tags %s had no effect: no word has one of its tags", arguments.tags)
    if n_without:
        logger.info(
            "%s without UPOS: vdgi tag, or a table of your tags: --tags FILE",
            count(n_without, "word"),
        )


def _add_wsj(add: Options) -> None:
    add("DIR", "folder of the treebank", dest="folder")
    add(
        "--sections N-N,N", "sections to convert, all of which must exist (default: all that exist)"
    )
    which = "which files of these sections, numbered from 1 in order of their names (default: all)"
    add("--files N-N,N", which)
    add(
        "--heads NAME", f"head rules: {' or '.join(head_rules.names())}", default=head_rules.DEFAULT
    )
    add("--policy", "which tags count as punctuation", choices=penn.POLICIES, default="standard")
    add_output(add)


def _run(arguments: argparse.Namespace) -> None:
    """Convert the Wall Street Journal in the Penn Treebank.

    Reads files wsj_0001.mrg, ... in DIR, in its folders 00, 01, ..., or in its parsed/mrg/wsj, as
    on the LDC's disc. The first two digits of a file are its section. Empty elements, function tags
    and indices are dropped; forms stay as they are (-LRB-, 3\\/4, ``). XPOS is the treebank's tag,
    UPOS its counterpart in UD version 1. Punctuation is kept as UPOS PUNCT, for the protocols to
    remove; with --policy wsj10 it includes # and $, as in Klein and Manning's WSJ-10. Heads follow
    a table: yamada-matsumoto (that of Penn2Malt, except that infinitives head their "to") or
    collins (1999).

      vdgi convert wsj treebank_3 --sections 2-21 -o train.conllu
      vdgi convert wsj treebank_3 --sections 23 --policy wsj10 -o test.conllu
      vdgi convert wsj sample --files 1-159 -o train.conllu
    """
    rules, punctuation = (
        head_rules.load_head_rules(arguments.heads),
        penn.POLICIES[arguments.policy],
    )
    paths = chosen_files(arguments.folder, arguments.sections, arguments.files)
    file_checks.check_output(arguments.output, paths)
    n_sentences = n_words = n_kept = 0
    with files.atomic_writer(arguments.output) as handle:
        for path in paths:
            for number, tree in enumerate(penn.read(path), 1):
                words = list(tree.words())
                name = f"{path.stem}-{number}"
                handle.write(penn.conllu_block(words, penn.heads(tree, rules), name, punctuation))
                n_sentences += 1
                n_words += len(words)
                n_kept += sum(word.label not in punctuation for word in words)
    logger.info(
        "%s to %s (%d): %s, %s, %d without punctuation (policy %s)",
        paths[0].stem,
        paths[-1].stem,
        len(paths),
        count(n_sentences, "sentence"),
        count(n_words, "word"),
        n_kept,
        arguments.policy,
    )


def chosen_files(folder: str, sections: str | None, numbers: str | None) -> list[Path]:
    """The files of a treebank that --sections and --files select, by name.

    Raises: UsageError for a section or number that does not exist.
    """
    paths = penn.find(folder)
    there = sorted({penn.section(path) for path in paths})
    if sections is not None:
        wanted = _numbers(sections, "--sections")
        if missing := wanted - {*there}:
            hint = f"(sections there: {', '.join(map(str, there))})"
            raise UsageError(
                f"--sections {sections}: no file of section {min(missing)} in {folder!r} {hint}"
            )
        paths = [path for path in paths if penn.section(path) in wanted]
    if numbers is not None:
        wanted = _numbers(numbers, "--files")
        if min(wanted) < 1 or max(wanted) > len(paths):
            raise UsageError(f"--files {numbers}: there are files 1-{len(paths)}")
        paths = [path for number, path in enumerate(paths, 1) if number in wanted]
    return paths


def _numbers(text: str, option: str) -> set[int]:
    """The numbers in ranges separated by commas.

    >>> sorted(_numbers("2-4,23", "--sections"))
    [2, 3, 4, 23]
    """
    numbers: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise UsageError(f"{option} {text}: expected numbers and ranges such as 2-21,23")
        numbers.update(range(first, last + 1))
    return numbers
