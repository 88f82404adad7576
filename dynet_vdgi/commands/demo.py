"""Train, parse and evaluate on a treebank: the paper's neural parser and the recommended one, side by side.

Without arguments it uses the demo treebank that comes with the package, of an invented language
(resources/demo), and takes about a minute. LANG and folders name a UD treebank: LANG-ud-train*.conllu and
LANG-ud-test*.conllu, or LANG_NAME-ud-..., are looked for in them. Prints accuracy beside parsers that learn
nothing, and the published figures of that treebank where there are any. Run again, it goes on where it was
stopped.

  vdgi demo
  vdgi demo eu UD_Basque --seed 2
  vdgi demo fr UD_French more_text --preset as_released --preset best
"""

from __future__ import annotations

import argparse
import logging
from dataclasses import dataclass
from pathlib import Path

from dynet_vdgi import config
from dynet_vdgi.bundled import resources
from dynet_vdgi.data import files
from dynet_vdgi.errors import UsageError
from dynet_vdgi.presets import load_settings

logger = logging.getLogger("dynet_vdgi")

PRESETS = ("paper", "best")


@dataclass(frozen=True)
class TreebankFiles:
    """The parts of a treebank, as paths."""

    language: str
    train: list[str]
    dev: list[str]
    test: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi demo`."""
    parser.add_argument(
        "language", nargs="?", metavar="LANG", help="code of the treebank's language, such as eu"
    )
    parser.add_argument("folders", nargs="*", metavar="DIR", help="folders with its files")
    parser.add_argument(
        "--out", metavar="DIR", help="folder for all results (default: runs/demo or runs/LANG)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed (default: %(default)s)")
    parser.add_argument(
        "--preset", action="append", metavar="NAME", help=f"parsers to train (default: {', '.join(PRESETS)})"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi demo`."""
    treebank = treebank_files(arguments.language, arguments.folders)
    out = Path(arguments.out or f"runs/{treebank.language}")
    names = arguments.preset or list(PRESETS)
    parses: dict[str, list[str]] = {}
    written: list[Path] = []
    for name in names:
        folder = out / Path(name).stem
        trained(treebank, name, arguments.seed, folder)
        parses[name] = parsed(folder, treebank.test)
        written += [folder / config.MODEL_NAME]
    for number, test in enumerate(treebank.test):
        print(scored(test, [files_of[number] for files_of in parses.values()], written[-1]))
        print(*published_rows(arguments.folders), sep="\n")
    print(f"\nwritten to {out}: models, logs, settings and parses of {' and '.join(names)}")
    best = written[-1]
    print(f"next: vdgi parse {best} your.conllu -o your.parsed.conllu    (vdgi: see README.md)")


def treebank_files(language: str | None, folders: list[str]) -> TreebankFiles:
    """The files of a treebank; without a language, of the demo. Raises: UsageError, a part is missing."""
    if language is None:
        language, folders = "demo", [str(resources() / "demo")]
    elif not folders:
        raise UsageError(f"{language}: name the folders of its treebank, as in vdgi demo eu UD_Basque")
    found = {
        part: sorted(
            str(path)
            for folder in folders
            for pattern in (f"{language}-ud-{part}*.conllu*", f"{language}_*-ud-{part}*.conllu*")
            for path in Path(folder).glob(pattern)
        )
        for part in ("train", "dev", "test")
    }
    for part in ("train", "test"):
        if not found[part]:
            raise UsageError(f"no {language}-ud-{part}*.conllu in {', '.join(folders)}")
    return TreebankFiles(language, **found)


def trained(treebank: TreebankFiles, preset: str, seed: int, folder: Path) -> None:
    """Leaves a finished run in the folder."""
    from dynet_vdgi.training.inputs import Given, Inputs
    from dynet_vdgi.training.run import run as train

    settings = load_settings(preset, changes={"seed": seed})
    chooses = settings.is_neural and settings.train.select == "dev"
    dev = treebank.dev if chooses else []
    words = ["--train", *treebank.train, *(["--dev", *dev] if dev else []), "--preset", preset]
    train(
        Inputs({"": Given(tuple(treebank.train))}, dev=Given(tuple(dev))),
        settings,
        out=folder,
        resume=True,
        preset=preset,
        command=["vdgi", "train", *words, "--seed", str(seed), "--out", str(folder)],
    )


def parsed(folder: Path, tests: list[str]) -> list[str]:
    """The parses of the test files, in the folder."""
    from dynet_vdgi.commands.parse import parse_files
    from dynet_vdgi.parsing.stream import Stream

    outputs = [str(folder / f"{Path(files.without_ending(test)).name}.parsed.conllu") for test in tests]
    with Stream(str(folder / config.MODEL_NAME)) as stream:
        for test, output in zip(tests, outputs):
            parse_files(stream, [test], output)
    return outputs


def scored(test: str, parses: list[str], model: Path) -> str:
    raise NotImplementedError


def published_rows(folders: list[str]) -> list[str]:
    raise NotImplementedError
