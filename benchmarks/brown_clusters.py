"""Quality and speed of the Brown clusters, compared with another program's.

    python benchmarks/brown_clusters.py fr_train.txt --keep-case [-c 128] [--reference fr_cluster]

The text, plain or CoNLL-U, is read and clustered as by `vdgi clusters`. Prints the mutual information of the
clusters of adjacent words, which clustering should preserve, also for the reference, a `paths` file. Tokens
are words with a cluster; the other words of the text count as one more cluster. One core, CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import measuring

from dynet_vdgi.data import brown, text
from dynet_vdgi.data.brown import Clusters


def row(name: str, sentences: Sequence[Sequence[str]], clusters: Clusters, seconds: str) -> list[str]:
    """One line of the table."""
    n_tokens = sum(word in clusters.paths for sentence in sentences for word in sentence)
    information = brown.mutual_information(sentences, clusters)
    sizes = [f"{n:,}" for n in (len(clusters), n_tokens, clusters.n_clusters)]
    return [name, *sizes, f"{information:.4f}", seconds]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text")
    parser.add_argument("-c", "--clusters", type=int, default=128)
    parser.add_argument("--keep-case", action="store_true")
    parser.add_argument("--reference", metavar="PATHS", help="clusters of the same text to compare with")
    arguments = parser.parse_args()
    measured = measuring.conditions()
    sentences = list(text.sentences([arguments.text], lowercase=not arguments.keep_case))
    start = time.process_time()
    clusters = brown.induce(sentences, arguments.clusters)
    rows = [row("dynet_vdgi", sentences, clusters, f"{time.process_time() - start:.1f}")]
    if arguments.reference:
        name = Path(arguments.reference).name
        rows.append(row(name, sentences, brown.read(arguments.reference), "-"))
    measuring.print_conditions(measured)
    n_tokens = sum(map(len, sentences))
    title = f"{Path(arguments.text).name}: {len(sentences):,} sentences, {n_tokens:,} tokens"
    header = ["clusters of", "types", "tokens", "clusters", "mutual information (nats)", "CPU s"]
    measuring.print_table(title, header, rows)


if __name__ == "__main__":
    main()
