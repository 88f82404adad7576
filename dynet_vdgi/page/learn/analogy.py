"""What the words that a person has described say of words with the same ending: their XPOS, FEATS and lemmas.

A word counts the more, the longer the ending that it shares with another of the same tag. Nothing has to be
learnt, so the second word of a text gains from the first one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from math import log
from typing import NamedTuple

from dynet_vdgi.conllu.tag_sets import UD2_TAGS
from dynet_vdgi.page.text.marked import NOTHING, MarkedColumns, MarkedSentence
from dynet_vdgi.words.tagger.lemmas import AS_WRITTEN, applied, n_shared, rule_of

LONGEST = 6
"""Letters of the longest ending; a whole word is longer than all."""

MORE = 4.0
"""Each letter of the shared ending makes a word count so many times as much."""

OTHER_FEATS = 0.02
"""How much a word with other features counts, where those of the word in question are known."""

SMALL = 0.1
"""Added to the counts of features from which parts of an XPOS are chosen."""

FREQUENT, FREQUENT_IN = 5, ("ADP", "AUX", "DET", "PART", "PRON", "VERB")
"""So many lemmas of these tags are offered for any of their words: of `is`, no ending tells."""

NO_CHANGE = ("", ""), 0
"""Of the beginnings of a form and its lemma; in other languages one of them may change the other."""

SHORTENED = 4
"""Letters that may be taken off a form to offer the rest as a lemma."""


class Described(NamedTuple):
    """A word's columns, "" where nobody has said anything; the lemma is a rule, see `lemmas.rule_of`."""

    xpos: str = ""
    feats: str = ""
    lemma: str = ""


LEMMA = Described._fields.index("lemma")


class Analogies:
    """The words of a text that somebody has described, by tag and ending."""

    def __init__(self, sentences: Iterable[MarkedSentence]) -> None:
        self._counts: defaultdict[tuple[str, str], Counter[Described]] = defaultdict(Counter)
        self._tags: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by lower-cased form
        self._lemmas: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by tag
        self._beginnings: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)  # of forms and lemmas
        self._entered: dict[int, Counter[tuple[str, str, Described]]] = {}  # words by sentence
        for marked in sentences:
            self.enter(marked.id, marked)

    def enter(self, number: int, marked: MarkedSentence | None) -> None:
        """Counts the words of a sentence in place of those that it had; None: it has gone."""
        before, now = self._entered.pop(number, Counter()), Counter(_words(marked) if marked is not None else ())
        if now:
            self._entered[number] = now
        if now != before:
            for sign, words in ((1, now - before), (-1, before - now)):
                for (form, tag, said), n in words.items():
                    self._count(form, tag, said, sign * n)

    def _count(self, form: str, tag: str, said: Described, n: int) -> None:
        self._tags[form.lower()][tag] += n
        if said.lemma not in ("", NOTHING):
            lemma = applied(said.lemma, form)
            self._lemmas[tag][lemma] += n
            self._beginnings[form[:2].lower()][_beginnings_of(form.lower(), lemma.lower())] += n
        for ending in _endings(form):
            self._counts[tag, ending][said] += n

    def ranked(self, form: str, tag: str, name: str, feats: str = "") -> list[str]:
        """The values of a column for a form with a tag, and with features if they are known; the likeliest first."""
        scores: defaultdict[str, float] = defaultdict(float)
        place = Described._fields.index(name)
        weight = 1.0
        for ending in _endings(form):
            for said, count in self._counts.get((tag, ending), {}).items():
                if said[place]:
                    scores[said[place]] += weight * count * (1.0 if feats in ("", said.feats) else OTHER_FEATS)
            weight *= MORE
        found = sorted((value for value in scores if scores[value] > 0), key=lambda value: -scores[value])
        if name == "xpos" and feats not in ("", NOTHING):
            known = +Counter({s: n for s, n in self._counts.get((tag, ""), {}).items() if s.xpos and s.feats})
            if known and all(said.feats != feats for said in known):
                found.insert(0, composed_xpos(feats, known))
        return list(dict.fromkeys(found))

    def recalled(self, form: str, tag: str, guess: Described) -> tuple[str, Described]:
        """A tagger's tag and guess for a word of which nobody has said anything, with what was said of others.

        A tagger learns now and then; this knows the word before. Of a form that somebody has described, nothing
        stays that contradicts all that was said of it. Of other forms the lemma is that of words of the same ending,
        which makes fewer errors than a tagger that knows few words.
        """
        tags = +self._tags.get(form.lower(), Counter())
        if tags and tag not in tags:
            tag, guess = tags.most_common(1)[0][0], Described()
        if tag == NOTHING:
            return tag, guess
        like = self.guess(form, MarkedColumns(upos=tag))
        if tag not in tags:
            return tag, Described(guess.xpos or like.xpos, guess.feats or like.feats, like.lemma or guess.lemma)
        values = []
        for place, (old, best) in enumerate(zip(guess, like)):
            known: Counter[str] = Counter()
            for said, n in (+self._counts[tag, _whole(form)]).items():
                value = said[place]
                known[applied(value, form) if place == LEMMA and value not in ("", NOTHING) else value] += n
            del known[""]
            values.append(old if old in known or not known else best if best in known else known.most_common(1)[0][0])
        return tag, Described(*values)

    def others(self, tag: str, name: str) -> list[str]:
        """The values of a column under other tags, the most frequent first."""
        place = Described._fields.index(name)
        found: Counter[str] = Counter()
        for other in UD2_TAGS - {tag}:
            for said, count in self._counts.get((other, ""), {}).items():
                found[said[place]] += count
        return sorted(
            (value for value in found if value and found[value] > 0), key=lambda value: (-found[value], value)
        )

    def lemmas(self, form: str, tag: str, feats: str = "") -> Iterator[str]:
        """Possible lemmas, also twice: by a rule, the tag's frequent ones, by other rules, as written, shortened."""
        lower = form.lower()
        finds = (partial(self.ranked, form, tag, "lemma", feats), partial(self.others, tag, "lemma"))  # if needed
        rules = (rule for find in finds for rule in find())
        (own, other), _ = next(iter((+self._beginnings[lower[:2]]).most_common(1)), NO_CHANGE)
        is_said = any(n > 0 and said.lemma for said, n in self._counts.get((tag, _whole(form)), {}).items())
        start = form if own == other or is_said or len(form) <= len(own) + 1 else other + lower[len(own) :]
        start = start[:1].upper() + start[1:] if form[:1].isupper() else start
        fitting = (applied(r, start) for r in rules if r == AS_WRITTEN or lower.endswith(r.partition(">")[0]))
        found = chain(fitting, (start.lower(), lower, form))
        yield from islice(found, 1)
        if tag in FREQUENT_IN:
            yield from (lemma for lemma, n in self._lemmas[tag].most_common(FREQUENT) if n > 0)
        yield from found
        yield from (lower[:-k] for k in range(1, min(SHORTENED + 1, len(lower))))

    def guess(self, form: str, word: MarkedColumns) -> Described:
        """What is likely of a word that has at least a tag, "" where no word tells; what it has stays."""
        said = _described(word)
        feats = said.feats or next(iter(self.ranked(form, word.upos, "feats")), "")
        xpos = said.xpos or next(iter(self.ranked(form, word.upos, "xpos", feats)), "")
        rules = self.ranked(form, word.upos, "lemma", feats) or self.others(word.upos, "lemma")[:1]
        rule = next(iter(rules), "")
        return Described(xpos, feats, rule if rule in ("", NOTHING) else next(self.lemmas(form, word.upos, feats)))


def composed_xpos(feats: str, known: Counter[Described]) -> str:
    """An XPOS for features that no known word has: the one of the most similar features, each part chosen again.

    A part is a letter or, where the XPOS has them, what stands between marks. If it is the beginning of a value that
    is another one here, as m in Ncms of Gender=Masc, it becomes the beginning of that. Others are chosen by naive
    Bayes: by each feature that a word of `known` has or has not.
    """
    wanted, of_feats = set(feats.split("|")), {said: set(said.feats.split("|")) for said in known}
    likest = max(known, key=lambda said: (len(wanted & of_feats[said]) / len(wanted | of_feats[said]), known[said]))
    shape = _parts(likest.xpos)
    alike = [(parts, of_feats[said]) for said in known if len(parts := _parts(said.xpos)) == len(shape)]
    features = wanted.union(*(own for _, own in alike))

    def log_probability(place: int, part: str) -> float:
        its = [own for parts, own in alike if parts[place] == part]
        shares = ((sum(one in own for own in its) + SMALL) / (len(its) + 2 * SMALL) for one in features)
        return log(len(its)) + sum(log(p if one in wanted else 1 - p) for one, p in zip(features, shares))

    choices = (dict.fromkeys([part, *(parts[k] for parts, _ in alike)]) for k, part in enumerate(shape))
    found = [max(parts, key=partial(log_probability, k)) for k, parts in enumerate(choices)]
    others = dict(feature.partition("=")[::2] for feature in of_feats[likest] - wanted)
    for name, value in (feature.partition("=")[::2] for feature in sorted(wanted - of_feats[likest])):
        was = others.get(name, "").lower()
        for k, part in list(enumerate(shape))[:0:-1]:
            if value and part.isalnum() and was.startswith(part.lower()) and ("-" in shape or not part.isupper()):
                found[k] = value[: len(part)] if part.isupper() else value[: len(part)].lower()
                break
    return "".join(found)


def _parts(xpos: str) -> list[str]:
    return re.findall("[^:.,|]+|[:.,|]", xpos) if re.search("[:.,|]", xpos) else [*xpos]


def _words(marked: MarkedSentence) -> Iterator[tuple[str, str, Described]]:
    """Forms, tags and what a person has said of the words with a tag; `_` says something in a finished sentence."""
    is_done = marked.is_done
    for form, word in zip(marked.forms, marked.state.columns):
        if word.upos != NOTHING:
            said = _described(word, is_done)
            rule = said.lemma if said.lemma in ("", NOTHING) else _rule_of(form, said.lemma)
            yield form, word.upos, said._replace(lemma=rule)


def _rule_of(form: str, lemma: str) -> str:
    """The rule that makes a lemma, of the whole form if need be."""
    rule = rule_of(form, lemma)
    return "" if ">" in form else f"{form.lower()}>{lemma}" if rule == NOTHING else rule


def _beginnings_of(form: str, lemma: str) -> tuple[str, str]:
    """What differs at the beginnings, as bh and b in bhean and bean; two empty texts: nothing."""
    cuts = {(i, j): n_shared(form[i:], lemma[j:]) for i in range(3) for j in range(3)}
    own, other = max(cuts, key=lambda cut: (cuts[cut] > 1 and cuts[cut], -sum(cut)))
    return form[:own], lemma[:other]


def _described(word: MarkedColumns, is_done: bool = False) -> Described:
    """What a person has said of a word, whose lemma is no rule here; in a finished sentence, `_`, too."""
    pairs = ((getattr(word, name), getattr(word, name + "_by")) for name in Described._fields)
    return Described(*(value if value != NOTHING or by or is_done else "" for value, by in pairs))


def _endings(form: str) -> Iterator[str]:
    """The endings of a form, the empty one first, and the whole form, marked as such."""
    lower = form.lower()
    for length in range(min(LONGEST, len(lower)) + 1):
        yield lower[len(lower) - length :]
    yield _whole(form)


def _whole(form: str) -> str:
    """A whole form among endings, of which none has a line break."""
    return f"\n{form.lower()}"
