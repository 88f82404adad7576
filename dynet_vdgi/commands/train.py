"""Learn a parser from tagged sentences.

Needs CoNLL-U files with the UPOS column filled; heads are not used, unless the protocol or the selection of
the model says so (the model file records it). Several files and quoted patterns are allowed. In DIR it
writes model.vdgi (parser and checkpoint in one), log.jsonl and settings.toml.

  vdgi train --train my.conllu --out runs/my
  vdgi train --train 'xx-ud-train*.conllu' --preset as_released --dev xx-ud-dev.conllu --out runs/xx
  vdgi train --train my.conllu --set train.epochs=3 --set posterior.rules=my-rules.txt --out runs/my3
"""

from __future__ import annotations

import argparse
import logging
import platform
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynet_vdgi import __version__, config
from dynet_vdgi.data import conllu, files, treebank
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.data.vocabulary import build_vocabulary
from dynet_vdgi.errors import DataError, UsageError

if TYPE_CHECKING:
    from dynet_vdgi.learning.training import TrainingData

logger = logging.getLogger("dynet_vdgi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi train`."""
    parser.add_argument("--train", nargs="+", required=True, metavar="FILE", help="tagged text to learn from")
    parser.add_argument(
        "--dev", nargs="+", default=[], metavar="FILE", help="gold trees to score while training"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the run; made if missing")
    parser.add_argument(
        "--preset",
        default=config.DEFAULT_PRESET,
        metavar="NAME",
        help=f"start from {', '.join(config.preset_names())} or a .toml file (default: %(default)s)",
    )
    parser.add_argument("--rules", metavar="FILE", help="rule file; short for --set posterior.rules=FILE")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change one setting")
    parser.add_argument("--seed", type=int, metavar="N", help="short for --set train.seed=N")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in DIR")
    parser.add_argument("--dry-run", action="store_true", help="read and check everything, then stop")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi train`."""
    settings = config.load_settings(arguments.preset, arguments.set)
    if arguments.rules is not None:
        settings = config.merge(settings, {"posterior": {"rules": arguments.rules}})
    if arguments.seed is not None:
        settings = config.merge(settings, {"train": {"seed": arguments.seed}})
    train(
        train_files=arguments.train,
        dev_files=arguments.dev,
        out=Path(arguments.out),
        settings=settings,
        resume=arguments.resume,
        dry_run=arguments.dry_run,
        preset=arguments.preset,
    )


def train(
    *,
    train_files: Sequence[str],
    out: Path,
    settings: config.Settings,
    dev_files: Sequence[str] = (),
    resume: bool = False,
    dry_run: bool = False,
    preset: str = "",
) -> Path:
    """Trains a model in the folder `out` and returns the path of the model file.

    Raises:
        DataError: a file is malformed, or nothing in it can be trained on.
        UsageError: the folder holds a model already, or a file is missing.
        ConfigError, ModelError: see `config`, `grammar.rules`, `learning.checkpoint`.
    """
    train_files, dev_files = files.expand(train_files), files.expand(dev_files)
    if "-" in (*train_files, *dev_files):
        raise UsageError("training reads its files more than once: save standard input (-) to a file first")
    _check_folder(out, resume)
    if settings.train.select == "dev" and not dev_files:
        raise UsageError("train.select=dev chooses the model by gold dev trees: name them with --dev FILE")
    data, meta = _prepare(train_files, dev_files, settings, preset)
    if dry_run:
        logger.info("dry run: nothing trained, nothing written")
        return out
    from dynet_vdgi.learning.training import Trainer

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {str(out)!r}: {error.strerror}") from None
    trainer = Trainer(settings, data, meta, out)
    if resume and (out / config.MODEL_NAME).exists():
        trainer.resume()
        logger.info("resuming after update %d", trainer.optimiser.updates)
    else:
        trainer.log.restart(after_update=-1)
        with files.atomic_writer(out / config.SETTINGS_NAME) as handle:
            handle.write(settings.to_toml())
    try:
        trainer.train()
    except KeyboardInterrupt:
        saved = f"last checkpoint {trainer.path}" if trainer.path.exists() else "nothing saved yet"
        if trainer.path.exists() and not resume:
            saved += "; go on with --resume"
        raise KeyboardInterrupt(saved) from None
    logger.info("model: %s", trainer.path)
    return trainer.path


def _check_folder(out: Path, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a folder")
    model = out / config.MODEL_NAME
    if model.exists() and not resume:
        raise UsageError(f"{model}: exists already; go on with --resume, or choose another --out")


def _prepare(
    train_files: list[str], dev_files: list[str], settings: config.Settings, preset: str
) -> tuple[TrainingData, dict[str, Any]]:
    """Sentences, vocabulary and rules of a run, and what the model file will say about it."""
    from dynet_vdgi.grammar.rules import load_rules
    from dynet_vdgi.learning.training import TrainingData

    protocol = treebank.protocol_named(settings.data.protocol)
    rules = load_rules(config.rules_path(settings.posterior.rules))
    # A sentence of one word has one derivation: nothing can be learnt from it.
    prepared = _read(train_files, protocol, settings.data.max_len, min_len=2, role="training")
    dev: list[Sentence] = []
    if dev_files:
        dev = _read(
            dev_files, protocol, settings.train.dev_max_len, min_len=1, role="dev", heads="required"
        ).sentences
    lexicalised = settings.model.word_dim > 0
    vocabulary = build_vocabulary(
        prepared.sentences,
        lexicalised=lexicalised,
        min_freq=settings.data.min_freq,
        lowercase=settings.data.lowercase,
    )
    for rule in rules.unused(vocabulary.tags):
        logger.warning("rule %s can never hold: the training text lacks a tag of it", rule)
    gold_trees = []
    if protocol.projective_only and any(sentence.heads is not None for sentence in prepared.sentences):
        gold_trees.append("training: sentences with crossing arcs left out")
    if dev:
        gold_trees.append(
            f"dev: {'choice of the model' if settings.train.select == 'dev' else 'progress figures only'}"
        )
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
        "data": [
            {"role": role, "name": Path(name).name, "sha256": files.sha256(name)}
            for role, names in (("train", train_files), ("dev", dev_files))
            for name in names
        ],
        "trained_on": {"sentences": len(prepared.sentences), "words": prepared.n_words},
        "dropped": [str(dropped) for dropped in prepared.dropped],
    }
    return TrainingData(prepared.sentences, dev, vocabulary, rules), meta


def _read(
    names: list[str],
    protocol: treebank.Protocol,
    max_len: int,
    *,
    min_len: int,
    role: str,
    heads: conllu.Heads = "optional",
) -> treebank.Prepared:
    """Sentences of all files that the protocol and the lengths leave; says what was dropped."""
    sentences = (sentence for name in names for sentence in conllu.read(name, heads=heads))
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
