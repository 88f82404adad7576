"""Parse CoNLL-U files with a trained model.

Fills HEAD and DEPREL (root or dep) and keeps every other byte: comments, multiword tokens, empty nodes, MISC.
Heads in the input are not needed and not used. Nothing is written unless all of the input is sound.

  vdgi parse runs/my/model.vdgi new.conllu -o new.parsed.conllu
  zcat raw.conllu.gz | vdgi parse runs/my/model.vdgi - > parsed.conllu
  vdgi parse runs/my/model.vdgi a.conllu b.conllu -o '{}.vdgi.conllu'
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynet_vdgi.data import conllu, files
from dynet_vdgi.errors import UsageError

if TYPE_CHECKING:
    from dynet_vdgi.parsing.parser import Parser

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi parse`."""
    parser.add_argument("model", metavar="MODEL", help="model file that vdgi train wrote")
    parser.add_argument(
        "files", nargs="*", default=["-"], metavar="FILE", help="CoNLL-U; - is standard input (default)"
    )
    parser.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="where to write; with {} in it, one output a file, {} being the input's name without .conllu",
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi parse`."""
    names = files.expand(arguments.files)
    if "{}" not in arguments.output:
        outputs = [(names, arguments.output)]
    else:
        if "-" in names:
            raise UsageError("{} in --output stands for the name of a file; standard input has none")
        outputs = [
            ([name], arguments.output.replace("{}", re.sub(r"\.conllu(\.gz)?$", "", name))) for name in names
        ]
    from dynet_vdgi.parsing.parser import load

    parser = load(arguments.model)
    for inputs, output in outputs:
        parse_files(parser, inputs, output)
    for tag, count in parser.unknown_tags.items():
        logger.warning(
            "tag %s (%d words) is unknown to the model: those words are parsed blindly", tag, count
        )


def parse_files(parser: Parser, names: Sequence[str], output: str) -> None:
    """Parses files one after the other into one output, a sentence at a time.

    Raises:
        DataError: an input is malformed; the output is then as it was.
    """
    from tqdm import tqdm

    cpu, n_sentences, n_words = time.process_time(), 0, 0
    with (
        files.atomic_writer(output) as handle,
        tqdm(
            unit=" sentences",
            disable=not sys.stderr.isatty() or not logger.isEnabledFor(logging.INFO),
            leave=False,
        ) as progress,
    ):
        for name in names:
            for sentence in conllu.read(name):
                handle.write(conllu.render(sentence, parser.parse(sentence.forms, sentence.tags)))
                n_sentences, n_words = n_sentences + 1, n_words + len(sentence)
                progress.update()
    cpu = time.process_time() - cpu
    logger.info(
        "%d sentences, %d words parsed in %.1f CPU s (%.0f words/CPU-s)",
        n_sentences,
        n_words,
        cpu,
        n_words / cpu,
    )
