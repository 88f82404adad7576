"""What the page offers for a word, the likeliest first, and what it guesses: relations, XPOS,
FEATS, lemmas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
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
    by_labeller = choices.likely[word - 1] if choices and choices.likely else ()
    shares = [share for _, share in by_labeller]
    distinct = [relation for relation, share in by_labeller if shares.count(share) == 1]
    return list(dict.fromkeys([*distinct, *relations.ranked_relations(*tags_of(marked, word))]))


def offered_values(
    marked: MarkedSentence, word: int, what: str, analogies: Analogies, choices: Choices | None
) -> list[str]:
    """The values to offer for a word's column, one of `GUESSED_COLUMNS`: by words of the same
    ending, and by the tagger.

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
    elsewhere = analogies.values_of_other_tags(shown.upos, what)
    if what == "feats":
        by_ending = analogies.ranked_values(form, shown.upos, what)
        by_tagger = _values_of(choices.bundles if choices else (), word)
        usual = usual_bundles().get(shown.upos, [])
        ranked = [*by_ending[:2], *by_tagger[:2], *by_ending, *by_tagger, *usual, *elsewhere]
    else:
        by_ending = analogies.ranked_values(form, shown.upos, what, shown.feats)
        by_tagger = _values_of(choices.xpos if choices else (), word)
        ranked = [*by_ending[:2], *by_tagger[:2], *by_ending, *by_tagger, *elsewhere]
        ranked = [value for value in ranked if value != NO_VALUE]
    return list(dict.fromkeys(ranked))


def _values_of(choices: Sequence[Pairs], word: int) -> list[str]:
    """The values that a tagger would choose for a word, the most probable first."""
    return [value for value, _ in choices[word - 1]] if choices else []


@cache
def usual_bundles() -> dict[str, list[str]]:
    """By tag: the features that its words have most often in other languages
    (experiments/feature_bundles.py)."""
    bundles: dict[str, list[str]] = {}
    for line in BUNDLES.read_text(encoding="utf-8").splitlines()[1:]:
        tag, bundle = line.split()
        bundles.setdefault(tag, []).append(bundle)
    return bundles


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
        word = marked.state.columns[k]
        guess = text.analogies.guess(form, word._replace(upos=marked.columns[k].upos))
        if choices is not None:
            best_xpos = _values_of(choices.xpos, k + 1)[:1] or [""]
            best_bundle = _values_of(choices.bundles, k + 1)[:1] or [""]
            guess = Described(
                guess.xpos or best_xpos[0], guess.feats or best_bundle[0], guess.lemma
            )
        if any(guess):
            new[key] = guess
    marked.put_guesses(new)
