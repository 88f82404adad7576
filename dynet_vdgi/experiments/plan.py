"""Plans of experiments: treebanks x systems x seeds, in a TOML file.

    seeds = [1, 2, 3]

    [[treebank]]
    name = "fr"                          # names a folder of results and a column of tables
    # its files; with both, the first release found is taken, else the files named here
    releases = ["UD_French/fr"]          # as UD releases it: UD_French/fr-ud-train.conllu, -dev and -test
    train = ["fr-ud-train*.conllu"]      # tagged text to learn from; patterns are allowed
    test = ["fr-ud-test.conllu"]         # gold trees to score
    # optional:
    dev = ["fr-ud-dev.conllu"]           # gold trees, for systems that choose their model by them, no other
    expectations = ["fr-ud-dev.conllu"]  # gold trees to count expectations of rules in, for systems with
                                         # posterior.expectations=trees (default: the training text)
    presets = ["wsj"]                    # on top of those of the system
    set = ["posterior.rules=fr.txt"]     # settings of this treebank, whatever the system
    protocol = "standard"                # that all parses are scored under (default: the system's own)
    lengths = [15, 40]                   # limits to report besides all sentences; this is the default
    published = "UD1.4-French"           # data set of resources/published.csv
    missing = "licence of LDC"           # why there is no data: its figures are gaps with this reason

    [[system]]
    name = "UniversalRules"
    # optional:
    presets = ["ud-universal"]           # one on top of the other (default: best)
    set = ["train.updates=0"]            # "words.vectors={treebank}.vec" names a file for each treebank
    after = "pretraining"                # starts from the model of this system, same treebank and seed
    treebanks = ["fr"]                   # only these
    languages = "all"                    # one parser of several languages, each treebank's name being a label
                                         # of its text: of all treebanks of the plan, or, with "others", of
                                         # all but the one that is parsed: zero-shot
    published = "UnivRules"              # model of resources/published.csv, below whose row it stands
                                         # in vdgi table --like; the name alone does not tie it
    missing = "needs word vectors"       # why it cannot be run

Several systems may come after one, whose model they share. All files that a plan names, also in `set`,
are looked for beside the plan, then in the folder that the environment variable VDGI_DATA names, unless
another folder is given; see `plan_files`, also for what a folder of UD releases may look like.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from dynet_vdgi.data import protocols
from dynet_vdgi.errors import ConfigError, UsageError
from dynet_vdgi.evaluation import published
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import read_toml
from dynet_vdgi.system.names import did_you_mean

LANGUAGES = ("all", "others")
"""Which text a system of several languages learns from."""

MOST_RUNS = 100_000
"""Of a plan; each takes minutes."""

BASELINES = "baselines"
"""Name that no system may have."""


@dataclass(frozen=True)
class Treebank:
    """A treebank of a plan; files as the plan names them."""

    name: str = ""
    releases: tuple[str, ...] = ()
    train: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    expectations: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    protocol: str = ""
    lengths: tuple[int, ...] = (15, 40)
    published: str = ""
    missing: str = ""


@dataclass(frozen=True)
class System:
    """A system of a plan."""

    name: str = ""
    presets: tuple[str, ...] = ("best",)
    set: tuple[str, ...] = ()
    after: str = ""
    treebanks: tuple[str, ...] = ()
    languages: str = ""
    published: str = ""
    missing: str = ""

    def covers(self, treebank: str) -> bool:
        """True if the plan wants this system on this treebank."""
        return not self.treebanks or treebank in self.treebanks


@dataclass(frozen=True)
class Plan:
    """A plan whose parts fit together."""

    seeds: tuple[int, ...]
    treebanks: tuple[Treebank, ...]
    systems: tuple[System, ...]

    def to_dict(self) -> dict[str, Any]:
        """The complete shape of the TOML file."""
        return {
            "seeds": list(self.seeds),
            "treebank": [asdict(treebank) for treebank in self.treebanks],
            "system": [asdict(system) for system in self.systems],
        }


_Part = TypeVar("_Part", Treebank, System)


# ------------------------------------------------------------------------------------------- reading
def path_of(name: str) -> Path:
    """The file of a plan: a path that ends in .toml, or the name of one in resources/experiments.

    Raises: ConfigError, no such name.
    """
    if name.endswith(".toml"):
        return Path(name)
    folder = resources() / "experiments"
    names = sorted(path.stem for path in folder.glob("*.toml"))
    if name not in names:
        there_are = f"(there are: {', '.join(names)}; a file must end in .toml)"
        raise ConfigError(f"no plan '{name}'{did_you_mean(name, names)} {there_are}")
    return folder / f"{name}.toml"


def load(path: Path) -> Plan:
    """The plan in a TOML file.

    Raises:
        ConfigError: the file cannot be read, or see `from_dict`; the message names the file.
    """
    content = read_toml(path, "plan")
    try:
        return from_dict(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def from_dict(content: Mapping[str, Any]) -> Plan:
    """The plan in a mapping of the shape of the TOML file.

    Raises: ConfigError, an unknown key (names the nearest one), a wrong type, parts that do not fit together.
    """
    keys = {"seeds": "seeds", "treebank": "[[treebank]]", "system": "[[system]]"}
    for key in content:
        if key not in keys:
            raise ConfigError(f"no key '{key}'" + did_you_mean(key, keys))
    for key, written in keys.items():
        if not isinstance(content.get(key, []), list) or not content.get(key):
            raise ConfigError(f"a plan needs {written}")
    n_runs = math.prod(len(content[key]) for key in keys)
    if n_runs > MOST_RUNS:
        what = "runs, seeds times treebanks times systems"
        raise ConfigError(f"a plan of {n_runs:,} {what} (at most {MOST_RUNS:,})")
    seeds = content["seeds"]
    if not all(type(seed) is int and seed >= 0 for seed in seeds) or len(set(seeds)) < len(seeds):
        raise ConfigError(f"'seeds' must be different whole numbers, 0 or more, not {seeds}")
    plan = Plan(
        tuple(seeds),
        tuple(_part(Treebank, "treebank", values) for values in content["treebank"]),
        tuple(_part(System, "system", values) for values in content["system"]),
    )
    _check_treebanks(plan)
    _check_systems(plan)
    return plan


def _part(kind: type[_Part], key: str, values: Any) -> _Part:
    """One [[treebank]] or [[system]]."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"'{key}' is a list of tables; write [[{key}]]")
    name = values.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.+-]*", name) or name == BASELINES:
        raise ConfigError(
            f"{key}: 'name' must be letters, digits and any of . _ + - inside, since it names a folder "
            f"('{BASELINES}' is taken), not {name!r}"
        )
    items = {item.name: item for item in fields(kind)}
    for other in values:
        if other not in items:
            raise ConfigError(f"{key} '{name}': no key '{other}'" + did_you_mean(other, items))
    return kind(**{k: _value(f"{key} '{name}': '{k}'", items[k].default, v) for k, v in values.items()})


def _value(where: str, default: Any, value: Any) -> Any:
    if isinstance(default, str):
        if not isinstance(value, str):
            raise ConfigError(f"{where} must be a text, not {value!r}")
        return value
    if where.endswith("'lengths'"):
        if not isinstance(value, list) or not all(type(limit) is int and limit > 0 for limit in value):
            raise ConfigError(f"{where} must be a list of whole numbers, 1 or more, not {value!r}")
        return tuple(sorted(set(value)))
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ConfigError(f"{where} must be a list of texts, not {value!r}")
    return tuple(value)


def _check_names(key: str, names: Sequence[str]) -> None:
    """Raises: ConfigError, two names differ at most in case, which some file systems ignore."""
    for name, times in Counter(map(str.casefold, names)).items():
        if times > 1:
            raise ConfigError(f"{key}: two are called '{name}'")


def _check_treebanks(plan: Plan) -> None:
    _check_names("treebank", [treebank.name for treebank in plan.treebanks])
    datasets = _published("dataset", plan.treebanks)
    for treebank in plan.treebanks:
        where = f"treebank '{treebank.name}'"
        if treebank.protocol:
            try:
                protocols.protocol_named(treebank.protocol)
            except ConfigError as error:
                raise ConfigError(f"{where}: {error}") from None
        if treebank.published and treebank.published not in datasets:
            raise ConfigError(
                f"{where}: nothing is published on '{treebank.published}'"
                + did_you_mean(treebank.published, datasets)
            )
        if treebank.missing or (treebank.releases and not (treebank.train or treebank.test)):
            continue
        for key in ("train", "test"):
            if not getattr(treebank, key):
                raise ConfigError(f"{where}: it needs '{key}', or 'missing' with the reason")


def _check_systems(plan: Plan) -> None:
    _check_names("system", [system.name for system in plan.systems])
    models = _published("model", plan.systems)
    systems = {system.name: system for system in plan.systems}
    treebanks = [treebank.name for treebank in plan.treebanks]
    for system in plan.systems:
        where = f"system '{system.name}'"
        for name in system.treebanks:
            if name not in treebanks:
                raise ConfigError(f"{where}: no treebank '{name}'" + did_you_mean(name, treebanks))
        if system.published and system.published not in models:
            raise ConfigError(
                f"{where}: no model '{system.published}' is published"
                + did_you_mean(system.published, models)
            )
        if system.languages not in ("", *LANGUAGES):
            raise ConfigError(
                f"{where}: 'languages' must be {' or '.join(LANGUAGES)}, not '{system.languages}'"
            )
        if system.languages == "others" and sum(not treebank.missing for treebank in plan.treebanks) < 2:
            raise ConfigError(f"{where}: languages=others needs the text of another treebank")
        if not system.after:
            continue
        if system.after not in systems:
            raise ConfigError(f"{where}: no system '{system.after}'" + did_you_mean(system.after, systems))
        if system.languages == "others" != systems[system.after].languages:
            raise ConfigError(f"{where}: it comes after '{system.after}', which learns from the text itself")
        if systems[system.after].missing and not system.missing:
            raise ConfigError(f"{where}: it comes after '{system.after}', which is missing")
        for name in treebanks:
            if system.covers(name) and not systems[system.after].covers(name):
                raise ConfigError(
                    f"{where}: it comes after '{system.after}', which leaves out treebank '{name}'"
                )
        ancestors(plan, system)


def _published(attribute: str, parts: Sequence[Treebank | System]) -> frozenset[str]:
    """Data sets or models of the published figures; read only if a part of the plan names one."""
    figures = published.read() if any(part.published for part in parts) else []
    return frozenset(getattr(figure, attribute) for figure in figures)


def ancestors(plan: Plan, system: System) -> list[System]:
    """The systems that a system comes after, the nearest first.

    Raises: ConfigError, they come after one another in a circle.
    """
    systems = {other.name: other for other in plan.systems}
    chain: list[System] = []
    while system.after:
        system = systems[system.after]
        if system in chain:
            raise ConfigError(f"system '{system.name}': it comes after itself")
        chain.append(system)
    return chain


# ------------------------------------------------------------------------------------------- choosing
def select(plan: Plan, only: Sequence[str]) -> list[tuple[Treebank, System]]:
    """The parts to run, systems after those they start from; `only` names treebanks, systems or both.

    Raises: UsageError, a name in `only` is neither a treebank nor a system.
    """
    treebanks = {treebank.name for treebank in plan.treebanks}
    systems = {system.name for system in plan.systems}
    for name in only:
        if name not in treebanks | systems:
            raise UsageError(
                f"--only {name}: the plan has no such name{did_you_mean(name, treebanks | systems)}"
            )
    wanted_treebanks = treebanks & set(only) or treebanks
    wanted = [system for system in plan.systems if system.name in (systems & set(only) or systems)]
    chains = [[*reversed(ancestors(plan, system)), system] for system in wanted]
    ordered = list(dict.fromkeys(system for chain in chains for system in chain))
    return [
        (treebank, system)
        for treebank in plan.treebanks
        if treebank.name in wanted_treebanks and not treebank.missing
        for system in ordered
        if system.covers(treebank.name) and not system.missing
    ]


def learnt_from(plan: Plan, treebank: Treebank, system: System) -> list[Treebank]:
    """The treebanks whose text a run learns from."""
    if not system.languages:
        return [treebank]
    there_are = [other for other in plan.treebanks if not other.missing]
    return [other for other in there_are if system.languages == "all" or other != treebank]
