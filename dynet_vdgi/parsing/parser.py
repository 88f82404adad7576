"""A trained model as a parser of tagged sentences. Does not need DyNet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dynet_vdgi.data.conllu import Heads
from dynet_vdgi.data.corpus import Sentences, of_columns, sentences_of, up_to_an_error
from dynet_vdgi.data.files import check_path
from dynet_vdgi.data.protocols import protocol_named
from dynet_vdgi.data.punctuation import (
    heads_without,
    kept_positions,
    restore_punctuation,
    without_punctuation,
)
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.errors import ModelError, UsageError, check_kind
from dynet_vdgi.grammar.tag_warnings import tell_unknown
from dynet_vdgi.parsing import keep
from dynet_vdgi.parsing.confidence import Calibration
from dynet_vdgi.parsing.description import everything, in_short
from dynet_vdgi.parsing.engines import Engine, Engines, universal
from dynet_vdgi.parsing.keep import KeepError
from dynet_vdgi.parsing.labellers import labeller_of
from dynet_vdgi.parsing.steps import Steps, contents
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.runs.model_file import load as load_model_file
from dynet_vdgi.runs.model_file import save as save_model_file
from dynet_vdgi.runs.run_folder import fast_path, model_path, tell_of_student
from dynet_vdgi.system.arrays import Floats
from dynet_vdgi.system.names import count

if TYPE_CHECKING:
    from dynet_vdgi.parsing.arena import SampledTrees
    from dynet_vdgi.parsing.relations import ModelLabeller
    from dynet_vdgi.universal.stored import Measures

PIPE_WINDOW = 1000
"""Sentences that `Parser.pipe` parses together."""

Tree = tuple[int, ...]
Places = tuple[int, ...]


@dataclass(frozen=True)
class Parse:
    """One tree of n words, with its probabilities if they were requested."""

    heads: tuple[int, ...]  # (n,)
    head_probs: tuple[float | None, ...] | None = None  # (n,), of the word's head among all trees
    tree_prob: float | None = None  # share of the samples that are this tree, or its probability
    confidence: tuple[float | None, ...] | None = None
    """(n,), the probability that the head is right; None for words that the parser did not decide about:
    punctuation that the protocol removes, and words whose head was given."""
    marginals: tuple[float, ...] = ()
    """Of a universal parser: the probabilities of these heads under the model, before calibration."""


@dataclass(frozen=True)
class How:
    """The kind of tree wanted, and options; by default the tree of the model's engine.

    `exact`: the projective tree with the most heads expected to be right under the distribution that taught
    the parser, found in cubic time. With gold trees that distribution is the CRF (`teachers.arc_crf`), which
    parses itself if it started from a universal parser; without any it is the rule table with its
    measurements of the text. `confidence`: the probability that each head is right. `keep_heads`: the
    sentences keep their heads, and only FREE ones are filled in.
    """

    exact: bool = False
    confidence: bool = False
    keep_heads: bool = False


GREEDY = How()


@dataclass(frozen=True)
class Sampling:
    """The use of trees drawn from the model, besides or instead of the greedy tree.

    `mbr`: the tree of the most probable heads (minimum Bayes risk: the tree with the most heads expected to
    be right), with exactly one root. `n_best`: the most frequent trees; among equally frequent ones, the most
    probable under the model come first. Otherwise the greedy tree.
    """

    n_samples: int = 100
    seed: int = 1
    mbr: bool = False
    n_best: int = 0


class Parser:
    """Parses with a model file. Words that the model's protocol removes are attached afterwards.

    Raises: ModelError, the model's parameters do not fit, or it is of a kind that is not known here.
    """

    def __init__(self, model: ModelFile) -> None:
        self.model = model
        self.protocol = protocol_named(model.settings.data.protocol)
        self._engines = Engines(model)
        self._tags = frozenset(model.vocabulary.tags)
        self.unknown_tags: Counter[str] = Counter()
        """Tags the model has never seen, with the number of words that had them so far."""
        self._told: set[str] = set()  # of these, the ones that a warning has named

    def __repr__(self) -> str:
        measures, measured = self.measures, ""
        if self.measures_text:
            measured = "; no text measured yet"
        elif measures is not None:
            measured = f"; measured: {count(measures.n_sentences, 'sentence')}"
        return f"<Parser: {in_short(self.model)}{measured}>"

    @property
    def info(self) -> dict[str, Any]:
        """How the model was made and what it contains, as `vdgi info --json` prints it."""
        return everything(self.model)

    @property
    def draws_trees(self) -> bool:
        """If trees are drawn from a neural model."""
        return self._engines.neural is not None

    @property
    def engine(self) -> Engine:
        """The engine that parses unless `How.exact` is asked for."""
        return self._engines.own

    @property
    def calibration(self) -> Calibration:
        """The calibration that turns margins into probabilities. Raises: UsageError, the model has none."""
        return self._engines.calibration

    @property
    def measures(self) -> Measures | None:
        """What a universal parser has measured of its text, with the shift of confidences."""
        return self._engines.measures

    @property
    def is_lean(self) -> bool:
        """If the parser reads forms and tags only."""
        return self._engines.own.is_lean

    def make_ready(self) -> None:
        """Compiles or loads the code for parsing now, instead of when there is enough work."""
        self._engines.own.make_ready()
        self._labeller.make_ready()

    @property
    def measures_text(self) -> bool:
        """If the parser is a universal one without a text of its own: it measures what it is given."""
        engine = universal(self._engines.own)
        return engine is not None and engine.measures is None

    def measured(self, sentences: Sentences) -> Parser:
        """This parser for the language of a text, whose beginning, 20,000 words, is measured.

        A universal parser that comes without a text measures those sentences that are given to one call. A
        few say little of their language, which a warning says once, so measure fifty or more first:

            parser = vdgi.load("universal").measured("my.conllu")

        Other parsers, and those trained on a text, are returned as they are.

        Raises: UsageError, the argument is neither a file nor sentences.
        """
        if not self.measures_text:
            return self
        from dynet_vdgi.universal.stored import beginning

        return self.with_measures(self.measures_of(beginning(self._given(sentences))))

    def measures_of(self, sentences: Iterable[Sentence]) -> Measures:
        """What a universal parser measures on a text."""
        from dynet_vdgi.universal.stored import Measures

        engine, quiet = universal(self._engines.own), copy(self)
        assert engine is not None
        quiet.unknown_tags = Counter()
        bare = (quiet._bare([sentence], GREEDY)[0][0] for sentence in sentences)
        return Measures.of(engine.scorer, [sentence for sentence in bare if len(sentence)])

    def with_measures(self, measures: Measures) -> Parser:
        """This universal parser for a text with these measures; it counts unknown tags with this one."""
        parser = Parser(replace(self.model, parameters={**self.model.parameters, **measures.arrays()}))
        engine = universal(parser.engine)
        assert engine is not None
        engine.measures, parser.unknown_tags = measures, self.unknown_tags  # arrays keep no sample
        parser._told = self._told
        return parser

    def __call__(
        self,
        words: Sequence[str],
        tags: Sequence[str],
        *,
        feats: Sequence[str] = (),
        lemmas: Sequence[str] = (),
        xpos: Sequence[str] = (),
    ) -> Sentence:
        """One sentence with its heads and relations. Arguments and errors: as of `parse`."""
        sentence = self._sentence(words, tags, feats, lemmas, xpos)
        if self.measures_text:
            return next(self.pipe([sentence]))
        heads = self.parse_all([sentence])[0].heads
        tell_unknown(self.unknown_tags, self._told)
        return self._labeller.labelled([sentence], [heads])[0]

    def pipe(self, sentences: Sentences, *, window: int = PIPE_WINDOW) -> Iterator[Sentence]:
        """The sentences with new heads and relations and all else as it was, lazily and in order.

        A path means the sentences of that file, with tags from the column of the model's tags; whatever its
        column of heads holds is replaced.

        They are parsed a window at a time, because many at once are several times faster than one by one; at
        most one window is held in memory. A smaller one gives results of a stream sooner; the first one also
        tells a table of relations the order of the verb. A universal parser without a text measures 20,000
        words first, see `measured`. An error of the iterator comes after the sentences before it. Sentences
        without universal tags, which a model of XPOS tags does not need, get no relations.
        """
        if not isinstance(window, int) or window < 1:
            raise UsageError(f"window={window!r}: a number of sentences from 1 is expected")
        return self._up_to_an_error(iter(self._given(sentences)), window)

    def _measured_here(self, sentences: Iterable[Sentence]) -> Parser:
        """This parser for the sentences of one call; warns once if they are few."""
        parser = self.measured(sentences)
        if parser.measures is not None:
            parser.measures.warn_once(self._told)
        return parser

    def _up_to_an_error(self, sentences: Iterator[Sentence], window: int) -> Iterator[Sentence]:
        failed: list[Exception] = []
        parser, rest = self, up_to_an_error(sentences, failed)
        if self.measures_text:
            from dynet_vdgi.universal.stored import beginning

            first = list(beginning(rest))
            parser, rest = self._measured_here(first), chain(first, rest)
        yield from parser._piped(rest, window)
        if failed:
            raise failed[0]

    def _piped(self, sentences: Iterator[Sentence], size: int) -> Iterator[Sentence]:
        verb_order = None
        while window := list(islice(sentences, size)):
            if verb_order is None:
                verb_order = self._labeller.verb_order_in(s.upos or s.tags for s in window)
            heads = [parse.heads for parse in self.parse_all(window)]
            tell_unknown(self.unknown_tags, self._told)
            yield from self._labeller.labelled(window, heads, verb_order)

    @cached_property
    def _labeller(self) -> ModelLabeller:
        return labeller_of(self.model, self._engines.own)

    def parse_text(self, text: str, *, lines: bool = False) -> list[Sentence]:
        """The sentences of raw text, split into words, tagged, with heads and relations.

        lines: each line of the text is a sentence.

        >>> parser = load("universal", tokeniser="my.tokeniser", tagger="my.tagger")  # doctest: +SKIP
        >>> parser.parse_text("The dog barks. A cat sleeps.")  # doctest: +SKIP

        Raises: UsageError, the parser has no tokeniser or no tagger, or the argument is no text; DataError,
        there is nothing but white space.
        """
        if not isinstance(text, str):
            raise UsageError(f"{text!r} is no text: parse_text takes a str; pipe takes sentences")
        return list(self.pipe(self._steps.sentences_of(text, lines=lines)))

    @cached_property
    def _steps(self) -> Steps:
        return Steps.of("the model", self.model, {})

    def save(self, path: str | Path) -> None:
        """Writes the model file, which `load` reads; an existing file stays until the new one is complete."""
        save_model_file(path, self.with_measures(self.measures).model if self.measures else self.model)

    def parse(
        self,
        words: Sequence[str],
        tags: Sequence[str],
        *,
        feats: Sequence[str] = (),
        lemmas: Sequence[str] = (),
        xpos: Sequence[str] = (),
    ) -> tuple[int, ...]:
        """Heads (n,) of one sentence: 0 for its one root, else 1..n; always a projective tree.

        Tags that the model has never seen, such as those of another tag set, are parsed as if nothing were
        known about the word; a warning of the logger "dynet_vdgi" names each once.

        Give all columns that the training text had, because the parser reads them; otherwise its trees differ
        from those of `pipe`. A model of XPOS tags (`model.settings.data.tags`) takes them as `xpos`, and
        universal tags as `tags`, to recognise punctuation; or, for a sentence without punctuation, XPOS tags
        as `tags`.

        Args:
            words: the forms (n,).
            tags: their part-of-speech tags (n,).
            feats: their features (n,), such as `"Case=Nom|Number=Sing"`, "_" for none; empty: not known.
            lemmas: their lemmas (n,), likewise.
            xpos: their language-specific tags (n,), likewise.

        Raises: UsageError, there is no word, a column has another length, or an entry is not text.
        """
        heads = self.parse_all([self._sentence(words, tags, feats, lemmas, xpos)])[0].heads
        tell_unknown(self.unknown_tags, self._told)
        return heads

    def _sentence(
        self,
        words: Sequence[str],
        tags: Sequence[str],
        feats: Sequence[str],
        lemmas: Sequence[str],
        xpos: Sequence[str],
    ) -> Sentence:
        """A sentence from these columns. Raises: UsageError, as `parse`."""
        sentence = of_columns(words=words, tags=tags, feats=feats, lemmas=lemmas, xpos=xpos)
        if sentence.xpos and self.model.settings.data.tags == "xpos":
            return replace(sentence, tags=sentence.xpos, upos=sentence.tags)
        return sentence

    def _given(self, sentences: Sentences, how: How = GREEDY) -> Iterable[Sentence]:
        """The sentences of a file, or the given ones. Raises: UsageError, they are not sentences."""
        heads: Heads = "partial" if how.keep_heads else "ignored"
        return sentences_of(sentences, heads=heads, tags=self.model.settings.data.tags)

    def parse_all(self, sentences: Sentences, how: How = GREEDY) -> list[Parse]:
        """The tree of each sentence; parsing many at once is several times faster than one by one.

        Raises:
            KeepError: no projective tree contains the heads to be kept.
            UsageError: as `check`; or the argument is neither a file nor sentences.
        """
        if how != GREEDY:
            self.check(how)
        sentences = list(self._given(sentences, how))
        if self.measures_text:
            return self._measured_here(sentences).parse_all(sentences, how)
        bare, positions = self._bare(sentences, how)
        if how == GREEDY:
            trees = self._engines.own.parse(bare)
            return [
                Parse(self._restored(heads, places, sentence))
                for sentence, places, heads in zip(sentences, positions, trees)
            ]
        if how.keep_heads:
            for sentence in sentences:
                if reason := self.conflict(sentence):
                    raise KeepError(reason)
        found = self._found(bare, how)
        sure = self._probabilities(bare, found) if how.confidence else None
        return [
            self._parsed(sentence, each, places, sure, how)
            for sentence, each, places in zip(sentences, found, positions)
        ]

    def confidences(self, sentences: Sentences, *, keep_heads: bool = False) -> list[Parse]:
        """The tree of each sentence, with the `confidence` of its heads.

        Raises: UsageError, the model has no calibration; KeepError, as `parse_all`.
        """
        return self.parse_all(sentences, How(confidence=True, keep_heads=keep_heads))

    def exact(self, sentences: Sentences, *, keep_heads: bool = False) -> list[Parse]:
        """The trees with the most heads expected to be right under the model's distribution, see `How`.

        Raises: UsageError, the model has none; KeepError, as `parse_all`.
        """
        return self.parse_all(sentences, How(exact=True, keep_heads=keep_heads))

    def conflict(self, sentence: Sentence) -> str | None:
        """Why no projective tree contains the sentence's heads; None: one does, or no head is FREE."""
        heads = sentence.heads
        if heads is None or FREE not in heads:
            return None
        positions = kept_positions(sentence, self.protocol.removed_tags)
        if FREE not in heads_without(heads, positions):
            return None
        return keep.conflict(heads)

    def check(self, how: How = GREEDY, sampling: Sampling | None = None) -> None:
        """Raises: UsageError, the model cannot do this, or the arguments are not a `How` and a `Sampling`."""
        check_kind("how", how, How, "a How")
        if sampling is not None:
            check_kind("sampling", sampling, Sampling, "a Sampling")
            check_kind("n_samples", sampling.n_samples, (int, np.integer), "a number of trees")
        if how.exact and how.confidence:
            raise UsageError("confidence is about the tree found without it: leave out `exact`")
        if how.confidence:
            _ = self._engines.calibration
        if how.exact:
            _ = self._engines.exact
        if how.keep_heads and self.draws_trees:
            raise UsageError(
                "a neural model cannot keep given heads: use the model universal, or train with --preset best"
            )
        if sampling is not None and not self.draws_trees:
            if not sampling.n_best:
                raise UsageError(
                    f"this model (recipe {self.info['recipe']}) draws no trees: probabilities of sampled "
                    "trees and MBR need a neural model; confidence, exact trees and n-best lists do not"
                )
            _ = self._engines.exact

    def sample_all(self, sentences: Sentences, sampling: Sampling, stream: int = 0) -> list[list[Parse]]:
        """Trees of each sentence, best first, with their probabilities.

        One tree a sentence, or up to `n_best`. A neural model estimates probabilities from samples; the same
        seed, stream and sentences give the same trees. Other models give exact probabilities, and only n-best
        lists, under the distribution of `How.exact`.

        Raises: UsageError, as `check`; or the argument is neither a file nor sentences.
        """
        check_kind("sampling", sampling, Sampling, "a Sampling")
        self.check(sampling=sampling)
        sentences = list(self._given(sentences))
        if self.measures_text:
            return self._measured_here(sentences).sample_all(sentences, sampling, stream)
        bare, positions = self._bare(sentences, GREEDY)
        neural = self._engines.neural
        if neural is None:
            return [self._best_trees(*each, sampling.n_best) for each in zip(sentences, bare, positions)]
        rng = np.random.default_rng([sampling.seed, stream])
        samples = neural.draw(bare, sampling.n_samples, rng)
        greedy = [()] * len(bare) if sampling.mbr or sampling.n_best else neural.parse(bare)
        return [
            _sampled(self._seen_forms(sentence), places, drawn, heads, sampling)
            for sentence, places, drawn, heads in zip(sentences, positions, samples, greedy)
        ]

    def _bare(self, sentences: Sequence[Sentence], how: How) -> tuple[list[Sentence], list[Places]]:
        """The words of each sentence that the protocol keeps, and their places; counts unknown tags."""
        bare, positions = [], []
        removed, known, ignored = self.protocol.removed_tags, self._tags, self.model.settings.data.ignore
        is_lean = self.is_lean and how == GREEDY
        for s in sentences:
            if is_lean:
                places = kept_positions(s, removed)
                kept = s
                if len(places) < len(s):
                    forms = tuple([s.forms[p - 1] for p in places])
                    kept = Sentence(forms, tuple([s.tags[p - 1] for p in places]))
            else:  # without its lines, which are not needed, and without its tree unless that is kept
                heads = s.heads if how.keep_heads else None
                kept = Sentence(s.forms, s.tags, heads, None, s.upos, (), s.xpos, s.feats, (), s.gaps)
                kept, places = without_punctuation(kept, removed)
            if ignored:
                kept = kept.ignoring(ignored)
            if not known.issuperset(kept.tags):
                self.unknown_tags.update([tag for tag in kept.tags if tag not in known])
            bare.append(kept)
            positions.append(places)
        return bare, positions

    def _found(self, bare: Sequence[Sentence], how: How) -> list[tuple[Tree, Floats]]:
        """Trees of sentences, and margins (n,) of their words if they are requested."""
        whole = [how.keep_heads and s.heads is not None and FREE not in s.heads for s in bare]
        rest = [sentence for sentence, is_whole in zip(bare, whole) if len(sentence) and not is_whole]
        if how.exact:
            found = iter([(self._exact_tree(sentence, how), np.zeros(0)) for sentence in rest])
        else:
            found = iter(self._engines.own.with_margins(rest, keep_heads=how.keep_heads))
        return [
            (s.heads or (), np.zeros(len(s))) if is_whole or not len(s) else next(found)
            for s, is_whole in zip(bare, whole)
        ]

    def _exact_tree(self, sentence: Sentence, how: How) -> Tree:
        given = sentence.heads if how.keep_heads else None
        return keep.complete(self._engines.exact.scores(sentence), given or (FREE,) * len(sentence))

    def _probabilities(
        self, bare: Sequence[Sentence], found: Sequence[tuple[Tree, Floats]]
    ) -> Iterator[float]:
        """The probabilities that heads are right, for the concatenated words of all sentences."""
        calibration, trees = self._engines.calibration, [tree for tree, _ in found]
        arcs = calibration.arcs([s.tags for s in bare], trees, [margins for _, margins in found])
        return iter(calibration(arcs).tolist())

    def _parsed(
        self,
        sentence: Sentence,
        found: tuple[Tree, Floats],
        places: Places,
        probabilities: Iterator[float] | None,
        how: How,
    ) -> Parse:
        """The tree of a whole sentence; consumes the probabilities of its words."""
        heads, margins = self._restored(found[0], places, sentence), found[1]
        given = sentence.heads if how.keep_heads else None
        if given:
            heads = keep.nearest(heads, given)
        if probabilities is None:
            return Parse(heads)
        sure: list[float | None] = [None] * len(sentence)
        is_own = [not given or given[place - 1] == FREE for place in places]
        for place, probability, own in zip(places, probabilities, is_own):
            if own:
                sure[place - 1] = probability
        odds = margins[is_own] if universal(self.engine) is not None else margins[:0]
        return Parse(heads, None, None, tuple(sure), tuple((1 / (1 + np.exp(-odds))).tolist()))

    def _restored(self, tree: Tree, places: Places, sentence: Sentence) -> Tree:
        """The tree of the whole sentence, punctuation attached."""
        return restore_punctuation(tree, places, self._seen_forms(sentence))

    def _seen_forms(self, sentence: Sentence) -> tuple[str, ...]:
        """The forms, by which brackets and quotation marks find their partners, unless forms are hidden."""
        return ("_",) * len(sentence) if "forms" in self.model.settings.data.ignore else sentence.forms

    def _best_trees(self, sentence: Sentence, bare: Sentence, places: Places, n_best: int) -> list[Parse]:
        """The most probable trees of a sentence under the model's distribution."""
        from dynet_vdgi.grammar import chart  # needs numba, which greedy neural parsing does without

        scores = self._engines.exact.scores(bare)
        arcs, log_z = chart.marginals(scores), chart.log_partition(scores)
        result = []
        for score, tree in chart.k_best(scores, n_best):
            sure: list[float | None] = [None] * len(sentence)
            for k, place in enumerate(places):
                sure[place - 1] = float(arcs[tree[k], k])
            heads = self._restored(tree, places, sentence)
            result.append(Parse(heads, tuple(sure), math.exp(score - log_z)))
        return result


def _sampled(
    forms: Sequence[str], places: Places, drawn: SampledTrees, greedy: Tree, sampling: Sampling
) -> list[Parse]:
    """The requested trees of a sentence with these forms, given samples of its kept words."""
    from dynet_vdgi.parsing.arena import most_probable_heads

    times = Counter(map(tuple, drawn.heads.tolist()))
    if sampling.n_best:
        trees = drawn.ranked(times)[: sampling.n_best]
    else:
        trees = [most_probable_heads(drawn.heads) if sampling.mbr else greedy]
    full = {tree: restore_punctuation(tree, places, forms) for tree in {*times, *trees}}
    all_heads = np.array([full[tree] for tree in times])
    weights = np.array(list(times.values())) / sampling.n_samples
    return [
        Parse(
            full[tree],
            _of_kept(weights @ (all_heads == np.array(full[tree])), places),
            times[tree] / sampling.n_samples,
        )
        for tree in trees
    ]


def _of_kept(shares: Floats, places: Places) -> tuple[float | None, ...]:
    """Values for a sentence's words (n,); None for words that the protocol removes."""
    kept = set(places)
    return tuple([share if k in kept else None for k, share in enumerate(shares.tolist(), 1)])


def load(
    path: str | Path,
    *,
    fast: bool = False,
    tokeniser: str | Path | None = None,
    tagger: str | Path | None = None,
) -> Parser:
    """The parser in a model file, in the folder of a run, or, by its name `universal`, in the package.

    See `Parser.measured` about the last one. `fast`: the fast student in the folder of a run. `tokeniser` and
    `tagger` are files, made by `vdgi tokenize train` and `vdgi tag train`, for `Parser.parse_text`; a model
    may have its own.

    Raises: ModelError, see `dynet_vdgi.runs.model_file.load`; UsageError, the run has no fast student, or an
    argument is no path.
    """
    for name, each in (("path", path), ("tokeniser", tokeniser or ""), ("tagger", tagger or "")):
        check_path(name, each)
    path = fast_path(path) if fast else model_path(path)
    model = load_model_file(path)
    if fast:
        tell_of_student(model)
    model.steps |= contents({"tokeniser": tokeniser, "tagger": tagger})
    try:
        return Parser(model)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
