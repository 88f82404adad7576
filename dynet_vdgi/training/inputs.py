"""What a run is given, as files or as sentences in memory, and the material that is made of it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from dynet_vdgi import progress
from dynet_vdgi.bundled import rules_path
from dynet_vdgi.config import HdpDmvSettings, ModelSettings, Settings, without_effect
from dynet_vdgi.data import conllu, file_checks, files, treebank
from dynet_vdgi.data.column_sentences import LeanReader
from dynet_vdgi.data.embeddings import Embeddings
from dynet_vdgi.data.protocols import protocol_named
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.data.vocabulary import Vocabulary, build_vocabulary
from dynet_vdgi.errors import ConfigError, DataError, ModelError, UsageError
from dynet_vdgi.grammar.estimated_rules import estimated_in
from dynet_vdgi.grammar.facts import load_facts
from dynet_vdgi.grammar.rules import RuleSet, load_rules
from dynet_vdgi.material import Material
from dynet_vdgi.model_file import Amount, DataFile, Provenance
from dynet_vdgi.model_file import load as load_model
from dynet_vdgi.names import count, did_you_mean
from dynet_vdgi.training import tree_checks

logger = logging.getLogger("dynet_vdgi")

NOTHING = treebank.Prepared([], [], [])


@dataclass(frozen=True)
class Given:
    """Files, or sentences in memory."""

    names: tuple[str, ...] = ()
    sentences: tuple[Sentence, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.sentences)

    def read(self, tags: str, heads: conllu.Heads, *, is_lean: bool = False) -> Iterable[Sentence]:
        """The sentences, one after the other; lean ones may lack lemmas, relations, and lines of the file."""
        for name in self.names:
            if is_lean:
                read = LeanReader(heads, tags)
                for found in conllu.read_windows(name, read, heads=heads, tags=tags):
                    yield from [found] if isinstance(found, Sentence) else found
            else:
                yield from conllu.read(name, heads=heads, tags=tags)
        for sentence in self.sentences:
            if heads == "required" and (sentence.heads is None or FREE in sentence.heads):
                raise DataError("<memory>", None, "a sentence has no heads", "trees are needed here")
            yield _in_memory(sentence, tags)

    def __str__(self) -> str:
        return ", ".join(self.names) or "<memory>"


def _in_memory(sentence: Sentence, tags: str) -> Sentence:
    """With tags of this column. Raises: DataError, it has none."""
    if tags == "upos" or sentence.upos:
        return sentence
    if not sentence.xpos:
        raise DataError("<memory>", None, "a sentence has no XPOS", "set data.tags=upos, or fill it")
    return replace(sentence, tags=sentence.xpos, upos=sentence.tags)


@dataclass(frozen=True)
class Inputs:
    """Texts by label of their language, empty for a text of one; gold trees; what to start from.

    `facts` are files of what is known of the languages, by their labels; `without` are parts of the rule
    table that are left out. `treebanks`, by label, are trees of other languages.
    """

    texts: Mapping[str, Given]
    trees: Given = Given()
    dev: Given = Given()
    init: str | None = None
    rules: RuleSet | None = None  # instead of the setting's
    facts: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    treebanks: Mapping[str, Given] = field(default_factory=dict)

    def check(self, settings: Settings) -> None:
        """Raises: UsageError, there is nothing to learn from, or something is there twice or is missing."""
        names = [name for given in self.texts.values() for name in given.names]
        others = [name for given in self.treebanks.values() for name in given.names]
        file_checks.check_read_again(
            (*names, *self.trees.names, *self.dev.names, *others, *self.facts.values()),
            "training reads its files more than once",
        )
        if not any(self.texts.values()) and not self.trees:
            raise UsageError("nothing to learn from: name tagged text with --train, or trees with --trees")
        for name, times in Counter(names).items():
            if times > 1:
                logger.warning("%s is text of %d languages: its sentences count for each", name, times)
        self._check_trees(settings)
        for name in set(names) & set(self.trees.names) if not self.has_few_trees(settings) else ():
            logger.warning("%s is named after --train and after --trees: its sentences count twice", name)
        if settings.is_neural and settings.train.select == "dev" and not self.dev:
            raise UsageError(
                "train.select=dev chooses the model by gold dev trees: name them with --dev FILE"
            )
        if not settings.is_neural and not settings.has_teacher and not self.trees:
            raise UsageError("a perceptron learns from trees: set teacher.kind=dmv, or name --trees FILE")
        if self.facts or self.without:
            self._check_knowledge(settings)

    def _check_knowledge(self, settings: Settings) -> None:
        idle = self.without_effect(settings).get("rules")
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
            which = (
                f"no --language {label}{did_you_mean(label, with_text)}" if label else "say of which language"
            )
            raise UsageError(f"--language-facts: {which} ({' or '.join(f'{one}=FILE' for one in with_text)})")
        if not self.facts:
            return
        informs_posterior = (
            settings.is_neural and settings.learns_from_text and (settings.posterior.features == "potentials")
        )
        if informs_posterior and len(with_text) > 1:
            raise UsageError(
                "--language-facts: with posterior.features=potentials all texts are learnt from under one "
                "prior, so there can be no facts about one of the languages"
            )
        if not settings.has_teacher and not informs_posterior:
            raise UsageError(
                "--language-facts would have no effect: without a teacher, rules are only counted; "
                "choose a preset with a teacher, such as best"
            )

    def _check_trees(self, settings: Settings) -> None:
        """Raises: UsageError, settings, trees, and other languages' treebanks do not go together."""
        number = settings.transfer.trees
        if self.treebanks and not settings.takes_few_trees:
            raise UsageError(
                "--treebank starts a perceptron with a DMV as its teacher: use --preset transfer"
            )
        if self.treebanks and not number:
            raise UsageError(
                "--treebank starts from trees of other languages, and the model says so: "
                "add --preset transfer (or --set transfer.trees=400)"
            )
        if number and settings.takes_few_trees and not self.treebanks:
            raise UsageError(
                f"transfer.trees={number}, as in the preset transfer, starts from treebanks of other "
                "languages: name each with --treebank LABEL FILE"
            )
        if self.treebanks and len(self.texts) > 1:
            raise UsageError("--treebank starts a parser of one language: name its text with --train")
        if self.trees and len(self.texts) > 1 and settings.takes_few_trees:
            raise UsageError(
                "--trees are of one language, and which of several would not be known: "
                "name its text with --train, and train a parser for each language that has trees"
            )

    def has_few_trees(self, settings: Settings) -> bool:
        """If `training.few_trees` learns from these inputs: trees, and text of one language or none."""
        return bool(self.trees or self.treebanks) and settings.takes_few_trees

    def without_effect(self, settings: Settings, *, has_text: bool | None = None) -> dict[str, str]:
        """Settings that change nothing in a run on these inputs, and why; see `config.without_effect`.

        `has_text`, where it is known already: a file of trees may hold sentences without.
        """
        few_trees = self.has_few_trees(settings)
        if has_text is None:
            has_text = few_trees or any(self.texts.values())
        return without_effect(
            settings,
            has_text=has_text,
            few_trees=few_trees,
            has_dev=bool(self.dev),
            has_init=bool(self.init),
            in_a_run=True,
        )

    def files(self, settings: Settings) -> tuple[DataFile, ...]:
        """Role, name and checksum of each file, for the model file."""
        words = settings.words if settings.is_neural and settings.model.word_dim else None
        by_role: dict[str, Sequence[str]] = {
            **{f"train {label}".rstrip(): given.names for label, given in self.texts.items()},
            "trees": self.trees.names,
            **{f"treebank {label}": given.names for label, given in self.treebanks.items()},
            "dev": self.dev.names,
            "init": [self.init] if self.init else [],
            "vectors": [words.vectors] if words and words.vectors else [],
            "clusters": [words.clusters] if words and words.clusters else [],
            **{f"facts {label}".rstrip(): [name] for label, name in self.facts.items()},
        }
        return tuple(
            DataFile(role, Path(name).name, files.sha256(name))
            for role, names in by_role.items()
            for name in names
        )


@dataclass
class Preparation:
    """What comes of inputs: the material, the settings with what follows from files, and what was done."""

    material: Material
    settings: Settings
    dropped: list[str] = field(default_factory=list)
    gold_trees: list[str] = field(default_factory=list)
    kind: str = ""  # of the learner

    def provenance(self, inputs: Inputs, preset: str, command: Sequence[str]) -> Provenance:
        """How the model is made, as far as it is known before learning."""
        material, settings = self.material, self.settings
        every = [*material.sentences, *material.trees]
        protocol = protocol_named(settings.data.protocol)
        return Provenance.now(
            command=tuple(command),
            preset=preset,
            seed=settings.seed,
            kind=self.kind,
            protocol=f"{protocol.name}: {protocol.description}",
            gold_trees=tuple(self.gold_trees),
            data=inputs.files(settings),
            trained_on=_amount(every),
            dropped=tuple(self.dropped),
            languages={label: _amount(text) for label, text in material.texts.items() if label},
            facts=tuple(
                f"{label}: {name} = {fact}".removeprefix(": ")
                for label, facts in material.facts.items()
                for name, fact in facts.items()
            ),
        )


def _amount(sentences: Sequence[Sentence]) -> Amount:
    return Amount(len(sentences), sum(map(len, sentences)))


def prepare(inputs: Inputs, settings: Settings) -> Preparation:
    """Reads everything a run needs.

    Raises:
        DataError: a file is malformed, or nothing in it can be trained on.
        ConfigError, ModelError: rules, vectors, clusters or the model to start from are at fault.
    """
    dropped: list[str] = []
    gold_trees: list[str] = []
    rules = _rules(inputs, settings, gold_trees)
    facts = {label: load_facts(name, rules) for label, name in inputs.facts.items()}
    protocol = protocol_named(settings.data.protocol)
    texts, trees, dev = dict[str, list[Sentence]](), NOTHING, NOTHING
    marks = tree_checks.Punctuation()
    max_len = settings.data.max_len
    is_lean = not settings.is_neural and not inputs.has_few_trees(settings)
    for label, given in inputs.texts.items():
        if given:  # a sentence of one word has one derivation: nothing can be learnt from it
            role = f"{label} training" if label else "training"
            part = _read(given, settings, max_len, min_len=2, role=role, is_lean=is_lean)
            texts[label] = part.sentences
            dropped += [f"{label}: {item}" if label else str(item) for item in part.dropped]
            if protocol.projective_only and any(s.heads is not None for s in part.sentences):
                gold_trees.append("training: sentences with crossing arcs left out")
    if inputs.trees and inputs.has_few_trees(settings):
        trees, treeless = _partial_trees(inputs.trees, settings, marks)
        dropped += map(str, trees.dropped)
        if not texts and treeless:
            texts[""] = [s for s in (*trees.sentences, *treeless) if len(s) <= max_len]
            logger.info("training: %s, all those of --trees", count(len(texts[""]), "sentence"))
    elif inputs.trees:  # only projective trees have derivations
        trees = _read(inputs.trees, settings, max_len, min_len=2, role="tree", is_gold=True, marks=marks)
        dropped += map(str, trees.dropped)
    treebanks = {
        label: _read(given, settings, None, min_len=1, role=f"{label} treebank", heads="required").sentences
        for label, given in inputs.treebanks.items()
    }
    if inputs.trees:
        tree_checks.tell_of_relations(trees.sentences)
        tree_checks.tell_of_tags(trees.sentences, [s for text in texts.values() for s in text])
    if inputs.dev:
        longest = settings.train.dev_max_len
        dev = _read(inputs.dev, settings, longest, min_len=1, role="dev", heads="required")
    sentences = [*(sentence for text in texts.values() for sentence in text), *trees.sentences]
    start: Mapping[str, Any] = {}
    vectors: Embeddings | None = None
    if inputs.init:
        vocabulary, start, settings = _initial(inputs.init, settings, sentences)
    else:
        vocabulary, vectors = _vocabulary(sentences, settings)
        settings = _with_vector_dim(settings, vectors.dim) if vectors else settings
    material = Material(texts, vocabulary, rules, trees.sentences, dev.sentences, vectors, start, facts=facts)
    material = replace(material, treebanks=treebanks, punctuation=marks.relation)
    kind = "words" if inputs.has_few_trees(settings) else settings.kind
    _check_ignored(settings, rules, kind)
    return Preparation(material, settings, dropped, list(dict.fromkeys(gold_trees)), kind)


def _check_ignored(settings: Settings, rules: RuleSet, kind: str) -> None:
    """Raises: ConfigError, something is to be hidden and nobody looks at it, or it holds the tags."""
    ignored, table = settings.data.ignore, rules.table
    if "xpos" in ignored and settings.data.tags == "xpos":
        raise ConfigError("config: 'data.ignore' cannot hide xpos, since data.tags=xpos takes the tags there")
    by_table = settings.has_teacher or (
        settings.is_neural and settings.learns_from_text and settings.posterior.features == "potentials"
    )
    reads_forms = (settings.is_neural and settings.model.word_dim) or isinstance(
        settings.teacher, HdpDmvSettings
    )
    sees_words = reads_forms and "forms" in ignored
    if not ignored or kind == "words" or sees_words or (by_table and table is not None and table.settings):
        return
    raise ConfigError(
        "config: 'data.ignore' would have no effect: neither the parser nor its rules look at more than "
        "tags; leave it out, or set rules=best, for example"
    )


def _partial_trees(
    given: Given, settings: Settings, marks: tree_checks.Punctuation
) -> tuple[treebank.Prepared, list[Sentence]]:
    """The trees, of which heads may be FREE, and the sentences that have no head at all; says how many.

    Raises: DataError, no sentence has a head.
    """
    from dynet_vdgi.training.few_trees import LONGEST_TREE

    found = _read(given, settings, LONGEST_TREE, min_len=2, role="tree", heads="partial", marks=marks)
    has_tree = [set(s.heads or ()) - {FREE} != set() for s in found.sentences]
    trees = [s for s, has in zip(found.sentences, has_tree) if has]
    treeless = [s for s, has in zip(found.sentences, has_tree) if not has]
    n_free = sum((tree.heads or ()).count(FREE) for tree in trees)
    if n_free:
        words = count(n_free, "word of these trees has", "words of these trees have")
        logger.info("  %s no head: nothing is learnt from that", words)
    if treeless:
        logger.info("  %s no tree", count(len(treeless), "sentence has", "sentences have"))
    if not trees:
        raise DataError(
            str(given), None, "no sentence has a tree", "give heads to some, or name the file with --train"
        )
    return replace(found, sentences=trees), treeless


def _with_vector_dim(settings: Settings, dim: int) -> Settings:
    parser = msgspec.structs.replace(settings.model, vector_dim=dim)
    return msgspec.structs.replace(settings, parser=parser)


def _rules(inputs: Inputs, settings: Settings, gold_trees: list[str]) -> RuleSet:
    """The rules, their expectations counted in the training text's trees if the settings say so."""
    rules = inputs.rules or load_rules(rules_path(settings.rules))
    rules = rules.without(*inputs.without) if inputs.without else rules
    if not (settings.is_neural and settings.learns_from_text):
        return rules
    if settings.posterior.features == "potentials" and rules.table is None:
        raise ConfigError(
            "config: 'posterior.features' = potentials needs a rule table with parts, and "
            f"{settings.rules!r} has none; set rules=best, for example"
        )
    if settings.posterior.features == "counts" and settings.posterior.dynamics != "off" and not len(rules):
        raise ConfigError(
            f"config: 'posterior.features' = counts has nothing to count: {settings.rules!r} has no rules, "
            "only exceptions; set posterior.features=potentials, for example"
        )
    if settings.posterior.expectations == "rules" or settings.posterior.dynamics == "off":
        return rules
    given = [part for part in inputs.texts.values() if part] or [inputs.trees]
    tags = settings.data.tags
    sentences = (sentence for part in given for sentence in part.read(tags, "required"))
    names = [Path(name).name for part in given for name in part.names] or ["<memory>"]
    gold_trees.append("training: expectations of the rules counted in its trees")
    return estimated_in(sentences, rules, settings.data.max_len, names, ", ".join(map(str, given)))


def _vocabulary(sentences: list[Sentence], settings: Settings) -> tuple[Vocabulary, Embeddings | None]:
    """Tags; in lexicalised models words, their classes, and their pretrained vectors."""
    from dynet_vdgi.data import brown, embeddings

    if not isinstance(settings.parser, ModelSettings) or not settings.parser.word_dim:
        return build_vocabulary(sentences, lexicalised=False), None
    words = settings.words
    vocabulary = build_vocabulary(
        sentences, lexicalised=True, min_freq=words.min_freq, lowercase=words.lowercase
    )
    vectors = None
    if words.vectors:
        vectors = embeddings.load(words.vectors, vocabulary.words)
        for note in vectors.notes:
            logger.info("%s", note)
    if words.clusters:
        clusters = brown.read(words.clusters)
        vocabulary = replace(vocabulary, classes=brown.classes(clusters, vocabulary.words))
        known = sum(word in clusters.paths for word in vocabulary.words)
        n_words, n_classes = len(vocabulary.words), max(vocabulary.classes) + 1
        classes = count(n_classes, "class", "classes")
        logger.info("clusters: %d of %s, %s with that of the rest", known, count(n_words, "word"), classes)
    return vocabulary, vectors


def _initial(
    path: str, settings: Settings, sentences: list[Sentence]
) -> tuple[Vocabulary, Mapping[str, Any], Settings]:
    """Vocabulary and weights of a model to start from, and the settings with its vectors' size.

    Raises:
        ModelError: it has another shape, or lacks a tag of the training text.
        UsageError: vectors or clusters are named, which are the model's own; it is a perceptron.
    """
    for key in ("vectors", "clusters"):
        if getattr(settings.words, key):
            raise UsageError(f"--init {path}: the model has its own {key}; leave out words.{key}")
    model = load_model(path)
    if not settings.is_neural or model.provenance.kind != "neural":
        raise UsageError(
            f"--init {path}: a perceptron cannot be trained further; start from a neural model, "
            "such as --preset best-neural makes"
        )
    if model.settings.data.tags != settings.data.tags:
        column = model.settings.data.tags
        raise ModelError(f"{path}: its tags are of column {column.upper()}; set data.tags={column}")
    theirs, ours = msgspec.structs.asdict(model.settings.model), msgspec.structs.asdict(settings.model)
    for name, value in ours.items():
        if name not in ("vector_dim", "encoder_dropout", "decoder_dropout") and value != theirs[name]:
            raise ModelError(f"{path}: its parser.{name} is {theirs[name]}, not {value} as asked for")
    lacking = {tag for sentence in sentences for tag in sentence.tags} - set(model.vocabulary.tags)
    if lacking:
        raise ModelError(f"{path}: it does not know these tags: {' '.join(sorted(lacking))}")
    dim = model.settings.model.vector_dim
    return model.vocabulary, model.parameters, _with_vector_dim(settings, dim)


def _sharing(sentences: Iterable[Sentence], *, is_lean: bool, with_heads: bool) -> Iterator[Sentence]:
    """The sentences, in which equal forms and lemmas are the same objects, which saves memory.

    Lean ones have no more than teachers and perceptrons look at: no lemmas, relations, and lines of the file,
    and heads only if these are asked for.
    """
    known: dict[str, str] = {}
    for s in sentences:
        forms = tuple([known.setdefault(form, form) for form in s.forms])
        if is_lean:
            heads = s.heads if with_heads else None
            yield replace(s, forms=forms, heads=heads, lemmas=(), deprels=(), source=None)
        else:
            yield replace(s, forms=forms, lemmas=tuple([known.setdefault(text, text) for text in s.lemmas]))


def _read(
    given: Given,
    settings: Settings,
    max_len: int | None,
    *,
    min_len: int,
    role: str,
    heads: conllu.Heads = "optional",
    is_gold: bool = False,
    is_lean: bool = False,
    marks: tree_checks.Punctuation | None = None,
) -> treebank.Prepared:
    """What protocol and lengths leave of the sentences; says what was dropped.

    `is_gold`: projective only. `is_lean`: see `_sharing`. `marks` sees the sentences with their punctuation.
    """
    protocol = protocol_named(settings.data.protocol)
    if is_gold:
        protocol, heads = replace(protocol, projective_only=True), "required"
    read = treebank.with_few_tags(given.read(settings.data.tags, heads, is_lean=is_lean))
    sentences = progress.over(marks.over(read) if marks else read, "sentences")
    shared = _sharing(sentences, is_lean=is_lean, with_heads=protocol.projective_only)
    prepared = treebank.prepare(shared, protocol, max_len, min_len)
    if ignored := settings.data.ignore:
        prepared = replace(prepared, sentences=[s.ignoring(ignored) for s in prepared.sentences])
    n_sentences, n_words = len(prepared.sentences), prepared.n_words
    amount = f"{count(n_sentences, 'sentence')}, {count(n_words, 'word')}"
    logger.info("%s: %s (protocol %s)", role, amount, protocol.name)
    for dropped in prepared.dropped:
        logger.info("  dropped %s", dropped)
    for note in prepared.notes:
        logger.info("  %s", note)
    if not prepared.sentences:
        hint = "see what was dropped, and data.max_len"
        raise DataError(str(given), None, f"no {role} sentence is left", hint)
    return prepared
