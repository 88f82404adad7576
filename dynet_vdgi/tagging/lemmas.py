"""Lemmas by rules about endings, learnt from words with their lemmas.

A rule says how many letters to cut off the end of a form and what to put there. A word gets the lemma that
its form, tag and FEATS had most often; a new word gets the most frequent rule of the longest ending that it
shares with words of its tag and FEATS, or of its tag.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

LONGEST = 6
"""Letters of the longest endings."""

Rule = tuple[int, str]
"""Letters cut off, and what is put in their place; -1 letters: the form as it is written."""

AS_WRITTEN: Rule = (-1, "")


def rule_of(form: str, lemma: str) -> Rule:
    """The rule that makes this lemma.

    >>> rule_of("Dogs", "dog"), rule_of("went", "go"), rule_of("Paris", "Paris")
    ((1, ''), (4, 'go'), (-1, ''))
    """
    lower = form.lower()
    if lemma == form != lower:
        return AS_WRITTEN
    same = 0
    while same < min(len(lower), len(lemma)) and lower[same] == lemma[same]:
        same += 1
    return len(lower) - same, lemma[same:]


def applied(rule: Rule, form: str) -> str:
    """The lemma that a rule makes of a form; the form itself where it would be empty."""
    cut, added = rule
    if cut < 0:
        return form
    lower = form.lower()
    return lower[: max(0, len(lower) - cut)] + added or form


@dataclass
class Lemmas:
    """The rules: of words `tag FEATS form`, and of endings `tag FEATS ending` and `tag ending`."""

    words: dict[str, Rule] = field(default_factory=dict)
    endings: dict[str, Rule] = field(default_factory=dict)

    @classmethod
    def of(cls, words: Iterable[tuple[str, str, str, str]]) -> Lemmas:
        """Learns from form, tag, FEATS and lemma of words; lemmas `_` are not known."""
        seen: dict[str, Counter[Rule]] = defaultdict(Counter)
        ended: dict[str, Counter[Rule]] = defaultdict(Counter)
        for form, tag, feats, lemma in set_of_known(words):
            rule = rule_of(form, lemma)
            seen[f"{tag} {feats} {form}"][rule] += 1
            lower = form.lower()
            if rule[0] > LONGEST:
                continue
            for n in range(max(0, rule[0]), min(LONGEST, len(lower)) + 1):
                ending = lower[len(lower) - n :]
                ended[f"{tag} {feats} {ending}"][rule] += 1
                ended[f"{tag} {ending}"][rule] += 1
        return cls({key: best(rules) for key, rules in seen.items()}, pruned(ended))

    def of_word(self, form: str, tag: str, feats: str) -> str:
        """The lemma of a word."""
        rule = self.words.get(f"{tag} {feats} {form}")
        if rule is not None:
            return applied(rule, form)
        lower = form.lower()
        for about in (f"{tag} {feats}", tag):
            for n in range(min(LONGEST, len(lower)), -1, -1):
                rule = self.endings.get(f"{about} {lower[len(lower) - n :]}")
                if rule is not None:
                    return applied(rule, form)
        return form


def set_of_known(words: Iterable[tuple[str, str, str, str]]) -> list[tuple[str, str, str, str]]:
    """Words with a lemma; each type at most three times, so that frequent forms do not make the rules."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    known = []
    for word in words:
        counts[word] += 1
        if word[3] != "_" and counts[word] <= 3:
            known.append(word)
    return known


def best(rules: Counter[Rule]) -> Rule:
    """The most frequent rule; of equally frequent ones the first in the order of rules."""
    return min(rules, key=lambda rule: (-rules[rule], rule))


def pruned(ended: dict[str, Counter[Rule]]) -> dict[str, Rule]:
    """The rule of each ending, but for endings that shorter ones with the same rule make superfluous."""
    rules = {key: best(found) for key, found in ended.items()}
    kept = {}
    for key, rule in rules.items():
        about, _, ending = key.rpartition(" ")
        shorter = rules.get(f"{about} {ending[1:]}") if ending else None
        if shorter != rule:
            kept[key] = rule
    return kept
