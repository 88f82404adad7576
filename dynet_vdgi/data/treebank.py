"""Which sentences and words of a treebank count: protocols, filters that say what they drop, punctuation.

Words are numbered 1..n, head 0 is the root. Everything here is a single pass over an iterator of `Sentence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.errors import ConfigError

UD_PUNCTUATION = frozenset({"PUNCT"})


# ------------------------------------------------------------------------------------------- protocols
@dataclass(frozen=True)
class Protocol:
    """What is removed before training and scoring. Length is counted in the words that are left.

    `removed_tags` are the tags of the words to delete; none means that punctuation is kept and scored.
    `projective_only` drops gold trees with crossing arcs, tested after that deletion.
    """

    name: str
    removed_tags: frozenset[str]
    projective_only: bool

    @property
    def description(self) -> str:
        """Every choice of the protocol, for the line that stands above each table."""
        if self.removed_tags:
            words = f"UPOS={'|'.join(sorted(self.removed_tags))} removed, children re-attached"
            tested, length = "after removal", "length counted after removal"
        else:
            words = "punctuation kept and scored"
            tested, length = "with punctuation", "length counted with punctuation"
        trees = f"projective gold trees only (tested {tested})" if self.projective_only else "all trees"
        return f"{words}; {trees}; {length}"


STANDARD = Protocol("standard", UD_PUNCTUATION, projective_only=False)
AS_RELEASED = Protocol("as_released", frozenset(), projective_only=True)
PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in (STANDARD, AS_RELEASED)}


def protocol_named(name: str) -> Protocol:
    """The protocol called `name`. Raises: ConfigError, naming the choices."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise ConfigError(f"no protocol {name!r} (choose from {', '.join(PROTOCOLS)})") from None


# ------------------------------------------------------------------------------------------- projectivity
def is_projective(heads: Sequence[int]) -> bool:
    """True if no two arcs cross. The root arc counts, as an arc from position 0 (as in the released code).

    O(n log n): open arcs are kept on a stack of right ends, so a new arc must end before the innermost one.

    >>> is_projective([2, 0, 2]), is_projective([3, 0, 2]), is_projective([0, 4, 1, 1])
    (True, False, False)
    """
    right_ends: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for dependent, head in enumerate(heads, 1):
        right_ends[min(head, dependent)].append(max(head, dependent))
    open_arcs: list[int] = []
    for left_end, starting in enumerate(right_ends):
        while open_arcs and open_arcs[-1] <= left_end:
            open_arcs.pop()
        for right_end in sorted(starting, reverse=True):
            if open_arcs and right_end > open_arcs[-1]:
                return False
            open_arcs.append(right_end)
    return True


# ------------------------------------------------------------------------------------------- punctuation
def without_punctuation(
    sentence: Sentence, removed_tags: frozenset[str] = UD_PUNCTUATION
) -> tuple[Sentence, tuple[int, ...]]:
    """The sentence without words of the removed tags, and the positions (from 1) of the kept words in it.

    Removed tags are universal ones, whatever column the sentence's `tags` are from.
    Heads change as in `heads_without`. A shortened sentence has no `source`: its words and head numbers no
    longer fit the lines of the file, and a writer must not put them there. Its `gaps` say what was removed
    where; relations, which belonged to the arcs of the file, are kept word by word.
    """
    universal = sentence.upos or sentence.tags
    positions = tuple(p for p, tag in enumerate(universal, 1) if tag not in removed_tags)
    if len(positions) == len(sentence):
        return sentence, positions
    kept = [p - 1 for p in positions]

    def of_kept(column: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([column[i] for i in kept]) if column else ()

    return Sentence(
        of_kept(sentence.forms),
        of_kept(sentence.tags),
        None if sentence.heads is None else heads_without(sentence.heads, positions),
        None,
        of_kept(sentence.upos),
        of_kept(sentence.lemmas),
        of_kept(sentence.xpos),
        of_kept(sentence.feats),
        of_kept(sentence.deprels),
        _gaps(sentence, positions),
    ), positions


def _gaps(sentence: Sentence, positions: Sequence[int]) -> tuple[str, ...]:
    """What stood before each of the kept words, and after the last: removed words, and gaps there before."""
    before = sentence.gaps or ("",) * (len(sentence) + 1)
    gaps, start = [], 0
    for end in (*positions, len(sentence) + 1):
        gap = before[end - 1]
        if end - start > 1:
            removed = [piece for i in range(start, end - 1) for piece in (before[i], sentence.forms[i])]
            gap = " ".join([piece for piece in (*removed, gap) if piece])
        gaps.append(gap)
        start = end
    return tuple(gaps)


def heads_without(heads: Sequence[int], positions: Sequence[int]) -> tuple[int, ...]:
    """Heads of the words at `positions` (ascending, from 1) when all other words are removed, renumbered.

    A word whose head is removed climbs to its nearest kept ancestor. If the root is removed, the first word
    that would climb to 0 becomes the root and the others that would attach to it, so one root stays one root;
    no treebank in use has such a sentence with more than one of them. A projective tree stays projective.

    >>> heads_without([2, 0, 2, 3], (1, 2, 4)), heads_without([3, 3, 0], (1, 2))
    ((2, 0, 2), (0, 1))
    """
    number = {0: 0, **{position: k for k, position in enumerate(positions, 1)}}
    kept_heads: list[int] = []
    climbed_to_zero: list[int] = []
    for position in positions:
        head = heads[position - 1]
        steps = 0
        while head not in number:
            steps += 1
            # A file of another parser may hold a cycle; among removed words it would never end.
            head = heads[head - 1] if steps <= len(heads) else 0
        if head == 0 and steps:
            climbed_to_zero.append(number[position])
        kept_heads.append(number[head])
    if climbed_to_zero:
        own_roots = (number[p] for p in positions if heads[p - 1] == 0)
        root = next(own_roots, climbed_to_zero[0])
        for word in climbed_to_zero:
            if word != root:
                kept_heads[word - 1] = root
    return tuple(kept_heads)


def restore_punctuation(kept_heads: Sequence[int], positions: Sequence[int], n_words: int) -> tuple[int, ...]:
    """Heads of all `n_words` words, given the heads of the words at `positions` (ascending, from 1).

    The others become leaves: each depends on the head of the innermost arc that covers its gap, or on the
    root word where no arc does. So a projective tree with one root stays one, and `heads_without` undoes it.
    In a sentence without kept words the first word is the root and the head of the others.

    >>> restore_punctuation([2, 0], [2, 4], 5)      # , dogs , bark .
    (4, 4, 4, 0, 4)
    """
    if len(kept_heads) != len(positions):
        raise ValueError(f"{len(kept_heads)} heads for {len(positions)} kept words")
    if not positions:
        return tuple(int(word > 1) for word in range(1, n_words + 1))
    heads = [-1] * n_words
    arcs: list[tuple[int, int, int, int]] = []  # length, left end, right end, head; without the root arc
    root = 0
    for position, kept_head in zip(positions, kept_heads):
        head = positions[kept_head - 1] if kept_head else 0
        heads[position - 1] = head
        if head:
            left_end, right_end = min(head, position), max(head, position)
            arcs.append((right_end - left_end, left_end, right_end, head))
        else:
            root = root or position
    if not root:
        raise ValueError("no kept word is the root")
    for word in range(1, n_words + 1):
        if heads[word - 1] < 0:
            covering = [arc for arc in arcs if arc[1] < word < arc[2]]
            heads[word - 1] = min(covering)[3] if covering else root
    return tuple(heads)


# ------------------------------------------------------------------------------------------- filters
def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Dropped:
    """What one filter took away: whole sentences with their words, or (sentences = 0) single words.

    >>> print(Dropped("punctuation", 0, 3340))
    punctuation: 3,340 words
    """

    reason: str
    sentences: int
    words: int

    def __str__(self) -> str:
        sentences = _count(self.sentences, "sentence") + ", " if self.sentences else ""
        return f"{self.reason}: {sentences}{_count(self.words, 'word')}"


class Filter:
    """Streams sentences through a protocol and length limits, and counts what it drops.

    Length is counted after the protocol's removal. Counts are of the sentences consumed so far; what was read
    equals what was kept plus the sum of `dropped`, in sentences and in words.
    """

    def __init__(self, protocol: Protocol, max_len: int | None = None, min_len: int = 1) -> None:
        if min_len < 1 or (max_len is not None and max_len < min_len):
            longest = "any" if max_len is None else str(max_len)
            raise ConfigError(f"no sentence has {min_len} to {longest} words (need 1 <= min_len <= max_len)")
        self.protocol, self.max_len, self.min_len = protocol, max_len, min_len
        self._too_short = f"shorter than {_count(min_len, 'word')}"
        self._too_long = "" if max_len is None else f"longer than {_count(max_len, 'word')}"
        reasons = ("punctuation", "punctuation only", "not projective", self._too_short, self._too_long)
        self._counts = {reason: [0, 0] for reason in reasons}  # sentences, words
        self._untested = [0, 0]

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences that stay, each as the protocol leaves it; lazily, in order."""
        for original in sentences:
            sentence, _ = without_punctuation(original, self.protocol.removed_tags)
            n_removed = len(original) - len(sentence)
            if n_removed and not len(sentence):
                self._drop("punctuation only", 1, n_removed)
                continue
            self._drop("punctuation", 0, n_removed)
            reason = self._fault(sentence)
            if reason:
                self._drop(reason, 1, len(sentence))
                continue
            if self.protocol.projective_only and sentence.heads is None:
                self._untested[0] += 1
                self._untested[1] += len(sentence)
            yield sentence

    @property
    def dropped(self) -> list[Dropped]:
        """One entry per filter that dropped anything, in the order in which they are applied."""
        return [Dropped(reason, *counts) for reason, counts in self._counts.items() if any(counts)]

    @property
    def notes(self) -> list[str]:
        """What the protocol asked for and could not be done."""
        if not any(self._untested):
            return []
        return [str(Dropped("kept without the projectivity test (no trees)", *self._untested))]

    def _fault(self, sentence: Sentence) -> str | None:
        if self.protocol.projective_only and sentence.heads is not None and not is_projective(sentence.heads):
            return "not projective"
        if len(sentence) < self.min_len:
            return self._too_short
        if self.max_len is not None and len(sentence) > self.max_len:
            return self._too_long
        return None

    def _drop(self, reason: str, sentences: int, words: int) -> None:
        counts = self._counts[reason]
        counts[0] += sentences
        counts[1] += words


@dataclass(frozen=True)
class Prepared:
    """A treebank after the filters. `dropped` and `notes` are printable, one line each."""

    sentences: list[Sentence]
    dropped: list[Dropped]
    notes: list[str]

    @property
    def n_words(self) -> int:
        return sum(map(len, self.sentences))


def prepare(
    sentences: Iterable[Sentence], protocol: Protocol, max_len: int | None = None, min_len: int = 1
) -> Prepared:
    """All sentences that `Filter` keeps, with its counts."""
    keep = Filter(protocol, max_len, min_len)
    kept = list(keep(sentences))
    return Prepared(kept, keep.dropped, keep.notes)
