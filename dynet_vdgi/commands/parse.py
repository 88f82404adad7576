"""Parse CoNLL-U files with a trained model.

Fills HEAD and DEPREL (root or dep) and keeps every other byte: comments, multiword tokens, empty nodes, MISC.
Heads in the input are not needed; if there are any they must be trees, and are replaced. An output is written
only if all of its input is sound. A parser of several languages says when it was not trained on that of the
input, which --language names, or else a file name in UD's manner, such as fr_gsd-ud-test.conllu: French.

  vdgi parse runs/my/model.vdgi new.conllu -o new.parsed.conllu
  zcat raw.conllu.gz | vdgi parse runs/my/model.vdgi - > parsed.conllu
  vdgi parse runs/my/model.vdgi a.conllu b.conllu -o '{}.vdgi.conllu'

With --scheduler, the workers of a Dask cluster parse. They are sent the model and the text and need no files,
but they and the scheduler need this version of dynet_vdgi. For each of their threads two pieces of the text,
of a megabyte or two, are on the way; memory does not grow with the text. A worker that dies loses nothing.

  dask scheduler --port 8786 &  dask worker tcp://HOST:8786 --nthreads 1 --nworkers 8 &
  vdgi parse runs/my/model.vdgi large.conllu.gz -o large.parsed.conllu --scheduler tcp://HOST:8786
"""

from __future__ import annotations

import argparse
import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi.data import files
from dynet_vdgi.errors import UsageError

if TYPE_CHECKING:
    pass

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
    parser.add_argument(
        "--probs", action="store_true", help="write HeadProb= into MISC: the head's share of sampled trees"
    )
    parser.add_argument(
        "--mbr", action="store_true", help="the tree of the most probable heads; implies --probs"
    )
    parser.add_argument(
        "--nbest",
        type=int,
        default=0,
        metavar="N",
        help="the N most probable trees, a block each; implies --probs",
    )
    parser.add_argument(
        "--samples", type=int, default=100, metavar="N", help="trees drawn for the above (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the samples (default: 1)")
    parser.add_argument("--language", metavar="LABEL", help="the input's language; changes no tree")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, whose workers parse")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi parse`."""
    names = files.expand(arguments.files)
    if "{}" not in arguments.output:
        outputs = [(names, arguments.output)]
    else:
        if "-" in names:
            raise UsageError("{} in --output stands for the name of a file; standard input has none")
        outputs = [([name], arguments.output.replace("{}", files.without_ending(name))) for name in names]
        for output, times in Counter(output for _, output in outputs).items():
            if times > 1:
                raise UsageError(f"--output {arguments.output}: {times} inputs would be written to {output}")
    if arguments.jobs < 1:
        raise UsageError(f"--jobs {arguments.jobs}: at least 1")
    if arguments.jobs > 1 and arguments.scheduler:
        raise UsageError("--jobs parses on this machine, --scheduler on a cluster: take one of them")
    if arguments.samples < 1 or arguments.nbest < 0:
        raise UsageError("--samples and --nbest take whole numbers from 1 upwards")
    if arguments.nbest and arguments.mbr:
        raise UsageError("--nbest and --mbr choose trees in two ways: take one of them")
    from dynet_vdgi.parsing.files import parse_files
    from dynet_vdgi.parsing.parser import Sampling
    from dynet_vdgi.parsing.stream import Stream

    sampling = None
    if arguments.probs or arguments.mbr or arguments.nbest:
        sampling = Sampling(arguments.samples, arguments.seed, arguments.mbr, arguments.nbest)
    with Stream(arguments.model, arguments.jobs, sampling, arguments.scheduler) as stream:
        _say_what_is_unseen(stream.languages, names, arguments.language)
        for inputs, output in outputs:
            parse_files(stream, inputs, output)
    for tag, count in stream.unknown_tags.items():
        logger.warning(
            "tag %s (%d words) is unknown to the model: those words are parsed blindly", tag, count
        )


def _say_what_is_unseen(known: Sequence[str], names: Iterable[str], label: str | None) -> None:
    """Warns of languages of the input that a model of the `known` ones was not trained on."""
    if label and not known:
        logger.warning("the model file does not say which languages it was trained on")
    found = [_UD_NAME.fullmatch(Path(name).name) for name in names]
    labels = [label] if label else [match[1] for match in found if match]
    for language in dict.fromkeys(labels if known else ()):
        if _without_treebank(language) not in map(_without_treebank, known):
            logger.warning(
                "the model was not trained on '%s' (it knows: %s): zero-shot", language, ", ".join(known)
            )


_UD_NAME = re.compile(r"([a-z]{2,3})(?:_[a-z0-9]+)*-ud-.*\.conllu(?:\.gz)?")
"""A file of a UD treebank: the code of the language, then perhaps the name of the treebank."""


def _without_treebank(label: str) -> str:
    """The language of a label: `fr` of `fr_gsd`."""
    return label.partition("_")[0]
