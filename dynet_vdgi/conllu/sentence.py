"""The one sentence type that every part of the package passes on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dynet_vdgi.conllu.deprels import are_labels
from dynet_vdgi.conllu.tree_faults import drawable
from dynet_vdgi.drawing.columns import drawn_columns
from dynet_vdgi.drawing.layout import DrawnTree
from dynet_vdgi.drawing.svg import svg_document
from dynet_vdgi.errors import UsageError

if TYPE_CHECKING:
    from dynet_vdgi.conllu.soft_tags import SoftTags

Tree = tuple[int, ...]
"""The heads (n,) of all words of a sentence: numbers of words, or 0 for ROOT."""

# As UD writes them today (`# sent_id = x`) and as its older treebanks do (`# sentid: x`, `# sent_id
# x`).
_SENT_ID = re.compile(r"#\s*(?:\S+\s+)?sent_?id\b\s*[=:]?\s*(?![=:]\s*\Z)(\S.*?)\s*")


@dataclass(frozen=True)
class Source:
    """The origin of a sentence: its raw text lines, so that a writer can reproduce every byte.

    `lines` are without line ends: comments, multiword ranges, empty nodes and words, in file order.
    `rows[i]` is the index in `lines` of syntactic word i + 1. `extra` are the names of the columns
    after MISC.
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
        if match := _SENT_ID.fullmatch(line):
            return match[1]
    return None


@dataclass(frozen=True)
class Sentence:
    """Syntactic words 1..n of one sentence.

    `heads[i]` is the head of word i + 1: 0 for the root, else 1..n; None where the file has no
    trees. Readers asked for partial trees put FREE, -1, where a tree has no head. `upos` holds the
    universal tags if `tags` are others, and determines punctuation; it is empty if `tags` are
    universal.

    The columns below `upos` are empty if nothing is known for any word; otherwise they have one
    entry a word, "_" if it is unknown. `feats` are as in the file, `Name=Value|Name=Value`. `gaps`
    records the removed punctuation: n + 1 strings, the forms (joined by spaces) before each word
    and after the last one, "" for none; it is empty if nothing was removed. `soft` says how sure a
    tagger was of the tags that it chose.
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
            wrong = (
                "tags"  # if no column has a wrong number of entries, it is tags that are missing
            )
            for name in ("tags", "heads", "upos", "lemmas", "xpos", "feats", "deprels"):
                if len(getattr(self, name) or ()) not in (0, n):
                    wrong = name
                    break
            n_entries = len(getattr(self, wrong))
            raise UsageError(f"{wrong}: {n_entries} for {n} words: {self.forms!r:.60}")

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
        """The sentence without some of its columns; the names are those of the setting
        `data.ignore`.

        `feats`, `xpos`: these columns; `forms`: forms, which become "_", and lemmas; `punctuation`:
        `gaps`.

        >>> sentence = Sentence(("A", "dog"), ("DET", "NOUN"), feats=("_", "Number=Sing"))
        >>> sentence.ignoring(["forms"]).forms
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
        return svg_document([drawn(self)])


def drawn(sentence: Sentence, caption: str = "") -> DrawnTree:
    """The drawing of a sentence with heads, which need not be a tree."""
    heads, faults = drawable(sentence.heads or ())
    source = sentence.source
    return drawn_columns(
        sentence.forms,
        sentence.tags,
        heads,
        sentence.deprels if are_labels([sentence.deprels]) else (),
        lines=source.lines if source else (),
        rows=source.rows if source else (),
        faults=faults,
        caption=caption,
    )
