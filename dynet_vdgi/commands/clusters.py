"""Make word clusters from text, for lexicalised models.

Brown clustering: words with similar neighbours share a cluster. TEXT is plain text (one sentence
per line, words separated by spaces) or CoNLL-U (a name in .conllu), whose punctuation is left out;
either may be gzipped (.gz). The output has the usual format of Brown clusters, one line per word:
bit string of the cluster, word, count.

  vdgi clusters my.conllu -o my.paths
  vdgi clusters 'news-*.txt.gz' xx-ud-train.conllu -c 256 -o xx.paths
"""

from __future__ import annotations

import argparse
import logging
import time
from functools import partial

from dynet_vdgi.commands import add_ignore_feats
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu import corpus
from dynet_vdgi.errors import DataError
from dynet_vdgi.system import file_checks, files, progress

logger = logging.getLogger("dynet_vdgi")


def add_arguments(add: Options) -> None:
    add("TEXT...", "text or CoNLL-U; - is standard input", dest="texts")
    add("-c --clusters N", "number of clusters", default=128, least=1)
    add("-o --output FILE", "output file; - is standard output", required=True)
    add("--keep-case", "do not lower-case the words")
    add_ignore_feats(add)


def run(arguments: argparse.Namespace) -> None:
    names, asked = files.expand(arguments.texts), arguments.clusters
    file_checks.check_output(arguments.output, names, ending=".paths")
    from dynet_vdgi.lexicon import brown_clusters

    start = time.perf_counter()
    with files.atomic_writer(arguments.output) as handle:
        sentences = list(corpus.words_in(names, lowercase=not arguments.keep_case))
        if not sentences:
            where = ", ".join(map(files.shown, names))
            raise DataError(where, None, "no words", "there is nothing to cluster")
        clusters = brown_clusters.induce(sentences, asked, partial(progress.over, unit="types"))
        handle.writelines(brown_clusters.lines(clusters))
    if clusters.n_clusters < asked:
        logger.warning("the text has fewer than %d word types: each becomes its own cluster", asked)
    logger.info(
        "%d types in %d clusters, %.1f s",
        len(clusters),
        clusters.n_clusters,
        time.perf_counter() - start,
    )
