"""Writes the features that words of a tag have most often in the treebanks of the universal parser.

python experiments/feature_bundles.py --data DIR --out resources/tagging/feature_bundles.txt

The page offers them where a file says nothing yet. DIR is as of universal.py; treebanks with
NonCommercial or GPL licences are left out. Each treebank counts the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path

from measuring import argument_parser, conditions, csv_rows
from universal import TREEBANKS, files_of, is_free

from dynet_vdgi.conllu import reading

MOST_BUNDLES, FEWEST_BRANCHES = 20, 3
"""Bundles of a tag, and branches of languages that have each of them."""


def main() -> None:
    """Counts, and writes the file."""
    parser = argument_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--treebanks", type=Path, default=TREEBANKS, help="list of files, branches and licences"
    )
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    shares: defaultdict[str, Counter[str]] = defaultdict(Counter)
    branches: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in filter(is_free, csv_rows(arguments.treebanks)):
        sentences = chain.from_iterable(
            reading.read(path) for path in files_of(arguments.data, row["files"])
        )
        counts = Counter(
            pair for one in sentences for pair in zip(one.tags, one.feats) if pair[1] != "_"
        )
        for (tag, bundle), count in counts.items():
            shares[tag][bundle] += count / counts.total()
            branches[tag, bundle].add(row["branch"])
    rows = []
    for tag, of_tag in sorted(shares.items()):
        frequent = [
            bundle
            for bundle, _ in of_tag.most_common()
            if len(branches[tag, bundle]) >= FEWEST_BRANCHES
        ]
        rows += [f"{tag} {bundle}\n" for bundle in frequent[:MOST_BUNDLES]]
    head = (
        "# Features that words of a tag have most often in other languages "
        "(experiments/feature_bundles.py).\n"
    )
    arguments.out.write_text(head + "".join(rows), encoding="utf-8")
    print(f"{conditions()}\n{len(rows)} bundles of {len(shares)} tags")


if __name__ == "__main__":
    main()
