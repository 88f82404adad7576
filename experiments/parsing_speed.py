"""Table 7 of Li et al. (2019): parsing speed by sentence length, of the paper's parser and of
LC-DMV.

    python experiments/parsing_speed.py --train fr-ud-train.conllu --test fr-ud-test.conllu \\
        --rows docs/results/replication-speed.csv

Words a CPU second on one core, from tags and words in memory to trees in memory; files are neither
read nor written meanwhile. Each system parses the sentences of up to 15 words, of up to 40, and
all, without punctuation; again and again for --seconds, which is one measurement. Systems take
turns; figures are medians of --repeats measurements.

The paper's parser has random weights, and in the lexicalised one (parser.word_dim=80) random
vectors of the training text's words: the number of its steps depends on the sentence's length only.
`one at a time` makes a graph of each sentence; `batched` parses sentences of one length together.
LC-DMV learns from sentences of up to 15 words, for --iterations. Its trees are those with the most
arcs expected to be right, which takes sums over all trees (the Viterbi tree takes a maximum); it is
measured once its kernels are machine code.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from languages import read
from measuring import argument_parser, conditions, print_table, write_csv

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import build_vocabulary
from dynet_vdgi.evaluation import published as tables
from dynet_vdgi.experiments.job import commit
from dynet_vdgi.paper import per_sentence
from dynet_vdgi.paper.greedy import GreedyParser
from dynet_vdgi.paper.network import Network
from dynet_vdgi.paper.settings import ModelSettings
from dynet_vdgi.rivals.lc_dmv import LcDmv
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.system.blas import one_thread

LENGTHS = {"<=15": 15, "<=40": 40, "all": 10**9}
PUBLISHED = {
    "unlexicalised": "Our_Unlexicalized",
    "lexicalised": "Our_Lexicalized",
    "LC-DMV": "LC-DMV",
}
COLUMNS = ("system", "way", "length", "sentences", "words", "repeat", "words_per_cpu_s", "commit")

Parse = Callable[[Sequence[Sentence]], Any]


def neural(text: Sequence[Sentence], word_dim: int) -> dict[str, Parse]:
    """The paper's parser in both ways."""
    vocabulary = build_vocabulary(text, lexicalised=word_dim > 0)
    settings = ModelSettings(word_dim=word_dim)
    network = Network(vocabulary, settings, np.random.default_rng(1))
    batched = GreedyParser(network.parameters.arrays(), vocabulary, settings)

    def one_at_a_time(sentences: Sequence[Sentence]) -> None:
        for s in sentences:
            per_sentence.parse(network.encoder, vocabulary.encode(s.forms, s.tags))

    def together(sentences: Sequence[Sentence]) -> None:
        batched.parse([vocabulary.encode(s.forms, s.tags) for s in sentences])

    return {"one at a time": one_at_a_time, "batched": together}


def lc_dmv(text: Sequence[Sentence], iterations: int) -> dict[str, Parse]:
    """LC-DMV with the paper's rules, in both ways."""
    teacher = LcDmv(iterations=iterations).fit(text, Prior(load_rules(rules_path("ud"))))
    return {
        "one at a time": lambda sentences: [teacher.heads([s]) for s in sentences],
        "batched": teacher.heads,
    }


def speed(parse: Parse, sentences: Sequence[Sentence], seconds: float) -> float:
    """Words a CPU second."""
    passes, start = 0, time.process_time()
    while not passes or time.process_time() - start < seconds:
        parse(sentences)
        passes += 1
    return passes * sum(map(len, sentences)) / (time.process_time() - start)


def main() -> None:
    """Measures, writes the rows and prints the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--train", type=Path, required=True, metavar="CONLLU")
    parser.add_argument("--test", type=Path, required=True, metavar="CONLLU")
    parser.add_argument(
        "--rows", type=Path, help="CSV file for all measurements, which is overwritten"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="CPU seconds of a measurement, at least one pass"
    )
    parser.add_argument("--iterations", type=int, default=20, help="of LC-DMV's learning")
    arguments = parser.parse_args()
    print(conditions())
    text, test = read([arguments.train], "ignored"), read([arguments.test], "ignored")
    parts = {name: [s for s in test if len(s) <= most] for name, most in LENGTHS.items()}
    rows: list[dict[str, Any]] = []
    made_at = commit()
    with one_thread():
        systems = {"unlexicalised": neural(text, 0), "lexicalised": neural(text, 80)}
        systems["LC-DMV"] = lc_dmv(text, arguments.iterations)
        for ways in systems.values():
            for parse in ways.values():
                parse(test)  # so that kernels are machine code
        for repeat in range(1, arguments.repeats + 1):
            for system, way in ((system, way) for system, ways in systems.items() for way in ways):
                for length, part in parts.items():
                    figures = speed(systems[system][way], part, arguments.seconds)
                    keys = (
                        system,
                        way,
                        length,
                        len(part),
                        sum(map(len, part)),
                        repeat,
                        f"{figures:.0f}",
                        made_at,
                    )
                    rows.append(dict(zip(COLUMNS, keys)))
    if arguments.rows:
        write_csv(arguments.rows, COLUMNS, rows)
    print_speeds(rows)


def print_speeds(rows: Sequence[dict[str, Any]]) -> None:
    """Medians beside the published figures; the last column shows whether speed falls with
    length."""
    published = {(f.model, f.length): f.mean for f in tables.read() if f.table == "Li2019-T7"}
    speeds: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        of_system = speeds.setdefault((row["system"], row["way"]), {})
        of_system.setdefault(row["length"], []).append(float(row["words_per_cpu_s"]))
    body = []
    for system, model in PUBLISHED.items():
        lines = {f"{system}, published": [published[model, length] for length in LENGTHS]}
        for (name, way), of_length in speeds.items():
            if name == system:
                lines[f"{system}, {way} (here)"] = [
                    statistics.median(of_length[length]) for length in LENGTHS
                ]
        body += [
            [title, *(f"{v:,.0f}" for v in each), f"{each[-1] / each[0]:.2f}"]
            for title, each in lines.items()
        ]
    sizes = {row["length"]: f"{row['length']} ({row['sentences']} sentences)" for row in rows}
    print_table(
        "Li2019-T7: words a (CPU) second, French", ["", *sizes.values(), "all / <=15"], body
    )


if __name__ == "__main__":
    main()
