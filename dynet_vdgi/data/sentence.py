"""The one sentence type that every part of the package passes on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from dynet_vdgi.data import notebooks

FREE = -1
"""In heads, stands for that of a word that may have any: nobody has said it. A tree with it is partial."""

# As UD writes them today (`# sent_id = x`) and as its older treebanks do (`# sentid: x`, `# sent_id x`).
_SENT_ID = re.compile(r"#\s*(?:\S+\s+)?sent_?id\b\s*[=:]?\s*(\S.*?)\s*")


@dataclass(frozen=True)
class Source:
    """Where a sentence came from: its raw text lines, so that a writer can give every byte back.

    `lines` are without line ends: comments, multiword ranges, empty nodes and words, in file order.
    `rows[i]` is the index in `lines` of syntactic word i + 1.
    """

    path: str
    line: int  # number of the block's first line in the file, from 1
    lines: tuple[str, ...]
    rows: tuple[int, ...]

    @property
    def sent_id(self) -> str | None:
        """The sentence's name among the comments; None without one."""
        for line in self.lines:
            if not line.startswith("#"):
                break
            if found := _SENT_ID.fullmatch(line):
                return found[1]
        return None


@dataclass(frozen=True)
class Sentence:
    """Syntactic words 1..n of one sentence.

    `heads[i]` is the head of word i + 1: 0 for the root, else 1..n; None where the file has no trees. Readers
    that are asked for partial trees put FREE, -1, where a tree has no head. `upos`
    are the universal tags where `tags` are others, and tell what is punctuation; empty: `tags` are universal.

    The columns below `upos` are empty where nothing is known for any word, else one entry a word, "_" for a
    word without; `feats` are as in the file, `Name=Value|Name=Value`. `gaps` says which punctuation was
    removed: n + 1 strings, the forms (joined by spaces) that stood before each word and after the last one,
    "" for none; empty: nothing was removed.
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

    def __len__(self) -> int:
        return len(self.forms)

    @classmethod
    def of_tags(cls, tags: Iterable[str]) -> Sentence:
        """Words of which nothing but the tags is known; their forms are "_".

        >>> Sentence.of_tags(["DET", "NOUN"]).forms
        ('_', '_')
        """
        tags = tuple(tags)
        return cls(("_",) * len(tags), tags)

    def ignoring(self, known: Collection[str]) -> Sentence:
        """The sentence without some of what is known of its words, as `data.ignore` names it.

        `feats`, `xpos`: these columns; `forms`: forms, which are "_" then, and lemmas; `punctuation`: `gaps`.

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
        )

    def _repr_svg_(self) -> str | None:
        """The tree as a picture, for notebooks; None without heads."""
        return notebooks.picture(self) if notebooks.picture and self.heads is not None else None
