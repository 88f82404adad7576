"""Tag the words of a file; `words` may be left out.

Everything else in the file stays as it is. With --confidence, the words that were tagged get TagConf= in
MISC, the probability of their UPOS: vdgi doubts lists the least sure ones, and vdgi parse and vdgi expect
take into account that some tags are wrong. Without it they take all tags as right.

  vdgi tag my.tagger new.conllu -o new.tagged.conllu
  vdgi tag runs/my new.conllu --retag --confidence > new.tagged.conllu
"""

from __future__ import annotations

import argparse
import logging

from dynet_vdgi.commands import add_output, model_first

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi tag words`."""
    parser.add_argument(
        "model", metavar="MODEL", help="a tagger, made by vdgi tag train, or a run that keeps one"
    )
    parser.add_argument("file", metavar="FILE", help="CoNLL-U; - is standard input")
    parser.add_argument("--retag", action="store_true", help="replace the tags that there are")
    parser.add_argument("--confidence", action="store_true", help="write TagConf= into MISC")
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi tag words`."""
    from dynet_vdgi.data import file_checks, files
    from dynet_vdgi.data.conllu_writing import unchanged
    from dynet_vdgi.parsing.steps import loaded
    from dynet_vdgi.runs.run_folder import model_path
    from dynet_vdgi.system.names import count

    model_first(arguments.model, [arguments.file], "vdgi tag my.tagger")
    file_checks.check_output(arguments.output, [arguments.file, model_path(arguments.model)])
    tagger = loaded("tagger", arguments.model)
    n_words = n_given = 0
    with files.atomic_writer(arguments.output) as handle:
        for tagged in tagger.stream(arguments.file, retag=arguments.retag):
            n_words += len(tagged.sentence)
            n_given += tagged.n_given
            handle.write(unchanged(tagged.noted if arguments.confidence else tagged.sentence))
    kept = f", {n_given} had tags and kept them (--retag replaces them)" if n_given else ""
    logger.info("%s%s", count(n_words, "word"), kept)
