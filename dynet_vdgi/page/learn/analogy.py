"""What the words that a person has described say of words with the same ending: their XPOS, FEATS
and lemmas.

A word counts the more, the longer the ending that it shares with another of the same tag. Nothing
has to be learnt, so the second word of a text gains from the first one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from dynet_vdgi.conllu.tag_sets import UD2_TAGS
from dynet_vdgi.page.learn.composed_xpos import composed_xpos
from dynet_vdgi.page.learn.described import Described, description_of
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.sentence_state import NO_VALUE, MarkedColumns
from dynet_vdgi.words.tagger.lemmas import AS_WRITTEN, apply_rule, n_shared, rule_of

LONGEST_ENDING = 6
"""Letters of the longest ending; a whole word is longer than all."""

WEIGHT_OF_A_LETTER = 4.0
"""Each letter of the shared ending makes a word count so many times as much."""

WEIGHT_OF_OTHER_FEATS = 0.02
"""How much a word with other features counts, where those of the word in question are known."""

N_FREQUENT, TAGS_WITH_FREQUENT_LEMMAS = 5, ("ADP", "AUX", "DET", "PART", "PRON", "VERB")
"""So many lemmas of these tags are offered for any of their words: of `is`, no ending tells."""

SAME_BEGINNING = ("", "")
"""Of a form and its lemma, if they do not differ at the beginning as Irish bhean and bean do."""

MOST_LETTERS_OFF = 4
"""Letters that may be taken off a form to offer the rest as a lemma."""

LEMMA = Described._fields.index("lemma")
"""The place of the lemma."""


class Analogies:
    """The words of a text that somebody has described, by tag and ending."""

    def __init__(self, sentences: Iterable[MarkedSentence]) -> None:
        self._counts: defaultdict[tuple[str, str], Counter[Described]] = defaultdict(Counter)
        self._tags: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by lower-cased form
        self._lemmas: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by tag
        # of forms and lemmas
        self._beginnings: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._entered: dict[int, Counter[tuple[str, str, Described]]] = {}  # words by sentence
        for marked in sentences:
            self.enter(marked.id, marked)

    def enter(self, number: int, marked: MarkedSentence | None) -> None:
        """Counts the words of a sentence, and no more its former words; None: it has gone."""
        before = self._entered.pop(number, Counter())
        now = Counter(_words(marked) if marked is not None else ())
        if now:
            self._entered[number] = now
        for (form, tag, description), n in (now - before).items():
            self._count(form, tag, description, n)
        for (form, tag, description), n in (before - now).items():
            self._count(form, tag, description, -n)

    def _count(self, form: str, tag: str, description: Described, n: int) -> None:
        self._tags[form.lower()][tag] += n
        if description.lemma not in ("", NO_VALUE):
            lemma = apply_rule(description.lemma, form)
            self._lemmas[tag][lemma] += n
            self._beginnings[form[:2].lower()][_beginnings_of(form.lower(), lemma.lower())] += n
        for ending in _endings(form):
            self._counts[tag, ending][description] += n

    def ranked_values(self, form: str, tag: str, name: str, feats: str = "") -> list[str]:
        """The values of a column for a form with a tag, and with features if they are known; the
        likeliest first."""
        scores: defaultdict[str, float] = defaultdict(float)
        place = Described._fields.index(name)
        weight = 1.0
        for ending in _endings(form):
            for description, count in self._counts.get((tag, ending), {}).items():
                value = description[place]
                if value:
                    is_like = feats in ("", description.feats)
                    share = 1.0 if is_like else WEIGHT_OF_OTHER_FEATS
                    scores[value] += weight * count * share
            weight *= WEIGHT_OF_A_LETTER
        values = [value for value, score in scores.items() if score > 0]
        values.sort(key=lambda value: -scores[value])
        if name == "xpos" and feats not in ("", NO_VALUE):
            values = self._composed_xpos(tag, feats) + values
        return list(dict.fromkeys(values))

    def _composed_xpos(self, tag: str, feats: str) -> list[str]:
        """An XPOS put together for features that no described word with the tag has, or nothing."""
        described_words = {}
        for description, n in self._counts.get((tag, ""), {}).items():
            if description.xpos and description.feats and n > 0:
                described_words[description] = n
        is_new = all(description.feats != feats for description in described_words)
        return [composed_xpos(feats, described_words)] if described_words and is_new else []

    def corrected_guess(self, form: str, tag: str, guess: Described) -> tuple[str, Described]:
        """A tagger's tag and guess for a word of which nobody has said anything, with what was said
        of others.

        A tagger learns now and then; this knows the word before. Of a form that somebody has
        described, nothing stays that contradicts all that was said of it. Of other forms the lemma
        is that of words of the same ending, which makes fewer errors than a tagger that knows few
        words.
        """
        tags = +self._tags.get(form.lower(), Counter())
        if tags and tag not in tags:
            tag, guess = tags.most_common(1)[0][0], Described()
        if tag == NO_VALUE:
            return tag, guess
        like = self.guess(form, MarkedColumns(upos=tag))
        if tag not in tags:
            xpos, feats = guess.xpos or like.xpos, guess.feats or like.feats
            return tag, Described(xpos, feats, like.lemma or guess.lemma)
        values = []
        for place, (old, best) in enumerate(zip(guess, like)):
            counts = self._counts_of_form(form, tag, place)
            if not counts or old in counts:
                values.append(old)
            elif best in counts:
                values.append(best)
            else:
                values.append(counts.most_common(1)[0][0])
        return tag, Described(*values)

    def _counts_of_form(self, form: str, tag: str, place: int) -> Counter[str]:
        """What was said of a form with a tag, in the column at a place of `Described`; lemmas, not
        their rules."""
        counts: Counter[str] = Counter()
        for description, n in self._counts[tag, _whole_form(form)].items():
            value = description[place]
            if place == LEMMA and value not in ("", NO_VALUE):
                value = apply_rule(value, form)
            if value and n > 0:
                counts[value] += n
        return counts

    def values_of_other_tags(self, tag: str, name: str) -> list[str]:
        """The values of a column under other tags, the most frequent first."""
        place = Described._fields.index(name)
        counts: Counter[str] = Counter()
        for other in UD2_TAGS - {tag}:
            for description, n in self._counts.get((other, ""), {}).items():
                counts[description[place]] += n
        values = [value for value, n in counts.items() if value and n > 0]
        return sorted(values, key=lambda value: (-counts[value], value))

    def lemmas(self, form: str, tag: str, feats: str = "") -> Iterator[str]:
        """Possible lemmas, also twice: by a rule, the tag's frequent ones, by other rules, as
        written, shortened."""
        lower = form.lower()
        by_rule = self._lemmas_by_rule(form, tag, feats)
        yield next(by_rule)
        if tag in TAGS_WITH_FREQUENT_LEMMAS:
            for lemma, n in self._lemmas[tag].most_common(N_FREQUENT):
                if n > 0:
                    yield lemma
        yield from by_rule
        for n_letters_off in range(1, min(MOST_LETTERS_OFF + 1, len(lower))):
            yield lower[:-n_letters_off]

    def _lemmas_by_rule(self, form: str, tag: str, feats: str) -> Iterator[str]:
        """The lemmas that rules make of a form: those of its tag, then those of others; then the
        form itself. There is at least one."""
        lower, start = form.lower(), self._form_with_lemmas_beginning(form, tag)
        for rule in self._lemma_rules(form, tag, feats):
            if rule == AS_WRITTEN or lower.endswith(rule.partition(">")[0]):
                yield apply_rule(rule, start)
        yield from (start.lower(), lower, form)

    def _lemma_rules(self, form: str, tag: str, feats: str) -> Iterator[str]:
        yield from self.ranked_values(form, tag, "lemma", feats)
        yield from self.values_of_other_tags(tag, "lemma")  # slow, and asked for later lemmas only

    def _form_with_lemmas_beginning(self, form: str, tag: str) -> str:
        """A form with the beginning of its lemma, as most words with its first letters have it:
        bean for bhean."""
        lower = form.lower()
        counts = +self._beginnings[lower[:2]]
        of_form, of_lemma = counts.most_common(1)[0][0] if counts else SAME_BEGINNING
        of_same_form = self._counts.get((tag, _whole_form(form)), Counter())
        has_lemma = any(n > 0 and description.lemma for description, n in of_same_form.items())
        if of_form == of_lemma or has_lemma or len(form) <= len(of_form) + 1:
            start = form
        else:
            start = of_lemma + lower[len(of_form) :]
        return start[:1].upper() + start[1:] if form[:1].isupper() else start

    def guess(self, form: str, word: MarkedColumns) -> Described:
        """What is likely of a word that has at least a tag, "" where no word tells; what it has
        stays."""
        description = description_of(word)
        feats = description.feats or _first_or_empty(self.ranked_values(form, word.upos, "feats"))
        xpos = description.xpos or _first_or_empty(
            self.ranked_values(form, word.upos, "xpos", feats)
        )
        rules = self.ranked_values(form, word.upos, "lemma", feats)
        lemma = _first_or_empty(rules or self.values_of_other_tags(word.upos, "lemma"))
        if lemma not in ("", NO_VALUE):
            lemma = next(self.lemmas(form, word.upos, feats))
        return Described(xpos, feats, lemma)


def _first_or_empty(values: Sequence[str]) -> str:
    return values[0] if values else ""


def _words(marked: MarkedSentence) -> Iterator[tuple[str, str, Described]]:
    """Forms, tags and what a person has said of the words with a tag; `_` says something in a
    finished sentence."""
    is_done = marked.is_done
    for form, word in zip(marked.forms, marked.state.columns):
        if word.upos != NO_VALUE:
            description = description_of(word, is_done)
            lemma = description.lemma
            rule = lemma if lemma in ("", NO_VALUE) else _rule_of(form, lemma)
            yield form, word.upos, description._replace(lemma=rule)


def _rule_of(form: str, lemma: str) -> str:
    """The rule that makes a lemma, of the whole form if need be."""
    if ">" in form:
        return ""
    rule = rule_of(form, lemma)
    return f"{form.lower()}>{lemma}" if rule == NO_VALUE else rule


def _beginnings_of(form: str, lemma: str) -> tuple[str, str]:
    """What differs at the beginnings, as bh and b in bhean and bean; two empty texts: nothing."""
    shared = {}
    for cut in product(range(3), range(3)):
        n_form, n_lemma = cut
        n_letters = n_shared(form[n_form:], lemma[n_lemma:])
        shared[cut] = n_letters if n_letters > 1 else 0
    n_form, n_lemma = max(shared, key=lambda cut: (shared[cut], -sum(cut)))
    return form[:n_form], lemma[:n_lemma]


def _endings(form: str) -> Iterator[str]:
    """The endings of a form, the empty one first, and the whole form, marked as such."""
    lower = form.lower()
    for length in range(min(LONGEST_ENDING, len(lower)) + 1):
        yield lower[len(lower) - length :]
    yield _whole_form(form)


def _whole_form(form: str) -> str:
    """A whole form among endings, of which none has a line break."""
    return f"\n{form.lower()}"
