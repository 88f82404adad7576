"""What the page offers for a word, the likeliest first, and what it guesses: relations, XPOS,
FEATS, lemmas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from dynet_vdgi.page.learn.analogy import Analogies
from dynet_vdgi.page.learn.described import Described
from dynet_vdgi.page.text.annotated_text import AnnotatedText
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.offered_relations import Relations, tags_of
from dynet_vdgi.page.text.sentence_state import GUESSED_COLUMNS, NO_VALUE, ChangeError
from dynet_vdgi.page.web.search import MOST_FOUND
from dynet_vdgi.settings.bundled import resources

BUNDLES = resources() / "tagging" / "feature_bundles.txt"

Pairs = Sequence[tuple[str, float]]


class Choices(NamedTuple):
    """What a tagger would say about the words of a sentence, the most probable first, by word."""

    tags: Sequence[Pairs] = ()
    bundles: Sequence[Pairs] = ()
    likely: Sequence[Pairs] = ()  # relations; () for a word: nothing is known
    xpos: Sequence[Pairs] = ()


def offered_relations(
    marked: MarkedSentence, word: int, relations: Relations, choices: Choices | None
) -> list[str]:
    """The relations to offer for a word, the likeliest first: the labeller's best, then those
    confirmed most often.

    Relations that the labeller holds equally likely come with the others: it knows nothing of them.
    """
    said = choices.likely[word - 1] if choices and choices.likely else ()
    shares = [share for _, share in said]
    told_apart = [relation for relation, share in said if shares.count(share) == 1]
    return list(dict.fromkeys([*told_apart, *relations.offered(*tags_of(marked, word))]))


def offered(
    marked: MarkedSentence, word: int, what: str, analogies: Analogies, choices: Choices | None
) -> list[str]:
    """The values to offer for a word's column, one of `GUESSED_COLUMNS`: by words of the same ending, and
    by the tagger.

    Features are also those of other languages.

    Raises: ChangeError, it is another column.
    """
    if what not in GUESSED_COLUMNS:
        raise ChangeError(
            f"nothing is offered for {what[:20]!r} (but for: {', '.join(GUESSED_COLUMNS)})"
        )
    form, shown = marked.forms[word - 1], marked.columns[word - 1]
    if what == "lemma":
        return list(dict.fromkeys(analogies.lemmas(form, shown.upos, shown.feats)))[:MOST_FOUND]
    by_ending = analogies.ranked(form, shown.upos, what, shown.feats if what == "xpos" else "")
    its = () if choices is None else choices.bundles if what == "feats" else choices.xpos
    said = [value for value, _ in its[word - 1]] if its else []
    usual = usual_bundles().get(shown.upos, []) if what == "feats" else []
    ranked = chain(
        by_ending[:2], said[:2], by_ending, said, usual, analogies.others(shown.upos, what)
    )
    return list(dict.fromkeys(value for value in ranked if what == "feats" or value != NO_VALUE))


@cache
def usual_bundles() -> dict[str, list[str]]:
    """By tag: the features that its words have most often in other languages
    (experiments/feature_bundles.py)."""
    found: dict[str, list[str]] = {}
    for line in BUNDLES.read_text(encoding="utf-8").splitlines()[1:]:
        tag, bundle = line.split()
        found.setdefault(tag, []).append(bundle)
    return found


def put_guesses(
    text: AnnotatedText, marked: MarkedSentence, choices: Choices | None = None
) -> None:
    """Guesses what is missing of words of which a person has set something, by words of the same
    ending.

    Where none tells, it is what the tagger would choose; a guess that is shown stays.
    """
    new = {}
    for k, form in enumerate(marked.forms):
        if not marked.is_to_be_guessed(k) or (key := marked.guess_key(k)) in marked.column_guesses:
            continue
        own = marked.state.columns[k]
        found = text.analogies.guess(form, own._replace(upos=marked.columns[k].upos))
        if choices is not None:
            best = [
                its[k][0][0] if its and its[k] else "" for its in (choices.xpos, choices.bundles)
            ]
            found = Described(found.xpos or best[0], found.feats or best[1], found.lemma)
        if any(found):
            new[key] = found
    marked.put_guesses(new)
