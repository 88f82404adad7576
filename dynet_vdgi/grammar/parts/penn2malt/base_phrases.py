"""Noun phrases up to their heads, found by the names that `called` gives to tags.

    base phrase = 10 ; outside 8 ; root 6

A base phrase is a pronoun, or a run of determiners, adjectives, numbers and nouns, with any adverbs,
participles and conjunctions among these. Its head is the last noun or possessive; without one, the currency
sign before several numbers, else the last number, adjective or determiner. Every other word of the phrase
gains the weight from the word that it depends on, mostly the head; it loses `outside` as the head of words
outside, and `root` as the root. Punctuation ends a phrase, but not between adjectives; so do names of days
and spans of time, which are phrases of their own.
"""

from __future__ import annotations

from dynet_vdgi.grammar.parts.gaps import is_cut
from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.parts.penn2malt.called import are
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import Phrase, View
from dynet_vdgi.system.arrays import Floats

COLONS = frozenset({":", ";", "--", "-", "...", "–", "—", "…"})


def has_comma(view: View, word: int) -> bool:
    """Whether a comma was removed before a word."""
    return "," in view.marks[word].split()


def has_colon(view: View, word: int) -> bool:
    """Whether a colon, a semicolon or a dash was removed before a word."""
    return not COLONS.isdisjoint(view.marks[word].split())


class Kinds:
    """The kinds of one sentence's words that are needed to find its phrases, each as flags (n,)."""

    def __init__(self, view: View) -> None:
        self.view, self.n = view, view.n
        self.noun, self.common, self.plural = are(view, "noun"), are(view, "common"), are(view, "plural")
        self.name, self.pronoun = are(view, "name"), are(view, "pronoun")
        self.adjective, self.adverb = are(view, "adjective"), are(view, "adverb")
        self.number, self.currency = are(view, "number"), are(view, "currency")
        self.possessive, self.determiner = are(view, "possessive"), are(view, "determiner")
        self.predeterminer, self.conjunction = are(view, "predeterminer"), are(view, "conjunction")
        self.perfect, self.gerund = are(view, "perfect"), are(view, "gerund")
        self.participle = are(view, "perfect", "gerund")
        self.day, self.span, self.near = are(view, "day"), are(view, "span"), are(view, "near-span")

    # ------------------------------------------------------------------------------------- where it ends
    def goes_on(self, start: int, word: int) -> bool:
        """Whether a phrase that extends from `start` to before a word also includes this word."""
        if word > start and (self.is_a_time_apart(start, word) or self.is_parted(word)):
            return False
        if self.determiner[word]:
            return word == start or self.predeterminer[word - 1]
        if self.adjective[word]:
            return word == start or self.adjective_goes_on(word)
        if self.noun[word] or self.number[word] or self.possessive[word]:
            return True
        if self.currency[word]:
            return word == start or not self.noun[word - 1]
        return word > start and (
            (self.participle[word] and self.participle_goes_on(start, word))
            or (self.adverb[word] and self.adverb_goes_on(word))
            or (self.conjunction[word] and self.joins_adjectives(word))
        )

    def is_parted(self, word: int) -> bool:
        return is_cut(self.view, word) and not (self.adjective[word] and self.adjective[word - 1])

    def is_a_time_apart(self, start: int, word: int) -> bool:
        """Splits sales | yesterday, net | last year, and yesterday or last year from the words after them."""
        before = word - 1
        goes_on = word + 1 < self.n and (self.noun[word + 1] or self.possessive[word + 1])
        begins = (self.day[word] and self.noun[word] and not goes_on) or (
            self.near[word] and self.adjective[word]
        )
        ends = self.near[start] and self.span[before] and word > start + 1 and not self.common[word]
        is_day = word == start + 1 and self.day[start]
        return (self.noun[before] and begins) or (not self.possessive[word] and (ends or is_day))

    def adjective_goes_on(self, word: int) -> bool:
        if not (self.noun[word - 1] or self.number[word - 1]):
            return True
        end = word
        while end < self.n and (self.adjective[end] or self.participle[end]):
            end += 1
        return end < self.n and self.noun[end] and not self.plural[word - 1]

    def participle_goes_on(self, start: int, word: int) -> bool:
        """True in the proposed sale, but not in sales proposed."""
        after = word + 1
        if after >= self.n or (self.noun[word - 1] and self.perfect[word]):
            return False
        is_before_noun = self.noun[after] or self.adjective[after] or self.number[after]
        is_before_other = self.participle[after] and after + 1 < self.n and self.noun[after + 1]
        return (is_before_noun or is_before_other) and any(
            self.determiner[k] or self.adjective[k] or self.possessive[k] or self.number[k]
            for k in range(start, word)
        )

    def adverb_goes_on(self, word: int) -> bool:
        after = word + 1
        opens = self.determiner[word - 1] or self.possessive[word - 1]
        return (
            opens
            and after < self.n
            and (self.adjective[after] or self.participle[after] or self.number[after])
        )

    def joins_adjectives(self, word: int) -> bool:
        after = word + 1
        is_between = self.adjective[word - 1] and after < self.n and self.adjective[after]
        return is_between and any(self.noun[after + 1 : after + 3])

    # ------------------------------------------------------------------------------------- what is in it
    def head(self, start: int, end: int) -> int:
        """The head of the phrase of the words from start to before end."""
        words = range(start, end)
        nominal = [k for k in words if self.noun[k] or self.possessive[k]]
        if nominal:
            return nominal[-1]
        signs = [k for k in words if self.currency[k]]
        if signs:
            numbers = [k for k in range(signs[0] + 1, end) if self.number[k]]
            return numbers[0] if len(numbers) == 1 else signs[0]
        for kind in (self.number, self.adjective, self.determiner):
            found = [k for k in words if kind[k]]
            if found:
                return found[-1]
        return end - 1

    def governor(self, phrase: Phrase, word: int) -> int:
        """The head of a word of a phrase that does not depend on the phrase's head."""
        start, end, head = phrase
        if self.adverb[word]:
            return word + 1
        if self.currency[word]:
            numbers = [k for k in range(word + 1, end) if self.number[k]]
            if len(numbers) == 1:
                return numbers[0]
        if self.number[word] and word < head:
            signs = [k for k in range(start, word) if self.currency[k]]
            if signs and sum(self.number[signs[-1] + 1 : end]) > 1:
                return signs[-1]
            if not signs and word + 1 < end and self.number[word + 1]:
                return word + 1
            if word > start and self.name[word - 1]:
                return word - 1
        return next((k for k in range(word + 1, end) if self.possessive[k]), head)


def _read(view: View, setting: Setting, text: Text) -> None:
    kinds, word = Kinds(view), 0
    while word < view.n:
        end = word
        if kinds.pronoun[word]:
            end += 1
        else:
            while end < view.n and kinds.goes_on(word, end):
                end += 1
        if end > word:
            view.phrases.append(Phrase(word, end, kinds.head(word, end)))
        word = max(end, word + 1)
    for phrase in view.phrases:
        view.phrase_of.update(dict.fromkeys(range(phrase.start, phrase.end), phrase))


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    kinds = Kinds(view)
    outside, root = setting.number("outside", 0.0), setting.number("root", 0.0)
    for phrase in view.phrases:
        for word in range(phrase.start, phrase.end):
            if word != phrase.head:
                arcs[kinds.governor(phrase, word), word] += setting.weight
                arcs[word, : phrase.start] -= outside
                arcs[word, phrase.end :] -= outside
                roots[word] -= root


KINDS = (Kind("base phrase", Syntax((), {"outside": "number", "root": "number"}), read=_read, add=_add),)
