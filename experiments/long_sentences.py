"""Why parsers of the paper's pretraining lose on long sentences against the rules alone.

    python experiments/long_sentences.py --name wsj --train train.conllu --dev dev.conllu \\
        --on-top wsj --supervised 10 40 --short-arcs 10 40 \\
        --rows docs/results/replication-lengths.csv
    python experiments/long_sentences.py --rows docs/results/replication-lengths.csv

Trains the preset on sentences of up to 10, 15, 20 and 40 words, with equally many updates, and
parses all dev sentences; rows that the file has are not measured again. The vocabulary is that of
the whole training text.

Candidates are the greedy tree and --samples samples of q. `greedy`; `q`, `p`: the most probable
candidate under q(a|x), p(x, a); `rules`: the one with most rule arcs, then by q; `rules, short
arcs`: the same, less .05 for each word that an arc skips, as in the baseline "rules only"; `best`:
by the gold tree. `votes`: the exact tree of the arcs that most candidates have; `votes, rules,
short arcs`: the same plus the score of "rules only". `gold`: the gold tree. `log q`: nats a word.
`above greedy`: share of sentences in which q gives this tree more than the greedy one.

`no learning`: exact decoding with the rules less .05 for each skipped word (the baseline "rules
only"), less .001, or less nothing, so that ties are broken at random; or with that penalty and no
rules. `short arcs`: pretraining whose weights prefer short arcs as much as that baseline does.
`supervised`: learnt from gold trees.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from measuring import argument_parser, conditions, csv_rows, print_table, write_csv

from dynet_vdgi.conllu import filtering, reading
from dynet_vdgi.conllu.punctuation import is_projective
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import Encoded, build_vocabulary
from dynet_vdgi.evaluation.rules_only import TIE_SEEDS, break_ties
from dynet_vdgi.experiments.job import commit
from dynet_vdgi.inference import eisner
from dynet_vdgi.models.model_file import Provenance
from dynet_vdgi.paper import transitions
from dynet_vdgi.paper.lockstep import draw
from dynet_vdgi.paper.network import forcing, sampling
from dynet_vdgi.paper.per_sentence import Samples, greedy
from dynet_vdgi.paper.phases import Pretraining
from dynet_vdgi.paper.trainer import Trainer
from dynet_vdgi.rule_tables.prior import SHORT_ARCS, Prior
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system.array_types import Floats
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.training.material import Material

BUCKETS = {"1-10": 10, "11-20": 20, "21-40": 40, ">40": 10**9, "all": 0}
PENALTIES = {
    "rules, short arcs": SHORT_ARCS,
    "rules, shorter of ties": 0.001,
    "rules, random ties": 0.0,
}
SCALES = {"dda": 100, "rule arcs": 100, "skipped": 1, "log q": 1, "above greedy": 100}
COLUMNS = ("data", "setting", "seed", "decoding", "bucket", "sentences", "words", *SCALES, "commit")
AT_ONCE = 4  # sentences of one length whose candidates share a graph

Found = dict[str, list[tuple[Sequence[int], float, float]]]
"""By decoding, of each sentence: a tree, its log q, and 1 if it is more probable than the greedy
one, or else 0."""


def skipped(trees: Any) -> Any:
    """The number of words between the ends of each arc, in trees (..., n); arcs from the root skip
    none."""
    trees = np.asarray(trees)
    return np.where(trees > 0, np.abs(trees - np.arange(1, trees.shape[-1] + 1)) - 1, 0)


class ShortArcs(Pretraining):
    """Pretraining in which a skipped word is worth SHORT_ARCS times a rule arc less."""

    def __call__(self, sentence: Encoded, samples: Samples) -> tuple[Floats, Floats]:
        weights, _ = super().__call__(sentence, samples)
        n_skipped = skipped(samples.heads).sum(axis=1)
        weights = weights * np.exp(
            -SHORT_ARCS * self.lam.value.mean() * (n_skipped - n_skipped.min())
        )
        return (weights / weights.sum(),) * 2


def potentials(sentences: Sequence[Sentence], rules: str) -> dict[str, list[Floats]]:
    """Scores of the arcs of each sentence, by what they prefer."""
    priors = {
        name: Prior(load_rules(rules_path(rules)), short=short) for name, short in PENALTIES.items()
    }
    tables = {
        name: [prior.potentials(sentence) for sentence in sentences]
        for name, prior in priors.items()
    }
    pairs = zip(tables["rules, short arcs"], tables["rules, random ties"])
    return {**tables, "short arcs, no rules": [short - rule for short, rule in pairs]}


def exact(dev: Sequence[Sentence], tables: dict[str, list[Floats]], seed: int) -> Found:
    """The best trees by the potentials, and the gold ones."""
    rng = np.random.default_rng(seed)
    best = {
        name: [eisner.best(break_ties(table, rng)) for table in each]
        for name, each in tables.items()
    }
    trees = {**best, "gold": [sentence.heads or () for sentence in dev]}
    return {name: [(tree, np.nan, np.nan) for tree in each] for name, each in trees.items()}


def trained(
    text: Sequence[Sentence],
    presets: Sequence[str],
    changes: Sequence[str],
    *,
    by_trees: bool,
    short_arcs: bool,
) -> Trainer:
    """A trainer after training on the text, or on its gold trees."""
    settings = load_settings(presets, changes)
    short = [s for s in text if 2 <= len(s) <= settings.data.max_len]
    trees = [s for s in short if is_projective(s.heads or ())] if by_trees else []
    vocabulary = build_vocabulary(text, lexicalised=False)
    material = Material(
        {"": [] if by_trees else short}, vocabulary, load_rules(rules_path(settings.rules)), trees
    )
    trainer = Trainer(settings, material, Provenance())
    if short_arcs:
        trainer.phase = ShortArcs(trainer.features, trainer.phase.lam)
    trainer.train()
    trainer.network.parameters.load(dict(trainer.model_file(complete=True).parameters))
    return trainer


def decoded(
    trainer: Trainer, dev: Sequence[Sentence], tables: dict[str, list[Floats]], n_samples: int
) -> Found:
    """The trees that each decoding chooses; gold ones are left out if some have crossing arcs."""
    sampled, trees_by_decoding = (
        sampling(np.random.default_rng(trainer.settings.seed)),
        defaultdict(dict[int, Any]),
    )
    of_model = partial(draw, trainer.network, training=False)
    for _, group in groupby(
        sorted(range(len(dev)), key=lambda k: len(dev[k])), key=lambda k: len(dev[k])
    ):
        same = list(group)
        for members in (same[i : i + AT_ONCE] for i in range(0, len(same), AT_ONCE)):
            encoded = [trainer.data.vocabulary.encode(dev[k].forms, dev[k].tags) for k in members]
            first, others = (
                of_model(encoded, *how).samples for how in ((1, greedy), (n_samples, sampled))
            )
            for k, sentence, a, b in zip(members, encoded, first, others):
                trees, log_q = np.array([*a.heads, *b.heads]), np.concatenate([a.log_q, b.log_q])
                keys = {
                    "greedy": -np.arange(len(trees)),
                    "q": log_q,
                    "p": np.concatenate([a.log_p, b.log_p]),
                }
                keys["best"] = (trees == np.array(dev[k].heads)).sum(axis=1)
                for name, table in (("rules", "rules, random ties"), ("rules, short arcs",) * 2):
                    keys[name] = (
                        tables[table][k][trees, np.arange(1, len(sentence) + 1)].sum(axis=1)
                        + 1e-6 * log_q
                    )
                votes = np.zeros_like(tables["rules, short arcs"][k])
                for child, heads_of in enumerate(trees.T, 1):
                    votes[:, child] = np.bincount(heads_of, minlength=len(votes)) / len(trees)
                pairs: dict[str, tuple[Any, float]] = {"votes": (eisner.best(votes), np.nan)}
                both = eisner.best(votes + tables["rules, short arcs"][k])
                pairs |= {"votes, rules, short arcs": (both, np.nan)}
                pairs |= {
                    name: (trees[key.argmax()], log_q[key.argmax()]) for name, key in keys.items()
                }
                if is_projective(heads := dev[k].heads or ()):
                    forced = of_model([sentence], 1, forcing([transitions.oracle(heads)])).samples[
                        0
                    ]
                    pairs["gold"] = (np.array(heads), forced.log_q[0])
                for name, (tree, value) in pairs.items():
                    trees_by_decoding[name][k] = (
                        tree,
                        value,
                        np.heaviside(value - log_q[0] - 1e-3, 0),
                    )
    return {
        name: [of[k] for k in range(len(dev))]
        for name, of in trees_by_decoding.items()
        if len(of) == len(dev)
    }


def figures(
    dev: Sequence[Sentence], rules: Sequence[Floats], trees_by_decoding: Found
) -> Iterator[dict[str, Any]]:
    """The figures of each decoding and bucket."""
    for decoding, trees in trees_by_decoding.items():
        sums = defaultdict(list)
        for sentence, table, (heads, log_q, above) in zip(dev, rules, trees):
            n, tree, places = len(sentence), np.array(heads), np.arange(1, len(sentence) + 1)
            parts = (tree == np.array(sentence.heads), table[tree, places] > 0.5, skipped(tree))
            for bucket in (next(name for name, most in BUCKETS.items() if n <= most), "all"):
                sums[bucket].append([n, *(part.sum() for part in parts), log_q, above])
        for bucket, rows in sums.items():
            n_words, *totals, above = np.sum(rows, axis=0).tolist()
            shares = zip(
                SCALES.values(), [*(total / n_words for total in totals), above / len(rows)]
            )
            values = [f"{scale * share:.2f}".replace("nan", "") for scale, share in shares]
            sizes = {"bucket": bucket, "sentences": len(rows), "words": int(n_words)}
            yield {"decoding": decoding, **sizes, **dict(zip(SCALES, values))}


def measured(
    arguments: argparse.Namespace, have: set[tuple[str, ...]]
) -> Iterator[list[dict[str, Any]]]:
    """New rows, setting by setting; `have` are the names, settings and seeds measured before."""
    column = load_settings([arguments.preset, *arguments.on_top])
    files = (
        reading.read(path, tags=column.data.tags, heads="required")
        for path in (arguments.train, arguments.dev)
    )
    text, dev = (filtering.prepare(file).sentences for file in files)
    tables, pretraining = potentials(dev, column.rules), arguments.preset
    kinds = {
        pretraining: arguments.max_len,
        "short arcs": arguments.short_arcs,
        "supervised": arguments.supervised,
    }

    def neural(seed: int, kind: str, max_len: int) -> Found:
        by_trees, updates = kind == "supervised", arguments.updates[kind == "supervised"]
        changes = (f"seed={seed}", f"data.max_len={max_len}", f"train.updates={updates}")
        presets = ["supervised" if by_trees else pretraining, *arguments.on_top]
        trainer = trained(
            text, presets, changes, by_trees=by_trees, short_arcs=kind == "short arcs"
        )
        return decoded(trainer, dev, tables, arguments.samples)

    jobs: dict[tuple[str, int], Callable[[], Found]] = {}
    jobs |= {
        ("no learning", seed): partial(exact, dev, tables, seed) for seed in range(1, TIE_SEEDS + 1)
    }
    for seed in arguments.seeds:
        jobs |= {
            (f"{k}, {n}", seed): partial(neural, seed, k, n)
            for k, lengths in kinds.items()
            for n in lengths
        }
    for (setting, seed), job in jobs.items():
        if (arguments.name, setting, str(seed)) not in have:
            keys = {"data": arguments.name, "setting": setting, "seed": seed, "commit": commit()}
            yield [{**keys, **row} for row in figures(dev, tables["rules, random ties"], job())]


def print_tables(rows: Sequence[dict[str, Any]]) -> None:
    """Means over seeds."""
    for data in dict.fromkeys(row["data"] for row in rows):
        cells: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        of_data = [row for row in rows if row["data"] == data]
        for row, figure in ((row, figure) for row in of_data for figure in SCALES if row[figure]):
            cells[f"{row['setting']}: {row['decoding']}"][figure, row["bucket"]].append(
                float(row[figure])
            )
        sizes = {row["bucket"]: row["sentences"] for row in of_data}
        header = [
            "DDA / rule arcs, %",
            *(f"{bucket} ({sizes.get(bucket, 0)})" for bucket in BUCKETS),
        ]
        body = []
        for name, values in cells.items():
            mean = {
                key: statistics.fmean(figures_of_cell) for key, figures_of_cell in values.items()
            }
            pairs = [
                [mean.get((figure, bucket), np.nan) for figure in ("dda", "rule arcs")]
                for bucket in BUCKETS
            ]
            others = [f"{mean.get((figure, 'all'), np.nan):.2f}" for figure in list(SCALES)[2:]]
            spread = (
                f"{np.std(values['dda', 'all'], ddof=1):.1f}"
                if len(values["dda", "all"]) > 1
                else "-"
            )
            row = [name, *(f"{dda:.1f} / {share:.0f}" for dda, share in pairs), spread, *others]
            body.append([text.replace("nan / nan", "-").replace("nan", "-") for text in row])
        print_table(data, [*header, "± (all)", "skipped words", *list(SCALES)[3:]], body)


def main() -> None:
    """Measures what is missing and prints the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--rows", type=Path, required=True, help="CSV file, which new rows are added to"
    )
    parser.add_argument("--name", default="dev", help="name of the treebank in the rows")
    parser.add_argument("--train", type=Path, help="without it, rows are only printed")
    parser.add_argument("--dev", type=Path)
    parser.add_argument("--preset", default="fixed-lambda")
    parser.add_argument(
        "--on-top", nargs="*", default=[], metavar="PRESET", help="further presets, such as wsj"
    )
    for option, default in (
        ("--max-len", [10, 15, 20, 40]),
        ("--supervised", []),
        ("--short-arcs", []),
    ):
        parser.add_argument(option, type=int, nargs="*", default=default, metavar="WORDS")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument(
        "--updates", type=int, nargs=2, default=[400, 1000], help="of pretraining, of supervised"
    )
    arguments = parser.parse_args()
    print(conditions())
    rows: list[dict[str, Any]] = [*csv_rows(arguments.rows)]
    with one_thread():
        for new in (
            measured(arguments, {(r["data"], r["setting"], r["seed"]) for r in rows})
            if arguments.train
            else ()
        ):
            rows += new
            write_csv(arguments.rows, COLUMNS, rows)
    print_tables(rows)


if __name__ == "__main__":
    main()
