"""A trained model as a parser of tagged sentences.

The model says by which recipe it was made; `settings.registry` finds the recipe by its name, and
the recipe makes the engine that parses, see `engine`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from dynet_vdgi.conllu.corpus import Sentences, of_columns, sentences_of, up_to_an_error
from dynet_vdgi.conllu.protocols import Protocol, protocol_of
from dynet_vdgi.conllu.punctuation import restore_punctuation, without_punctuation
from dynet_vdgi.conllu.reading import HeadPolicy
from dynet_vdgi.conllu.sentence import Sentence, Tree
from dynet_vdgi.errors import ModelError, UsageError, check_kind
from dynet_vdgi.models.archive import packed
from dynet_vdgi.models.model_file import ModelFile, members
from dynet_vdgi.models.model_file import load as load_model_file
from dynet_vdgi.models.model_file import save as save_model_file
from dynet_vdgi.models.run_folder import fast_path, model_path, tell_of_student
from dynet_vdgi.parser.around_marks import with_given
from dynet_vdgi.parser.confidence import Calibration, is_in
from dynet_vdgi.parser.decoding import confidences, find
from dynet_vdgi.parser.description import summary, to_json
from dynet_vdgi.parser.engine import Engine, ScoringEngine
from dynet_vdgi.parser.given_heads import KeepError, conflict_in
from dynet_vdgi.parser.relations import LOOKED_AT, VERB_ORDER, ModelLabeller, Relations, labeller_of
from dynet_vdgi.parser.steps import Steps, contents
from dynet_vdgi.relations.label_table import LabelTable
from dynet_vdgi.rule_tables.tag_warnings import tell_uninformative, tell_unknown, uninformative
from dynet_vdgi.settings.registry import RECIPES
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.system.files import check_path
from dynet_vdgi.system.messages import count
from dynet_vdgi.universal.stored import MEASURED, Measures

WINDOW = 1000
"""Sentences that are parsed together: enough to find many of one length."""

FEWEST_TAGS = 50
"""Words whose tags show whether they say anything; a sentence may consist of nouns."""

_SILENT = ""  # stands for all tags among those that a warning has named


@dataclass(frozen=True)
class How:
    """The kind of tree wanted, and options; by default the tree of the model's engine.

    `exact`: the projective tree with the most heads expected to be right under the distribution
    that taught the parser, found in cubic time. With gold trees that distribution is the CRF
    (`few_trees.arc_features`), which parses itself if it started from a universal parser; without
    any it is the rule table with its measurements of the text. `confidence`: the probability that
    each head is right. `keep_heads`: the sentences keep their heads, and only FREE ones are filled
    in.
    """

    exact: bool = False
    confidence: bool = False
    keep_heads: bool = False


PLAIN = How()


@dataclass(frozen=True)
class Parse:
    """The tree of a sentence of n words."""

    heads: Tree  # (n,)
    # (n,); None: not requested, or the sentence lacks universal tags
    relations: Relations | None = None
    confidence: tuple[float | None, ...] | None = None
    """(n,), the probability that the head is right; None for words that the parser did not decide
    about: punctuation that the protocol removes, and words whose head was given."""
    marginals: tuple[float, ...] = ()
    """Of a universal parser: the probabilities of these heads under the model, not calibrated."""


@dataclass(frozen=True, eq=False, repr=False)
class Parser:
    """Parses with a model file. Words that the model's protocol removes are attached afterwards.

    A parser does not change: for a text, `adapted` gives another one. Only what it has met while it
    parsed is added to `unknown_tags`, `seen_tags` and `warned`, which it shares with the parsers
    that it gave.

    `labels`: the table of relations; None: the default one, with what the model knows. `engine`:
    what parses unless `How.exact` asks for something else; None: the engine of the model.
    `verb_order`: of the text, for relations; None: as the model says. `tag_accuracy`: of the text,
    for confidences of an engine that has not measured it. `unknown_tags`: never seen by the model,
    with numbers of words. `steps`: before parsing; None: those that the model brings along.
    `warned`: of which tags and texts warnings were given already. `seen_tags`: words by tag, until
    a warning says that they say next to nothing.

    Raises: ModelError, the model's parameters do not fit, or it is of a kind that is not known
    here.
    """

    model: ModelFile
    labels: LabelTable | None = None
    _: KW_ONLY
    engine: Engine = None  # type: ignore[assignment]  # set below
    verb_order: int | None = None
    tag_accuracy: float = 1.0
    unknown_tags: Counter[str] = field(default_factory=Counter)
    steps: Steps = None  # type: ignore[assignment]  # set below
    warned: set[str] = field(default_factory=set)
    seen_tags: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.engine is None:
            object.__setattr__(self, "engine", self._recipe.engine(self.model))
        if self.steps is None:
            object.__setattr__(self, "steps", Steps.of("the model", self.model, {}))

    def __repr__(self) -> str:
        text = ""
        if self.engine.measures is not None:
            text = f"; measured: {count(self.engine.measures.n_sentences, 'sentence')}"
        elif self.needs_text:
            text = "; no text measured yet"
        return f"<Parser: {summary(self.model)}{text}>"

    @property
    def info(self) -> dict[str, Any]:
        """How the model was made and what it contains, as `vdgi info --json` prints it."""
        return to_json(self.model)

    @cached_property
    def protocol(self) -> Protocol:
        """How punctuation is treated."""
        return protocol_of(self.model.settings.data.protocol)

    @cached_property
    def _recipe(self) -> Any:
        """The recipe by which the model was made; it makes the engine, see `parser.engine`."""
        return RECIPES.named(self.model.settings.recipe)

    @property
    def keeps_heads(self) -> bool:
        """If it can keep heads that are given."""
        keeps: bool = self._recipe.keeps_heads
        return keeps

    @property
    def is_exact(self) -> bool:
        """If its trees are those of `How.exact` anyway."""
        return not self.engine.is_greedy and not self.engine.finds_most_probable

    @property
    def needs_text(self) -> bool:
        """If it is a universal parser without a text of its own: it measures what it is given."""
        return self.engine.needs_text

    @one_thread()
    def adapted(self, sentences: Sentences, *, tag_accuracy: float = 1.0) -> Parser:
        """This parser for the language of a text, whose beginning is measured: 20,000 words.

        A universal parser that comes without a text measures those sentences that are given to one
        call. A few sentences say little about their language, so adapt it to a text first, fifty
        sentences or more: `parser = vdgi.load("universal").adapted("my.conllu")`. Parsers that were
        trained on a text know the kind of its language and hardly change. `tag_accuracy`: the share
        of right tags, for confidences.

        Raises: UsageError, the argument is neither a file nor sentences.
        """
        first = first_sentences(self._sentences(sentences))
        verb_order = self.labeller.verb_order_in(s.upos or s.tags for s in islice(first, LOOKED_AT))
        engine = self.engine
        if engine.needs_text:
            engine = engine.for_text([self._bare(s)[0] for s in first], tag_accuracy=tag_accuracy)
        return replace(self, engine=engine, verb_order=verb_order, tag_accuracy=tag_accuracy)

    def _for_call(self, sentences: Sequence[Sentence]) -> Parser:
        """The parser for the sentences of one call; warns once if they are few to measure."""
        parser = self.adapted(sentences)
        if self.needs_text and parser.engine.measures is not None:
            parser.engine.measures.warn_once(self.warned)
        return parser

    @cached_property
    def measures(self) -> Measures | None:
        """What a universal parser has measured of its text, with the shift of confidences if it has
        any."""
        if not is_in(self.model.parameters):
            return self.engine.measures
        return self.engine.measures_with_shift(Calibration.from_arrays(self.model.parameters))

    @cached_property
    def calibration(self) -> Calibration:
        """What turns margins into probabilities, in the text that was measured, if any.

        Raises: UsageError, the model has none.
        """
        if not is_in(self.model.parameters):
            raise UsageError(
                f"this model has no confidence values, because it {self._recipe.lacks_calibration}"
            )
        calibration, measures = Calibration.from_arrays(self.model.parameters), self.measures
        calibration = calibration.with_wrong_tags(
            1 - (measures.tag_accuracy if measures else self.tag_accuracy)
        )
        return (
            calibration.with_shift(measures.shift) if measures and measures.shift else calibration
        )

    @cached_property
    def exact_engine(self) -> ScoringEngine:
        """The distribution of `How.exact`. Raises: UsageError, the model has none."""
        exact: ScoringEngine = self.engine.exact or self._recipe.exact(self.model)
        return exact

    @cached_property
    def labeller(self) -> ModelLabeller:
        """What finds the relations."""
        return labeller_of(self.model, self.engine, self.labels)

    def __call__(
        self,
        words: Sequence[str],
        tags: Sequence[str],
        *,
        feats: Sequence[str] = (),
        lemmas: Sequence[str] = (),
        xpos: Sequence[str] = (),
    ) -> Sentence:
        """One sentence with its heads, a projective tree with one root, and relations.

        Give all columns (n,) that the training text had, because the parser reads them. `feats` are
        such as "Case=Nom|Number=Sing", "_" for none. A model of XPOS tags
        (`model.settings.data.tags`) takes them as `xpos`, and universal tags as `tags`, to
        recognise punctuation; or, without punctuation, XPOS tags as `tags`. A tag that the model
        has never seen says nothing; a warning of the logger names it once.

        Raises: UsageError, there is no word, a column has another length, or an entry is not text.
        """
        sentence = of_columns(words=words, tags=tags, feats=feats, lemmas=lemmas, xpos=xpos)
        if sentence.xpos and self.model.settings.data.tags == "xpos":
            sentence = replace(sentence, tags=sentence.xpos, upos=sentence.tags)
        return next(self.pipe([sentence]))

    def parse(self, words: Sequence[str], tags: Sequence[str], **columns: Sequence[str]) -> Tree:
        """Heads (n,) of one sentence: 0 for its one root, else 1..n. Arguments and errors: of a
        call."""
        return self(words, tags, **columns).heads or ()

    def pipe(self, sentences: Sentences, *, window: int = WINDOW) -> Iterator[Sentence]:
        """The sentences with new heads and relations and all else as it was, lazily and in order.

        A path means the sentences of that file, with tags from the column of the model's tags; its
        heads are replaced. They are parsed `window` sentences at a time, several times faster than
        one by one. A universal parser without a text measures 20,000 words first, see `adapted`. An
        error of the iterator comes after the sentences before it. Sentences without universal tags
        get no relations.
        """
        if not isinstance(window, int) or window < 1:
            raise UsageError(f"window={window!r}: a number of sentences from 1 is expected")
        return self._pipe(iter(self._sentences(sentences)), window)

    def _pipe(self, sentences: Iterator[Sentence], size: int) -> Iterator[Sentence]:
        failed: list[Exception] = []
        stream = up_to_an_error(sentences, failed)
        first = first_sentences(stream) if self.needs_text else list(islice(stream, size))
        parser = self._for_call(first) if self.needs_text or self.verb_order is None else self
        stream = chain(first, stream)
        while window := list(islice(stream, size)):
            parses = parser.parse_all(window, relations=True)
            tell_unknown(self.unknown_tags, self.warned)
            self._warn_of_silent_tags(window)
            for sentence, parse in zip(window, parses):
                yield replace(sentence, heads=parse.heads, deprels=parse.relations or ())
        if failed:
            raise failed[0]

    def _warn_of_silent_tags(self, sentences: Sequence[Sentence]) -> None:
        """Warns once of tags that say next to nothing, if there are enough of them to see it."""
        if _SILENT in self.warned or self.seen_tags.total() > MEASURED:
            return
        self.seen_tags.update(tag for sentence in sentences for tag in sentence.tags)
        informative = self.engine.informative_tags
        if self.seen_tags.total() >= FEWEST_TAGS and uninformative(self.seen_tags, informative):
            self.warned.add(_SILENT)
            tell_uninformative(self.seen_tags, informative)

    def parse_text(self, text: str, *, lines: bool = False) -> list[Sentence]:
        """The sentences of raw text, or of its `lines`: words with tags, heads and relations.

        >>> parser = load(
        ...     "universal", tokeniser="my.tokeniser", tagger="my.tagger"
        ... )  # doctest: +SKIP
        >>> parser.parse_text("The dog barks. A cat sleeps.")  # doctest: +SKIP

        Raises: UsageError, the parser has no tokeniser or no tagger, or the argument is no text;
        DataError, there is nothing but white space.
        """
        if not isinstance(text, str):
            raise UsageError(f"{text!r} is no text: parse_text takes a str; pipe takes sentences")
        return list(self.pipe(self.steps.sentences_of(text, lines=lines)))

    def parse_all(
        self, sentences: Sentences, how: How = PLAIN, *, relations: bool = False
    ) -> list[Parse]:
        """The tree of each sentence, with its relations if they are wanted.

        Raises: KeepError, no projective tree contains the heads to be kept; UsageError, as `check`,
        or the argument is neither a file nor sentences.
        """
        check(self, how)
        parses, unknown = self.counted(
            list(self._sentences(sentences, how)), how, relations=relations
        )
        self.unknown_tags.update(unknown)
        return parses

    def counted(
        self, sentences: Sequence[Sentence], how: How, *, relations: bool
    ) -> tuple[list[Parse], Counter[str]]:
        """The tree of each sentence, and the words with tags that the model has never seen, by tag.

        Raises: KeepError, as `parse_all`; UsageError, the model has no confidences, or no exact
        trees.
        """
        parser = self._for_call(sentences) if self.needs_text else self
        parses: list[Parse] = []
        unknown = Counter[str]()
        size = WINDOW * self.engine.windows_at_once
        for start in range(0, len(sentences), size):
            parses += parser._parse_window(sentences[start : start + size], how, relations, unknown)
        return parses, unknown

    @one_thread()
    def _parse_window(
        self, sentences: Sequence[Sentence], how: How, relations: bool, unknown: Counter[str]
    ) -> list[Parse]:
        """The trees of a window: without punctuation, which is attached afterwards; counts unknown
        tags."""
        bare, places = [], []
        for sentence in sentences:
            if how.keep_heads and (reason := conflict_in(sentence, self.protocol.removed_tags)):
                raise KeepError(reason)
            words, of_words = self._bare(sentence, with_heads=how.keep_heads)
            if not self._known_tags.issuperset(words.tags):
                unknown.update([tag for tag in words.tags if tag not in self._known_tags])
            bare.append(words)
            places.append(of_words)
        engine = self.exact_engine if how.exact else self.engine
        trees = find(
            engine, bare, keep_heads=how.keep_heads, margins=how.confidence, relations=relations
        )
        hides_forms = "forms" in self.model.settings.data.ignore
        heads = []
        for k, sentence in enumerate(sentences):
            # Brackets and quotation marks find their partners by their forms, unless these are
            # hidden.
            forms = ("_",) * len(sentence) if hides_forms else sentence.forms
            if how.keep_heads and sentence.heads:
                whole, trees[k] = with_given(
                    engine, sentence.heads, bare[k], places[k], trees[k], forms
                )
            else:
                whole = restore_punctuation(trees[k].heads, places[k], forms)
            heads.append(whole)
        deprels: Sequence[Relations | None] = [None] * len(sentences)
        if relations:
            deprels = self.labeller.relations(sentences, heads, self.verb_order, trees)
        if not how.confidence:
            return [Parse(*pair) for pair in zip(heads, deprels)]
        sure = confidences(
            self.calibration, sentences, bare, places, trees, keep_heads=how.keep_heads
        )
        parses = []
        for whole, names, (confidence, odds) in zip(heads, deprels, sure):
            parses.append(Parse(whole, names, confidence))
            if self.engine.margins_are_log_odds:
                parses[-1] = replace(
                    parses[-1], marginals=tuple((1 / (1 + np.exp(-odds))).tolist())
                )
        return parses

    def _bare(
        self, sentence: Sentence, *, with_heads: bool = False
    ) -> tuple[Sentence, tuple[int, ...]]:
        """The words of a sentence that the protocol keeps, as the model may see them, and their
        places."""
        s = sentence
        heads = s.heads if with_heads else None
        words = Sentence(
            s.forms, s.tags, heads, None, s.upos, (), s.xpos, s.feats, (), s.gaps, s.soft
        )
        words, places = without_punctuation(words, self.protocol.removed_tags)
        return words.ignoring(self.model.settings.data.ignore), places

    @cached_property
    def _known_tags(self) -> frozenset[str]:
        return frozenset(self.model.vocabulary.tags)

    def _sentences(self, sentences: Sentences, how: How = PLAIN) -> Iterable[Sentence]:
        """The sentences of a file, or the given ones.

        Raises: UsageError, they are not sentences.
        """
        heads: HeadPolicy = "partial" if how.keep_heads else "ignored"
        return sentences_of(sentences, heads=heads, tags=self.model.settings.data.tags)

    def save(self, path: str | Path) -> None:
        """Writes the model file, which `load` reads; an existing file stays until the new one is
        complete."""
        save_model_file(path, self._with_measures)

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        return packed(members(self._with_measures))

    @property
    def _with_measures(self) -> ModelFile:
        """The model, which then knows the text that the parser was adapted to."""
        parameters = self.model.parameters | (self.measures.arrays() if self.measures else {})
        if self.verb_order is not None and self.labeller.verb_order is None:
            parameters[VERB_ORDER] = np.array([self.verb_order])
        return replace(self.model, parameters=parameters)


def check(parser: Parser, how: How) -> None:
    """Raises: UsageError, the model cannot do this, or the argument is no `How`."""
    check_kind("how", how, How, f"a How, such as {PLAIN!r}")
    if how.exact and how.confidence:
        raise UsageError("confidence is about the tree found without it: leave out `exact`")
    if how.confidence:
        _ = parser.calibration
    if how.exact:
        _ = parser.exact_engine
    if how.keep_heads and not parser.keeps_heads:
        raise UsageError(
            "a neural model cannot keep given heads: "
            "use the model universal, or train with --preset best"
        )


def first_sentences(stream: Iterable[Sentence]) -> list[Sentence]:
    """The beginning of a text that shows its kind of language: so many words, and sentences."""
    first, n_words = [], 0
    for sentence in stream:
        first.append(sentence)
        n_words += len(sentence)
        if is_long_enough(len(first), n_words):
            break
    return first


def is_long_enough(n_sentences: int, n_words: int) -> bool:
    """Whether so much text shows its kind of language."""
    return n_words >= MEASURED and n_sentences >= LOOKED_AT


def load(
    path: str | Path,
    *,
    fast: bool = False,
    tokeniser: str | Path | None = None,
    tagger: str | Path | None = None,
    labels: LabelTable | None = None,
) -> Parser:
    """The parser in a model file, in the folder of a run, or, by its name `universal`, in the
    package.

    See `Parser.adapted` about the last one. `fast`: the fast student in the folder of a run.
    `tokeniser` and `tagger` are files, made by `vdgi tokenize train` and `vdgi tag train`, for
    `Parser.parse_text`; a model may have its own. `labels`: a table of relations.

    Raises: ModelError, see `models.model_file.load`; UsageError, the run has no fast student, or an
    argument is no path.
    """
    for name, each in (("path", path), ("tokeniser", tokeniser), ("tagger", tagger)):
        if name == "path" or each is not None:
            check_path(name, each)
    path = fast_path(path) if fast else model_path(path)
    model = load_model_file(path)
    if fast:
        tell_of_student(model)
    model.steps |= contents({"tokeniser": tokeniser, "tagger": tagger})
    try:
        return Parser(model, labels)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
