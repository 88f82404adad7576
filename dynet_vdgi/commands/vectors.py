"""Learn word vectors from text.

TEXT is plain text (one sentence per line, words separated by spaces) or CoNLL-U (a name in .conllu); either
may be gzipped (.gz). Writes FastText vectors in word2vec's text format, for the setting words.vectors of
`vdgi train`. The same text and seed give the same file.

  vdgi vectors my.txt -o my.vec
  vdgi vectors 'xx-ud-train*.conllu' more.txt.gz -o xx.vec.gz --dim 100
"""

import argparse
import logging
import time
from collections import Counter

from dynet_vdgi.commands import Options
from dynet_vdgi.data import corpus, files
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system import progress
from dynet_vdgi.system.names import count, limit

logger = logging.getLogger("dynet_vdgi")


def add_arguments(add: Options) -> None:
    add("TEXT...", "text to learn from; - is standard input", dest="texts")
    add("-o --output FILE", "output file, .vec or .vec.gz", required=True)
    add("--dim N", "dimensions", default=300, least=1)
    add("--epochs N", "passes over the text (default: from 50 for small texts to 5 for large ones)", least=1)
    add("--min-count N", "ignore words that occur less often", default=2, least=1)
    add("--seed N", "seed", default=1, least=0, most=2**32 - 1)
    add("--keep-case", "do not lower-case the words")


def run(arguments: argparse.Namespace) -> None:
    dim, least, output = arguments.dim, arguments.min_count, arguments.output
    if 4 * dim > limit("line"):  # no reader takes longer vectors
        raise UsageError(f"--dim {dim}: must be at most {limit('line') // 4}")
    names = files.expand(arguments.texts)
    files.check_output(output, names, ending=".vec")
    from dynet_vdgi.data import embeddings

    start = time.perf_counter()
    with files.atomic_writer(output) as handle:
        sentences = list(corpus.words_in(names, lowercase=not arguments.keep_case))
        counts = Counter(word for sentence in sentences for word in sentence)
        if not counts:
            raise DataError(", ".join(map(files.shown, names)), None, "there are no words to learn from")
        if max(counts.values()) < least:
            raise UsageError(f"--min-count {least}: no word of the text occurs that often")
        n_words = sum(counts.values())
        epochs = arguments.epochs or embeddings.usual_epochs(n_words)
        logger.info(
            "text: %s, %s, %s; %s",
            count(len(sentences), "sentence"),
            count(n_words, "word"),
            count(len(counts), "different one"),
            count(epochs, "pass", "passes"),
        )
        with progress.Bar("epochs", epochs) as bar:
            vectors = embeddings.train(
                sentences, dim=dim, epochs=epochs, min_count=least, seed=arguments.seed, after_epoch=bar.update
            )
        n_written = embeddings.write(vectors, handle)
    elapsed = time.perf_counter() - start
    size = f"{count(n_written, 'word')}, {count(dim, 'dimension')}"
    logger.info("vectors: %s, %.1f s, %s", size, elapsed, output)
