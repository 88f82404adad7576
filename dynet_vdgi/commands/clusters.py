"""Make word clusters from text, for lexicalised models.

Brown clustering: words with similar neighbours share a cluster. TEXT is plain text (one sentence per line,
words separated by spaces) or CoNLL-U (a name in .conllu), whose punctuation is left out; either may be
gzipped (.gz). The output has the usual format of Brown clusters, one line per word: bit string of the
cluster, word, count.

  vdgi clusters my.conllu -o my.paths
  vdgi clusters 'news-*.txt.gz' xx-ud-train.conllu -c 256 -o xx.paths
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from functools import partial

from dynet_vdgi.commands import check_at_least_1
from dynet_vdgi.data import file_checks, files
from dynet_vdgi.errors import DataError
from dynet_vdgi.system import progress

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="text or CoNLL-U; - is standard input")
    parser.add_argument(
        "-c",
        "--clusters",
        type=int,
        default=128,
        metavar="N",
        help="number of clusters (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="output file; - is standard output"
    )
    parser.add_argument("--keep-case", action="store_true", help="do not lower-case the words")


def run(arguments: argparse.Namespace) -> None:
    names = files.expand(arguments.texts)
    check_at_least_1("-c", arguments.clusters)
    file_checks.check_output(arguments.output, names, ending=".paths")
    cluster(names, arguments.output, arguments.clusters, lowercase=not arguments.keep_case)


def cluster(names: Sequence[str], output: str, n_clusters: int, *, lowercase: bool = True) -> None:
    """Clusters the words of some texts and writes them to `output`.

    Raises:
        DataError: a text is malformed, or no text has words; the output is then unchanged.
        UsageError: the output cannot be written.
    """
    from dynet_vdgi.data import brown, text

    start = time.perf_counter()
    with files.atomic_writer(output) as handle:
        sentences = list(text.sentences(names, lowercase=lowercase))
        if not sentences:
            raise DataError(
                ", ".join(map(files.shown, names)), None, "no words", "there is nothing to cluster"
            )
        clusters = brown.induce(sentences, n_clusters, partial(progress.over, unit="types"))
        handle.writelines(brown.lines(clusters))
    if clusters.n_clusters < n_clusters:
        logger.warning("the text has fewer than %d word types: each becomes its own cluster", n_clusters)
    logger.info(
        "%d types in %d clusters, bigram mutual information %.4f nats, %.1f s",
        len(clusters),
        clusters.n_clusters,
        brown.mutual_information(sentences, clusters),
        time.perf_counter() - start,
    )
