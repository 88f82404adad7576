"""What a person has said of a word besides its tag."""

from __future__ import annotations

from typing import NamedTuple

from dynet_vdgi.page.text.sentence_state import NO_VALUE, MarkedColumns


class Described(NamedTuple):
    """A word's columns, "" where nobody has said anything; the lemma may be a rule, see
    `lemmas.rule_of`."""

    xpos: str = ""
    feats: str = ""
    lemma: str = ""


def description_of(word: MarkedColumns, is_done: bool = False) -> Described:
    """What a person has said of a word, whose lemma is no rule here; in a finished sentence, `_`,
    too."""
    values = []
    for name in Described._fields:
        value, by = getattr(word, name), getattr(word, name + "_by")
        values.append(value if value != NO_VALUE or by or is_done else "")
    return Described(*values)
