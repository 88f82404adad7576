"""Learn a tagger from tagged sentences, and from text without tags.

TAGGED is CoNLL-U with UPOS, and with FEATS, XPOS and lemmas if the tagger is to learn them; words whose
UPOS is _ count as text. The more text without tags, the better: it shows how untagged words are used.

  vdgi tag train tagged.conllu --text more.conllu -o my.tagger
"""

from __future__ import annotations

import argparse
import logging
import time

logger = logging.getLogger("dynet_vdgi")

ENOUGH = 0.9
"""UPOS accuracy below which correcting tags helps a parser more than correcting trees."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi tag train`."""
    parser.add_argument("tagged", nargs="+", metavar="TAGGED", help="CoNLL-U; - is standard input")
    parser.add_argument("--text", nargs="+", default=[], metavar="FILE", help="CoNLL-U, tags do not matter")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the tagger")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi tag train`."""
    from dynet_vdgi.data import file_checks, files
    from dynet_vdgi.data.corpus import read
    from dynet_vdgi.system.names import count
    from dynet_vdgi.tagging.tagger import Tagger

    tagged, text = files.expand(arguments.tagged), files.expand(arguments.text)
    file_checks.check_output(arguments.output, [*tagged, *text])
    start = time.process_time()
    sentences, raw = (
        [each for path in paths for each in read(path, heads="ignored", tags="known")]
        for paths in (tagged, text)
    )
    tagger = Tagger().fit(sentences, raw)
    tagger.save(arguments.output)
    n_raw = sum(map(len, [*sentences, *raw])) - tagger.n_words
    logger.info(
        "%s with tags, %s without; learning from other sentences finds %.1f %% of UPOS (%.1f CPU seconds)",
        count(tagger.n_words, "word"),
        count(n_raw, "word"),
        100 * tagger.accuracy,
        time.process_time() - start,
    )
    if tagger.accuracy < ENOUGH:
        logger.info("below 90 %, a parser gains more from corrected tags than from corrected trees")
