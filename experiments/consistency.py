"""How many planted errors does `vdgi check --consistency` list among its first places?

    python experiments/consistency.py --data DIR --languages pl bg ur ta --out
    docs/results/consistency.csv

Of each treebank the first sentences are taken, up to --words words, of the text and then of the
other files beside it. Into 2 % of the words but punctuation an error is put (random.Random(1)), a
fifth of each kind:

    head      another word of the sentence as head, drawn from all that do not depend on the word
    relation  another relation, drawn as frequently as the treebank has it
    tag       another UPOS, drawn in the same way, with the most frequent relation of that tag
    flip      word and head change places: the word gets the head's head and relation, and the head
              the word's
    column    in turn another value of one feature, as frequent with this UPOS, or the lemma of
              another such word

A flip is found at either of its two words. `random` is the share of the errors expected in random
order among as many places as there are errors. The universal parser that ships with this package
must not have learnt from the treebanks; it has not from those of Basque, Italian, Polish,
Bulgarian, Urdu and Tamil in experiments/lists/ud2.csv. Seconds are of the processor.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

from languages import Listed, file_list_parser, listed
from measuring import conditions, csv_rows, print_table, write_csv

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import write as write_conllu
from dynet_vdgi.page.learn.consistency import inconsistent_words

ERROR_KINDS = ("head", "relation", "tag", "flip", "column")
FIRST = (50, 100, 200)
HEADER = (
    "language", "kind", "words", "errors", "first 50", "first 100", "first 200",
    "as many as errors", "random", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """An error of a kind, in a sentence, at words counted from 1."""

    kind: str
    sentence: int
    words: tuple[int, ...]


def sentences_of(files: Listed, n_words: int) -> list[Sentence]:
    """The first sentences of a treebank, without the lines that they had in its files."""
    sentences, total = [], 0
    folder = files.text[0].parent
    for path in dict.fromkeys([*files.text, *sorted(folder.glob("*-test.conllu"))]):
        for sentence in reading.read(path):
            if total < n_words:
                sentences.append(replace(sentence, source=None))
                total += len(sentence)
    return sentences


def drawn(rng: random.Random, counts: Counter[str], but: str) -> str:
    """One of the values but this one, by frequency; "" if there is no other."""
    others = [(value, n) for value, n in counts.items() if value != but]
    return rng.choices([value for value, _ in others], [n for _, n in others])[0] if others else ""


def below(heads: Sequence[int], word: int) -> set[int]:
    """A word and all that depend on it."""
    subtree = {word}
    while more := {d for d, head in enumerate(heads, 1) if head in subtree} - subtree:
        subtree |= more
    return subtree


class Treebank:
    """Columns of sentences into which errors are put."""

    def __init__(self, sentences: Sequence[Sentence], rng: random.Random) -> None:
        self.sentences, self.rng = sentences, rng
        self.heads = [list(s.heads or ()) for s in sentences]
        self.relations, self.tags = (
            [list(s.deprels) for s in sentences],
            [list(s.tags) for s in sentences],
        )
        self.feats = [list(s.feats or ["_"] * len(s)) for s in sentences]
        self.lemmas = [list(s.lemmas or ["_"] * len(s)) for s in sentences]
        self.counts: dict[object, Counter[str]] = defaultdict(Counter)
        self.used: set[tuple[int, int]] = set()
        self.n_columns = 0
        for s, tags, feats, lemmas in zip(sentences, self.tags, self.feats, self.lemmas):
            for tag, relation, bundle, lemma in zip(tags, s.deprels, feats, lemmas):
                if tag != "PUNCT":
                    self.counts["tag"][tag] += 1
                    self.counts["lemma", tag][lemma] += 1
                    if relation != "root":
                        self.counts["relation"][relation] += 1
                        self.counts["relation", tag][relation] += 1
                    for name, _, value in (
                        part.partition("=") for part in bundle.split("|") if part != "_"
                    ):
                        self.counts[tag, name][value] += 1

    def put(self, kind: str, k: int, w: int) -> tuple[int, ...]:
        """Puts an error at word w, from 1, of sentence k; returns its words, none if it is not
        possible there."""
        heads, relations, tags = self.heads[k], self.relations[k], self.tags[k]
        head = heads[w - 1]
        if (k, w) in self.used or (head == 0 and kind in ("head", "relation", "flip")):
            return ()
        if kind == "head":
            wrong = below(heads, w) | {head}
            others = [
                x for x in range(1, len(heads) + 1) if x not in wrong and tags[x - 1] != "PUNCT"
            ]
            if not others:
                return ()
            heads[w - 1] = self.rng.choice(others)
        elif kind == "relation":
            relations[w - 1] = drawn(self.rng, self.counts["relation"], relations[w - 1])
        elif kind == "tag":
            tags[w - 1] = drawn(self.rng, self.counts["tag"], tags[w - 1])
            if head:
                relations[w - 1] = self.counts["relation", tags[w - 1]].most_common(1)[0][0]
        elif kind == "flip":
            if (k, head) in self.used or tags[head - 1] == "PUNCT":
                return ()
            heads[w - 1], heads[head - 1] = heads[head - 1], w
            relations[w - 1], relations[head - 1] = relations[head - 1], relations[w - 1]
            return w, head
        elif not self._put_column(k, w - 1):
            return ()
        return (w,)

    def _put_column(self, k: int, w: int) -> bool:
        tag, parts = self.tags[k][w], [part.partition("=") for part in self.feats[k][w].split("|")]
        others = [
            (n, drawn(self.rng, self.counts[tag, name], value))
            for n, (name, _, value) in enumerate(parts)
        ]
        others = [(n, value) for n, value in others if value]
        if others and self.n_columns % 2 == 0:
            n, value = self.rng.choice(others)
            parts[n] = parts[n][0], "=", value
            self.feats[k][w] = "|".join(map("".join, parts))
        elif other := drawn(self.rng, self.counts["lemma", tag], self.lemmas[k][w]):
            self.lemmas[k][w] = other
        else:
            return False
        self.n_columns += 1
        return True

    def planted(self, share: float) -> list[Planted]:
        """Puts errors into a share of the words but punctuation, a fifth of each kind."""
        words = [
            (k, w)
            for k, tags in enumerate(self.tags)
            for w, tag in enumerate(tags, 1)
            if tag != "PUNCT"
        ]
        self.rng.shuffle(words)
        wanted, rest, errors = round(share * len(words) / len(ERROR_KINDS)), iter(words), []
        for kind in ERROR_KINDS:
            n = 0
            while n < wanted:
                k, w = next(rest)
                if places := self.put(kind, k, w):
                    self.used.update((k, place) for place in places)
                    errors.append(Planted(kind, k, places))
                    n += 1
        return errors

    def result(self) -> list[Sentence]:
        """The sentences with the errors."""
        columns = zip(
            self.sentences, self.heads, self.relations, self.tags, self.feats, self.lemmas
        )
        return [
            replace(
                s, heads=tuple(heads), deprels=tuple(relations), tags=tuple(tags),
                feats=tuple(feats) if s.feats else (), lemmas=tuple(lemmas) if s.lemmas else (),
            )
            for s, heads, relations, tags, feats, lemmas in columns
        ]  # fmt: skip


def measured(files: Listed, n_words: int, share: float) -> list[dict[str, object]]:
    """The rows of a treebank: one of each kind, and one of all."""
    treebank = Treebank(sentences_of(files, n_words), random.Random(1))
    errors = treebank.planted(share)
    words = sum(tag != "PUNCT" for tags in treebank.tags for tag in tags)
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "planted.conllu"))
        write_conllu(treebank.result(), path)
        suspects = [(int(place.sentence) - 1, place.word) for place in inconsistent_words([path])]
    seconds = time.process_time() - start
    tops = [set(suspects[:n]) for n in (*FIRST, len(errors))]
    rows: list[dict[str, object]] = []
    for kind in ("all", *ERROR_KINDS):
        of_kind = [error for error in errors if kind in ("all", error.kind)]
        hits = [
            sum(any((e.sentence, w) in top for w in e.words) for e in of_kind) / len(of_kind)
            for top in tops
        ]
        by_chance = sum(1 - (1 - len(errors) / words) ** len(e.words) for e in of_kind) / len(
            of_kind
        )
        values = (
            files.name,
            kind,
            words,
            len(of_kind),
            *(f"{each:.4f}" for each in (*hits, by_chance)),
            f"{seconds:.0f}",
        )
        rows.append(dict(zip(HEADER, values)))
    return rows


def main() -> None:
    """Measures and prints the table."""
    parser = file_list_parser(__doc__)
    parser.add_argument(
        "--words", type=int, default=20_000, metavar="N", help="words of a treebank at most"
    )
    parser.add_argument(
        "--share", type=float, default=0.02, help="share of the words with an error"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="rows, as CSV; treebanks there are not measured again",
    )
    arguments = parser.parse_args()
    at_start = conditions()
    rows: list[dict[str, object]] = [dict(row) for row in csv_rows(arguments.out)]
    done = {row["language"] for row in rows}
    for files in listed(arguments):
        if files.name not in done:
            rows += measured(files, arguments.words, arguments.share)
            print(files.name, "measured", file=sys.stderr, flush=True)
            write_csv(arguments.out, HEADER, rows)
    print(at_start)
    print_table(
        "Share of the planted errors",
        HEADER,
        [[str(cell) for cell in row.values()] for row in rows],
    )


if __name__ == "__main__":
    main()
