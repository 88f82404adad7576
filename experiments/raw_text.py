"""Accuracy of tags by the number of tagged sentences, over a list of treebanks, beside UDPipe 1's
tagger.

    python experiments/raw_text.py --list experiments/lists/ud2.csv --data DIR --scored test --out
    rows.csv python experiments/raw_text.py ... --tagged 100 --systems udpipe python
    experiments/raw_text.py --out rows.csv --table

Of each treebank's text, shuffled by random.Random(1), the first sentences are tagged and the others
are raw. Each row of the output is one system on one treebank and is never made twice; the table
summarises the rows. `one-pass` is the tagger without the raw text; `udpipe` needs the package
ufal.udpipe and learns lemmas, too. `list` and `rule` have a list of 200 words with their usual tag,
which is that of the gold tags; they do without tagged sentences, too (`--tagged 0`).
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import udpipe
from languages import Listed, file_list_parser, listed
from measuring import csv_rows, write_csv
from result_tables import tag_table

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import block_of, with_columns
from dynet_vdgi.words.tagger.tag_list import TagList
from dynet_vdgi.words.tagger.tag_scores import scores_of
from dynet_vdgi.words.tagger.tagger import Tagger

COLUMNS = ("UPOS", "FEATS", "both", "XPOS", "lemma")
"""Words in per cent with the gold UPOS; all FEATS; both; XPOS; lemma."""

HEADER = (
    "language", "scored", "tagged", "system", *COLUMNS,
    "new", "jackknifed", "train_s", "words_per_s",
)  # fmt: skip
"""new: UPOS of words that are not in the tagged sentences; seconds are of the processor."""

TAGGED = (50, 100, 300)
Text = list[Sentence]


def bare(sentence: Sentence) -> Sentence:
    """The words alone."""
    nothing = "_" * len(sentence)
    return with_columns(sentence, nothing, nothing, nothing, nothing)


def accuracies(gold: Text, tagged: Text, learnt_forms: set[str]) -> list[float]:
    """`COLUMNS`, NaN of those without gold, and UPOS of words whose lower-cased forms are not
    known, in per cent."""
    scores = scores_of(gold, tagged).accuracy
    new = [
        tag == other_tag
        for one, other in zip(gold, tagged)
        for form, tag, other_tag in zip(one.forms, one.tags, other.tags)
        if form.lower() not in learnt_forms
    ]
    names = ("UPOS", "FEATS", "UPOS and FEATS", "XPOS", "lemma")
    of_columns = [math.nan if scores[name] is None else 100 * scores[name] for name in names]
    return [*of_columns, 100 * sum(new) / max(1, len(new))]


def by_vdgi(tagged: Text, raw: Text) -> tuple[Callable[[Text], Text], float]:
    """The tagger, and its accuracy on the tagged sentences by the others."""
    tagger = Tagger().fit(tagged, raw)
    return tagger.predict, tagger.accuracy


def one_pass(tagged: Text, raw: Text) -> tuple[Callable[[Text], Text], float]:
    """The tagger without the raw text."""
    return by_vdgi(tagged, [])


def usual_tags(text: Text) -> TagList:
    """The 200 most frequent words of a text, and the tag that each has most often."""
    counts: dict[str, Counter[str]] = {}
    for sentence in text:
        for form, tag in zip(sentence.forms, sentence.tags):
            if any(map(str.isalpha, form)):
                counts.setdefault(form.lower(), Counter())[tag] += 1
    frequent = sorted(counts, key=lambda form: (-counts[form].total(), form))[:200]
    return TagList({form: (counts[form].most_common(1)[0][0], "_") for form in frequent})


def of_list(tagged: Text, raw: Text) -> tuple[Callable[[Text], Text], float]:
    """The tagger with a list of words."""
    tagger = Tagger().fit(tagged, raw, tag_list=usual_tags([*tagged, *raw]))
    return tagger.predict, float("nan") if tagger.accuracy is None else tagger.accuracy


def by_rule(tagged: Text, raw: Text) -> tuple[Callable[[Text], Text], float]:
    """The tags of the list; of other words, PROPN with a capital inside a sentence, else NOUN."""
    listing = usual_tags([*tagged, *raw])

    def tag(form: str, before: str) -> str:
        usual = listing.tags.get(form.lower())
        return usual[0] if usual else "PROPN" if before and form[0].isupper() else "NOUN"

    def predict(text: Text) -> Text:
        return [replace(s, tags=tuple(map(tag, s.forms, ("", *s.forms)))) for s in text]

    return predict, float("nan")


def by_udpipe(tagged: Text, raw: Text) -> tuple[Callable[[Text], Text], float]:
    """UDPipe 1's tagger with its default settings, lemmas included."""
    from ufal.udpipe import Model, ProcessingError

    model = udpipe.loaded(udpipe.train("".join(map(block_of, tagged)), tagger=""))

    def predict(text: Text) -> Text:
        tagged_text = []
        for sentence, tags in zip(text, udpipe.sentences("".join(map(block_of, text)))):
            model.tag(tags, Model.DEFAULT, ProcessingError())
            words = list(tags.words)[1:]
            columns = ([w.lemma, w.upostag, w.xpostag, w.feats] for w in words)
            tagged_text.append(
                with_columns(sentence, *zip(*([value or "_" for value in c] for c in columns)))
            )
        return tagged_text

    return predict, float("nan")


SYSTEMS = {
    "vdgi": by_vdgi,
    "one-pass": one_pass,
    "list": of_list,
    "rule": by_rule,
    "udpipe": by_udpipe,
}


def rows_of(
    treebank: Listed, arguments: argparse.Namespace, done: set[tuple[str, ...]]
) -> Iterator[list[str]]:
    """The rows of one treebank that are not done."""
    text = [sentence for path in treebank.text for sentence in reading.read(path, heads="ignored")]
    random.Random(1).shuffle(text)
    gold = [
        sentence for path in treebank.scored for sentence in reading.read(path, heads="ignored")
    ]
    to_tag = [replace(bare(sentence), heads=None) for sentence in gold]
    for n in arguments.tagged:
        for system in arguments.systems:
            key = (treebank.name, arguments.scored, str(n), system)
            if key in done or n > len(text):
                continue
            learnt_forms = {form.lower() for sentence in text[:n] for form in sentence.forms}
            start = time.process_time()
            predict, jackknifed = SYSTEMS[system](text[:n], text[n:])
            learnt = time.process_time()
            predicted = predict(to_tag)
            end = time.process_time()
            scores = [f"{value:.2f}" for value in accuracies(gold, predicted, learnt_forms)]
            speed = sum(map(len, gold)) / max(1e-3, end - learnt)
            yield [
                *key,
                *scores,
                f"{100 * jackknifed:.2f}",
                f"{learnt - start:.1f}",
                f"{speed:.0f}",
            ]


def main() -> None:
    """Makes the rows that are missing, or prints the table."""
    parser = file_list_parser(__doc__)
    parser.add_argument(
        "--tagged", type=int, nargs="+", default=TAGGED, help="numbers of sentences"
    )
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=["vdgi"])
    parser.add_argument("--out", type=Path, required=True, help="rows, as CSV")
    parser.add_argument(
        "--table", action="store_true", help="print the table of the rows, train nothing"
    )
    shown_columns = (*COLUMNS, "new", "train_s", "words_per_s")
    parser.add_argument(
        "--columns", nargs="+", choices=shown_columns, default=shown_columns, help="of the table"
    )
    arguments = parser.parse_args()
    rows = csv_rows(arguments.out)
    print("python experiments/raw_text.py")
    if arguments.table:
        shown = [
            row for row in rows if row["language"] in (arguments.languages or [row["language"]])
        ]
        for column in arguments.columns:
            print(f"\n{tag_table(shown, column).markdown(escaped=False)}")
        return
    done = {(row["language"], row["scored"], row["tagged"], row["system"]) for row in rows}
    for treebank in listed(arguments):
        for row in rows_of(treebank, arguments, done):
            rows.append(dict(zip(HEADER, row)))
            write_csv(arguments.out, HEADER, rows)
            print(*row, flush=True)


if __name__ == "__main__":
    main()
