"""Where a plan's files are: beside it, below the folder of `--data`, in UD releases unpacked there.

A treebank of a plan has one or more sources, of which the first that is complete is taken: its `releases`, in
their order, then the files that the plan names one by one. All files of a treebank come from one source, so
that training text of one release is never scored on the test text of another.

`UD_French/fr` stands for UD_French/fr-ud-train.conllu, -dev and -test; large treebanks may have several
training files. It is looked for in the folder itself, and below `ud-treebanks-v*`, the folder that an
archive of UD unpacks to: first in the version that the treebank's `published` names, as in UD1.4-French,
then in the others, newest first. Every file may be compressed (.gz).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dynet_vdgi.data import files
from dynet_vdgi.errors import UsageError
from dynet_vdgi.experiments.plan import Treebank

_UNPACKED = "ud-treebanks-v"
"""Prefix of the folders that UD archives unpack to; the version follows."""


@dataclass(frozen=True)
class SourceFiles:
    """The files of a treebank, as found."""

    train: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    expectations: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlanFolders:
    """The folders where the files of a plan are looked for, in this order."""

    folders: tuple[str, ...]

    def find(self, name: str) -> str:
        """The path of a file, or the pattern, in the first folder that has it; else in the first folder."""
        paths = [os.path.join(folder, name) for folder in self.folders]
        return next((found for path in paths for found in _there(path)), paths[0])

    def expand(self, names: Sequence[str]) -> tuple[str, ...]:
        """The files of all names and patterns. Raises: UsageError, a file is missing."""
        try:
            return tuple(files.expand([self.find(name) for name in names]))
        except UsageError as error:
            raise UsageError(f"{error}; --data names the folder that a plan's files are in") from None

    def treebank(self, treebank: Treebank, *more: str) -> SourceFiles:
        """The files of a treebank, from its first complete source: `train`, `test` and the ones in `more`.

        Raises:
            UsageError: no source is complete; the message lists the missing files and the folders searched.
        """
        for name in treebank.releases:
            for stem in self._stems(name, treebank.published):
                found = {key: _part(stem, key) for key in ("train", "test", "dev")}
                if found["train"] and found["test"]:
                    return SourceFiles(**found)
        names = (*treebank.train, *treebank.test)
        has_all = all(any(_there(os.path.join(folder, name)) for folder in self.folders) for name in names)
        if treebank.releases and not (treebank.test and has_all):
            raise UsageError(self._missing(treebank))
        named = {key: self.expand(getattr(treebank, key)) for key in ("train", "test", *more)}
        return SourceFiles(**named)

    def _stems(self, name: str, published: str) -> Iterator[str]:
        """Where a release of a treebank may be: the folder, and the prefix of its file names."""
        version = re.match(r"UD(\d+\.\d+)-", published)
        for folder in self.folders:
            yield os.path.join(folder, name)
            unpacked = glob.glob(os.path.join(glob.escape(folder), f"{_UNPACKED}*", ""))
            wanted = f"{_UNPACKED}{version[1]}" if version else ""
            unpacked.sort(key=lambda path: (Path(path).name == wanted, _numbers(path)), reverse=True)
            yield from (os.path.join(path, name) for path in unpacked)

    def _missing(self, treebank: Treebank) -> str:
        wanted = [f"{name}-ud-train.conllu and -test" for name in treebank.releases]
        if treebank.test:
            wanted.append(" and ".join((*treebank.train, *treebank.test)))
        places = ", ".join(folder or os.curdir for folder in self.folders)
        return (
            f"no files of treebank '{treebank.name}': looked for {', or '.join(wanted)} (or .gz), "
            f"in {places} and in {_UNPACKED}* there; --data names the folder"
        )


def _there(path: str) -> list[str]:
    """The path or pattern if it matches a file; else with `.gz`, or nothing."""
    return [name for name in (path, f"{path}.gz") if os.path.exists(name) or glob.glob(name, recursive=True)]


def _part(stem: str, key: str) -> tuple[str, ...]:
    """Training, development or test files of a release."""
    several = "*" if key == "train" else ""
    pattern = f"{glob.escape(stem)}-ud-{key}{several}.conllu"
    return tuple(sorted(glob.glob(pattern)) or sorted(glob.glob(f"{pattern}.gz")))


def _numbers(path: str) -> list[int]:
    """The version of a release as numbers, so that 2.10 is newer than 2.9."""
    return [int(number) for number in re.findall(r"\d+", Path(path).name)]


def folders(plan_path: Path, data: str | None) -> PlanFolders:
    """The folders of a plan's files; `data` is the only one if given.

    Raises: UsageError, there is no folder `data`.
    """
    if data is not None:
        if not os.path.isdir(data):
            raise UsageError(f"--data {data}: no such folder")
        return PlanFolders((data,))
    beside, shared = str(plan_path.parent), os.environ.get("VDGI_DATA")
    return PlanFolders(("" if beside == "." else beside, *([shared] if shared else [])))
