"""A sentence and its columns; inventories of tags, and protocols: which words and trees count."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dynet_vdgi.errors import ConfigError, UsageError, check_kind

if TYPE_CHECKING:  # it needs NumPy
    from dynet_vdgi.data.soft_tags import SoftTags

_SHARED = "ADJ ADP ADV AUX DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
UD1_TAGS = frozenset((*_SHARED.split(), "CONJ"))
UD2_TAGS = frozenset((*_SHARED.split(), "CCONJ"))
UD_TAGS = UD1_TAGS | UD2_TAGS

_BRACKETS = frozenset({"-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-"})
_SYMBOLS = frozenset({"$", "#"})  # of the Penn Treebank: ordinary words, unlike the German tag $,


def is_punctuation(tag: str) -> bool:
    """Whether a tag of a language's own tag set (XPOS) marks punctuation.

    These are tags without a letter or digit (, . : `` '' $,), brackets of the Penn Treebank, and tags that
    begin with PUNC.

    >>> [tag for tag in (".", "$,", "$", "-LRB-", "PUNCT|Comma", "NN") if is_punctuation(tag)]
    ['.', '$,', '-LRB-', 'PUNCT|Comma']
    """
    if tag in _SYMBOLS:
        return False
    return tag in _BRACKETS or tag.upper().startswith("PUNC") or not any(map(str.isalnum, tag))


def ud_version(tags: Container[str]) -> str:
    """The UD version of the tags, judged by the tag for coordinating conjunctions; "" if neither."""
    old, new = "CONJ" in tags, "CCONJ" in tags
    return "" if old == new else "UD 1" if old else "UD 2"


# ----------------------------------------------------------------------------------------------------
# Protocols: which words and trees count. Figures under different ones cannot be compared.
UD_PUNCTUATION = frozenset({"PUNCT"})


@dataclass(frozen=True)
class Protocol:
    """The words and trees removed before training and scoring. Length counts the words that are left.

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
EVERY_WORD = Protocol("every_word", frozenset(), projective_only=False)
"""For scoring only: every word of every tree counts, so DDA is the UAS of the official UD scorer, udeval."""

PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in (STANDARD, AS_RELEASED)}
"""For training and scoring."""

SCORING_PROTOCOLS: dict[str, Protocol] = {**PROTOCOLS, EVERY_WORD.name: EVERY_WORD}


def protocol_of(protocol: str | Protocol, among: Mapping[str, Protocol] = PROTOCOLS) -> Protocol:
    """The protocol itself, or the one of that name.

    Raises: ConfigError, there is none, naming the choices; UsageError, the argument is neither.
    """
    check_kind("protocol", protocol, (str, Protocol), "a Protocol or the name of one")
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in among:
        raise ConfigError(f"no protocol {protocol!r} (choose from {', '.join(among)})")
    return among[protocol]


def scoring_protocol(protocol: str | Protocol) -> Protocol:
    """`protocol_of` among `SCORING_PROTOCOLS`."""
    return protocol_of(protocol, SCORING_PROTOCOLS)


# ----------------------------------------------------------------------------------------------------
# The one sentence type that every part of the package passes on.


FREE = -1
"""Stands in heads for one that is not specified: the word may have any head. A tree with it is partial."""

# As UD writes them today (`# sent_id = x`) and as its older treebanks do (`# sentid: x`, `# sent_id x`).
_SENT_ID = re.compile(r"#\s*(?:\S+\s+)?sent_?id\b\s*[=:]?\s*(?![=:]\s*\Z)(\S.*?)\s*")


@dataclass(frozen=True)
class Source:
    """The origin of a sentence: its raw text lines, so that a writer can reproduce every byte.

    `lines` are without line ends: comments, multiword ranges, empty nodes and words, in file order.
    `rows[i]` is the index in `lines` of syntactic word i + 1. `extra` are the names of the columns after MISC.
    """

    path: str
    line: int  # number of the block's first line in the file, from 1
    lines: tuple[str, ...]
    rows: tuple[int, ...]
    extra: tuple[str, ...] = ()

    @property
    def sent_id(self) -> str | None:
        """The sentence's name among the comments; None without one."""
        return sent_id_of(self.lines)


def sent_id_of(lines: Iterable[str]) -> str | None:
    """The name that the comments above a sentence's words give it; None if they do not."""
    for line in lines:
        if not line.startswith("#"):
            break
        if found := _SENT_ID.fullmatch(line):
            return found[1]
    return None


@dataclass(frozen=True)
class Sentence:
    """Syntactic words 1..n of one sentence.

    `heads[i]` is the head of word i + 1: 0 for the root, else 1..n; None where the file has no trees. Readers
    asked for partial trees put FREE, -1, where a tree has no head. `upos` holds the universal tags if `tags`
    are others, and determines punctuation; it is empty if `tags` are universal.

    The columns below `upos` are empty if nothing is known for any word; otherwise they have one entry a word,
    "_" if it is unknown. `feats` are as in the file, `Name=Value|Name=Value`. `gaps` records the removed
    punctuation: n + 1 strings, the forms (joined by spaces) before each word and after the last one, "" for
    none; it is empty if nothing was removed. `soft` says how sure a tagger was of the tags that it chose.
    """

    forms: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...] | None = None
    source: Source | None = None
    upos: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()
    deprels: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    soft: SoftTags | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Raises: UsageError, a column has more or fewer entries than there are words."""
        n = len(self.forms)
        others = self.upos, self.lemmas, self.xpos, self.feats, self.deprels
        if (
            len(self.tags) != n
            or (self.heads is not None and len(self.heads) != n)
            or any(column and len(column) != n for column in others)
        ):
            names = "tags", "heads", "upos", "lemmas", "xpos", "feats", "deprels"
            wrong = [name for name in names if len(getattr(self, name) or ()) not in (0, n)] or ["tags"]
            raise UsageError(f"{wrong[0]}: {len(getattr(self, wrong[0]))} for {n} words: {self.forms!r:.60}")

    def __len__(self) -> int:
        return len(self.forms)

    @classmethod
    def of_tags(cls, tags: Iterable[str]) -> Sentence:
        """Words whose tags alone are known; their forms are "_".

        >>> Sentence.of_tags(["DET", "NOUN"]).forms
        ('_', '_')

        Raises: UsageError, the tags are one text.
        """
        if isinstance(tags, str):
            raise UsageError(f"tags={tags!r}: a list of tags is expected")
        tags = tuple(tags)
        return cls(("_",) * len(tags), tags)

    def ignoring(self, known: Collection[str]) -> Sentence:
        """The sentence without some of its columns; the names are those of the setting `data.ignore`.

        `feats`, `xpos`: these columns; `forms`: forms, which become "_", and lemmas; `punctuation`: `gaps`.

        >>> Sentence(("A", "dog"), ("DET", "NOUN"), feats=("_", "Number=Sing")).ignoring(["forms"]).forms
        ('_', '_')
        """
        if not known:
            return self
        hidden = "forms" in known
        return replace(
            self,
            forms=("_",) * len(self) if hidden else self.forms,
            lemmas=() if hidden else self.lemmas,
            xpos=() if "xpos" in known else self.xpos,
            feats=() if "feats" in known else self.feats,
            gaps=() if "punctuation" in known else self.gaps,
            soft=self.soft.without_features() if self.soft and "feats" in known else self.soft,
        )

    def _repr_svg_(self) -> str | None:
        """The tree as a picture, for notebooks; None without heads."""
        if self.heads is None:
            return None
        from importlib import import_module  # by name: drawing stands above data

        svg: str = import_module("dynet_vdgi.drawing.text").draw(self).svg()
        return svg
