"""What the universal parser measures of a text: numbers of its kind, and an unsupervised teacher.

What kind of language a text is in: numbers counted in its tags, features and punctuation.

`Profile.numbers` describes the text as a whole. `Profile.pairs` (17, 16, 2, K) has K numbers for each tag of
a head (the last is ROOT), tag of a dependent, and side of the dependent (0 left, 1 right). All are logarithms
of smoothed ratios, so they lie within a few units of zero. No tree is needed; the teacher below says which
arcs are expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynet_vdgi.data.sentence import UD_TAGS, Sentence
from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.grammar.prior import Prior
from dynet_vdgi.grammar.rules import RuleSet, parse_rules
from dynet_vdgi.settings.config import rules_path
from dynet_vdgi.system.arrays import Floats, Floats32, Ints
from dynet_vdgi.teachers import dmv
from dynet_vdgi.teachers.common import symbol_ids, with_coarse
from dynet_vdgi.teachers.dmv import DmvModel, Packed
from dynet_vdgi.universal.channels import N_TAGS, ROOT, TAG, TAGS, CodedText

LEFT, RIGHT = 0, 1
PAIR_NUMBERS = 15
WINDOW = 8
"""Words at most this far apart count as in one another's reach."""

_BESIDE = """
NOUN-ADJ NOUN-DET NOUN-NUM NOUN-ADP PROPN-ADP PRON-ADP VERB-AUX VERB-NOUN VERB-PRON VERB-PROPN VERB-ADV
NOUN-PROPN VERB-SCONJ VERB-PART NOUN-PART VERB-ADP ADJ-ADV NOUN-PRON NOUN-CCONJ VERB-CCONJ ADJ-AUX NOUN-AUX
"""
_AMONG_CONTENT = """
VERB-NOUN VERB-PRON VERB-PROPN VERB-ADP NOUN-ADP PROPN-ADP VERB-AUX NOUN-AUX VERB-SCONJ NOUN-PRON NOUN-PROPN
NOUN-CCONJ VERB-CCONJ PRON-ADP
"""
_NEIGHBOURS, _CONTENT = _BESIDE.split(), _AMONG_CONTENT.split()
_ARCS = [*_NEIGHBOURS, "VERB-VERB", "NOUN-NOUN", "NOUN-VERB", "PROPN-PROPN"]
_HEADS = ["NOUN", "VERB", "ADJ", "PROPN"]
_AROUND_VERB = ["NOUN", "PROPN", "PRON", "ADV", "ADP", "AUX", "SCONJ", "PART", "ADJ", "NUM", "DET", "CCONJ"]
_MODIFIERS = np.array([TAG[tag] for tag in ["DET", "ADJ", "NUM", "ADV", "PART", "INTJ", "SYM"]])
_SHARES = {
    "NOUN": "Case Gender Number Case=Nom Person[psor] Number[psor] Definite",
    "ADJ": "Case Gender",
    "VERB": "VerbForm VerbForm=Fin VerbForm=Part VerbForm=Conv VerbForm=Inf Person Tense Aspect Number",
}
"""Features, and values of them, that are counted in the words of a tag."""

N_NUMBERS = 134
"""Numbers of a text in this version, see `Profile`."""


@dataclass(frozen=True)
class TagCounts:
    """TagCounts of a text, all from tags: [tag, tag of the other word, its side]."""

    neighbours: Floats
    content: Floats  # neighbours once modifiers are left out
    reach: Floats  # all words within WINDOW

    @classmethod
    def of(cls, text: CodedText) -> TagCounts:
        tags, sentence = text.tags.astype(np.int64), np.repeat(np.arange(len(text)), text.lengths)
        is_content = ~np.isin(tags, _MODIFIERS)
        reach = sum(_ordered(tags, sentence, distance) for distance in range(1, WINDOW + 1))
        return cls(
            _ordered(tags, sentence, 1),
            _ordered(tags[is_content], sentence[is_content], 1),
            np.asarray(reach),
        )


def _ordered(tags: Ints, sentence: Ints, distance: int) -> Floats:
    """TagCounts (16, 16, 2) of words `distance` apart in a sentence."""
    counts = np.zeros((N_TAGS, N_TAGS, 2))
    together = sentence[distance:] == sentence[:-distance]
    first, second = tags[:-distance][together], tags[distance:][together]
    pairs = np.bincount(first * N_TAGS + second, minlength=N_TAGS**2).reshape(N_TAGS, N_TAGS)
    counts[:, :, RIGHT], counts[:, :, LEFT] = pairs, pairs.T
    return counts


@dataclass(frozen=True)
class Profile:
    """The numbers of a text."""

    numbers: NDArray[np.float32]
    pairs: NDArray[np.float32]

    @classmethod
    def of(cls, text: CodedText, names: tuple[str, ...], arcs: ArrayLike) -> Profile:
        """Measures a text; `names` are those of its features, `arcs` (17, 16, 2) its expected arcs."""
        counts, arcs = TagCounts.of(text), np.asarray(arcs, float)
        left, right = arcs[[TAG[tag] for tag in _HEADS]].sum(1).T
        of_heads = {f"head {tag}": float(x) for tag, x in zip(_HEADS, _ratio(left, right, 1.0))}
        numbers = _numbers(text, counts, names) | _sides("arc", _ARCS, arcs, 1.0) | of_heads
        return cls(np.array(list(numbers.values()), np.float32), _pair_numbers(counts, arcs))


def _sides(what: str, pairs: list[str], table: Floats, smooth: float = 3.0) -> dict[str, float]:
    """How often the second tag of each pair is to the left of the first."""
    a, b = np.array([[TAG[tag] for tag in pair.split("-")] for pair in pairs]).T
    ratios = _ratio(table[a, b, LEFT], table[a, b, RIGHT], smooth)
    return {f"{what} {pair}": float(x) for pair, x in zip(pairs, ratios)}


def _pair_numbers(counts: TagCounts, arcs: Floats) -> NDArray[np.float32]:
    numbers = np.zeros((N_TAGS + 1, N_TAGS, 2, PAIR_NUMBERS), np.float32)
    numbers[:N_TAGS, :, :, :5] = _five(counts.neighbours)
    numbers[:N_TAGS, :, :, 5:10] = _five(counts.content)
    for k, table in enumerate((counts.reach, counts.reach - counts.neighbours)):
        numbers[:N_TAGS, :, :, 10 + k] = np.log((table + 4) / (table[:, :, ::-1] + 4)) / 2
    inner = arcs[:N_TAGS]
    numbers[:N_TAGS, :, :, 12] = np.log((inner + 1) / (inner[:, :, ::-1] + 1)) / 2
    numbers[..., 13] = np.log((arcs + 0.5) / (arcs.sum((0, 2), keepdims=True) + 8)) / 3
    numbers[..., 14] = np.log((arcs + 0.5) / (arcs.sum((1, 2), keepdims=True) + 8)) / 3
    return numbers


def _five(table: Floats) -> Floats:
    """Five numbers of each pair of tags and side, from counts of neighbours (16, 16, 2)."""
    both = table.sum(2, keepdims=True)
    of_dependent, of_head = both.sum(0, keepdims=True), both.sum(1, keepdims=True)
    expected = of_head * of_dependent / (both.sum() + 1) / 2
    return np.concatenate(
        [
            x[..., None]
            for x in (
                np.log((table + 2) / (table[:, :, ::-1] + 2)) / 2,
                np.broadcast_to(np.log((both + 0.5) / (of_dependent + 8)) / 3, table.shape),
                np.log((table + 0.5) / (of_dependent + 8)) / 3,
                np.clip(np.log((table + 1) / (expected + 1)), -2, 2) / 2,
                np.log((table + 0.5) / (of_head + 8)) / 3,
            )
        ],
        -1,
    )


def _ratio(before: ArrayLike, after: ArrayLike, smooth: float = 3.0) -> Floats:
    result: Floats = np.log((np.asarray(before) + smooth) / (np.asarray(after) + smooth)) / 3
    return result


def _numbers(text: CodedText, counts: TagCounts, names: tuple[str, ...]) -> dict[str, float]:
    tags, lengths, start = text.tags.astype(np.int64), text.lengths, text.start
    n_words, sentence = len(tags), np.repeat(np.arange(len(text)), text.lengths)
    share = np.bincount(tags, minlength=N_TAGS) / max(1, n_words)
    result = {f"share {tag}": x for tag, x in zip(TAGS, np.log(share + 1e-3) / 3 + 1.2)}
    long = np.flatnonzero(lengths > 1)
    first = np.bincount(tags[start[:-1][long]], minlength=N_TAGS)
    last = np.bincount(tags[start[1:][long] - 1], minlength=N_TAGS)
    result |= {f"edge {tag}": x for tag, x in zip(TAGS, _ratio(first, last, 2.0))}
    verb, auxiliary = TAG["VERB"], TAG["AUX"]
    n_verbs = np.bincount(sentence[tags == verb], minlength=len(text))
    with_verb = 1 + (n_verbs > 0).sum()
    result["verb last"], result["verb first"] = last[verb] / with_verb, first[verb] / with_verb
    result["verb or aux last"] = (last[verb] + last[auxiliary]) / with_verb
    result |= _sides("next", _NEIGHBOURS, counts.neighbours)
    result |= _sides("content", _CONTENT, counts.content)
    verb_at = np.zeros(len(text), np.int64)
    verb_at[sentence[tags == verb]] = np.flatnonzero(tags == verb)
    in_simple = (n_verbs == 1)[sentence] & (tags != verb)
    before = in_simple & (np.arange(n_words) < verb_at[sentence])
    n_before = np.bincount(tags[before], minlength=N_TAGS)
    n_after = np.bincount(tags[in_simple & ~before], minlength=N_TAGS)
    for tag in _AROUND_VERB:
        result[f"around verb {tag}"] = _ratio(n_before[TAG[tag]], n_after[TAG[tag]])
    result |= _morphology(text, names)
    result["length"] = np.log(max(1.0, lengths.mean())) / 2 - 1.2 if len(text) else 0.0
    inner = text.gaps > 0
    inner[start[:-1] + np.arange(len(text))] = inner[start[1:] + np.arange(len(text))] = False
    has_inner = np.bincount(np.repeat(np.arange(len(text)), lengths + 1), inner, len(text)) > 0
    result["inner punctuation"] = has_inner[long].mean() if len(long) else 0.0
    result["verbs a sentence"] = n_verbs.mean() / 3 if len(text) else 0.0
    return {name: float(x) for name, x in result.items()}


def _morphology(text: CodedText, names: tuple[str, ...]) -> dict[str, float]:
    """Shares of the words of a tag that have a feature, or a value of it."""
    result = {}
    for tag, features in _SHARES.items():
        of_tag = text.bundle[text.tags == TAG[tag]]
        for wanted in features.split():
            columns = [k for k, name in enumerate(names) if wanted in (name, name.partition("=")[0])]
            has = text.features[:, columns].max(1) if columns else np.zeros(len(text.features))
            result[f"{tag} {wanted}"] = float(has[of_tag].mean()) if len(of_tag) else 0.0
    return result


# ----------------------------------------------------------------------------------------------------
# An unsupervised teacher of a text, for what no tree of another language can say.
#
# It is a DMV that EM fits to the text under the rule table `best`. It reads everything but forms and
# lemmas, and does two things for the universal parser:
#
# * Its expected arcs say which way arcs point, see `typology`. Neighbouring tags say little about that where
#   verbs come last, because there an object is as near to its verb as the subject of the next verb is.
# * Where objects precede their verbs, its probabilities have a share in the parser's, because few treebanks
#   are of such languages:
#
# (log p(h | d) + SHARE * log q(h | d)) / (1 + SHARE) q: probability of the arc under the DMV


TABLE = "best"

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

LONGEST = 100
"""Words of the longest sentence that it has an opinion on: its time is cubic."""

OBJECTS_FIRST = 1.0
"""Objects come first where the logarithm of nominals before their verbs to those after them is larger."""

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
        """log q(h | d) of all sentences in a row, each (n + 1, n) by head; 0 where they are too long."""
        read = [sentence for sentence in sentences if 1 < len(sentence) <= LONGEST]
        rows, potentials = _rows_and_potentials(self.prior, _without_forms(read))
        ids = symbol_ids(rows, self.symbols)
        marginals = iter(self.model.all_marginals(Packed.of(ids, potentials, len(self.symbols) + 1)))
        parts = [np.zeros(0)]
        for n in map(len, sentences):
            if 1 < n <= LONGEST:
                parts.append(np.log(np.maximum(next(marginals), np.exp(FLOOR))).ravel())
            else:
                parts.append(np.zeros(n * (n + 1)))
        return np.concatenate(parts).astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_arrays` reads back."""
        told = {"table": self.table, "text": self.prior.text.to_json(), "symbols": self.symbols}
        return {
            "told": np.frombuffer(msgspec.json.encode(told), np.uint8),
            "root": self.model.root,
            "choose": self.model.choose,
            "stop": self.model.stop,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TextTeacher | None:
        """The teacher in these arrays; None: there is none. Raises: ModelError, they are damaged."""
        if not arrays:
            return None
        try:
            told = msgspec.json.decode(arrays["told"].astype(np.uint8).tobytes(), type=_StoredTeacher)
            prior = Prior.from_json(_rules(told.table), told.text)
            root, choose, stop = (arrays[name].astype(float) for name in ("root", "choose", "stop"))
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, ValueError, ConfigError) as error:
            raise ModelError(f"the teacher of the model's text is damaged: {error}") from None
        n = len(told.symbols) + 1
        shapes = root.shape, choose.shape, stop.shape
        if shapes != ((n,), (n, 2, 2, n), (n, 2, 2)) or not all(
            ((array >= 0) & (array <= 1)).all() for array in (root, choose, stop)
        ):
            raise ModelError("the teacher of the model's text is damaged: no probabilities of its symbols")
        return cls(told.table, prior, told.symbols, DmvModel(root, choose, stop))


def taught(sentences: Sequence[Sentence], text: CodedText) -> tuple[TextTeacher | None, Floats32]:
    """The teacher that sentences make, and its expected arcs; None: none of them has two words.

    `text` are the same sentences. The arcs (S, 17, 16, 2) of each sentence are counted by tag of
    the head (ROOT last), tag of the dependent, and its side (0 left, 1 right); a sentence not learnt from has
    none.
    """
    arcs = np.zeros((len(text), N_TAGS + 1, N_TAGS, 2), np.float32)
    read = np.flatnonzero((text.lengths > 1) & (text.lengths <= LONGEST_SENTENCE))[:MOST_SENTENCES]
    if not len(read):
        return None, arcs
    table = rules_path(TABLE).read_text(encoding="utf-8")
    part = _with_few_tags(_without_forms(sentences[s] for s in read.tolist()))
    prior = Prior.from_json(_rules(table), Prior.of_text(_rules(table), part).text.to_json())  # as stored
    rows, potentials = _rows_and_potentials(prior, part)
    known = with_coarse(rows)
    ids = symbol_ids(rows, known)
    model = dmv.fit(ids, potentials, len(known) + 1)
    marginals = model.all_marginals(Packed.of(ids, potentials, len(known) + 1))
    for s, of_sentence in zip(read.tolist(), marginals):
        tags = text.tags[text.start[s] : text.start[s + 1]].astype(np.int64)
        heads, places = np.append(ROOT, tags)[:, None], np.arange(len(tags) + 1)
        side = (places[1:] > places[:, None]).astype(np.int64)
        np.add.at(arcs[s], (heads, tags[None], side), of_sentence)
    return TextTeacher(table, prior, known, model), arcs


class _StoredTeacher(msgspec.Struct):
    """What is stored besides probabilities."""

    table: str
    text: Any
    symbols: tuple[str, ...]


def objects_come_first(arcs: Floats32) -> bool:
    """Whether nominals precede their verbs by these expected arcs (17, 16, 2) of a text."""
    left, right = arcs[TAG["VERB"], _NOMINALS].sum(0)
    return bool(np.log((left + 1) / (right + 1)) > OBJECTS_FIRST)


@lru_cache(maxsize=1)
def _rules(table: str) -> RuleSet:
    return parse_rules(table)


def _without_forms(sentences: Iterable[Sentence]) -> list[Sentence]:
    return [sentence.ignoring(["forms"]) for sentence in sentences]


def _with_few_tags(sentences: list[Sentence]) -> list[Sentence]:
    """The sentences; if they have many tags, those unknown in all languages become X: the model has pairs."""
    if len({tag for sentence in sentences for tag in sentence.tags}) <= MOST_TAGS:
        return sentences
    return [replace(s, tags=tuple([tag if tag in UD_TAGS else "X" for tag in s.tags])) for s in sentences]


def _rows_and_potentials(
    prior: Prior, sentences: Sequence[Sentence]
) -> tuple[list[list[str]], list[NDArray[np.float64]]]:
    """The symbols of each sentence's words, and the potentials of its arcs."""
    views = prior.views(sentences)
    return [prior.symbols(view) for view in views], prior.potentials_of(views)


def decoded(text: CodedText, names: Sequence[str]) -> list[Sentence]:
    """The sentences of a coded text, without what it does not have; `names` are those of its features."""
    bundles = ["|".join(names[k] for k in np.flatnonzero(row).tolist()) or "_" for row in text.features]
    sentences = []
    for s in range(len(text)):
        low, high = text.start[s], text.start[s + 1]
        gaps = tuple([_GAPS[kind] for kind in text.gaps_of(s)])
        has_features = text.bundle[low:high].any()
        sentences.append(
            Sentence(
                ("_",) * int(high - low),
                tuple([TAGS[tag] for tag in text.tags[low:high]]),
                feats=tuple([bundles[row] for row in text.bundle[low:high]]) if has_features else (),
                gaps=gaps if any(gaps) else (),
            )
        )
    return sentences
