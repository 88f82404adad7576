"""An unsupervised teacher of a text, for what no tree of another language can say.

It is a DMV that EM fits to the text under the rule table of the model, see `model_table`. It reads
everything but forms and lemmas, and does two things for the universal parser:

* Its expected arcs say which way arcs point, see `typology`. Neighbouring tags say little about
  that where verbs come last, because there an object is as near to its verb as the subject of the
  next verb is.
* Where objects precede their verbs, its probabilities q have a share in the parser's, because few
  treebanks are of such languages:

    (log p(h | d) + SHARE * log q(h | d)) / (1 + SHARE)     q: of the arc under the DMV
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tag_sets import UD_TAGS
from dynet_vdgi.errors import ModelError
from dynet_vdgi.rule_tables.prior import Prior
from dynet_vdgi.system.array_types import Floats32
from dynet_vdgi.universal.encoding import N_TAGS, ROOT, TAG, TAGS, CodedText
from dynet_vdgi.universal.model_table import rules_of
from dynet_vdgi.unsupervised import dmv
from dynet_vdgi.unsupervised.dmv_model import DmvModel, Packed
from dynet_vdgi.unsupervised.teacher import symbol_ids, with_coarse

LONGEST_SENTENCE = 15
"""Words of the longest sentence that it learns from."""

MOST_SENTENCES = 1_000
"""Sentences that it learns from."""

SHARE = 0.15
"""Its share in the parser, chosen on treebanks that neither network nor table had seen, see
docs/results/universal.md."""

MOST_TAGS = 100
"""Different tags that it tells apart; texts have at most 50, but a wrong column has thousands."""

FLOOR = -8.0
"""The least logarithm of its probabilities, in nats, so that it can outvote nothing by itself."""

LONGEST_SCORED = 100
"""Words of the longest sentence that it has an opinion on: its time is cubic."""

OBJECTS_FIRST = 1.0
"""Objects come first where the logarithm of nominals before their verbs to those after them is
larger."""

_GAPS = ("", ",", ".", '"')
"""A mark for each kind of gap."""

_NOMINALS = [TAG[tag] for tag in ("NOUN", "PROPN", "PRON")]


@dataclass(frozen=True, eq=False)
class TextTeacher:
    """The teacher of one text."""

    table: str  # the text of the rule table
    prior: Prior
    symbols: tuple[str, ...]
    model: DmvModel

    def log_probabilities(self, sentences: Sequence[Sentence]) -> Floats32:
        """log q(h | d) of all sentences in a row, each (n + 1, n) by head; 0 where they are too
        long."""
        read = [sentence for sentence in sentences if 1 < len(sentence) <= LONGEST_SCORED]
        rows, potentials = _rows_and_potentials(self.prior, _without_forms(read))
        ids = symbol_ids(rows, self.symbols)
        marginals = iter(
            self.model.all_marginals(Packed.of(ids, potentials, len(self.symbols) + 1))
        )
        parts = [np.zeros(0)]
        for n in map(len, sentences):
            if 1 < n <= LONGEST_SCORED:
                parts.append(np.log(np.maximum(next(marginals), np.exp(FLOOR))).ravel())
            else:
                parts.append(np.zeros(n * (n + 1)))
        return np.concatenate(parts).astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back."""
        stored = {"table": self.table, "text": self.prior.text.to_json(), "symbols": self.symbols}
        return {
            "told": np.frombuffer(msgspec.json.encode(stored), np.uint8),
            "root": self.model.root,
            "choose": self.model.choose,
            "stop": self.model.stop,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TextTeacher | None:
        """The teacher in these arrays; None: there is none.

        Raises: ModelError, they are damaged.
        """
        if not arrays:
            return None
        try:
            stored = msgspec.json.decode(
                arrays["told"].astype(np.uint8).tobytes(), type=_StoredTeacher
            )
            prior = Prior.from_json(rules_of(stored.table), stored.text)
            root, choose, stop = (arrays[name].astype(float) for name in ("root", "choose", "stop"))
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, ValueError) as error:
            raise ModelError(f"the teacher of the model's text is damaged: {error}") from None
        n = len(stored.symbols) + 1
        shapes = root.shape, choose.shape, stop.shape
        if shapes != ((n,), (n, 2, 2, n), (n, 2, 2)) or not all(
            ((array >= 0) & (array <= 1)).all() for array in (root, choose, stop)
        ):
            raise ModelError(
                "the teacher of the model's text is damaged: no probabilities of its symbols"
            )
        return cls(stored.table, prior, stored.symbols, DmvModel(root, choose, stop))


def teach_text(
    sentences: Sequence[Sentence], text: CodedText, table: str
) -> tuple[TextTeacher | None, Floats32]:
    """The teacher that sentences make, and its expected arcs; None: none of them has two words.

    `text` are the same sentences, `table` the text of the rule table. The arcs (S, 17, 16, 2) of
    each sentence are counted by tag of the head (ROOT last), tag of the dependent, and its side (0
    left, 1 right); a sentence not learnt from has none.

    Raises: ModelError, the table is none.
    """
    arcs = np.zeros((len(text), N_TAGS + 1, N_TAGS, 2), np.float32)
    read = np.flatnonzero((text.lengths > 1) & (text.lengths <= LONGEST_SENTENCE))[:MOST_SENTENCES]
    if not len(read):
        return None, arcs
    rules = rules_of(table)
    part = _with_few_tags(_without_forms(sentences[s] for s in read.tolist()))
    prior = Prior.from_json(rules, Prior.of_text(rules, part).text.to_json())  # as stored
    rows, potentials = _rows_and_potentials(prior, part)
    symbols = with_coarse(rows)
    ids = symbol_ids(rows, symbols)
    model = dmv.fit(ids, potentials, len(symbols) + 1)
    marginals = model.all_marginals(Packed.of(ids, potentials, len(symbols) + 1))
    for s, of_sentence in zip(read.tolist(), marginals):
        tags = text.tags[text.start[s] : text.start[s + 1]].astype(np.int64)
        heads, places = np.append(ROOT, tags)[:, None], np.arange(len(tags) + 1)
        side = (places[1:] > places[:, None]).astype(np.int64)
        np.add.at(arcs[s], (heads, tags[None], side), of_sentence)
    return TextTeacher(table, prior, symbols, model), arcs


class _StoredTeacher(msgspec.Struct):
    """What is stored besides probabilities."""

    table: str
    text: Any
    symbols: tuple[str, ...]


def objects_come_first(arcs: Floats32) -> bool:
    """Whether nominals precede their verbs by these expected arcs (17, 16, 2) of a text."""
    left, right = arcs[TAG["VERB"], _NOMINALS].sum(0)
    return bool(np.log((left + 1) / (right + 1)) > OBJECTS_FIRST)


def _without_forms(sentences: Iterable[Sentence]) -> list[Sentence]:
    return [sentence.ignoring(["forms"]) for sentence in sentences]


def _with_few_tags(sentences: list[Sentence]) -> list[Sentence]:
    """The sentences; if they have many tags, those unknown in all languages become X: the model has
    pairs."""
    if len({tag for sentence in sentences for tag in sentence.tags}) <= MOST_TAGS:
        return sentences
    return [
        replace(s, tags=tuple([tag if tag in UD_TAGS else "X" for tag in s.tags]))
        for s in sentences
    ]


def _rows_and_potentials(
    prior: Prior, sentences: Sequence[Sentence]
) -> tuple[list[list[str]], list[NDArray[np.float64]]]:
    """The symbols of each sentence's words, and the potentials of its arcs."""
    views = prior.views(sentences)
    return [prior.symbols(view) for view in views], prior.potentials_of(views)


def decode(text: CodedText, names: Sequence[str]) -> list[Sentence]:
    """The sentences of a coded text, without what it does not have; `names` are those of its
    features."""
    bundles = [
        "|".join(names[k] for k in np.flatnonzero(row).tolist()) or "_" for row in text.features
    ]
    sentences = []
    for s in range(len(text)):
        low, high = text.start[s], text.start[s + 1]
        gaps = tuple([_GAPS[kind] for kind in text.gaps_of(s)])
        has_features = text.bundle[low:high].any()
        sentences.append(
            Sentence(
                ("_",) * int(high - low),
                tuple([TAGS[tag] for tag in text.tags[low:high]]),
                feats=tuple([bundles[row] for row in text.bundle[low:high]])
                if has_features
                else (),
                gaps=gaps if any(gaps) else (),
            )
        )
    return sentences
