"""Scores of parses of raw text, whose tokens and sentences may differ from the gold ones.

They are those of the CoNLL 2018 shared task (Zeman et al. 2018, section 4): F1 of what both sides
have. Forms are compared without white space, so both sides must hold the same characters. A token,
a sentence or a word that is a token is right if it covers the same characters. Multiword tokens of
either side that overlap make a span, in which words are aligned by a longest common subsequence of
their lower-cased forms. Tags, features, lemmas and trees are compared for aligned words; F1 then
counts the words of both sides. Beyond the task, whose script refuses gold words without heads, UAS
and LAS leave these and what is aligned with them out.

Where a span has a form twice, there may be several alignments, all as long; the script of the
shared task, whose spans are sometimes larger than its definition says, may then choose another one.
"""

from __future__ import annotations

import logging
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.blocks import Block, blocks, warn
from dynet_vdgi.conllu.faults import NUMBER, BlockCheck
from dynet_vdgi.conllu.nfc import ONE_FORM, SAME, is_same
from dynet_vdgi.conllu.raw_documents import token_block
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.system.files import shown as shown_path
from dynet_vdgi.system.messages import count
from dynet_vdgi.system.text_tables import aligned as laid_out

logger = logging.getLogger("dynet_vdgi")

METRICS = (
    "Tokens",
    "Sentences",
    "Words",
    "UPOS",
    "XPOS",
    "UFeats",
    "AllTags",
    "Lemmas",
    "UAS",
    "LAS",
)

_UNIVERSAL = """
PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood
Tense Aspect Voice Evident Polarity Person Polite
"""

UNIVERSAL = frozenset(_UNIVERSAL.split())
"""The features that UFeats compares."""

MOST_PAIRS = 1 << 24
"""Pairs of words that are compared inside overlapping multiword tokens."""

NO_HEAD = -2
"""The head of a word whose HEAD is `_`."""

Span = tuple[int, int]

_LEMMA, _UPOS, _XPOS, _FEATS, _HEAD, _DEPREL = range(2, 8)


@dataclass(frozen=True)
class Score:
    """What is right, of how many on each side."""

    right: int
    gold: int
    system: int

    @property
    def precision(self) -> float:
        """From 0 to 1; 0 if there is nothing."""
        return self.right / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        """From 0 to 1; 0 if there is nothing."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / (self.gold + self.system) if self.gold + self.system else 0.0


@dataclass
class Side:
    """One side: characters are counted without white space."""

    path: str
    characters: str
    tokens: list[Span]
    sentences: list[Span]
    words: list[Span]  # those of a multiword token have its span
    columns: list[list[str]]
    heads: list[int]  # by number in `columns`; -1: the root, NO_HEAD: there is none
    multiword: list[Span]  # first word and the one after the last, of each multiword token
    lines: list[int]  # of the tokens
    blocks: list[Block]  # of the sentences, as they were read
    firsts: list[int]  # the number of each sentence's first word

    def words_in(self, sentences: range) -> range:
        """The numbers of the words of some sentences, one after the other."""
        end = self.firsts[sentences.stop] if sentences.stop < len(self.firsts) else len(self.words)
        return range(self.firsts[sentences.start], end)


def read(path: AnyPath, *, only_trees: bool = False) -> Side:
    """A CoNLL-U file.

    Raises: DataError, it is malformed, or a head is outside its sentence; with `only_trees` also
    for a cycle, several roots, or none.
    """
    side = Side(str(path), "", [], [], [], [], [], [], [], [], [])
    forms, place = [], 0
    for sentence in map(token_block, blocks(path)):
        begin, first = place, len(side.columns)
        side.blocks.append(sentence.block)
        side.firsts.append(first)
        for (columns, words), row in zip(sentence.tokens, sentence.rows):
            form = _without_spaces(columns[1])
            forms.append(form)
            span = place, place + len(form)
            place += len(form)
            side.tokens.append(span)
            side.lines.append(sentence.block.line + row)
            if words[0] is not columns:
                side.multiword.append((len(side.words), len(side.words) + len(words)))
            side.words += [span] * len(words)
            side.columns += words
        side.sentences.append((begin, place))
        n_words = len(side.columns) - first
        for columns in side.columns[first:]:
            head = columns[_HEAD]
            if head == "_":
                side.heads.append(NO_HEAD)
                continue
            if not (NUMBER.fullmatch(head) and int(head) <= n_words):
                where = f"HEAD {head[:20]!r} of word {columns[0]}"
                hint = (
                    "vdgi annotate opens it, to mend it there"
                    if head.isdecimal()
                    else "a number, or _ for none"
                )
                raise DataError(
                    side.path, sentence.block.line, f"{where} is no word of the sentence", hint
                )
            side.heads.append(first + int(head) - 1 if int(head) else -1)
        if only_trees:
            block, heads = sentence.block, [columns[_HEAD] for columns in side.columns[first:]]
            rows = [
                row for row, line in enumerate(block.lines) if line.partition("\t")[0].isdecimal()
            ]
            check = BlockCheck(side.path, block.line)
            reading.tree_of(check, heads, rows, "partial" if "_" in heads else "required", warn)
    side.characters = "".join(forms)
    return side


@lru_cache(maxsize=1 << 16)
def _without_spaces(form: str) -> str:
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


def score_files(gold: AnyPath, parses: Sequence[AnyPath]) -> dict[str, dict[str, Score]]:
    """The score of each of METRICS, by path of the parse.

    Raises: DataError, a file is malformed, its heads are no trees, or a parse holds other
    characters than the gold file.
    """
    reference = read(gold, only_trees=True)
    if missing := reference.heads.count(NO_HEAD):
        message = "%s: %s of %s without HEAD: UAS and LAS are those of the others"
        logger.warning(
            message, shown_path(gold), f"{missing:,}", count(len(reference.words), "word")
        )
    return {str(path): metric_scores(reference, read(path, only_trees=True)) for path in parses}


def metric_scores(gold: Side, system: Side) -> dict[str, Score]:
    """The score of each of METRICS. Raises: DataError, both sides hold different characters."""
    check_same_characters(gold, system)
    pairs = aligned_words(gold, system)
    of_gold = dict(zip((f for _, f in pairs), (g for g, _ in pairs)))

    def words(right: Iterable[bool]) -> Score:
        return Score(sum(right), len(gold.words), len(system.words))

    def same(*values: int) -> Score:
        return words(all(_value(g, v) == _value(f, v) for v in values) for g, f in columns)

    # Of words that have no head in the gold file nothing is known, on neither side.
    unknown = {n for n, of_word in enumerate(gold.heads) if of_word == NO_HEAD}
    n_unknown_found = sum(g in unknown for g, _ in pairs)

    def arcs(right: Iterable[bool]) -> Score:
        n_gold = len(gold.words) - len(unknown)
        return Score(sum(right), n_gold, len(system.words) - n_unknown_found if n_gold else 0)

    def head(f: int) -> int:
        of_word = system.heads[f]
        return of_gold.get(of_word, -3) if of_word >= 0 else of_word

    columns = [(gold.columns[g], system.columns[f]) for g, f in pairs]
    heads = [gold.heads[g] == head(f) != NO_HEAD for g, f in pairs]
    relations = [_value(g, _DEPREL) == _value(f, _DEPREL) for g, f in columns]
    return {
        "Tokens": in_both(gold.tokens, system.tokens),
        "Sentences": in_both(gold.sentences, system.sentences),
        "Words": words(True for _ in pairs),
        "UPOS": same(_UPOS),
        "XPOS": same(_XPOS),
        "UFeats": same(_FEATS),
        "AllTags": same(_UPOS, _XPOS, _FEATS),
        "Lemmas": words(g[_LEMMA] in ("_", f[_LEMMA]) for g, f in columns),
        "UAS": arcs(heads),
        "LAS": arcs(a and b for a, b in zip(heads, relations)),
    }


def in_both(ours: Sequence[Span], theirs: Sequence[Span]) -> Score:
    """How many stretches of the text are on both sides."""
    return Score(len(set(ours) & set(theirs)), len(ours), len(theirs))


def _value(columns: Sequence[str], number: int) -> str:
    """A column as it is compared."""
    value = columns[number]
    if number == _FEATS:
        return _universal_features(value)
    return value.partition(":")[0] if number == _DEPREL else value


@lru_cache(maxsize=1 << 12)
def _universal_features(feats: str) -> str:
    return "|".join(
        sorted(part for part in feats.split("|") if part.partition("=")[0] in UNIVERSAL)
    )


def check_same_characters(gold: Side, system: Side) -> None:
    """Raises: DataError, naming the first place where both sides differ in more than white
    space."""
    if gold.characters == system.characters:
        return
    n = next(
        (n for n, (a, b) in enumerate(zip(gold.characters, system.characters)) if a != b),
        min(len(gold.characters), len(system.characters)),
    )

    def place(side: Side) -> tuple[int | None, str]:
        line = next((line for line, (_, end) in zip(side.lines, side.tokens) if end > n), None)
        return line, repr(side.characters[n : n + 10]) if n < len(side.characters) else "no more"

    (line, here), (gold_line, there) = place(system), place(gold)
    where = gold.path if gold_line is None else f"{gold.path}:{gold_line}"
    message = f"other text: here is {here}, where {where} has {there}"
    hint = "both files must hold the same text; spaces do not count"
    if is_same(gold.characters, system.characters):
        message, hint = f"{message}: {SAME}", ONE_FORM
    raise DataError(system.path, line, message, hint)


def aligned_words(gold: Side, system: Side) -> list[tuple[int, int]]:
    """Pairs of numbers of words that stand for each other, in their order."""
    spans = _joined_spans(
        [side.words[first] for side in (gold, system) for first, _ in side.multiword]
    )
    (ours, by_gold), (theirs, by_system) = (
        _sorted_out(gold.words, spans),
        _sorted_out(system.words, spans),
    )
    pairs = [(n, by_system[span]) for span, n in by_gold.items() if span in by_system]
    for (begin, _), a, b in zip(spans, ours, theirs):
        if len(a) * len(b) > MOST_PAIRS:
            line = system.lines[bisect_right([start for start, _ in system.tokens], begin) - 1]
            n_words = max(len(a), len(b))
            message = f"multiword tokens overlap those of {gold.path} in a chain of {n_words} words"
            raise DataError(
                system.path, line, message, "no text has that: is one of the files damaged?"
            )
        common = longest_common(
            [gold.columns[n][1].lower() for n in a], [system.columns[n][1].lower() for n in b]
        )
        pairs += [(a[g], b[f]) for g, f in common]
    return sorted(pairs)


def _joined_spans(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans made one, in order."""
    joined: list[Span] = []
    for begin, end in sorted(spans):
        if joined and begin < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _sorted_out(
    words: Sequence[Span], spans: Sequence[Span]
) -> tuple[list[list[int]], dict[Span, int]]:
    """The numbers of the words inside each span, and those of the other words by what they
    cover."""
    inside: list[list[int]] = [[] for _ in spans]
    others: dict[Span, int] = {}
    begins = [begin for begin, _ in spans]
    for n, (begin, end) in enumerate(words):
        home = bisect_right(begins, begin) - 1
        if home >= 0 and end <= spans[home][1]:
            inside[home].append(n)
        else:
            others[begin, end] = n
    return inside, others


def longest_common(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence; of several, one with late items of the left side.

    >>> longest_common(["de", "le", "chat"], ["le", "les", "chat"])
    [(1, 0), (2, 2)]
    """
    if left == right:
        return [(k, k) for k in range(len(left))]
    n, m = len(left), len(right)
    lengths = np.zeros((n + 1, m + 1), np.int32)  # of what is common from these places on
    theirs = np.array(right, object)
    for i in range(n - 1, -1, -1):
        longer = np.maximum(lengths[i + 1, :m], (lengths[i + 1, 1:] + 1) * (theirs == left[i]))
        lengths[i, :m] = np.maximum.accumulate(longer[::-1])[::-1]
    pairs, i, j = [], 0, 0
    while i < n and j < m:
        if left[i] == right[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1, j] == lengths[i, j]:
            i += 1
        else:
            j += 1
    return pairs


def shown(by_name: Mapping[str, Mapping[str, Score]]) -> str:
    """F1 by file, a line each, from 0 to 100, `-` where the gold file says nothing; for a single
    file precision and recall, too."""
    if len(by_name) == 1:
        ((name, scores),) = by_name.items()
        rows = [[name, "precision", "recall", "F1"]]
        rows += [
            [m, *(_percent(s, v) for v in (s.precision, s.recall, s.f1))] for m, s in scores.items()
        ]
    else:
        rows = [["F1", *METRICS]]
        rows += [
            [name, *(_percent(s, s.f1) for s in scores.values())]
            for name, scores in by_name.items()
        ]
    return laid_out(rows)


def _percent(score: Score, share: float) -> str:
    return f"{100 * share:.2f}" if score.gold else "-"


def to_dict(scores: Mapping[str, Score]) -> dict[str, dict[str, float | None]]:
    """Ready for JSON: how many are right, on the gold side and found, and shares from 0 to 1.

    These are None where the gold file says nothing.
    """
    result: dict[str, dict[str, float | None]] = {}
    for name, score in scores.items():
        counts = {"right": score.right, "gold": score.gold, "found": score.system}
        shares = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
        result[name] = {**counts, **(shares if score.gold else dict.fromkeys(shares))}
    return result
