"""Lemmas: those of words seen with them, and rules about endings for other words.

Lemmas are those of words seen with them; others follow rules about endings. A rule is text: `s>`
takes an s off the end of the lower-cased form, `ies>y` puts a y in place of ies, `=` is the form as
it is written. Which rule a word gets is learnt as its FEATS are, see `Bundles`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import takewhile

from dynet_vdgi.conllu.faults import has_stray_space
from dynet_vdgi.conllu.raw_text import form_of

LONGEST_ENDING = 6
"""Letters of the longest ending that a rule takes off."""

AS_WRITTEN = "="

Word = tuple[str, str, str, str]
"""Form, tag, FEATS and lemma."""


def rule_of(form: str, lemma: str) -> str:
    """The rule that makes this lemma; "_" if it would take off too much.

    >>> rule_of("Dogs", "dog"), rule_of("ponies", "pony")
    ('s>', 'ies>y')
    >>> rule_of("Paris", "Paris"), rule_of("x", "x")
    ('=', '>')
    """
    lower = form.lower()
    if lemma == form != lower:
        return AS_WRITTEN
    same = n_shared(lower, lemma)
    return "_" if len(lower) - same > LONGEST_ENDING else f"{lower[same:]}>{lemma[same:]}"


def n_shared(one: str, other: str) -> int:
    """With how many of the same letters two texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))


def apply_rule(rule: str, form: str) -> str:
    """The lemma that a rule makes of a form: the lower-cased form where the rule does not fit.

    White space that would be left over is taken out, because no reader takes it.

    >>> apply_rule("s>", "Dogs"), apply_rule("a.>", "bl. a.")
    ('dog', 'bl.')
    """
    if rule == AS_WRITTEN:
        return form
    lower = form.lower()
    ending, _, added = rule.partition(">")
    lemma = lower[: len(lower) - len(ending)] + added if lower.endswith(ending) else lower
    return lemma if is_lemma(lemma) else form_of(lemma).strip() or lower


def is_lemma(text: str) -> bool:
    """Whether CoNLL-U can hold a text as a lemma."""
    return (
        text != ""
        and not has_stray_space(text)
        and not any(letter in text for letter in "\t\n\r\0")
    )


def key_of(form: str, tag: str, feats: str) -> str:
    """The name of a word under which its lemma is kept."""
    return f"{tag} {feats} {form}"


def known_lemmas(words: Iterable[Word]) -> dict[str, str]:
    """The most frequent lemma of each word, by `key_of`."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for form, tag, feats, lemma in words:
        seen[key_of(form, tag, feats)][lemma] += 1
    return {
        key: min(lemmas, key=lambda each: (-lemmas[each], each)) for key, lemmas in seen.items()
    }
