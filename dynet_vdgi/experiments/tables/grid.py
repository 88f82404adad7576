"""Contents of the folders of experiments: planned figures and existing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from dynet_vdgi.errors import ConfigError, DataError, UsageError
from dynet_vdgi.experiments import plan as plans
from dynet_vdgi.experiments.plan import Plan, System, Treebank
from dynet_vdgi.experiments.tasks import RESULT_NAME, recorded, write_json

PLAN_NAME = "plan.json"

NOT_RUN = "not run"


class SentenceCounts(msgspec.Struct, frozen=True):
    """The number of words of each test sentence, and of words with the right head (perhaps a mean)."""

    words: tuple[int, ...]
    right: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.words) != len(self.right):
            raise ValueError("of different lengths")
        if not all(0 <= part <= whole for part, whole in zip(self.right, self.words)):
            raise ValueError("more right than there are")

    def chosen(self, length: int | None) -> tuple[list[int], list[float]]:
        """All words and right words of the sentences up to a length."""
        picked = [k for k, n in enumerate(self.words) if length is None or n <= length]
        return [self.words[k] for k in picked], [self.right[k] for k in picked]

    def dda(self, length: int | None) -> float:
        """Per cent right; NaN over nothing."""
        words, right = self.chosen(length)
        return 100 * sum(right) / sum(words) if words else float("nan")


class RunResult(SentenceCounts, frozen=True):
    """One run, as its file has it."""

    protocol: str
    policy: str
    gold_trees: tuple[str, ...]
    parts: dict[str, str]
    cpu_s: float
    words_per_cpu_s: float


class _StoredCounts(msgspec.Struct):
    words: tuple[int, ...]
    right: dict[str, list[float]]


class _StoredBaselines(msgspec.Struct):
    protocols: dict[str, _StoredCounts]


@dataclass
class Grid:
    """Experiments combined. `wanted`: seeds of a treebank and a system; `results`: existing ones.

    `protocols` are the systems', and `baselines` by treebank, protocol and name. `notes` name
    treebanks whose training data differ under one name.
    """

    treebanks: dict[str, Treebank] = field(default_factory=dict)
    systems: dict[str, System] = field(default_factory=dict)
    wanted: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    protocols: dict[tuple[str, str], str] = field(default_factory=dict)
    results: dict[tuple[str, str], dict[int, RunResult]] = field(default_factory=dict)
    paths: dict[tuple[str, str, int], Path] = field(default_factory=dict)  # of the results
    unfinished: set[tuple[str, str]] = field(default_factory=set)
    baselines: dict[tuple[str, str], dict[str, SentenceCounts]] = field(default_factory=dict)
    test_files: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def gap(self, treebank: str, system: str) -> str:
        """The reason that there is no figure."""
        for part, what in (
            (self.treebanks[treebank], "data not available"),
            (self.systems[system], "not run"),
        ):
            if part.missing:
                return f"{what}: {part.missing}"
        if (treebank, system) not in self.wanted:
            return "not in the plan"
        return "failed or unfinished" if (treebank, system) in self.unfinished else NOT_RUN

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all runs."""
        return sum(result.cpu_s for runs in self.results.values() for result in runs.values())


def write_plan(
    folder: Path,
    plan: Plan,
    protocols: Mapping[str, Mapping[str, str]],
    test_files: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Records in an experiment's folder the sources of its tables.

    `protocols` by treebank and system; `test_files` by treebank, for the treebanks that have tasks.
    """
    found = recorded(folder / PLAN_NAME).get("test_files")
    before = found if isinstance(found, dict) else {}
    content = {**plan.to_dict(), "protocols": protocols, "test_files": {**before, **(test_files or {})}}
    write_json(folder / PLAN_NAME, content)


def load(folders: Sequence[Path]) -> Grid:
    """The experiments in these folders.

    Raises: UsageError, a folder holds no experiment, or two hold the same run; DataError, a file in it is
    damaged.
    """
    grid = Grid()
    for folder in folders:
        content = recorded(folder / PLAN_NAME)
        if not content and (folder / PLAN_NAME).exists():
            raise DataError(str(folder / PLAN_NAME), None, "damaged: not an object of JSON")
        if not content:
            raise UsageError(f"{folder}: no experiment (no {PLAN_NAME} in it)")
        try:
            protocols = msgspec.convert(content.pop("protocols", {}), dict[str, dict[str, str]])
            grid.test_files |= msgspec.convert(content.pop("test_files", {}), dict[str, list[str]])
            plan = plans.from_dict(content)
            _add(grid, plan, protocols, folder)
        except (ConfigError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(str(folder / PLAN_NAME), None, f"damaged: {error}") from None
    return grid


def _as_scored(treebank: Treebank) -> Treebank:
    """The treebank without the settings and files of learning."""
    return replace(treebank, train=(), dev=(), expectations=(), presets=(), set=())


def _add(grid: Grid, plan: Plan, protocols: dict[str, dict[str, str]], folder: Path) -> None:
    learnt_otherwise = []
    for treebank in plan.treebanks:
        before = grid.treebanks.setdefault(treebank.name, treebank)
        if _as_scored(before) != _as_scored(treebank):
            raise UsageError(f"{folder}: its treebank '{treebank.name}' is not that of the folders before")
        if before != treebank:
            learnt_otherwise.append(treebank.name)
        for protocol, named in _baselines(folder / treebank.name / "baselines.json").items():
            grid.baselines.setdefault((treebank.name, protocol), named)
    if learnt_otherwise:
        systems = ", ".join(system.name for system in plan.systems)
        grid.notes.append(f"Other training text or settings of {', '.join(learnt_otherwise)}: {systems}.")
    for system in plan.systems:
        known = grid.systems.setdefault(system.name, system)
        if replace(known, treebanks=()) != replace(system, treebanks=()):
            raise UsageError(f"{folder}: its system '{system.name}' is not that of the folders before")
        for treebank in plan.treebanks:
            if not system.covers(treebank.name):
                continue
            both = treebank.name, system.name
            grid.wanted.setdefault(both, set()).update(plan.seeds)
            grid.protocols[both] = protocols[treebank.name][system.name]
            for seed in plan.seeds:
                _add_run(grid, both, seed, folder / treebank.name / system.name / str(seed))


def _add_run(grid: Grid, both: tuple[str, str], seed: int, folder: Path) -> None:
    path = folder / RESULT_NAME
    if not path.exists():
        if folder.is_dir():
            grid.unfinished.add(both)
        return
    runs, place = grid.results.setdefault(both, {}), (*both, seed)
    if seed in runs:
        raise UsageError(f"{path} and {grid.paths[place]} are of the same run: name one of the two folders")
    try:
        result = msgspec.convert(recorded(path), RunResult)
    except (ValueError, UnicodeError):  # msgspec's are ValueErrors
        raise DataError(str(path), None, "not a result of vdgi experiment", "damaged? remove it") from None
    if result.protocol == grid.protocols[both]:
        runs[seed], grid.paths[place] = result, path
    else:
        grid.unfinished.add(both)


def _baselines(path: Path) -> dict[str, dict[str, SentenceCounts]]:
    if not path.exists():
        return {}
    try:
        stored = msgspec.convert(recorded(path), _StoredBaselines)
        return {
            protocol: {
                name: SentenceCounts(scores.words, tuple(right)) for name, right in scores.right.items()
            }
            for protocol, scores in stored.protocols.items()
        }
    except (ValueError, UnicodeError):
        raise DataError(
            str(path), None, "not the baselines of vdgi experiment", "damaged? remove it"
        ) from None
