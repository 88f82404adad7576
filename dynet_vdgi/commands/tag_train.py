"""Learn a tagger from tagged sentences, from text without tags, and from a list of words.

TAGGED is CoNLL-U with UPOS, and with FEATS, XPOS and lemmas if the tagger is to learn them; words whose
UPOS is _ count as text. The more text without tags, the better: it shows how untagged words are used.

A list of words with their usual tag, as `vdgi tag list` writes it to be filled in, helps few tagged sentences
and can replace them. A line has form, UPOS and FEATS with tabs between them, _ where they are unknown.
Punctuation and numbers need not be listed. A tagger that exists is replaced only with --overwrite.

  vdgi tag train tagged.conllu --text more.conllu -o my.tagger
  vdgi tag train --text more.conllu --tag-list words.tsv -o my.tagger
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import Counter

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi tag train`."""
    parser.add_argument("tagged", nargs="*", metavar="TAGGED", help="CoNLL-U; - is standard input")
    parser.add_argument("--text", nargs="+", default=[], metavar="FILE", help="CoNLL-U, tags do not matter")
    parser.add_argument("--tag-list", metavar="FILE", help="words with their usual tag")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the tagger")
    parser.add_argument("--overwrite", action="store_true", help="replace a tagger that exists")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi tag train`."""
    from dynet_vdgi.data import file_checks, files
    from dynet_vdgi.data.copies import superseded
    from dynet_vdgi.data.corpus import read
    from dynet_vdgi.errors import UsageError
    from dynet_vdgi.grammar.tag_warnings import in_lower_case
    from dynet_vdgi.system.names import count
    from dynet_vdgi.tagging.tagger import Tagger

    tagged, text = files.expand(arguments.tagged), files.expand(arguments.text)
    listing = [arguments.tag_list] if arguments.tag_list else []
    if not tagged and not (listing and text):
        raise UsageError("nothing to learn from: give TAGGED files, or --tag-list with --text")
    file_checks.check_output(arguments.output, [*tagged, *text, *listing], ending=".tagger")
    file_checks.check_new(arguments.output, overwrite=arguments.overwrite)
    start = time.process_time()
    groups, raw_groups = (
        [list(read(path, heads="ignored", tags="known")) for path in paths] for paths in (tagged, text)
    )
    sentences = [each for group in superseded(groups, lambda sentence: sentence.forms) for each in group]
    raw = [each for group in raw_groups for each in group]
    if lines := in_lower_case(Counter(tag for each in sentences for tag in each.tags)):
        logger.warning("%s", lines)
    tagger = Tagger().fit(sentences, raw, tag_list=arguments.tag_list)
    tagger.save(arguments.output)
    n_raw = sum(map(len, [*sentences, *raw])) - tagger.n_words
    numbers = count(tagger.n_words, "word"), count(n_raw, "word")
    logger.info("%s with tags, %s without (%.1f CPU seconds)", *numbers, time.process_time() - start)
    logger.info("%s", tagger.told)
