"""Choose the sentences or words that are worth correcting next.

Prefers sentences of 4 to 25 words, without punctuation, whose pairs of neighbouring tags are
frequent in the text, not yet in chosen or corrected sentences, and uncertain for the parser. Writes
the best sentence first, each with the model's tree, its relations, and HeadConf= in MISC: how
probable each head is to be right. Correct HEAD and DEPREL, train with --trees, and choose again
with the better model: ten or twenty sentences at a time are more useful than many at once. From the
second time on, name all files that you have corrected with --covered, or the same sentences may
come again.

By the comment `# guess = ...` vdgi train tells the trees that nobody has changed; it refuses them
if there are no others. Remove the comment from a tree that was right. A file that exists, which may
have your corrections, is replaced only with --overwrite.

  vdgi choose runs/my my.conllu -n 20 -o to-correct-1.conllu
  vdgi train --train my.conllu --trees corrected-1.conllu --out runs/my2
  vdgi choose runs/my2 my.conllu -n 20 --covered corrected-1.conllu -o to-correct-2.conllu

With --words, lists the least certain words of files that have been parsed with --confidence, or
tagged by vdgi tag --confidence: place in the file, sentence, number, form, what it is, and the
value. Tags below 0.9 come before all heads, because a wrong tag misleads the parser: correct them
first, and parse again; or say --heads. Heads of punctuation are not listed. With --json, vdgi
annotate --list steps through the list.

  vdgi parse runs/my new.conllu --confidence -o sure.conllu
  vdgi choose --words sure.conllu -n 20
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from dynet_vdgi.commands import add_ignore_feats, add_output, model_first, print_places
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count

logger = logging.getLogger("dynet_vdgi")


def add_arguments(add: Options) -> None:
    add("MODEL", "model file, or the folder of a run; with --words, the first parsed file")
    add("[TEXT...]", "CoNLL-U, whose heads are ignored; with --words, more parsed files")
    add("-n --number N", "sentences or words", default=20, least=1)
    add_output(add, "is kept, unless you say --overwrite")
    add("--overwrite", "replace a file that exists, with its corrections")
    covered = (
        "CoNLL-U of corrected sentences: not chosen again, and sentences of similar tags come later"
    )
    add("--covered FILE...", covered)
    add("--labels TABLE", "relations, as in vdgi parse: a table of labels, or none", default="ud2")
    add("--words", "list words of parsed files instead")
    add("--heads", "list heads only, even if tags are doubtful")
    add("--json", "list words as JSON")
    add_ignore_feats(add)


def run(arguments: argparse.Namespace) -> None:
    if arguments.words:
        _list_words(files.expand([arguments.model, *arguments.text]), arguments)
        return
    model_first(arguments.model, arguments.text, "vdgi choose universal")
    if not arguments.text:
        raise UsageError("name the text to choose from: vdgi choose MODEL TEXT")
    names, covered = files.expand(arguments.text), files.expand(arguments.covered)
    file_checks.check_read_once([*names, *covered])
    from dynet_vdgi.models.run_folder import model_path
    from dynet_vdgi.parser.choosing import LONGEST_SENTENCE, SHORTEST_SENTENCE, to_correct
    from dynet_vdgi.parser.parser import load
    from dynet_vdgi.relations.label_table import named_table
    from dynet_vdgi.rule_tables.tag_warnings import (
        TO_A_MODEL,
        check_known,
        tell_uninformative,
        tell_unknown,
    )

    model = model_path(arguments.model)
    file_checks.check_output(arguments.output, [*names, *covered, model])
    file_checks.check_new(arguments.output, overwrite=arguments.overwrite)
    labels, parser = named_table(arguments.labels), load(model)
    tags = parser.model.settings.data.tags
    text, before = _sentences(names, tags), _sentences(covered, tags)
    tags_there = Counter(tag for sentence in text for tag in sentence.tags)
    check_known(
        tags_there, parser.model.vocabulary.tags, ", ".join(map(files.shown, names)), TO_A_MODEL
    )
    tell_uninformative(tags_there)
    logger.info("parsing %s", count(len(text), "sentence"))
    blocks = list(to_correct(parser, text, arguments.number, covered=before, labels=labels))
    with files.atomic_writer(arguments.output) as handle:
        handle.writelines(blocks)
    tell_unknown(parser.unknown_tags, set())
    logger.info("%s of %s chosen", len(blocks), count(len(text), "sentence"))
    if len(blocks) < arguments.number:
        asked = count(arguments.number, "sentence")
        logger.warning(
            "there were no more of %d to %d words: %s asked for",
            SHORTEST_SENTENCE,
            LONGEST_SENTENCE,
            asked,
        )


def _sentences(names: Sequence[str], tags: str) -> list[Sentence]:
    """The sentences of files, without heads."""
    sentences: list[Sentence] = []
    for name in names:
        sentences += reading.read(name, heads="ignored", tags=tags)
    return sentences


def _list_words(names: Sequence[str], arguments: argparse.Namespace) -> None:
    file_checks.check_read_once(names)
    from dynet_vdgi.parser.doubts import doubts

    read = chain.from_iterable(
        enumerate(reading.read(name, tags=reading.KNOWN), 1) for name in names
    )
    print_places(doubts(read, arguments.number, only_heads=arguments.heads), arguments.json)
