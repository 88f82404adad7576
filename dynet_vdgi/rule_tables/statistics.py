"""Evidence about a language from a text without trees: word order, and the measures of a table.

Function words stand on one side of the words they belong to, so one edge of a sentence has hardly
any of them. A verb-final language hides this, because only verbs can end its sentences. There the
edge is taken before the final verbs; verbs that begin sentences are treated likewise.

Conjunctions stand before the words that they join to the preceding text, in every language that the
author of a rule table is likely to meet, so sentences begin with them and do not end with them. A
text for which the opposite is true is taken for the mirror image of a language, and read from its
end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.table import Table
from dynet_vdgi.rule_tables.word_orders import FIRST, LAST, Fact, of_tags, of_verbs

MOST_ASYMMETRIC = 3.0
"""Limit of `Statistics.asymmetry`."""

CLEARLY_MIRRORED = 1.0
"""How far below 0 the asymmetry of conjunctions, smoothed by FEW_SENTENCES, must lie in a mirror
image."""

FEW_SENTENCES = 5
"""This many sentences alone do not turn a text round."""

# values of model files are checked, see `Text.from_json`
_Count = Annotated[float, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class Statistics:
    """How many of the sentences with two words or more begin, and end, with each tag.

    In a verb-final text the final verbs are left out, in a verb-initial one the initial verbs. A
    mirror image is counted in the order of the original, to which `is_verb_final` also refers. The
    counts include the cases that facts about the language are worth.
    """

    sentences: int = 0
    first: Mapping[str, _Count] = field(default_factory=dict)
    last: Mapping[str, _Count] = field(default_factory=dict)
    is_verb_final: bool = False
    is_mirrored: bool = False

    @classmethod
    def measure(
        cls,
        tagged: Iterable[Sequence[str]],
        table: Table | None = None,
        facts: Mapping[str, Fact] | None = None,
    ) -> Statistics:
        """Statistics of tagged sentences; a rule table says which tags are verbs and conjunctions.

        Words that do not count (punctuation under the `standard` protocol) must have been removed.

        Raises:
            ConfigError: there are facts about a text that is read in mirror image.

        >>> Statistics.measure([["DET", "NOUN"], ["DET", "NOUN", "VERB"], ["VERB"]]).last
        {'NOUN': 1, 'VERB': 1}
        """
        text, facts = [tuple(tags) for tags in tagged if len(tags) > 1], facts or {}
        conjunctions = table.reading_order if table else ()
        begun = sum(tags[0] in conjunctions for tags in text)
        ended = sum(tags[-1] in conjunctions for tags in text)
        log_ratio = math.log((begun + FEW_SENTENCES) / (ended + FEW_SENTENCES))
        is_mirrored = log_ratio < -CLEARLY_MIRRORED
        if is_mirrored and facts:
            raise ConfigError(
                "facts: word-order facts cannot be used with a text that is read backwards "
                "(its sentences end with conjunctions); "
                "leave them out, or leave out the table's 'reading order'"
            )
        if is_mirrored:
            text = [tags[::-1] for tags in text]
        first, last = text, text
        is_verb_final = False
        if table and table.verb_final:
            verbs, share = table.verb_final.groups[0], table.verb_final.weight
            is_verb_final = _share_ending(text, verbs, of_verbs(facts, LAST)) > share
            if is_verb_final:
                last = [_without_final(tags, verbs) for tags in text]
            backwards = [tags[::-1] for tags in text]
            if _share_ending(backwards, verbs, of_verbs(facts, FIRST)) > share:
                first = [_without_final(tags, verbs)[::-1] for tags in backwards]
        tag_facts = of_tags(facts)
        before = {tag: fact.value * fact.cases for tag, fact in tag_facts.items()}
        after = {tag: fact.rest().value * fact.cases for tag, fact in tag_facts.items()}
        return cls(
            len(text),
            _with_fact_counts(Counter(tags[0] for tags in first if tags), before),
            _with_fact_counts(Counter(tags[-1] for tags in last if tags), after),
            is_verb_final,
            is_mirrored,
        )

    def asymmetry(self, tag: str) -> float:
        """log((first + 1) / (last + 1)), at most MOST_ASYMMETRIC in size; 0 for a tag that was
        never seen.

        Above 0: the tag stands to the left of the words it belongs to.
        """
        ratio = math.log((self.first.get(tag, 0) + 1) / (self.last.get(tag, 0) + 1))
        return max(-MOST_ASYMMETRIC, min(MOST_ASYMMETRIC, ratio))


def _share_ending(text: Sequence[Sequence[str]], verbs: Collection[str], fact: Fact) -> float:
    """The share of sentences with a verb that end with one, including the facts about it."""
    with_verb = [tags for tags in text if not set(verbs).isdisjoint(tags)]
    share = sum(tags[-1] in verbs for tags in with_verb) / max(1, len(with_verb))
    return fact.combined_share(share, len(with_verb))


def _without_final(tags: tuple[str, ...], verbs: Collection[str]) -> tuple[str, ...]:
    """The sentence without the verbs at its end; it may be empty."""
    end = len(tags)
    while end and tags[end - 1] in verbs:
        end -= 1
    return tags[:end]


def _with_fact_counts(
    counts: Mapping[str, float], fact_counts: Mapping[str, float]
) -> dict[str, float]:
    tags = sorted({*counts, *fact_counts})
    return {tag: counts.get(tag, 0) + fact_counts.get(tag, 0) for tag in tags}
