"""Learn a parser from tagged sentences.

Needs CoNLL-U files with the UPOS column filled; heads of --train are not used, unless the protocol, the
selection of the model or the expectations of the rules say so (the model file records it). Several files
and quoted patterns are allowed. In DIR it writes model.vdgi (parser and checkpoint in one), log.jsonl and
settings.toml.

  vdgi train --train my.conllu --out runs/my
  vdgi train --train my.conllu --trees corrected.conllu --out runs/my2      learn from some trees, too
  vdgi train --train my.conllu --init runs/my/model.vdgi --preset rl-sn --set train.updates=0 --out runs/sn
  vdgi train --train 'xx-ud-train*.conllu' --preset as_released --dev xx-ud-dev.conllu --out runs/xx
  vdgi train --train my.conllu --set train.epochs=3 --set posterior.rules=my-rules.txt --out runs/my3
  vdgi train --preset best --language eu eu.conllu --language fr fr1.conllu fr2.conllu --out runs/several
"""

from __future__ import annotations

import argparse
import logging
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynet_vdgi import __version__, config
from dynet_vdgi.commands.rules import estimated_rule_file
from dynet_vdgi.data import conllu, files, protocols, treebank
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import Vocabulary, build_vocabulary
from dynet_vdgi.errors import ConfigError, DataError, ModelError, UsageError

if TYPE_CHECKING:
    from dynet_vdgi.data.embeddings import Embeddings
    from dynet_vdgi.grammar.rules import RuleSet
    from dynet_vdgi.variational.trainer import TrainingData

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi train`."""
    parser.add_argument("--train", nargs="+", default=[], metavar="FILE", help="tagged text to learn from")
    parser.add_argument(
        "--language",
        action="append",
        nargs="+",
        default=[],
        metavar=("LABEL", "FILE"),
        help="instead of --train, for a parser of several languages: a label, such as fr, and tagged text; "
        "once for each language",
    )
    parser.add_argument(
        "--trees", nargs="+", default=[], metavar="FILE", help="gold trees to learn from, besides or instead"
    )
    parser.add_argument(
        "--dev", nargs="+", default=[], metavar="FILE", help="gold trees to score while training"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the run; made if missing")
    parser.add_argument(
        "--preset",
        action="append",
        metavar="NAME",
        help=f"start from {', '.join(config.preset_names())} or a .toml file (default: "
        f"{config.DEFAULT_PRESET}); several, one on top of the other, are allowed",
    )
    parser.add_argument("--init", metavar="MODEL", help="start from the weights of this model")
    parser.add_argument("--rules", metavar="FILE", help="rule file; short for --set posterior.rules=FILE")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change one setting")
    parser.add_argument("--seed", type=int, metavar="N", help="short for --set train.seed=N")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in DIR")
    parser.add_argument("--dry-run", action="store_true", help="read and check everything, then stop")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi train`."""
    presets = arguments.preset or [config.DEFAULT_PRESET]
    settings = config.load_settings(presets, arguments.set)
    if arguments.rules is not None:
        settings = config.merge(settings, {"posterior": {"rules": arguments.rules}})
    if arguments.seed is not None:
        settings = config.merge(settings, {"train": {"seed": arguments.seed}})
    train(
        train_files=arguments.train,
        languages=_by_label(arguments.language),
        dev_files=arguments.dev,
        tree_files=arguments.trees,
        out=Path(arguments.out),
        settings=settings,
        init=arguments.init,
        resume=arguments.resume,
        dry_run=arguments.dry_run,
        preset=" + ".join(presets),
    )


def _by_label(languages: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """The files of each --language. Raises: UsageError."""
    by_label: dict[str, list[str]] = {}
    for label, *names in languages:
        if not re.fullmatch(r"\w[\w.+-]*", label) or label.endswith((".conllu", ".gz")):
            raise UsageError(
                f"--language {label}: a label comes before the files, as in --language fr {label}"
            )
        if not names:
            raise UsageError(f"--language {label}: name the files of its text after the label")
        if label in by_label:
            raise UsageError(f"--language {label}: it is there twice; name all of its files after one")
        by_label[label] = names
    return by_label


def train(
    *,
    train_files: Sequence[str] = (),
    languages: Mapping[str, Sequence[str]] | None = None,
    out: Path,
    settings: config.Settings,
    dev_files: Sequence[str] = (),
    tree_files: Sequence[str] = (),
    init: str | None = None,
    resume: bool = False,
    dry_run: bool = False,
    preset: str = "",
) -> Path:
    """Trains a model in the folder `out` and returns the path of the model file.

    Tagged text is in `train_files`, or, for a parser of several, in the files of the `languages` by label.

    Raises:
        DataError: a file is malformed, or nothing in it can be trained on.
        UsageError: the folder holds a model already, a file is missing, or the text is named in both ways.
        ConfigError, ModelError: see `config`, `grammar.rules`, `model_file`.
    """
    if languages and train_files:
        raise UsageError("--train and --language exclude each other: give the files of --train a --language")
    texts = {label: files.expand(names) for label, names in (languages or {"": train_files}).items()}
    inputs = Inputs(texts, files.expand(tree_files), files.expand(dev_files), init)
    if "-" in (*inputs.train, *inputs.trees, *inputs.dev):
        raise UsageError("training reads its files more than once: save standard input (-) to a file first")
    if not inputs.train and not inputs.trees:
        raise UsageError("nothing to learn from: name tagged text with --train, or trees with --trees")
    for name, times in Counter(inputs.train).items():
        if times > 1:
            logger.warning("%s is text of %d languages: its sentences count for each", name, times)
    for name in set(inputs.train) & set(inputs.trees):
        logger.warning("%s is named after --train and after --trees: its sentences count twice", name)
    _check_folder(out, resume)
    if settings.train.select == "dev" and not inputs.dev:
        raise UsageError("train.select=dev chooses the model by gold dev trees: name them with --dev FILE")
    if settings.train.learner == "linear" and settings.teacher.kind == "none" and not inputs.trees:
        raise UsageError("train.learner=linear learns from trees: set teacher.kind=dmv, or name --trees FILE")
    settings, data, meta = _prepare(inputs, settings, preset)
    if dry_run:
        logger.info("dry run: nothing trained, nothing written")
        return out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {str(out)!r}: {error.strerror}") from None
    if settings.teacher.kind != "none":
        data = _taught(data, settings)
    if settings.train.learner == "linear":
        return _train_linear(settings, data, meta, out)
    from dynet_vdgi.variational.trainer import Trainer

    trainer = Trainer(settings, data, meta, out)
    if resume and (out / config.MODEL_NAME).exists():
        trainer.resume()
        logger.info("resuming after update %d", trainer.updates)
    else:
        trainer.log.restart(after_update=-1)
        _write_settings(settings, out)
    try:
        trainer.train()
    except KeyboardInterrupt:
        saved = f"last checkpoint {trainer.path}" if trainer.path.exists() else "nothing saved yet"
        if trainer.path.exists() and not resume:
            saved += "; go on with --resume"
        raise KeyboardInterrupt(saved) from None
    logger.info("model: %s", trainer.path)
    return trainer.path


def _taught(data: TrainingData, settings: config.Settings) -> TrainingData:
    """With the trees of a teacher for each language, and what the teachers think of every arc if they are to
    choose the model; unless rules regularise a second stage, with the teachers' rules for the model file."""
    from dynet_vdgi.grammar.rules import load_rules
    from dynet_vdgi.learning.students import balanced, taught, teacher_of

    rules = load_rules(config.rules_path(settings.teacher.prior))
    pairs = [(text, teacher_of(text, rules, settings.teacher.kind)) for text in data.texts() if text]
    marginals: list[Any] = []
    if settings.train.learner == "neural" and settings.train.select == "teacher":
        marginals = [m for text, teacher in pairs for m in teacher.marginals(s.tags for s in text)]
    return replace(
        data,
        taught=balanced([taught(*pair) for pair in pairs]),
        marginals=marginals,
        rules=data.rules if settings.finetunes else rules,
    )


def _train_linear(settings: config.Settings, data: TrainingData, meta: dict[str, Any], out: Path) -> Path:
    """Trains the linear student and writes its model file."""
    from dynet_vdgi import model_file
    from dynet_vdgi.evaluation.attachment import score
    from dynet_vdgi.learning.students import linear_parser
    from dynet_vdgi.students.perceptron import KIND

    parser = linear_parser([*data.taught, *data.trees], data.vocabulary, settings.train.seed)
    dda = None
    if data.dev:
        heads = parser.parse([data.vocabulary.encode(s.forms, s.tags).tags for s in data.dev])
        dda = score(data.dev, heads).dda
        logger.info("dev DDA %.3f", dda)
    model = model_file.ModelFile(
        meta={**meta, "kind": KIND, "updates": 0, "complete": True, "dev_dda": dda},
        settings=settings,
        vocabulary=data.vocabulary,
        rules=data.rules,
        parameters=parser.arrays(),
    )
    path = out / config.MODEL_NAME
    model_file.save(path, model)
    _write_settings(settings, out)
    logger.info("model: %s", path)
    return path


def _write_settings(settings: config.Settings, out: Path) -> None:
    with files.atomic_writer(out / config.SETTINGS_NAME) as handle:
        handle.write(settings.to_toml())


def _check_folder(out: Path, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a folder")
    model = out / config.MODEL_NAME
    if model.exists() and not resume:
        raise UsageError(f"{model}: exists already; go on with --resume, or choose another --out")


@dataclass(frozen=True)
class Inputs:
    """The files of a run; texts by label of their language, which is empty for that of --train."""

    texts: dict[str, list[str]]
    trees: list[str]
    dev: list[str]
    init: str | None

    @property
    def train(self) -> list[str]:
        """All texts."""
        return [name for names in self.texts.values() for name in names]

    def described(self, settings: config.Settings) -> list[dict[str, str]]:
        """Role, name and checksum of each file, for the model file."""
        both_rules = settings.teacher.kind != "none" and settings.finetunes  # the model file holds the others
        by_role = {
            **{f"train {label}".rstrip(): names for label, names in self.texts.items()},
            "trees": self.trees,
            "dev": self.dev,
            "init": [self.init] if self.init else [],
            "vectors": [settings.data.vectors] if settings.data.vectors else [],
            "clusters": [settings.data.clusters] if settings.data.clusters else [],
            "prior": [str(config.rules_path(settings.teacher.prior))] if both_rules else [],
        }
        return [
            {"role": role, "name": Path(name).name, "sha256": files.sha256(name)}
            for role, names in by_role.items()
            for name in names
        ]


def _prepare(
    inputs: Inputs, settings: config.Settings, preset: str
) -> tuple[config.Settings, TrainingData, dict[str, Any]]:
    """Settings with what follows from the files, sentences, vocabulary and rules of a run, and what the model
    file will say about it."""
    from dynet_vdgi.variational.trainer import TrainingData

    protocol = protocols.protocol_named(settings.data.protocol)
    rules = _rules(inputs.train or inputs.trees, settings)
    nothing = treebank.Prepared([], [], [])
    texts, trees, dev = dict[str, treebank.Prepared](), nothing, nothing
    max_len = settings.data.max_len
    # A sentence of one word has one derivation: nothing can be learnt from it.
    for label, names in inputs.texts.items():
        if names:
            role = f"{label} training" if label else "training"
            texts[label] = _read(names, settings, protocol, max_len, min_len=2, role=role)
    if inputs.trees:  # only projective trees have derivations
        with_trees = replace(protocol, projective_only=True)
        trees = _read(inputs.trees, settings, with_trees, max_len, min_len=2, role="tree", heads="required")
    if inputs.dev:
        longest = settings.train.dev_max_len
        dev = _read(inputs.dev, settings, protocol, longest, min_len=1, role="dev", heads="required")
    text = [sentence for part in texts.values() for sentence in part.sentences]
    sentences = [*text, *trees.sentences]
    start: dict[str, Any] = {}
    vectors, vector_dim = None, settings.model.vector_dim
    if inputs.init:
        vocabulary, start, vector_dim = _initial(inputs.init, settings, sentences)
    else:
        vocabulary, vectors = _vocabulary(sentences, settings)
        vector_dim = vectors.dim if vectors else vector_dim
    settings = config.merge(settings, {"model": {"vector_dim": vector_dim}})
    regularises = settings.train.learner == "neural" and (
        settings.teacher.kind == "none" or settings.finetunes
    )
    if regularises and settings.posterior.dynamics != "off":
        for rule in rules.unused(vocabulary.tags):
            logger.warning("rule %s can never hold: the training text lacks a tag of it", rule)
    gold_trees = _gold_trees_used(settings, protocol, text, trees, dev)
    logger.info("gold trees used: %s", "; ".join(gold_trees) or "none")
    meta = {
        "version": __version__,
        "python": platform.python_version(),
        "dynet": metadata.version("dyNET38"),
        "numpy": metadata.version("numpy"),
        "machine": platform.machine(),
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": ["vdgi", *sys.argv[1:]],
        "preset": preset,
        "seed": settings.train.seed,
        "protocol": f"{protocol.name}: {protocol.description}",
        "gold_trees": gold_trees,
        "data": inputs.described(settings),
        "trained_on": {"sentences": len(sentences), "words": sum(map(len, sentences))},
        "dropped": [
            f"{label}: {dropped}" if label else str(dropped)
            for label, part in (*texts.items(), ("", trees))
            for dropped in part.dropped
        ],
    }
    languages = {
        label: {"sentences": len(part.sentences), "words": part.n_words}
        for label, part in texts.items()
        if label
    }
    if languages:
        meta["languages"] = languages
    sizes = [len(part.sentences) for part in texts.values()]
    data = TrainingData(text, dev.sentences, vocabulary, rules, trees.sentences, vectors, start, sizes)
    return settings, data, meta


def _rules(train_files: list[str], settings: config.Settings) -> RuleSet:
    """The rules, their expectations counted in the training text's trees if the settings say so."""
    from dynet_vdgi.grammar.rules import load_rules, parse_rules

    rules = load_rules(config.rules_path(settings.posterior.rules))
    if settings.posterior.features == "potentials" and rules.table is None:
        raise ConfigError(
            "config: 'posterior.features' = potentials needs a rule table with parts, and "
            f"{settings.posterior.rules!r} has none; set posterior.rules=best, for example"
        )
    if settings.posterior.expectations == "rules":
        return rules
    estimated = estimated_rule_file(train_files, rules, settings.data.max_len, settings.data.tags)
    return parse_rules(estimated, "<estimated rules>")


def _vocabulary(sentences: list[Sentence], settings: config.Settings) -> tuple[Vocabulary, Embeddings | None]:
    """Tags; in lexicalised models words, their classes, and their pretrained vectors."""
    from dynet_vdgi.data import brown, embeddings

    data = settings.data
    vocabulary = build_vocabulary(
        sentences,
        lexicalised=settings.model.word_dim > 0,
        min_freq=data.min_freq,
        lowercase=data.lowercase,
    )
    vectors = None
    if data.vectors:
        vectors = embeddings.load(data.vectors, vocabulary.words)
        for note in vectors.notes:
            logger.info("%s", note)
    if data.clusters:
        clusters = brown.read(data.clusters)
        vocabulary = replace(vocabulary, classes=brown.classes(clusters, vocabulary.words))
        known = sum(word in clusters.paths for word in vocabulary.words)
        n_words, n_classes = len(vocabulary.words), max(vocabulary.classes) + 1
        logger.info("clusters: %d of %d words, %d classes with that of the rest", known, n_words, n_classes)
    return vocabulary, vectors


def _initial(
    path: str, settings: config.Settings, sentences: list[Sentence]
) -> tuple[Vocabulary, dict[str, Any], int]:
    """Vocabulary, weights and size of the word vectors of a model to start from.

    Raises:
        ModelError: it has another shape, or lacks a tag of the training text.
        UsageError: vectors or clusters are named, which are the model's own; it is a linear parser.
    """
    for key in ("vectors", "clusters"):
        if getattr(settings.data, key):
            raise UsageError(f"--init {path}: the model has its own {key}; leave out data.{key}")
    from dynet_vdgi import model_file

    model = model_file.load(path)
    if settings.train.learner == "linear" or model.meta.get("kind") == "linear":
        raise UsageError(f"--init {path}: linear parsers are not trained further; leave out --init")
    if model.settings.data.tags != settings.data.tags:
        column = model.settings.data.tags
        raise ModelError(f"{path}: its tags are of column {column.upper()}; set data.tags={column}")
    theirs, ours = asdict(model.settings.model), asdict(settings.model)
    for name, value in ours.items():
        if name not in ("vector_dim", "encoder_dropout", "decoder_dropout") and value != theirs[name]:
            raise ModelError(f"{path}: its model.{name} is {theirs[name]}, not {value} as asked for")
    lacking = {tag for sentence in sentences for tag in sentence.tags} - set(model.vocabulary.tags)
    if lacking:
        raise ModelError(f"{path}: it does not know these tags: {' '.join(sorted(lacking))}")
    return model.vocabulary, model.parameters, model.settings.model.vector_dim


def _gold_trees_used(
    settings: config.Settings,
    protocol: protocols.Protocol,
    text: Sequence[Sentence],
    trees: treebank.Prepared,
    dev: treebank.Prepared,
) -> list[str]:
    """What gold trees were used for, for the log and the model file."""
    used = []
    if protocol.projective_only and any(sentence.heads is not None for sentence in text):
        used.append("training: sentences with crossing arcs left out")
    if settings.posterior.expectations == "trees":
        used.append("training: expectations of the rules counted in its trees")
    if trees.sentences:
        used.append(f"training: {len(trees.sentences)} trees learnt from")
    if dev.sentences:
        used.append(
            f"dev: {'choice of the model' if settings.train.select == 'dev' else 'progress figures only'}"
        )
    return used


def _read(
    names: list[str],
    settings: config.Settings,
    protocol: protocols.Protocol,
    max_len: int,
    *,
    min_len: int,
    role: str,
    heads: conllu.Heads = "optional",
) -> treebank.Prepared:
    """Sentences of all files that the protocol and the lengths leave; says what was dropped."""
    tags = settings.data.tags
    sentences = (sentence for name in names for sentence in conllu.read(name, heads=heads, tags=tags))
    prepared = treebank.prepare(sentences, protocol, max_len, min_len)
    logger.info(
        "%s: %d sentences, %d words (protocol %s)",
        role,
        len(prepared.sentences),
        prepared.n_words,
        protocol.name,
    )
    for line in [*map(str, prepared.dropped), *prepared.notes]:
        logger.info("  dropped %s" if line in map(str, prepared.dropped) else "  %s", line)
    if not prepared.sentences:
        raise DataError(
            ", ".join(names), None, f"no {role} sentence is left", "see what was dropped, and data.max_len"
        )
    return prepared
