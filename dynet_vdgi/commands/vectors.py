"""Learn word vectors from text.

TEXT is plain text (one sentence per line, words separated by spaces) or CoNLL-U (a name in .conllu); either
may be gzipped (.gz). Writes FastText vectors in word2vec's text format, for the setting words.vectors of
`vdgi train`. The same text and seed give the same file.

  vdgi vectors my.txt -o my.vec
  vdgi vectors 'xx-ud-train*.conllu' more.txt.gz -o xx.vec.gz --dim 100
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import Counter
from collections.abc import Sequence

from dynet_vdgi.commands import check_at_least_1
from dynet_vdgi.data import file_checks, files, text
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system import progress
from dynet_vdgi.system.limits import limit
from dynet_vdgi.system.names import count

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="text to learn from; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="output file, .vec or .vec.gz")
    parser.add_argument("--dim", type=int, default=300, metavar="N", help="dimensions (default: 300)")
    parser.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="passes over the text (default: from 50 for small texts to 5 for large ones)",
    )
    parser.add_argument(
        "--min-count",
        type=int,
        default=2,
        metavar="N",
        help="ignore words that occur less often (default: 2)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed (default: 1)")
    parser.add_argument("--keep-case", action="store_true", help="do not lower-case the words")


def run(arguments: argparse.Namespace) -> None:
    for option, value in (
        ("--dim", arguments.dim),
        ("--epochs", arguments.epochs),
        ("--min-count", arguments.min_count),
    ):
        if value is not None:
            check_at_least_1(option, value)
    if 4 * arguments.dim > limit("line"):  # no reader takes longer vectors
        raise UsageError(f"--dim {arguments.dim}: must be at most {limit('line') // 4}")
    if not 0 <= arguments.seed < 2**32:
        raise UsageError(f"--seed {arguments.seed}: must be from 0 to {2**32 - 1}")
    names = files.expand(arguments.texts)
    file_checks.check_output(arguments.output, names, ending=".vec")
    learn(
        names,
        arguments.output,
        dim=arguments.dim,
        epochs=arguments.epochs,
        min_count=arguments.min_count,
        seed=arguments.seed,
        lowercase=not arguments.keep_case,
    )


def learn(
    names: Sequence[str],
    output: str,
    *,
    dim: int = 300,
    epochs: int | None = None,
    min_count: int = 2,
    seed: int = 1,
    lowercase: bool = True,
) -> None:
    """Learns vectors from the texts and writes them; `output` is replaced only at the end.

    Without `epochs`, `embeddings.usual_epochs` gives the number of passes over the text.

    Raises: DataError, a text is malformed, or there is no word in the texts; UsageError, no word occurs at
    least `min_count` times, or the output cannot be written.
    """
    from dynet_vdgi.data import embeddings

    start = time.perf_counter()
    with files.atomic_writer(output) as handle:
        sentences = list(text.sentences(names, lowercase=lowercase))
        counts = Counter(word for sentence in sentences for word in sentence)
        if not counts:
            raise DataError(", ".join(map(files.shown, names)), None, "there are no words to learn from")
        if max(counts.values()) < min_count:
            raise UsageError(f"--min-count {min_count}: no word of the text occurs that often")
        n_words = sum(counts.values())
        epochs = epochs or embeddings.usual_epochs(n_words)
        logger.info(
            "text: %s, %s, %s; %s",
            count(len(sentences), "sentence"),
            count(n_words, "word"),
            count(len(counts), "different one"),
            count(epochs, "pass", "passes"),
        )
        with progress.Bar("epochs", epochs) as bar:
            vectors = embeddings.train(
                sentences, dim=dim, epochs=epochs, min_count=min_count, seed=seed, after_epoch=bar.update
            )
        n_written = embeddings.write(vectors, handle)
    elapsed = time.perf_counter() - start
    size = f"{count(n_written, 'word')}, {count(dim, 'dimension')}"
    logger.info("vectors: %s, %.1f s, %s", size, elapsed, output)
