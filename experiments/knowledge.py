"""The value of the knowledge in a rule table, by language: systems and ablations over a list of
treebanks.

    python experiments/knowledge.py --list experiments/lists/ud2.csv --data DIR --out rows.csv
    python experiments/knowledge.py ... --systems best best-without-feats --max-test 350 --max-text
    450 python experiments/knowledge.py ... --ablate best python experiments/knowledge.py --out
    rows.csv --table

The trees of the text are not read, unless --scored text scores on them, for choosing. Each row of
the output is one system on one treebank and is never made twice; the table summarises the rows.
`delexicalised` needs trees: it is a parser of tags that learns the gold trees of the other texts
of the list's first set.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from languages import dda, drawn, file_list_parser, listed, read
from measuring import conditions, csv_rows, write_csv
from result_tables import knowledge_table

from dynet_vdgi.conllu.punctuation import is_projective
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.evaluation.rules_only import TIE_SEEDS, rules_only
from dynet_vdgi.few_trees.word_perceptron import WordPerceptron
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.rule_tables.rules import RuleSet, load_rules
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.training.taught import balanced
from dynet_vdgi.unsupervised.dmv import Dmv

DELEXICALISED, N_TREES = "delexicalised", 400
"""A system that learns from at most this many gold trees of each other language."""
LENGTHS = {"best-tags": (15, 15), "strict-tags": (15, 15), "text": (15, 15), "strict": (15, 10)}
"""Words of the longest sentences for student and teacher, if not 40 and 15; as in the presets."""
FIELDS = ("table", "set", "language", "system", "scored", "decoder", "short", "long", "seconds")
OF_TAGS = {"feats": False, "words": False}
"""Settings of students that see tags only."""


@dataclass(frozen=True)
class System:
    """A table to learn with; `removed` names columns taken out of text and test.

    Without a table: a parser of tags that learns the gold trees of other languages.
    """

    name: str
    rules: RuleSet | None
    removed: tuple[str, ...] = ()
    learns: bool = True
    student_len: int = 40
    teacher_len: int = 15

    @property
    def digest(self) -> str:
        """Changes with the table."""
        if self.rules is None:
            return f"{N_TREES} trees"
        return hashlib.sha256(self.rules.text.encode()).hexdigest()[:10]


REMOVED = {
    "without-feats": ("feats", "xpos"),
    "without-forms": ("forms",),
    "without-punctuation": ("punctuation",),
    "tags-only": ("feats", "xpos", "forms", "punctuation"),
}


def systems_of(names: Sequence[str], ablated: str) -> list[System]:
    """The systems with these names: TABLE, TABLE-without-COLUMN, TABLE-rules-only."""
    result = []
    for name in names:
        if name == DELEXICALISED:
            result.append(System(name, None))
            continue
        for suffix, removed in {**REMOVED, "rules-only": ()}.items():
            if name.endswith("-" + suffix):
                rules = load_rules(rules_path(name.removesuffix("-" + suffix)))
                result.append(System(name, rules, removed, learns=suffix != "rules-only"))
                break
        else:
            student_len, teacher_len = LENGTHS.get(name, (40, 15))
            rules = load_rules(rules_path(name))
            result.append(System(name, rules, student_len=student_len, teacher_len=teacher_len))
    if ablated:
        whole = load_rules(rules_path(ablated))
        for part in whole.parts:
            with suppress(ConfigError):  # others need it
                result.append(System(f"{ablated} -{part.name}", whole.without(part.name)))
    return result


def run(
    system: System, text: Sequence[Sentence], gold: Sequence[Sentence], seeds: int, em: int
) -> Iterator[tuple]:
    """(decoder, figures, CPU seconds of learning) of one system on one treebank."""
    assert system.rules is not None
    text, gold = ([s.ignoring(system.removed) for s in sentences] for sentences in (text, gold))
    start = time.process_time()
    prior = Prior.of_text(system.rules, text)
    if not system.learns:
        draws = [dda(gold, rules_only(gold, prior, seed)) for seed in range(TIE_SEEDS)]
        yield "prior", np.mean(draws, axis=0), time.process_time() - start
        return
    short = [sentence for sentence in text if len(sentence) <= system.teacher_len]
    teacher = Dmv().fit((short or text)[:em], prior)
    yield "teacher", dda(gold, teacher.heads(gold)), time.process_time() - start
    if not seeds:
        return
    start = time.process_time()
    trees = teacher.predict([sentence for sentence in text if len(sentence) <= system.student_len])
    results = []
    for seed in range(1, seeds + 1):
        of_words = {} if system.student_len > 15 else OF_TAGS
        student = WordPerceptron(**of_words, orders=1, seed=seed).fit(trees)
        results.append(dda(gold, heads(student, gold)))
    yield "student", np.mean(results, axis=0), (time.process_time() - start) / seeds


def sources_of(arguments: argparse.Namespace) -> dict[str, list[Sentence]]:
    """Projective gold trees of each text of the list's first set, drawn at random, if it has
    any."""
    first = csv_rows(arguments.list)[0]["set"]
    every = argparse.Namespace(**{**vars(arguments), "set": first, "languages": None})
    trees = {
        bank.name: drawn(
            [s for s in read(bank.text) if s.heads and is_projective(s.heads)], N_TREES
        )
        for bank in listed(every)
    }
    if sum(map(bool, trees.values())) < 2:
        sys.exit(f"{DELEXICALISED}: the list's first set needs trees of two languages")
    return {language: of_language for language, of_language in trees.items() if of_language}


def heads(student: WordPerceptron, text: Sequence[Sentence]) -> list[tuple[int, ...]]:
    """Heads of each sentence."""
    return [tree.heads or () for tree in student.predict(text)]


def delexicalised(
    others: Sequence[Sequence[Sentence]], gold: Sequence[Sentence], seeds: int
) -> tuple:
    """(decoder, figures, CPU seconds of learning) of parsers of tags that learn these trees."""
    trees, results = balanced(others), []
    start = time.process_time()
    for seed in range(1, seeds + 1):
        student = WordPerceptron(**OF_TAGS, orders=1, seed=seed).fit(trees)
        results.append(dda(gold, heads(student, gold)))
    return "student", np.mean(results, axis=0), (time.process_time() - start) / seeds


def table(rows: Sequence[dict[str, str]], decoder: str) -> str:
    """Markdown, a table for each set of treebanks."""
    parts = []
    for name in dict.fromkeys(row["set"] for row in rows):
        some = [row for row in rows if row["set"] == name and row["decoder"] in (decoder, "prior")]
        parts.append("\n" + knowledge_table(name, some).markdown(escaped=False))
    return "\n".join(parts)


def main() -> None:
    """Makes the rows that are missing, and prints tables of all."""
    parser = file_list_parser(__doc__)
    parser.set_defaults(scored="test")
    parser.add_argument(
        "--out", type=Path, required=True, help="rows, CSV; those there are not made again"
    )
    parser.add_argument("--systems", nargs="+", default=["best"], metavar="SYSTEM")
    parser.add_argument(
        "--ablate", default="", metavar="TABLE", help="also the table without each of its parts"
    )
    parser.add_argument("--seeds", type=int, default=3, help="of the student; 0: teacher only")
    parser.add_argument(
        "--max-test",
        type=int,
        default=10**9,
        metavar="N",
        help="score on N sentences drawn at random",
    )
    parser.add_argument(
        "--max-text", type=int, default=10**9, metavar="N", help="EM on the first N short sentences"
    )
    parser.add_argument(
        "--table", action="store_true", help="print tables of the rows, train nothing"
    )
    arguments = parser.parse_args()
    if DELEXICALISED in arguments.systems and not arguments.seeds:
        parser.error(f"{DELEXICALISED} is a student, and --seeds 0 is for teachers only")
    print(conditions())
    if not arguments.table:
        make_rows(arguments)
    wanted = arguments.languages
    made = [row for row in csv_rows(arguments.out) if not wanted or row["language"] in wanted]
    for decoder in ("student", "teacher"):
        print(
            f"\nDDA <=15/<=40 of the {decoder}, punctuation removed, all sentences "
            "(*: languages are missing)"
        )
        print(table(made, decoder))


def make_rows(arguments: argparse.Namespace) -> None:
    """Learns and scores the missing rows."""
    systems = systems_of(arguments.systems, arguments.ablate)
    sources = sources_of(arguments) if DELEXICALISED in arguments.systems else {}
    scored = arguments.scored + (f" {arguments.max_test}" if arguments.max_test < 10**9 else "")
    rows = csv_rows(arguments.out)
    done = {(r["table"], r["set"], r["language"], r["system"], r["scored"]) for r in rows}
    for bank in listed(arguments):
        text = gold = None
        for system in systems:
            key = (system.digest, bank.set, bank.name, system.name, scored)
            if key in done:
                continue
            if text is None:
                text = read(bank.text, "ignored")
                gold = drawn(read(bank.scored, "required"), arguments.max_test)
            if system.rules is None:
                others = [trees for language, trees in sources.items() if language != bank.name]
                made = iter([delexicalised(others, gold, arguments.seeds)])
            else:
                made = run(system, text, gold, arguments.seeds, arguments.max_text)
            for decoder, figures, seconds in made:
                values = (*key, decoder, *(f"{figure:.2f}" for figure in figures), f"{seconds:.1f}")
                rows.append(dict(zip(FIELDS, values)))
            write_csv(arguments.out, FIELDS, rows)
            print(*values[2:], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
