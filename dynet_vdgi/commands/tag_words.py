"""Tag the words of a file; `words` may be left out.

Everything else in the file stays as it is. With --confidence, MISC gets TagConf=, the probability of UPOS.

  vdgi tag my.tagger new.conllu -o new.tagged.conllu
  vdgi tag my.tagger new.conllu --retag --confidence > new.tagged.conllu
"""

from __future__ import annotations

import argparse
import logging

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi tag words`."""
    parser.add_argument("model", metavar="MODEL", help="a tagger, made by `vdgi tag train`")
    parser.add_argument("file", metavar="FILE", help="CoNLL-U; - is standard input")
    parser.add_argument("--retag", action="store_true", help="replace the tags that there are")
    parser.add_argument("--confidence", action="store_true", help="write TagConf= into MISC")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="output file (default: standard output)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi tag words`."""
    from dynet_vdgi.data import file_checks, files
    from dynet_vdgi.data.conllu_writing import unchanged, with_notes
    from dynet_vdgi.system.names import count
    from dynet_vdgi.tagging.tagger import Tagger

    file_checks.check_output(arguments.output, [arguments.file, arguments.model])
    tagger = Tagger.load(arguments.model)
    n_words = n_given = 0
    with files.atomic_writer(arguments.output) as handle:
        for sentence, chances, given in tagger.stream(arguments.file, retag=arguments.retag):
            n_words += len(sentence)
            n_given += given
            if arguments.confidence:
                sentence = with_notes(sentence, misc=[f"TagConf={chance:.3f}" for chance in chances])
            handle.write(unchanged(sentence))
    kept = f", {n_given} had tags and kept them (--retag replaces them)" if n_given else ""
    logger.info("%s%s", count(n_words, "word"), kept)
