"""The tagger: UPOS, FEATS, XPOS and lemmas, learnt from tagged sentences and raw ones.

It works in two passes. Jackknifed random fields over spellings tag all of the text, raw or tagged;
what they say of all occurrences of a word type is a feature of the second random field
(`TypeMeans`). FEATS and UPOS are chosen together: the best by
p(UPOS | sentence) p(FEATS | UPOS, spelling).

Letters: N words, T tags.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynet_vdgi.conllu.corpus import Sentences, sentences_of
from dynet_vdgi.conllu.nfc import as_in, nfc
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.soft_tags import SoftTags
from dynet_vdgi.conllu.writing import with_columns, with_notes
from dynet_vdgi.errors import UsageError
from dynet_vdgi.features.hashing import text_code
from dynet_vdgi.models import archive
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.words.tagger.bundles import Bundles
from dynet_vdgi.words.tagger.chain import FREE
from dynet_vdgi.words.tagger.crf import Crf, Items, Likelihood, Tokens, weighted_features
from dynet_vdgi.words.tagger.lemmas import apply_rule, key_of, known_lemmas, rule_of
from dynet_vdgi.words.tagger.retagger import LearningText, Retagger, TaggerOutput
from dynet_vdgi.words.tagger.spelling import WordTypes, with_items
from dynet_vdgi.words.tagger.state import (
    UNKNOWN,
    TaggerState,
    feats_parts,
    named_parts,
    plain_parts,
    values_of,
)
from dynet_vdgi.words.tagger.tag_list import TagList
from dynet_vdgi.words.tagger.tagger_file import load, members
from dynet_vdgi.words.tagger.type_means import TypeMeans

FOLDS = 5
"""Random fields of the first pass; each leaves out another fifth of the tagged sentences."""

ITERATIONS = 50, 80
"""Of learning, in the first pass and in the second."""

LISTED_SENTENCES = 300
"""Raw sentences whose listed words are learnt from; more cost time and do not help (fr, wo)."""

GOOD_ACCURACY = 0.9
"""UPOS accuracy below which corrected tags help a parser more than corrected trees (see
docs/results)."""

BELOW_GOOD_ACCURACY = "below 90 %, corrected tags help a parser more than corrected trees"

MOST_RETAGGED = 5000
"""Tagged words beyond which the retagger, which other languages taught, is not asked."""

BATCH_SENTENCES = 2000
"""Sentences that are tagged together: a word's other occurrences among them inform its tag."""


class Tagged(NamedTuple):
    """A sentence with its tags, the probability of each UPOS found, and the number of words that
    had UPOS."""

    sentence: Sentence
    chances: list[float | None]  # (n,); None: the word had UPOS
    n_given: int

    @property
    def noted(self) -> Sentence:
        """The sentence with TagConf= in MISC of the words that were tagged."""
        notes = ["" if chance is None else f"TagConf={chance:.4f}" for chance in self.chances]
        return with_notes(self.sentence, misc=notes)


class WordTags(NamedTuple):
    """What the tagger gives to words (N,)."""

    bundles: Sequence[tuple[str, str]]  # UPOS and FEATS
    xpos: Sequence[str]
    rules: Sequence[str]  # of lemmas
    chances: Sequence[float]  # of UPOS

    def of(self, words: slice) -> WordTags:
        """Those of some of the words."""
        return WordTags(
            self.bundles[words], self.xpos[words], self.rules[words], self.chances[words]
        )


class WordChoices(NamedTuple):
    """What a word may be, the most probable first, with the probabilities."""

    tags: list[tuple[str, float]]
    bundles: list[tuple[str, float]]  # FEATS
    xpos: Sequence[tuple[str, float]] = ()


@dataclass
class Tagger:
    """A tagger; `fit` learns one from sentences, `load` reads one.

    >>> import dynet_vdgi as vdgi
    >>> tagger = vdgi.Tagger().fit("tagged.conllu", raw="more.conllu")  # doctest: +SKIP
    >>> vdgi.write(tagger.predict("new.conllu"), "new.tagged.conllu")  # doctest: +SKIP
    """

    learnt: TaggerState | None = field(default=None, repr=False)

    def fit(
        self,
        sentences: Sentences = (),
        raw: Sentences = (),
        *,
        tag_list: AnyPath | TagList | None = None,
    ) -> Tagger:
        """Learns from sentences with tags, some of which may be `_`, and from raw ones.

        Equal sentences give equal taggers. `tag_list` is a file of words with their usual tag, as
        `vdgi tag list` writes it to be filled in. Words without a tag that are in the list have
        this tag then, in the given sentences, in the first LISTED_SENTENCES raw ones and in raw
        ones with a listed word that none had before. A word that has another tag somewhere in the
        sentences is ambiguous, and not looked up.

        Raises:
            UsageError: no word has a tag.
            DataError: as `read` and `TagList.read`.
        """
        listing = TagList.read(tag_list) if isinstance(tag_list, (str, os.PathLike)) else tag_list
        tagged = list(sentences_of(sentences, heads="ignored", tags="known"))
        rest = (each.forms for each in sentences_of(raw, heads="ignored", tags="known"))
        chosen: list[tuple[str, ...]] = []
        raw_words = WordTypes.of(
            rest if listing is None else _unlisted_sentences(rest, listing, chosen)
        )
        tagged += [Sentence(forms, (UNKNOWN,) * len(forms)) for forms in chosen]
        text = _TaggingText(tagged, listing)
        if not text.tags:
            raise UsageError(
                "no word has a tag (UPOS) to learn from; tag some sentences, fifty for a start"
            )
        tokens, gold = text.words.tokens(), text.numbers_of_tags
        first, marginals = _first_pass(tokens, gold, len(text.tags))
        right = (marginals.argmax(axis=1) == gold)[text.is_given]
        jackknifed = float(right.mean()) if len(right) else None
        means = TypeMeans.of(text.words, marginals)
        raw_tokens = raw_words.tokens()
        raw_marginals = first.marginals(first.scores(raw_tokens), raw_words.first)
        means = means.plus(TypeMeans.of(raw_words, raw_marginals))
        second = Crf.fit(
            means.with_means(tokens, text.words), gold, len(text.tags), iterations=ITERATIONS[1]
        )
        of_feats = Bundles.fit(
            tokens, text.numbers_of_bundles, feats_parts(text.bundles, text.tags)
        )
        with_bundles = _with_bundles(tokens, text.bundle_of_words)
        of_xpos = Bundles.fit(with_bundles, text.numbers_of_xpos, plain_parts(text.xpos, text.tags))
        of_rules = Bundles.fit(
            with_bundles, text.numbers_of_rules, plain_parts(text.rules, text.tags)
        )
        learning_text = None
        if len(right) <= MOST_RETAGGED:
            learning_text = LearningText.of(text.words, text.tag_of_words, raw_words)
        self.learnt = TaggerState(
            tags=text.tags,
            bundles=text.bundles,
            xpos=text.xpos,
            rules=text.rules,
            lemmas=text.lemmas,
            first=first,
            means=means,
            second=second,
            of_feats=of_feats,
            of_xpos=of_xpos,
            of_rules=of_rules,
            jackknifed=jackknifed,
            n_words=len(right),
            text=learning_text,
        )
        return self

    def predict(self, sentences: Sentences, *, retag: bool = False) -> list[Sentence]:
        """The sentences with tags: words that have UPOS keep what they have, unless `retag`."""
        return [each.sentence for each in self.stream(sentences, retag=retag)]

    def stream(self, sentences: Sentences, *, retag: bool = False) -> Iterator[Tagged]:
        """The sentences that `predict` gives, BATCH_SENTENCES at a time, and how probable their
        tags are."""
        rest = iter(sentences_of(sentences, heads="ignored", tags="known"))
        batches = iter(lambda: list(islice(rest, BATCH_SENTENCES)), [])
        learnt = self._learnt_state()
        return (each for batch in batches for each in _tag_batch(learnt, batch, retag))

    def choices(self, sentence: Sentence, most: int = 5) -> list[WordChoices]:
        """What each word of a sentence may be; its FEATS and XPOS, up to `most`, are those of its
        UPOS.

        The tags are chosen as if no word had one. XPOS is that of the word's FEATS, or of the most
        probable.
        """
        learnt = self._learnt_state()
        tags = universal_tags(sentence)
        asked = vars(self).get("_asked")  # whoever corrects a sentence asks after each change
        if asked is None or asked[0] is not learnt or asked[1] != sentence.forms:
            words = WordTypes.of([sentence.forms])
            tokens = words.tokens()
            asked = (
                learnt,
                sentence.forms,
                tokens,
                _marginals(learnt, words, tokens, [UNKNOWN] * len(tags)),
            )
            vars(self)["_asked"] = asked
        tokens, free = asked[2:]
        pairs = list(zip(tags, sentence.feats or (UNKNOWN,) * len(tags)))
        choices = []
        for k, tag in enumerate(tags):
            order = np.argsort(-free[k], kind="stable").tolist()
            feats: list[tuple[str, float]] = []
            if tag in learnt.tags or tag == UNKNOWN:
                group = order[0] if tag == UNKNOWN else learnt.tags.index(tag)
                feats = _most_probable(learnt.bundles, learnt.of_feats, tokens, k, group, most)
                if pairs[k][1] == UNKNOWN:
                    pairs[k] = tag, feats[0][0]
            choices.append(WordChoices([(learnt.tags[t], float(free[k, t])) for t in order], feats))
        with_bundles = _with_bundles(tokens, pairs)
        for k, tag in enumerate(tags):
            if tag in learnt.tags:
                group = learnt.tags.index(tag)
                xpos = _most_probable(learnt.xpos, learnt.of_xpos, with_bundles, k, group, most)
                choices[k] = choices[k]._replace(xpos=xpos)
        return choices

    def save(self, path: str | Path) -> None:
        """Writes the tagger to a file. Raises: UsageError, it cannot be written, or `fit` first."""
        archive.write(path, members(self._learnt_state()))

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        return archive.packed(members(self._learnt_state()))

    @classmethod
    def load(cls, path: str | Path, content: bytes | None = None) -> Tagger:
        """The tagger in a file, which has this content if it is inside a model.

        Raises: ModelError, there is none, or it is damaged.
        """
        return cls(load(path, content))

    @property
    def accuracy(self) -> float | None:
        """The share of words whose UPOS was found by learning from other sentences alone, from 0 to
        1.

        None if no sentence had tags.
        """
        return self._learnt_state().jackknifed

    @property
    def quality(self) -> str:
        """What `accuracy` means for a user, as the end of a sentence about the tagger."""
        if self.accuracy is None:
            return (
                "has seen no tagged sentences, so nobody knows how good it is: "
                "tag some, and evaluate"
            )
        share = f"{100 * self.accuracy:.1f} % of UPOS"
        return f"finds {share} in tagged sentences that are kept aside, fewer in other texts"

    @property
    def told(self) -> str:
        """A line about its quality, and what a user should do about it."""
        return f"the tagger {self.quality}" + ("" if self.is_enough else f"; {BELOW_GOOD_ACCURACY}")

    @property
    def is_enough(self) -> bool:
        """Whether trees are worth correcting before tags, as far as its accuracy is known."""
        return self.accuracy is None or self.accuracy >= GOOD_ACCURACY

    @property
    def n_words(self) -> int:
        """The number of words with UPOS in the sentences that it has learnt from."""
        return self._learnt_state().n_words

    def _learnt_state(self) -> TaggerState:
        if self.learnt is None:
            raise UsageError("the tagger has learnt nothing yet: call fit first")
        return self.learnt


def _most_probable(
    names: Sequence[tuple[str, str]],
    bundles: Bundles,
    tokens: Tokens,
    word: int,
    group: int,
    most: int,
) -> list[tuple[str, float]]:
    """The most probable bundles of a group (an UPOS) for a word, up to `most`, with their
    probabilities."""
    start, end = bundles.parts.groups[group : group + 2].tolist()
    if start == end:
        return []
    chances = bundles.chances(tokens, word, group)
    best = np.argsort(-chances, kind="stable").tolist()[:most]
    return [(names[start + b][1], float(chances[b])) for b in best]


def _tag_batch(learnt: TaggerState, sentences: list[Sentence], retag: bool) -> Iterator[Tagged]:
    """What `Tagger.stream` gives, of sentences that are tagged together."""
    words = WordTypes.of(sentence.forms for sentence in sentences)
    number = {tag: k for k, tag in enumerate(learnt.tags)}
    gold = [UNKNOWN if retag else tag for sentence in sentences for tag in universal_tags(sentence)]
    tokens = words.tokens()
    marginals = _marginals(learnt, words, tokens, gold)
    # Retagged probabilities are flatter: the tag is chosen before its FEATS then, not both
    # together.
    of_groups = (
        marginals if learnt.text is None else np.eye(len(learnt.tags))[marginals.argmax(axis=1)]
    )
    best, _ = learnt.of_feats.best(tokens, of_groups)
    bundles = [learnt.bundles[k] for k in best.tolist()]
    numbers = np.array([number[tag] for tag, _ in bundles], np.int64)
    chances = marginals[np.arange(len(numbers)), numbers].tolist()
    with_bundles, of_tags = _with_bundles(tokens, bundles), np.eye(len(learnt.tags))[numbers]
    tags = WordTags(
        bundles,
        _best_values(learnt.xpos, learnt.of_xpos, with_bundles, of_tags),
        _best_values(learnt.rules, learnt.of_rules, with_bundles, of_tags),
        chances,
    )
    soft = _soft_tags(learnt, tokens, marginals)
    ends = words.first.tolist()
    for sentence, start, end in zip(sentences, ends, ends[1:]):
        words_of_sentence = slice(start, end)
        filled = _fill(sentence, learnt.lemmas, tags.of(words_of_sentence), retag)
        yield _with_soft(filled, soft.of(words_of_sentence))


def _best_values(
    values: Sequence[tuple[str, str]], model: Bundles, tokens: Tokens, of_tags: Floats
) -> list[str]:
    """The most probable of these values (UPOS and XPOS, or UPOS and rule) for each word, given its
    UPOS (N, T)."""
    best, chances = model.best(tokens, of_tags)
    return [
        values[k][1] if chance > 0 else UNKNOWN
        for k, chance in zip(best.tolist(), chances.tolist())
    ]


def _soft_tags(learnt: TaggerState, tokens: Tokens, marginals: Floats) -> SoftTags:
    """The probabilities of all words' tags, from their marginals (N, T), and of their features."""
    parts = named_parts(learnt.bundles, values_of)
    names = [part for part in parts if " " not in part]  # not UPOS and FEATS as a whole
    column = np.array([names.index(part) if " " not in part else -1 for part in parts], np.int64)
    expected = learnt.of_feats.expected(tokens, marginals, column)
    return SoftTags(tuple(learnt.tags), marginals.astype(np.float32), tuple(names), expected)


def _with_soft(tagged: Tagged, soft: SoftTags) -> Tagged:
    """The sentence with the probabilities of its words' tags, unless all of these were given."""
    sentence, chances, n_given = tagged
    if n_given == len(sentence):
        return tagged
    feats = sentence.feats or (UNKNOWN,) * len(sentence)
    given = [
        (k, universal_tags(sentence)[k], feats[k])
        for k, chance in enumerate(chances)
        if chance is None
    ]
    return tagged._replace(sentence=replace(sentence, soft=soft.with_certain_tags(given)))


def _marginals(
    learnt: TaggerState, words: WordTypes, tokens: Tokens, tags: Sequence[str]
) -> Floats:
    """The probabilities (N, T) of the tags of words, some of which are known (N,); retagged after
    few words."""
    number = {tag: k for k, tag in enumerate(learnt.tags)}
    given = np.array([number.get(tag, FREE) for tag in tags], np.int64)
    output = tagger_output(learnt, words, tokens, given)
    if learnt.text is None:
        return output.marginals
    return Retagger.load().corrected_marginals(learnt.text, words, output, given == FREE)


def tagger_output(
    learnt: TaggerState, words: WordTypes, tokens: Tokens, given: Ints
) -> TaggerOutput:
    """What the random fields say of words, some of whose tags are given (N,); others are FREE."""
    before = learnt.first.marginals(learnt.first.scores(tokens), words.first, given)
    means = learnt.means.plus(TypeMeans.of(words, before))
    marginals = learnt.second.marginals(
        learnt.second.scores(means.with_means(tokens, words)), words.first, given
    )
    return TaggerOutput(learnt.tags, learnt.n_words, marginals, means)


def universal_tags(sentence: Sentence) -> Sequence[str]:
    """The UPOS of a sentence's words, `_` where there is none."""
    return sentence.upos or sentence.tags


class _TaggingText:
    """Sentences to learn from, and the numbers of what their words have; FREE for words without
    UPOS.

    `is_given` (N,) are the words whose UPOS is that of the sentences, not of the list.
    """

    def __init__(self, sentences: Sequence[Sentence], listing: TagList | None = None) -> None:
        self.words = WordTypes.of(sentence.forms for sentence in sentences)
        tags = [tag for sentence in sentences for tag in universal_tags(sentence)]
        feats: list[str] = []
        xpos: list[str] = []
        lemmas: list[str] = []
        for sentence in sentences:
            none = (UNKNOWN,) * len(sentence)
            feats += sentence.feats or none
            xpos += sentence.xpos or none
            lemmas += [nfc(lemma) for lemma in sentence.lemmas or none]
        forms = [self.words.forms[k] for k in self.words.types.tolist()]
        self.is_given = np.array([tag != UNKNOWN for tag in tags], np.bool_)
        self.bundle_of_words = list(zip(tags, feats))
        if listing is not None:
            tags, self.bundle_of_words = listing.filled_tags(forms, tags, feats)
        self.tag_of_words = tags
        self.tags = sorted({*tags} - {UNKNOWN})
        bundles = {pair for pair in self.bundle_of_words if pair[0] != UNKNOWN}
        tags_with_bundles = {tag for tag, _ in bundles}
        for tag in self.tags:
            if tag not in tags_with_bundles:
                bundles.add((tag, UNKNOWN))
        self.bundles = sorted(bundles)
        xpos_pairs = [(tag if x != UNKNOWN else UNKNOWN, x) for tag, x in zip(tags, xpos)]
        self.xpos = sorted({pair for pair in xpos_pairs if pair[0] != UNKNOWN})
        words = [
            word for word in zip(forms, tags, feats, lemmas) if UNKNOWN not in (word[1], word[3])
        ]
        self.lemmas = known_lemmas(words)
        rules = [
            (tag, rule_of(form, lemma)) if UNKNOWN not in (tag, lemma) else (UNKNOWN, UNKNOWN)
            for form, tag, lemma in zip(forms, tags, lemmas)
        ]
        self.rules = sorted({pair for pair in rules if UNKNOWN not in pair})
        self.numbers_of_tags = _numbers(tags, self.tags)
        self.numbers_of_bundles = _numbers(self.bundle_of_words, self.bundles)
        self.numbers_of_xpos = _numbers(xpos_pairs, self.xpos)
        self.numbers_of_rules = _numbers(rules, self.rules)


def _unlisted_sentences(
    text: Iterable[tuple[str, ...]], listing: TagList, chosen: list[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    """The sentences that are not learnt from by the list; the others are added to `chosen`."""
    unseen = set(listing.tags)
    for k, forms in enumerate(text):
        new = unseen.intersection(nfc(form).lower() for form in forms)
        unseen -= new
        if new or k < LISTED_SENTENCES:
            chosen.append(forms)
        else:
            yield forms


def _numbers(values: Sequence[object], labels: Sequence[object]) -> Ints:
    number = {value: k for k, value in enumerate(labels)}
    return np.array([number.get(value, FREE) for value in values], np.int64)


def _first_pass(tokens: Tokens, gold: Ints, n_tags: int) -> tuple[Crf, Floats]:
    """A random field, and marginals (N, T) of the tagged text from others that have not seen the
    sentence."""
    n_sentences = len(tokens.first) - 1
    entries, features = weighted_features(tokens, gold, n_tags)
    marginals = np.full((len(gold), n_tags), 1 / n_tags)
    fields = []
    fold_of = np.arange(n_sentences) % FOLDS
    for fold in range(min(FOLDS, n_sentences)):
        held = fold_of == fold
        part, words = _part(tokens, ~held if n_sentences > 1 else held)
        loss = Likelihood(part, gold[words], n_tags, entries, features)
        fields.append(Crf.minimum(loss, 0.1, ITERATIONS[0]))
        part, others = _part(tokens, held)
        marginals[others] = fields[-1].marginals(fields[-1].scores(part), part.first)
    return Crf.mean_of(fields), marginals


def _part(tokens: Tokens, of_sentences: NDArray[np.bool_]) -> tuple[Tokens, Ints]:
    lengths = np.diff(tokens.first)
    chosen = np.flatnonzero(np.repeat(of_sentences, lengths))
    first = np.cumsum([0, *lengths[of_sentences]])
    return Tokens(tokens.items, np.ascontiguousarray(tokens.uses[chosen]), first), chosen


def _with_bundles(tokens: Tokens, bundles: Iterable[tuple[str, str]]) -> Tokens:
    """The tokens with their UPOS and FEATS as a feature, for XPOS and lemmas."""
    numbers: dict[tuple[str, str], int] = {}
    uses = np.array([numbers.setdefault(each, len(numbers)) for each in bundles], np.int64)
    codes = np.array([text_code(f"bundle={tag} {feats}") for tag, feats in numbers], np.uint64)
    return with_items(tokens, Items(np.arange(len(codes) + 1), codes), uses[:, None])


def _fill(
    sentence: Sentence, lemmas_seen: Mapping[str, str], tags: WordTags, retag: bool
) -> Tagged:
    """The sentence with the tagger's tags for words that have none, or for all."""
    none = (UNKNOWN,) * len(sentence)
    lemmas, upos = list(sentence.lemmas or none), list(universal_tags(sentence) or none)
    xpos, feats = list(sentence.xpos or none), list(sentence.feats or none)
    tag_chances: list[float | None] = list(tags.chances)
    n_given = 0
    for k, (tag, feats_of_tag) in enumerate(tags.bundles):
        if not retag and upos[k] != UNKNOWN:
            tag_chances[k] = None
            n_given += 1
        else:
            upos[k] = tag
            if retag or feats[k] == UNKNOWN:
                feats[k] = feats_of_tag
            if retag or xpos[k] == UNKNOWN:
                xpos[k] = tags.xpos[k]
        if lemmas_seen and (retag or lemmas[k] == UNKNOWN):
            form = nfc(sentence.forms[k])
            lemma = lemmas_seen.get(key_of(form, upos[k], feats[k]))
            if lemma is None:
                lemma = apply_rule(tags.rules[k], form)
            lemmas[k] = as_in(lemma, sentence.forms[k])
    filled = with_columns(sentence, tuple(lemmas), tuple(upos), tuple(xpos), tuple(feats))
    return Tagged(filled, tag_chances, n_given)
