"""The inputs of a run: raw text, files or sentences; how they are read, and messages about gold trees."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from dynet_vdgi.data import conllu, conllu_blocks, conllu_writing, corpus, files, raw_text
from dynet_vdgi.data import files as file_checks
from dynet_vdgi.data.conllu_blocks import Block, blocks_in
from dynet_vdgi.data.conllu_writing import unchanged
from dynet_vdgi.data.corpus import build_vocabulary, superseded
from dynet_vdgi.data.sentence import FREE, UD_PUNCTUATION, Protocol, Sentence, protocol_of
from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.grammar.facts import load_facts
from dynet_vdgi.grammar.rules import RuleSet, check_known
from dynet_vdgi.labels.label_table import check, own_relations
from dynet_vdgi.parsing.steps import MEMORY, StepFile, Steps
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.model_file import DataFile
from dynet_vdgi.runs.run_folder import Material
from dynet_vdgi.settings.config import DataSettings
from dynet_vdgi.system import progress
from dynet_vdgi.system.names import count, did_you_mean

logger = logging.getLogger("dynet_vdgi")

HERE = "learnt in this run"
"""Stands for the file of a step that there is none of."""


def with_learnt(steps: Steps, inputs: Inputs) -> Steps:
    """The steps of a run; a step that is not given learns from its texts and trees, and from its raw text.

    Raises: UsageError, there are no tags to learn from; DataError, a file is malformed.
    """
    known = [given for given in (*inputs.texts.values(), inputs.trees) if given]
    if not known and len(steps.files) < len(("tokeniser", "tagger")):
        raise UsageError("--raw needs tagged sentences: name some with --train, or with --trees")
    if "tokeniser" not in steps.files:
        content = _tokeniser(known)
        steps = replace(steps, files={**steps.files, "tokeniser": StepFile(HERE, content)})
    if "tagger" not in steps.files:
        content = _tagger(known, inputs.raw or Given(), steps)
        steps = replace(steps, files={**steps.files, "tagger": StepFile(HERE, content)})
    return steps


def _tokeniser(known: Sequence[Given]) -> bytes:
    """A tokeniser's file. Raises: UsageError, there is raw text only."""
    from dynet_vdgi.tokenising import tokeniser as tokeniser_file

    blocks = superseded([[*_blocks(given)] for given in known], words_of)
    documents = [
        document
        for group in blocks
        for _, of_file in groupby(group, lambda block: block.path)
        for document in raw_text.documents_of(of_file)
    ]
    if not documents:
        raise UsageError("--raw needs tagged sentences, in CoNLL-U, with --train or --trees")
    n_sentences = sum(len(document.sentences) for document in documents)
    logger.info("tokeniser: learnt from %s", count(n_sentences, "sentence"))
    made = tokeniser_file.Made(sentences=n_sentences)
    return model_file.packed(tokeniser_file.members(tokeniser_file.learnt(documents), made))


def _blocks(given: Given) -> Iterator[Block]:
    for name in given.names:
        if not raw_text.is_named(name):
            yield from conllu_blocks.blocks(name)
    if given.sentences:
        yield from blocks_in("".join(map(unchanged, given.sentences)), MEMORY)


def words_of(block: Block) -> tuple[str, ...]:
    """The forms of a sentence's words."""
    return tuple(line.split("\t", 2)[1] for line in block.lines if line.partition("\t")[0].isdecimal())


def _tagger(known: Sequence[Given], raw: Given, steps: Steps) -> bytes:
    """A tagger's file; `steps` has a tokeniser. Raises: UsageError, no word has UPOS."""
    from dynet_vdgi.tagging.tagger import Tagger, universal

    groups = superseded([[*_known_tags(given, steps)] for given in known], lambda sentence: sentence.forms)
    sentences = [sentence for group in groups for sentence in group]
    tagged = [sentence for sentence in sentences if set(universal(sentence)) != {"_"}]
    rest = [sentence for sentence in sentences if set(universal(sentence)) == {"_"}]
    rest += _known_tags(raw, steps)
    tagger = Tagger().fit(tagged, rest)
    n_raw = sum(map(len, [*tagged, *rest])) - tagger.n_words
    with_tags, without = count(tagger.n_words, "word"), count(n_raw, "word")
    logger.info("tagger: learnt from %s with tags, %s without", with_tags, without)
    return tagger.to_bytes()


def _known_tags(given: Given, steps: Steps) -> Iterator[Sentence]:
    """The sentences with the tags they have, before anything is tagged."""
    yield from conllu.checked(steps.blocks(given.names), "ignored", conllu.KNOWN)
    yield from given.sentences


# ----------------------------------------------------------------------------------------------------
# The inputs of a run: files, or sentences in memory.


@dataclass(frozen=True)
class Given:
    """Files, or sentences in memory."""

    names: tuple[str, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    steps: Steps | None = None  # for raw text, and words without UPOS

    def __bool__(self) -> bool:
        return bool(self.names or self.sentences)

    def read(self, tags: str, heads: conllu.Heads) -> Iterable[Sentence]:
        """The sentences in order."""
        for name in self.names:
            if self.steps is not None:
                yield from conllu.checked(self.steps.blocks([name]), heads, tags)
            else:
                yield from conllu.read(name, heads=heads, tags=tags)
        for sentence in self.steps.filled(self.sentences) if self.steps else self.sentences:
            if heads == "required" and (sentence.heads is None or FREE in sentence.heads):
                raise DataError(MEMORY, None, "a sentence has no heads", "trees are needed here")
            if tags == "xpos" and not sentence.upos:
                if not sentence.xpos:
                    raise DataError(MEMORY, None, "a sentence has no XPOS", "set data.tags=upos, or fill it")
                sentence = replace(sentence, tags=sentence.xpos, upos=sentence.tags)
            yield sentence

    def tag_accuracy(self, n_words: int) -> float:
        """The expected share of right tags among these `n_words` words, once they have been read."""
        return self.steps.accuracy([*self.names, MEMORY], n_words) if self.steps else 1.0

    def __str__(self) -> str:
        return ", ".join(self.names) or MEMORY


@dataclass(frozen=True)
class Inputs:
    """Texts by language label (empty for a text of one language), gold trees, and models to start from.

    `facts` are files of facts about the languages, by label; `without` names parts of the rule table to
    leave out. `treebanks`, by label, are trees of other languages.
    """

    texts: Mapping[str, Given]
    trees: Given = Given()
    dev: Given = Given()
    init: str | None = None
    rules: RuleSet | None = None  # replaces the setting's rules
    facts: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    treebanks: Mapping[str, Given] = field(default_factory=dict)
    tokeniser: str | None = None
    tagger: str | None = None
    raw: Given | None = None  # text for which the run learns the steps that are not given
    lines: bool = False  # each line of raw text is a sentence

    def with_steps(self, steps: Steps) -> Inputs:
        """These inputs, with raw text as text; it and trees are tokenised and tagged where they are not."""
        texts = {label: replace(given, steps=steps) for label, given in self.texts.items()}
        if self.raw:
            text = texts[""]
            names = (*text.names, *self.raw.names)
            texts[""] = Given(names, (*text.sentences, *self.raw.sentences), steps)
        return replace(self, texts=texts, trees=replace(self.trees, steps=steps))

    @property
    def has_text(self) -> bool:
        return any(self.texts.values())

    @property
    def text_names(self) -> list[str]:
        """The files of all texts."""
        return [name for given in self.texts.values() for name in given.names]

    def check(self, *, treebanks_suffice: bool = False) -> None:
        """Raises: UsageError, there is nothing to learn from, or a file can be read only once."""
        others = [name for given in self.treebanks.values() for name in given.names]
        raw = self.raw.names if self.raw else ()
        names = (*self.text_names, *raw, *self.trees.names, *self.dev.names, *others, *self.facts.values())
        file_checks.check_read_again(names, "training reads its files more than once")
        if self.raw is not None and set(self.texts) != {""}:
            raise UsageError("--raw learns one tokeniser and one tagger: it goes with --train, not --language")
        if not self.has_text and not self.raw and not self.trees and not (treebanks_suffice and self.treebanks):
            raise UsageError("nothing to learn from: name tagged text with --train, or trees with --trees")
        for name, times in Counter(self.text_names).items():
            if times > 1:
                logger.warning("%s is text of %d languages: its sentences count for each", name, times)

    def warn_of_trees_that_count_twice(self) -> None:
        """Warns of files given both as text and as trees, for recipes that learn from both."""
        for name in set(self.text_names) & set(self.trees.names):
            logger.warning("%s is given to both --train and --trees: its sentences count twice", name)

    def check_facts(self, idle: str | None) -> None:
        """Raises: UsageError, facts or --without have no effect (`idle` says why), or name no text."""
        for option, given in (("--without", self.without), ("--language-facts", self.facts)):
            if given and idle:
                raise UsageError(f"{option} would have no effect: {idle}")
        with_text = [label for label, given in self.texts.items() if given]
        for label in self.facts:
            if label in with_text:
                continue
            if "" in with_text or not with_text:
                text = "the text has no label" if with_text else "there is no text (--train)"
                raise UsageError(f"--language-facts {label + '=' if label else ''}FILE: {text}")
            which = f"no --language {label}{did_you_mean(label, with_text)}" if label else "say of which language"
            raise UsageError(f"--language-facts: {which} ({' or '.join(f'{one}=FILE' for one in with_text)})")

    def files(self, others: Mapping[str, str]) -> tuple[DataFile, ...]:
        """Role, name and checksum of each file, for the model file; `others` are files named by settings."""
        raw = self.raw.names if self.raw else ()
        by_role: dict[str, tuple[str, ...]] = {
            **{
                f"train {label}".rstrip(): tuple(name for name in given.names if name not in raw)
                for label, given in self.texts.items()
            },
            "raw": raw,
            "trees": self.trees.names,
            **{f"treebank {label}": given.names for label, given in self.treebanks.items()},
            "dev": self.dev.names,
            "init": (self.init,) if self.init else (),
            "tokeniser": (self.tokeniser,) if self.tokeniser else (),
            "tagger": (self.tagger,) if self.tagger else (),
            **{role: (name,) for role, name in others.items() if name},
            **{f"facts {label}".rstrip(): (name,) for label, name in self.facts.items()},
        }
        return tuple(
            DataFile(role, Path(name).name, files.sha256(name)) for role, names in by_role.items() for name in names
        )


# ----------------------------------------------------------------------------------------------------
# Checks of the gold trees given to a run, and messages about them, before learning.


MOST_SHOWN = 5
"""Number of relations and tags that a message lists."""

WORTH_TELLING = 0.01
"""Share of tree words whose tags must be missing from the text before a warning appears."""


def only_corrected(trees: Sequence[Sentence], path: str, *, can_drop: bool) -> list[Sentence]:
    """The trees without the heads that nobody has confirmed, if somebody has others; warns of guesses.

    can_drop: otherwise they keep those heads. Raises: DataError, all trees are guesses.
    """
    with_heads = [tree for tree in trees if tree.source is not None and set(tree.heads or ()) - {FREE}]
    lines = [tree.source.lines for tree in with_heads if tree.source is not None]
    guesses, perhaps = (sum(map(test, lines)) for test in (conllu_writing.is_guess, conllu_writing.may_be_guess))
    if guesses and guesses == len(with_heads):
        message = "all trees are as vdgi choose wrote them, so the parser would learn its own guesses"
        hint = "correct HEAD and DEPREL; from a tree that is right, remove the comment '# guess = ...'"
        raise DataError(path, None, message, hint)
    of_all, unseen = count(len(with_heads), "tree"), "leave out trees that nobody has looked at"
    if guesses:
        logger.warning("%s: %d of %s as vdgi choose wrote them: %s", path, guesses, of_all, unseen)
    if perhaps:
        how = "with HeadConf= on each word, as of vdgi parse --confidence"
        logger.warning("%s: %d of %s %s: %s", path, perhaps, of_all, how, unseen)
    confirmed = list(map(conllu_writing.only_confirmed, trees))
    if unconfirmed := n_free(confirmed) - n_free(trees):
        what = f"{count(unconfirmed, 'head')} without HeadBy=, in trees with others that have it"
        effect = "left out" if can_drop else "learnt from, although nobody has confirmed them"
        logger.warning("%s: %s: %s", path, what, effect)
    return confirmed if can_drop else list(trees)


def n_free(trees: Iterable[Sentence]) -> int:
    """The number of words whose head is not known."""
    return sum((tree.heads or ()).count(FREE) for tree in trees)


def tell_of_relations(trees: Sequence[Sentence]) -> None:
    """Reports relations that are not in UD 2.

    Raises: DataError, a relation is not allowed in CoNLL-U, or there are too many.
    """
    known = set[str]()
    for tree in trees:
        new = {deprel for deprel in tree.deprels if deprel != "_"} - known
        try:
            if new:
                known |= new
                check(known)
        except VdgiError as error:
            path, line = (tree.source.path, tree.source.line) if tree.source else ("<memory>", None)
            raise DataError(path, line, str(error)) from None
    own = own_relations(tree.deprels for tree in trees)
    if own:
        counted = count(len(own), "relation")
        are = "is" if len(own) == 1 else "are"
        listed = _listed(f"{name} ({n:,})" for name, n in own.most_common())
        logger.info("%s of the trees %s not of UD 2, learnt as in the file: %s", counted, are, listed)


def tell_of_tags(trees: Sequence[Sentence], texts: Mapping[str, Sequence[Sentence]]) -> None:
    """Warns of tree tags that the texts lack, because what is learnt about them is of no use there.

    Raises: DataError, the texts have none of them.
    """
    known = {tag for text in texts.values() for sentence in text for tag in sentence.tags}
    if not known:
        return
    times = Counter(tag for tree in trees for tag in tree.tags)
    source = trees[0].source if trees else None
    hint = "trees need the tags of the text"
    check_known(times, known, source.path if source else "<memory>", hint)
    lacking = Counter({tag: n for tag, n in times.items() if tag not in known})
    if lacking.total() > WORTH_TELLING * times.total():
        tags = "tag" if len(lacking) == 1 else "tags"
        do = "does" if len(lacking) == 1 else "do"
        listed, words = _listed(tag for tag, _ in lacking.most_common()), count(lacking.total(), "word")
        logger.warning("%s %s of the trees (%s) %s not occur in the text", tags, listed, words, do)


def _listed(items: Iterable[str]) -> str:
    every = list(items)
    return ", ".join(every[:MOST_SHOWN]) + (", ..." if len(every) > MOST_SHOWN else "")


# ----------------------------------------------------------------------------------------------------
# Reads a run's sentences by protocol and length, and records which were dropped and which trees used.


DEV_MAX_LEN = 15
"""Longest dev sentence, in words, that is scored while training, unless a setting says otherwise."""


@dataclass
class RunReader:
    """Reads with these settings; `dropped` and `gold_trees` are for the model file."""

    data: DataSettings
    dropped: list[str] = field(default_factory=list)
    gold_trees: list[str] = field(default_factory=list)
    punctuation: Counter[str] = field(default_factory=Counter)  # relations it has in trees to learn from

    def material(
        self,
        inputs: Inputs,
        rules: RuleSet,
        *,
        is_lean: bool = False,
        longest_partial: int | None = None,
        longest_dev: int = DEV_MAX_LEN,
    ) -> Material:
        """What a run learns from, with the tags as vocabulary.

        `is_lean`: see `_lean`. `longest_partial`: trees are of up to so many words, and their heads may be
        FREE; without text, the sentences of their files are the text, if some have no tree.
        """
        facts = {label: load_facts(name, rules) for label, name in inputs.facts.items()}
        texts = self.texts(inputs, is_lean=is_lean)
        trees, treeless = list[Sentence](), list[Sentence]()
        if inputs.trees and longest_partial is not None:
            trees, treeless = self._partial_trees(inputs.trees, longest_partial)
        elif inputs.trees:  # projective ones, because only they have derivations
            projective = replace(protocol_of(self.data.protocol), projective_only=True)
            trees = self._read(inputs.trees, self.data.max_len, role="tree", heads="required", protocol=projective)
        if trees:
            tell_of_relations(trees)
        if not texts and treeless:
            texts[""] = [s for s in (*trees, *treeless) if len(s) <= self.data.max_len]
            logger.info("training: %s, all those of --trees", count(len(texts[""]), "sentence"))
        dev = self.dev(inputs.dev, longest_dev)
        tell_of_tags(trees, texts)
        every = [*(sentence for text in texts.values() for sentence in text), *trees]
        relation = next((name for name, _ in self.punctuation.most_common(1)), "punct")
        vocabulary = build_vocabulary(every, lexicalised=False)
        return Material(texts, vocabulary, rules, trees, dev, facts, relation)

    def texts(self, inputs: Inputs, *, is_lean: bool = False) -> dict[str, list[Sentence]]:
        """The sentences of each text."""
        texts: dict[str, list[Sentence]] = {}
        protocol = protocol_of(self.data.protocol)
        for label, given in inputs.texts.items():
            if not given:
                continue
            role = f"{label} training" if label else "training"
            texts[label] = self._read(given, self.data.max_len, role=role, label=label, is_lean=is_lean)
            if protocol.projective_only and any(s.heads is not None for s in texts[label]):
                self.gold_trees.append("training: sentences with crossing arcs left out")
        return texts

    def _partial_trees(self, given: Given, longest: int) -> tuple[list[Sentence], list[Sentence]]:
        """The trees, whose heads may be FREE, and the sentences without any head; logs the number of each.

        Raises: DataError, no sentence has a head.
        """
        found = self._read(given, longest, role="tree", heads="partial")
        trees = [s for s in found if set(s.heads or ()) - {FREE}]
        treeless = [s for s in found if not set(s.heads or ()) - {FREE}]
        if free := n_free(trees):
            words = count(free, "word of these trees has", "words of these trees have")
            logger.info("  %s no head: nothing is learnt from that", words)
        if treeless:
            logger.info("  %s no tree", count(len(treeless), "sentence has", "sentences have"))
        if not trees:
            hint = "give heads to some, or name the file with --train"
            raise DataError(str(given), None, "no sentence has a tree", hint)
        return trees, treeless

    def other_language(self, given: Given, label: str) -> list[Sentence]:
        """Trees of another language."""
        return self._read(given, None, min_len=1, role=f"{label} treebank", heads="required")

    def dev(self, given: Given, longest: int = DEV_MAX_LEN) -> list[Sentence]:
        """Gold trees to score while training."""
        return self._read(given, longest, min_len=1, role="dev", heads="required") if given else []

    def _read(
        self,
        given: Given,
        max_len: int | None,
        *,
        role: str,
        label: str = "",
        min_len: int = corpus.SHORTEST,
        heads: conllu.Heads = "optional",
        protocol: Protocol | None = None,
        is_lean: bool = False,
    ) -> list[Sentence]:
        """The sentences that protocol and lengths keep; logs the dropped ones."""
        protocol = protocol or protocol_of(self.data.protocol)
        read: Iterable[Sentence] = progress.over(corpus.with_few_tags(given.read(self.data.tags, heads)), "sentences")
        if heads != "optional":
            read = only_corrected(list(read), str(given), can_drop=heads == "partial")
        if role == "tree":
            self.punctuation.update(
                deprel
                for sentence in read
                for tag, deprel in zip(sentence.upos or sentence.tags, sentence.deprels)
                if tag in UD_PUNCTUATION and deprel != "_"
            )
        if is_lean:
            read = _lean(read, with_heads=protocol.projective_only)
        prepared = corpus.prepare(read, protocol, max_len, min_len)
        sentences = prepared.sentences
        if ignored := self.data.ignore:
            sentences = [sentence.ignoring(ignored) for sentence in sentences]
        amount = f"{count(len(sentences), 'sentence')}, {count(prepared.n_words, 'word')}"
        logger.info("%s: %s (protocol %s)", role, amount, protocol.name)
        for dropped in prepared.dropped:
            logger.info("  dropped %s", dropped)
        for note in prepared.notes:
            logger.info("  %s", note)
        if not sentences:
            hint = "see what was dropped, and data.max_len"
            raise DataError(str(given), None, f"no {role} sentence is left", hint)
        if heads != "required" or role == "tree":  # of what is learnt from
            self.dropped += [f"{label}: {item}" if label else str(item) for item in prepared.dropped]
        return sentences


def _lean(sentences: Iterable[Sentence], *, with_heads: bool) -> Iterator[Sentence]:
    """The sentences with only the columns that teachers and perceptrons read, to save memory.

    No lemmas, relations, or lines of the file, and heads only on request; equal forms are one object.
    """
    known: dict[str, str] = {}
    for s in sentences:
        forms = tuple([known.setdefault(form, form) for form in s.forms])
        heads = s.heads if with_heads else None
        yield replace(s, forms=forms, heads=heads, lemmas=(), deprels=(), source=None)
