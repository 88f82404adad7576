"""Writes the figures of README.md and of the other PAGES from committed rows.

    python experiments/figures.py            writes them, and docs/results/figures.csv
    python experiments/figures.py --check    only lists the pages that differ from the rows; exit status 1: some do

A page has figures between `<!-- figure NAME -->` and `<!-- end -->`; NAME is a key of FIGURES.
figures.csv lists each with its value, the file of rows, the command that made them, and the commit
that last changed that file.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import curves
import numpy as np
import page_tables
import replication
from result_rows import DDA, RESULTS, ROOT, chosen, mean, means, rows

from dynet_vdgi.parser.expectation import Expectation, on_line

PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in (
            "index.md",
            "annotate.md",
            "expect.md",
            "few-trees.md",
        )
    ),
    *sorted(RESULTS.glob("*.md")),
]
LIST = RESULTS / "figures.csv"
PICTURES = ROOT / "docs" / "pictures"
_PLACE = re.compile(r"(<!-- figure ([\w.-]+) -->\n?)(.*?)(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Figure:
    """A figure of a page: where its rows are, what made them, and how it is made of them."""

    rows: str  # a file below the top folder
    command: str
    make: Callable[[], str]


def published(model: str) -> str:
    """The mean of a published system on the eight treebanks of UD 1.4."""
    return replication.printed(model, "UD1.4-Average", (replication.SHORT, replication.LONG))


def off(name: str) -> str:
    """How far the expected share is off in a set, in points; each treebank counts once."""
    names = sorted({row["treebank"] for row in chosen("expect.csv", set=name)})
    distances = [page_tables.off(chosen("expect.csv", set=name, treebank=each)) for each in names]
    return f"{sum(distances) / len(names):.1f}"


def expectation() -> Expectation:
    """That of the shipped model."""
    found = Expectation.from_arrays(np.load(ROOT / "resources" / "universal" / "expectation.npz"))
    assert found is not None
    return found


def inside_of_check() -> str:
    """How many of the languages that nothing was chosen on are within their intervals."""
    checked = chosen("expect.csv", set="check")
    ends = [expectation()(float(row["marginal"]), int(row["words"])).interval for row in checked]
    return str(sum(low <= float(row["right"]) <= high for row, (low, high) in zip(checked, ends)))


def off_with_fifty() -> str:
    """How far the mean share with fifty trees, measured later, is from the interpolated one, in
    points."""
    line = next(row[1:3] for row in expectation().trees if row[0] == 50)
    none, fifty = (
        {
            row["language"]: float(row["dda40"]) / 100
            for row in rows(_FRONT)
            if (row["system"], row["k"]) == key
        }
        for key in (("universal", "0"), ("universal", "50"))
    )
    errors = [100 * (float(on_line(line, none[code])) - fifty[code]) for code in none]
    return f"{abs(sum(errors)) / len(errors):.1f}"


_WEAK = "few-trees-weak.csv"


def weak(k: int, *columns: str, language: str = "") -> str:
    """Means of the languages of which few heads are right, or of one; each is the mean of three
    draws of k trees."""
    some = [row for row in rows(_WEAK) if row["k"] == str(k) and language in ("", row["language"])]
    return means(some, columns)  # all languages have as many rows


def by_weak_language(k: int) -> dict[str, float]:
    """The shares of right heads, in sentences of up to 40 words, of each of them."""
    return {
        language: float(weak(k, "dda40", language=language))
        for language in {row["language"] for row in rows(_WEAK)}
    }


def weak_gain(k: int) -> str:
    """The least and the largest gain by k trees, in points."""
    gains = [
        figure - by_weak_language(0)[language] for language, figure in by_weak_language(k).items()
    ]
    return f"{min(gains):.0f} to {max(gains):.0f}"


def weak_as_said(k: int) -> str:
    """What is expected of k trees, given what is right without; the mean."""
    line = next(row[1:3] for row in expectation().trees if row[0] == k)
    return f"{np.mean([100 * on_line(line, figure / 100) for figure in by_weak_language(0).values()]):.1f}"


_KNOWLEDGE = (
    "docs/results/best.csv",
    "python experiments/knowledge.py --list experiments/lists/ud2.csv",
)
_UNIVERSAL = "docs/results/universal.csv", "python experiments/universal.py score"
_FEW_TREES = "python experiments/few_trees.py --list experiments/lists/ud2.csv --set choose"
_FRONT = "front-page.csv"
_WEAKLY = "python experiments/few_trees.py --list experiments/lists/weak.csv --scored text --systems universal"
_NUMBERS = 10, 50, 100, 300
"""Of trees, on the front page."""
_UDPIPE = "docs/results/few-trees-udpipe.csv", f"{_FEW_TREES} --trees 300 1000 --systems UDPipe"
_EXPECT = "docs/results/expect.csv", "python experiments/expect.py"
_PLAN = "vdgi experiment paper-ud"
_PUBLISHED = "resources/published.csv", "typed from the papers"


def _of_best(name: str) -> Callable[[], str]:
    known = {"system": "best", "scored": "test", "decoder": "student", "table": "9ccb59f341"}
    return lambda: mean("best.csv", ("short", "long"), set=name, **known)


def _of_universal(system: str, name: str) -> Callable[[], str]:
    return lambda: mean("universal.csv", DDA, system=system, set=name)


def _of_front(system: str, k: int) -> Figure:
    """A system of the front page with k trees; without any, the universal parser is as it comes."""
    command = (
        "python experiments/universal.py score" if (system, k) == ("universal", 0) else _FEW_TREES
    )
    return Figure(
        f"docs/results/{_FRONT}", command, lambda: mean(_FRONT, DDA, system=system, k=str(k))
    )


_REPLICATION = "docs/results/replication.csv"


def _replicated(make: Callable[[], str], rows: str = _REPLICATION, command: str = _PLAN) -> Figure:
    """A figure or table of the page about the paper."""
    return Figure(rows, command, make)


_BEFORE = replication.BEFORE
_EIGHT = {
    "best": "best",
    "rules": "rules only",
    "fixed": "fixed-lambda",
    "released": "UniversalRules-released",
    "rf-h1-h2": "RF+H1+H2",
    "lc-dmv": "LC-DMV",
    "convex-mst": "Convex-MST",
    "convex-mst.tags": "Convex-MST-strict-tags",
    **{
        f"{name}{when.replace('-', '.')}": system + when
        for name, system in {
            "paper": "UniversalRules",
            "paper.dev": "UniversalRules-dev",
            "pretraining": "pretraining",
            "pretraining.dev": "pretraining-dev",
        }.items()
        for when in ("", _BEFORE)
    },
}
"""Systems on the eight languages, by the names of their figures."""

_DIFFERENCES = {
    "dual": (f"pretraining{_BEFORE}", "fixed-lambda"),
    "rl-pc": (f"UniversalRules{_BEFORE}", f"pretraining{_BEFORE}"),
    "dev": (f"UniversalRules-dev{_BEFORE}", f"UniversalRules{_BEFORE}"),
    "dev.pretraining": (f"pretraining-dev{_BEFORE}", f"pretraining{_BEFORE}"),
    "rl-pc.dev": (f"UniversalRules-dev{_BEFORE}", f"pretraining-dev{_BEFORE}"),
    "rl-sn": (f"RL-SN{_BEFORE}", f"pretraining{_BEFORE}"),
    "rl-sn.fixed": ("fixed-lambda-RL-SN", "fixed-lambda"),
    "expectations": (f"WeaklySupervised{_BEFORE}", f"UniversalRules{_BEFORE}"),
}
"""Systems on the eight languages whose averages are compared, first less second."""

_DIFFERENCES_ON_WSJ = {
    "weak": ("WeaklySupervised", "UniversalRules"),
    "weak.before": (f"WeaklySupervised{_BEFORE}", f"UniversalRules{_BEFORE}"),
    "weak.pretraining": ("Pretraining", "rules-pretraining"),
    "words": ("L-UniversalRules", "UniversalRules"),
    "words.weak": ("L-WeaklySupervised", "WeaklySupervised"),
    "weak.fixed": ("fixed-lambda-weak", "fixed-lambda"),
}

_WSJ = "bash run/train_wsj.sh"
_OF_BOTH_ON_WSJ = (
    "No_Pretraining",
    "RL-BL",
    "RL-SN",
    "RL-C",
    "WeaklySupervised",
    "RL-BL-dev",
    "RL-SN-dev",
    "RL-C-dev",
    "WeaklySupervised-dev",
    "UniversalRules",
    "L-WeaklySupervised",
    "L-UniversalRules",
)
"""Systems that the presets of before have made, and those of today make again."""
_ON_WSJ = (
    *_OF_BOTH_ON_WSJ,
    *(name + _BEFORE for name in _OF_BOTH_ON_WSJ),
    "Pretraining",
    "Pretraining-released",
    "RL-PC",
    "Unsupervised",
    "left branching",
)
_PRINTED = {
    "T1": ("Unsupervised",),
    "T2": ("No_Pretraining", "Pretraining"),
    "T4": ("UniversalRules", "L-UniversalRules", "WeaklySupervised", "L-WeaklySupervised"),
}
_CHANGED = "vdgi train --preset paper --set"
_EFFECTS = {
    "lr": "finetune.lr=0.01",
    "plain": "finetune.decoder=plain",
    "average": "train.average=0",
    "mask": "parser.mask_illegal=false",
    "exponent": "train.exponent=0.8",
    "first": "finetune.updates=0",
}
"""One change to the preset `paper` each."""

_DUAL = [
    name + _BEFORE
    for name in ("pretraining", "UniversalRules", "pretraining-dev", "UniversalRules-dev")
] + [f"WeaklySupervised{_BEFORE}"]
_TABLES = {
    "english": _replicated(replication.english, command=_WSJ),
    "t6": _replicated(
        partial(
            replication.eight,
            "rules only",
            *replication.RIVALS,
            "UniversalRules-released",
            "fixed-lambda",
            "fixed-lambda-RL-SN",
            "released-lambda",
            "pretraining",
            "UniversalRules",
            "pretraining-dev",
            "UniversalRules-dev",
            "WeaklySupervised",
            "L-pretraining",
            "L-UniversalRules",
            "L-Weak-pretraining-dev",
            "L-WeaklySupervised-dev",
            "fixed-lambda-RL-PC",
            "RL-BL",
            "RL-SN",
            "RL-SN-dev",
        ),
    ),
    "t7": _replicated(
        replication.speed,
        "docs/results/replication-speed.csv",
        "python experiments/parsing_speed.py",
    ),
    "lambda.released": _replicated(partial(replication.largest_lambda, "released-lambda")),
    "lambda.code": _replicated(partial(replication.largest_lambda, "UniversalRules-released")),
    "lambda.dual": _replicated(partial(replication.largest_lambda, *_DUAL)),
    "lambda.rl-sn": _replicated(partial(replication.largest_lambda, f"RL-SN{_BEFORE}")),
    "stages": _replicated(replication.second_stages),
    "short": _replicated(replication.in_short),
    "missing": _replicated(replication.missing),
    "lengths": _replicated(
        replication.long_sentences,
        "docs/results/replication-lengths.csv",
        "python experiments/long_sentences.py",
    ),
    "second": Figure(
        "docs/results/replication-second-stage.csv",
        "python experiments/second_stage.py DATA",
        partial(page_tables.second_stages, "123"),
    ),
    "second.fresh": Figure(
        "docs/results/replication-second-stage.csv",
        "python experiments/second_stage.py DATA",
        partial(page_tables.second_stages, "45"),
    ),
    "dev": _replicated(
        partial(
            replication.on_dev,
            "one .95",
            "one 1.00",
            "one .95 and each rule .50",
            "one 1.00 and each rule .50",
            "each rule .90",
            "each rule .95",
            "each rule 1.00",
            "fixed",
        ),
        "docs/results/replication-dev.csv",
        "vdgi train --preset pretraining",
    ),
}
"""Tables of the page about the paper, and what is said there of its runs."""


def _rows(name: str, command: str, make: Callable[[], str]) -> Figure:
    """A table of a page from a file of docs/results."""
    return Figure(f"docs/results/{name}", command, make)


_LISTED = "--list experiments/lists/ud2.csv --data DIR"
_TAGS = f"python experiments/raw_text.py {_LISTED}"
_TAG_COLUMNS = "UPOS", "FEATS", "both", "XPOS", "lemma", "new", "train_s", "words_per_s"
_SCORE = "python experiments/universal.py score FILE.npz --data DIR"
_ANNOTATOR = "python experiments/annotate.py --preset 'few-trees-{}.toml' --orders document"

_PAGE_TABLES = {
    **{
        f"best.{name}.{decoder}": _rows(
            "best.csv", _KNOWLEDGE[1], page_tables.best_by_language(name, decoder)
        )
        for name in ("choose", "check", "v1")
        for decoder in ("student", "teacher")
    },
    "best.plan": _replicated(page_tables.plan_of_best, command=f"{_PLAN} --only best"),
    "universal.check.languages": _rows("universal.csv", _SCORE, page_tables.universal_of_check),
    "universal.choose.languages": _rows("universal.csv", _SCORE, page_tables.universal_of_choose),
    "universal.v1.languages": _rows("universal.csv", _SCORE, page_tables.universal_of_v1),
    "universal.seeds": _rows("universal-seeds.csv", _SCORE, page_tables.universal_seeds),
    "universal.relatives": _rows("universal-seeds.csv", _SCORE, page_tables.universal_relatives),
    **{
        f"fast-student.{n}": _rows(
            "fast-student.csv", "python experiments/fast_student.py", page_tables.fast_students(n)
        )
        for n in (500, 2000)
    },
    "few-trees.means": _rows("few-trees-universal.csv", _FEW_TREES, page_tables.few_trees_means),
    "few-trees.languages": _rows(
        "few-trees-universal.csv", _FEW_TREES, page_tables.few_trees_languages
    ),
    "few-trees.relations": _rows(
        "few-trees-relations.csv", _FEW_TREES, page_tables.few_trees_relations
    ),
    "front.means": _rows(_FRONT, _FEW_TREES, page_tables.front_means),
    **{
        f"front.{name}.languages": _rows(_FRONT, _FEW_TREES, page_tables.front_languages(system))
        for name, system in (("best", "best"), ("udpipe", "UDPipe"))
    },
    **{
        f"labels.{name}": _rows(
            "labels.csv", f"python experiments/label_table.py {_LISTED}", page_tables.labels(name)
        )
        for name in ("choose", "check")
    },
    "labels.renamed": _rows(
        "own-relations.csv",
        f"python experiments/own_relations.py {_LISTED}",
        page_tables.renamed_relations,
    ),
    "raw.trees": _rows(
        "raw-trees.csv", f"python experiments/raw_trees.py {_LISTED}", page_tables.raw_trees
    ),
    "raw.features": _rows(
        "raw-features.csv", f"python experiments/raw_trees.py {_LISTED}", page_tables.raw_features
    ),
    "raw.tags": _rows("raw-text.csv", _TAGS, page_tables.tags("raw-text.csv", _TAG_COLUMNS)),
    "raw.list": _rows("raw-text-list.csv", _TAGS, page_tables.tags("raw-text-list.csv", ["UPOS"])),
    "annotate.changes": _rows("annotate-universal.csv", _ANNOTATOR, page_tables.changes),
    "annotate.by-fifty": _rows("annotate-universal.csv", _ANNOTATOR, page_tables.changes_by_fifty),
    "eight.others": _replicated(page_tables.others_on_the_eight),
    **{
        name: _rows(
            f"{path}.csv",
            "written by hand: words",
            page_tables.of_words(f"{path}.csv", lambda of: FIGURES[of].make()),
        )
        for name, path in (
            ("summary", "summary"),
            ("replication.data", "replication-data"),
            ("replication.differences", "replication-differences"),
        )
    },
}
"""Tables of the other pages of docs/results."""

_SECOND = "docs/results/replication-second-stage.csv", "python experiments/second_stage.py DATA"
_BINDING = "all .98, then all 1, ties by ELBO, plain"
_GAINS = {
    "paper": (_BINDING, "123"),
    "paper.fresh": (_BINDING, "45"),
    "rl-pc": ("all .95, from 0", "123"),
    "rl-pc.98": ("all .98", "123"),
    "rl-pc.1": ("all 1", "123"),
    "on": ("all 1, score 1", "123"),
    "from-0": ("all .98, ties by ELBO, plain, from 0", "123"),
    "rl-sn.size": ("all .95, RL-SN, size only", "123"),
    "rl-sn": ("all .95, RL-SN", "123"),
    "rl-sn.plain": ("all .95, RL-SN, plain", "123"),
}
"""Second stages whose gains over their first stages are in the text, with the seeds."""

_PLANTED = "docs/results/consistency.csv", "python experiments/consistency.py"

FIGURES = {
    "best.check": Figure(*_KNOWLEDGE, _of_best("check")),
    "best.choose": _of_front("best", 0),
    "universal.check": Figure(*_UNIVERSAL, _of_universal("shipped", "check")),
    "universal.choose": _of_front("universal", 0),
    "best.check.15": Figure(*_KNOWLEDGE, lambda: _of_best("check")().partition("/")[0]),
    "universal.check.15": Figure(
        *_UNIVERSAL, lambda: _of_universal("shipped", "check")().partition("/")[0]
    ),
    **{f"trees.{k}": _of_front("best", k) for k in _NUMBERS},
    **{f"exact.trees.{k}": _of_front("best, exact", k) for k in _NUMBERS},
    **{f"universal.trees.{k}": _of_front("universal", k) for k in _NUMBERS},
    **{f"fast.trees.{k}": _of_front("universal, fast", k) for k in _NUMBERS},
    "udpipe.50": _of_front("UDPipe", 50),
    "udpipe.300": Figure(*_UDPIPE, lambda: mean("few-trees-udpipe.csv", DDA, k="300")),
    **{
        f"udpipe.{k}.languages": Figure(*_UDPIPE, partial(page_tables.beside_udpipe, k))
        for k in (300, 1000)
    },
    "weak": Figure(f"docs/results/{_WEAK}", _WEAKLY, page_tables.weak_languages),
    **{
        f"weak.{k}": Figure(f"docs/results/{_WEAK}", _WEAKLY, partial(weak, k, "dda15", "dda40"))
        for k in (0, 10, 50)
    },
    **{
        f"weak.gain.{k}": Figure(f"docs/results/{_WEAK}", _WEAKLY, partial(weak_gain, k))
        for k in (10, 50)
    },
    **{
        f"weak.said.{k}": Figure(f"docs/results/{_WEAK}", _WEAKLY, partial(weak_as_said, k))
        for k in (10, 50)
    },
    "expect.check": Figure(*_EXPECT, page_tables.expected_of_check),
    "expect.branches": Figure(*_EXPECT, page_tables.expected_of_branches),
    "expect.tags": Figure(*_EXPECT, page_tables.expected_of_tags),
    "guessed.heads": Figure(
        "docs/results/guessed-tags.csv",
        "python experiments/guessed_tags.py",
        page_tables.heads_of_guesses,
    ),
    "expect.check.off": Figure(*_EXPECT, lambda: off("check")),
    "expect.check.inside": Figure(*_EXPECT, inside_of_check),
    "retagger": Figure(
        "docs/results/retagger.csv", "python experiments/retagger.py score", page_tables.retagged
    ),
    "keys": Figure(
        "docs/results/annotate-keys.csv", "python experiments/annotate_keys.py", page_tables.keys
    ),
    "consistency": Figure(*_PLANTED, page_tables.planted),
    "consistency.as-many": Figure(
        *_PLANTED, partial(page_tables.planted_found, "as many as errors")
    ),
    "consistency.200": Figure(*_PLANTED, partial(page_tables.planted_found, "first 200")),
    "expect.fifty.off": Figure(f"docs/results/{_FRONT}", _FEW_TREES, off_with_fifty),
    "expect.left.off": Figure(*_EXPECT, lambda: off("left out")),
    **{
        f"eight.{name}": _replicated(partial(replication.mean, system))
        for name, system in _EIGHT.items()
    },
    **{
        f"wsj.{name.replace(' ', '-')}": _replicated(
            partial(replication.mean, name, *replication.WSJ), command=_WSJ
        )
        for name in _ON_WSJ
    },
    **{
        f"published.{table}.{model}": Figure(
            *_PUBLISHED, partial(replication.printed, model, "WSJ23", replication.WSJ[1])
        )
        for table, models in _PRINTED.items()
        for model in models
    },
    **{
        f"difference.{name}": _replicated(partial(replication.difference, *pair))
        for name, pair in _DIFFERENCES.items()
    },
    **{
        f"effect.{name}": _replicated(
            partial(replication.effect, change), "docs/results/replication-dev.csv", _CHANGED
        )
        for name, change in _EFFECTS.items()
    },
    **{
        f"difference.{name}": _replicated(
            partial(replication.difference, *pair, *replication.WSJ), command=_WSJ
        )
        for name, pair in _DIFFERENCES_ON_WSJ.items()
    },
    **{f"replication.{name}": figure for name, figure in _TABLES.items()},
    **{
        f"gain.{system}": _replicated(partial(replication.gain, system))
        for system in replication.FIRST_STAGES
    },
    **{
        f"second.{name}": Figure(*_SECOND, partial(page_tables.gain_of, setting, seeds))
        for name, (setting, seeds) in _GAINS.items()
    },
    **{
        f"second.over.{name}": Figure(
            *_SECOND, partial(page_tables.second_stage_difference, _BINDING, setting, column)
        )
        for name, (setting, column) in {
            "own": (_BINDING, "dda_1"),
            "pretraining": ("all .95, from 0", "dda_1"),
            "before": ("all .95, from 0", "dda_2"),
        }.items()
    },
    **_PAGE_TABLES,
    "published.sibling-NDMV": Figure(*_PUBLISHED, lambda: published("sibling-NDMV")),
    "published.LC-DMV": Figure(*_PUBLISHED, lambda: published("LC-DMV")),
    "published.RF_H1_H2": Figure(*_PUBLISHED, lambda: published("RF+H1+H2")),
    "published.Convex-MST": Figure(*_PUBLISHED, lambda: published("Conv-MST")),
    "published.UniversalRules": Figure(*_PUBLISHED, lambda: published("UnivRules")),
}


def filled(text: str) -> str:
    """A page with its figures as the rows have them."""

    def put(match: re.Match[str]) -> str:
        value = FIGURES[match[2]].make()
        return match[1] + value + ("\n" if "\n" in value else "") + match[4]

    return _PLACE.sub(put, text)


def listed() -> list[list[str]]:
    """Figures with values, rows and commands; values of tables are left out."""
    found = [["figure", "value", "rows", "command"]]
    for name, figure in FIGURES.items():
        value = figure.make()
        found.append([name, "" if "\n" in value else value, figure.rows, figure.command])
    return found


def commit_of(name: str) -> str:
    """The commit that last changed a file."""
    command = ["git", "log", "-1", "--format=%H", "--", name]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout[:7]


def outdated() -> list[Path]:
    """The pages whose figures differ from the rows, and the list and the pictures if they do."""
    texts = {path: path.read_text(encoding="utf-8") for path in PAGES}
    differing = [path for path, text in texts.items() if filled(text) != text]
    differing += [
        PICTURES / name
        for name, draw in curves.DRAWN.items()
        if (PICTURES / name).read_text("utf-8") != draw()
    ]
    with open(LIST, encoding="utf-8") as lines:
        is_listed = [row[:-1] for row in csv.reader(lines)] == listed()
    return differing if is_listed else [*differing, LIST]


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        names = [str(path.relative_to(ROOT)) for path in outdated()]
        print("\n".join(names), end="\n" if names else "")
        return bool(names)
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    for name, draw in curves.DRAWN.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
    with open(LIST, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in listed():
            writer.writerow([*row, "commit" if row[0] == "figure" else commit_of(row[2])])
    return 0


if __name__ == "__main__":
    sys.exit(main())
