"""Heads where tags are guessed: words given, k tagged sentences, no tree of the language.

    python experiments/guessed_tags.py G1.npz=fr,wo,vi G2.npz=eu,de,cop G3.npz=et,ta,bg,ko \\
        --data DIR --scored test --retaggers R1=fr,wo,vi R2=eu,de,cop R3=et,ta,bg,ko --out rows.csv

Of each text, shuffled by random.Random(1), the first k sentences are tagged and the next ones, as
many as --raw says, are raw. The first sentences of the scored file, as many as --most says, have
words without tags. The networks of experiments/universal.py have seen no tree of the branch of the
languages that each parses; they measure the tagged sentences and those to parse. `gold`: tags and
FEATS of the file. `hard`: the best tags of the tagger's random fields. `soft`: their probabilities
as well. `retagged`: what the tagger says after a retagger of experiments/retagger.py, which has
seen no treebank of the branch either; by default the shipped one. UAS and LAS (relations before
the colon) are of words that are no PUNCT, in sentences of up to 40 words, and so is UPOS; `both`:
UPOS and FEATS.
"""

from __future__ import annotations

import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from languages import by_language, file_list_parser, listed
from measuring import conditions, csv_rows, write_csv
from raw_text import bare
from universal import load as load_network

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.parser.parser import Parser
from dynet_vdgi.training.universal import pack
from dynet_vdgi.words.tagger import retagger
from dynet_vdgi.words.tagger.tagger import Tagger

HEADER = ("language", "tagged", "system", "uas", "las", "upos", "both", "words", "cpu_s")
SYSTEMS = ("gold", "hard", "soft", "retagged")
SHIPPED = retagger.FILE


def scores(gold: list[Sentence], parsed: list[Sentence]) -> list[float]:
    """UAS, LAS, UPOS and UPOS with FEATS in per cent, and the number of words."""
    right, n = [0, 0, 0, 0], 0
    for one, other in zip(gold, parsed):
        nothing = ("_",) * len(one)
        is_scored = [tag != "PUNCT" for tag in one.tags]
        if sum(is_scored) > 40:
            continue
        columns = [
            zip(s.heads, s.deprels, s.tags, s.feats or nothing)
            for s in (one, replace(other, deprels=other.deprels or nothing))
        ]
        for keep, (h, r, t, f), (head, relation, tag, feats) in zip(is_scored, *columns):
            if keep:
                n += 1
                same = r.partition(":")[0] == relation.partition(":")[0]
                for k, hit in enumerate(
                    (h == head, h == head and same, t == tag, t == tag and f == feats)
                ):
                    right[k] += hit
    return [*(100 * hits / max(1, n) for hits in right), n]


def main() -> None:
    """Measures, and prints the means."""
    parser = file_list_parser(__doc__)
    parser.add_argument("networks", nargs="+", metavar="FILE.npz=CODE,CODE,...")
    parser.add_argument("--retaggers", nargs="*", default=[], metavar="FILE=CODE,CODE,...")
    parser.add_argument("--tagged", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--raw", type=int, default=400)
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument(
        "--out", type=Path, required=True, help="rows, as CSV; those there are not made again"
    )
    arguments = parser.parse_args()
    at_start = conditions()
    rows = list(csv_rows(arguments.out))
    networks, retaggers = by_language(arguments.networks), by_language(arguments.retaggers)
    done = {(row["language"], row["tagged"], row["system"]) for row in rows}
    arguments.languages = arguments.languages or list(networks)
    for files in listed(arguments):
        universal = Parser(pack(load_network(Path(networks[files.name])), {}))
        text = [s for path in files.text for s in reading.read(path, heads="ignored")]
        random.Random(1).shuffle(text)
        test = [s for path in files.scored for s in reading.read(path, heads="required")][
            : arguments.most
        ]
        for k in arguments.tagged:
            if all((files.name, str(k), system) in done for system in arguments.systems):
                continue
            tagger = Tagger().fit(text[:k], [bare(s) for s in text[k : k + arguments.raw]])
            assert tagger.learnt is not None
            plain = Tagger(replace(tagger.learnt, text=None))
            for system in arguments.systems:
                if (files.name, str(k), system) in done:
                    continue
                retagger.FILE = Path(retaggers.get(files.name, SHIPPED))
                start = time.process_time()
                words = [replace(s, heads=None, deprels=()) for s in test]
                if system != "gold":
                    words = (tagger if system == "retagged" else plain).predict(map(bare, words))
                if system == "hard":
                    words = [replace(s, soft=None) for s in words]
                parsed = list(universal.adapted([*text[:k], *words]).pipe(words))
                figures = scores(test, parsed)
                values = [files.name, k, system, *(f"{x:.2f}" for x in figures[:4]), figures[4]]
                rows.append(dict(zip(HEADER, [*values, f"{time.process_time() - start:.1f}"])))
                print(*rows[-1].values(), file=sys.stderr, flush=True)
                write_csv(arguments.out, HEADER, rows)
    print(at_start)
    for k in arguments.tagged:
        for system in arguments.systems:
            of_system = [
                row for row in rows if (str(row["tagged"]), row["system"]) == (str(k), system)
            ]
            means = [
                sum(float(row[name]) for row in of_system) / max(1, len(of_system))
                for name in HEADER[3:7]
            ]
            print(
                k,
                system,
                "mean of",
                len(of_system),
                *(f"{name} {x:.2f}" for name, x in zip(HEADER[3:7], means)),
            )


if __name__ == "__main__":
    main()
