"""Choose the sentences of a text that are worth correcting next.

Prefers sentences whose pairs of neighbouring tags are frequent in the text, not yet in chosen or corrected
sentences, and uncertain for the parser. Writes the best sentence first, each with the model's tree, its
relations, and HeadConf= in MISC: how probable each head is to be right, from 0 to 1. Correct HEAD and
DEPREL, train with --trees, and choose again with the better model: ten or twenty sentences at a time are
more useful than many at once. From the second time on, name all files that you have corrected with
--covered, or the same sentences may come again.

By the comment `# guess = ...` vdgi train tells the trees that nobody has changed; it refuses them if there
are no others. Remove the comment from a tree that was right. A file that exists, which may have your
corrections, is replaced only with --overwrite. Chooses only sentences of 4 to 25 words, not counting
punctuation.

  vdgi choose runs/my my.conllu -n 20 -o to-correct-1.conllu
  vdgi train --train my.conllu --trees corrected-1.conllu --out runs/my2
  vdgi choose runs/my2 my.conllu -n 20 --covered corrected-1.conllu -o to-correct-2.conllu
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter

from dynet_vdgi.commands import add_output, check_at_least_1, model_first
from dynet_vdgi.data import conllu, file_checks, files
from dynet_vdgi.system.names import count

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file, or the folder of a run")
    parser.add_argument("text", nargs="+", metavar="TEXT", help="CoNLL-U; its heads are ignored")
    parser.add_argument(
        "-n", "--number", type=int, default=20, metavar="N", help="sentences (default: %(default)s)"
    )
    add_output(parser, "is kept, unless you say --overwrite")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a file that exists, with its corrections"
    )
    parser.add_argument(
        "--covered",
        nargs="+",
        default=[],
        metavar="FILE",
        help="CoNLL-U of corrected sentences: not chosen again, and sentences of similar tags come later",
    )
    parser.add_argument(
        "--labels",
        default="ud2",
        metavar="TABLE",
        help="relations, as in vdgi parse: a table of labels, or none (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> None:
    model_first(arguments.model, arguments.text, "vdgi choose universal")
    names, covered = files.expand(arguments.text), files.expand(arguments.covered)
    file_checks.check_read_once([*names, *covered])
    check_at_least_1("-n", arguments.number)
    from dynet_vdgi.grammar.tag_warnings import TO_A_MODEL, check_known, tell_unknown
    from dynet_vdgi.labels.label_table import named_table
    from dynet_vdgi.parsing.next_sentences import to_correct
    from dynet_vdgi.parsing.parser import load
    from dynet_vdgi.parsing.worth import LONGEST, SHORTEST
    from dynet_vdgi.runs.run_folder import model_path

    model = model_path(arguments.model)
    file_checks.check_output(arguments.output, [*names, *covered, model])
    file_checks.check_new(arguments.output, overwrite=arguments.overwrite)
    labels, parser = named_table(arguments.labels), load(model)
    tags = parser.model.settings.data.tags
    text = [sentence for name in names for sentence in conllu.read(name, heads="ignored", tags=tags)]
    before = [sentence for name in covered for sentence in conllu.read(name, heads="ignored", tags=tags)]
    found = Counter(tag for sentence in text for tag in sentence.tags)
    check_known(found, parser.model.vocabulary.tags, ", ".join(map(files.shown, names)), TO_A_MODEL)
    logger.info("parsing %s", count(len(text), "sentence"))
    blocks = list(to_correct(parser, text, arguments.number, covered=before, labels=labels))
    with files.atomic_writer(arguments.output) as handle:
        handle.writelines(blocks)
    tell_unknown(parser.unknown_tags, set())
    logger.info("%s of %s chosen", len(blocks), count(len(text), "sentence"))
    if len(blocks) < arguments.number:
        asked = count(arguments.number, "sentence")
        logger.warning("there were no more of %d to %d words: %s asked for", SHORTEST, LONGEST, asked)
