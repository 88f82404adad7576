"""Train, parse and score on the demo treebank, or on one of UD.

Trains the paper's neural parser and the recommended one. Without arguments it uses the demo treebank of the
package, whose language is invented, and takes about a minute. With LANG and folders it uses a UD treebank:
it looks for LANG-ud-train*.conllu and LANG-ud-test*.conllu in the folders, or LANG_NAME-ud-... Prints the
accuracy beside that of parsers that learn nothing and published figures, if there are any. An interrupted
demo continues when you run it again.

  vdgi demo
  vdgi demo eu UD_Basque --seed 2
  vdgi demo fr UD_French more_text --preset as_released --preset best
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi.data import files
from dynet_vdgi.errors import UsageError
from dynet_vdgi.evaluation import published
from dynet_vdgi.settings import config
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.system.names import plain
from dynet_vdgi.system.text_tables import aligned

if TYPE_CHECKING:
    from dynet_vdgi.reports.scored_runs import PublishedRow


PRESETS = ("paper", "best")
PUBLISHED_LENGTHS = ("<=15", "<=40")


@dataclass(frozen=True)
class TreebankFiles:
    """The parts of a treebank, as paths."""

    language: str
    train: list[str]
    dev: list[str]
    test: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "language", nargs="?", metavar="LANG", help="language code of the treebank, such as eu"
    )
    parser.add_argument("folders", nargs="*", metavar="DIR", help="folders with its files")
    parser.add_argument("--out", metavar="DIR", help="folder for all results (default: runs/LANG)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed (default: %(default)s)")
    parser.add_argument(
        "--preset", action="append", metavar="NAME", help=f"parsers to train (default: {', '.join(PRESETS)})"
    )


def run(arguments: argparse.Namespace) -> None:
    treebank = treebank_files(arguments.language, arguments.folders)
    out = Path(arguments.out or f"runs/{treebank.language}")
    names = arguments.preset or list(PRESETS)
    folders = {Path(name).stem: out / Path(name).stem for name in names}
    for name, folder in zip(names, folders.values()):
        trained(treebank, name, arguments.seed, folder)
        parse(folder, treebank.test)
    for test in treebank.test:
        print(plain(scored(test, folders, published.DATASETS.get(treebank.language))))
    written = " and ".join(map(str, folders.values()))
    print(plain(f"\nwritten to {written}: model, log, settings and parse of each"))
    last, program = folders[Path(names[-1]).stem], "vdgi" if shutil.which("vdgi") else sys.argv[0]
    print(plain(f"next: {program} parse {last} YOUR.conllu -o YOUR.parsed.conllu"))


def treebank_files(language: str | None, folders: list[str]) -> TreebankFiles:
    """The files of a treebank; without a language, the demo's. Raises: UsageError, a part is missing."""
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
    from dynet_vdgi.recipes.given import Given, Inputs
    from dynet_vdgi.recipes.run import run as train

    settings = load_settings(preset, changes={"seed": seed})
    chooses = settings.chooses_on_dev
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


def parse(folder: Path, tests: Sequence[str]) -> None:
    """Leaves the parses of the test files in the folder."""
    from dynet_vdgi.parsing.files import FileParser
    from dynet_vdgi.parsing.parser import load

    parser = FileParser(load(folder / config.MODEL_NAME))
    for test in tests:
        output = folder / f"{Path(files.without_ending(test)).name}.parsed.conllu"
        parser.parse([test], str(output))


def scored(test: str, folders: Mapping[str, Path], dataset: str | None) -> str:
    """Accuracy of the runs, of parsers that learn nothing, and published figures of the data set."""
    from dynet_vdgi.evaluation import tables
    from dynet_vdgi.reports.scored_runs import score_runs
    from dynet_vdgi.runs import model_file

    models = {name: model_file.load(folder / config.MODEL_NAME) for name, folder in folders.items()}
    scores = score_runs(models, test, dataset=dataset)
    parts = [tables.format_all(scores.evaluations)]
    if scores.published:
        parts.append(f"published, {dataset} (UD 1.4; DDA of the mean of several runs, the best in brackets)")
        if "_" in Path(test).name.partition("-ud-")[0]:  # such as fr_gsd-ud-test.conllu
            parts[-1] += f"; {Path(test).name} is not of UD 1.4, so the figures cannot be compared"
        parts.append(aligned([["", *PUBLISHED_LENGTHS], *map(_published, scores.published)]))
    return "\n\n".join(parts)


def _published(row: PublishedRow) -> list[str]:
    cells = []
    for length in PUBLISHED_LENGTHS:
        mean, best = row.figures.get(length, (None, None))
        cells.append("-" if mean is None else f"{mean:.1f}" + (f" ({best:.1f})" if best else ""))
    return [row.name, *cells]
