"""One run of an experiment, or the baselines of a treebank: its folder, its record and its process.

The folder, DIR/TREEBANK/SYSTEM/SEED, has `run.json`, the record of all that determines the result:
sums of settings, files, rules and code. `result.json` is written last, with the same record and
the figures. A run is done if both have its record, and goes on if it began under it; else the
folder is moved to DIR/.replaced. A run has a process of its own: DyNet keeps its memory, and a
value that is not finite spoils all later ones.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec

from dynet_vdgi._version import __version__
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import write
from dynet_vdgi.errors import VdgiError
from dynet_vdgi.evaluation.attachment import Evaluation, GoldTrees, evaluate
from dynet_vdgi.evaluation.file_scores import evaluate_baselines
from dynet_vdgi.evaluation.rules_only import RULES_ONLY
from dynet_vdgi.experiments.tables import RESULT, TableRow, recorded, row_of
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.parser.file_parser import FileParser
from dynet_vdgi.parser.parser import load as load_parser
from dynet_vdgi.rule_tables.estimated_rules import estimated_rules
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings import settings as config
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.presets import load_settings, merge
from dynet_vdgi.settings.settings import Settings
from dynet_vdgi.system import files
from dynet_vdgi.system.blas import one_thread
from dynet_vdgi.system.signals import end_with_parent
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.run import run
from dynet_vdgi.training.taught import TaughtSettings
from dynet_vdgi.training.teacher_trees import teacher_of_text, trees_of

BASELINES = "baselines"
"""The system of parsers that learn nothing."""

RECORD, LOG, REPLACED = "run.json", "log.txt", ".replaced"

SCORING = "scoring"
"""The part of a record that does not affect the model."""

_NOT_LEARNING = ("annotation", "commands", "drawing", "experiments", "validation")
"""Rooms of the package that no result depends on."""

_FOLLOWED = "dev: progress figures only"
"""A use of gold trees that changes nothing."""

logger = logging.getLogger("dynet_vdgi")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What one process does; files as found, by their keys in the plan. `parts` is the record."""

    treebank: str
    system: str
    out: str = ""
    seed: int = 0
    presets: tuple[str, ...]
    set: tuple[str, ...] = ()
    files: dict[str, tuple[str, ...]]  # train, dev, expectations, test
    lengths: tuple[int, ...]
    protocol: str = ""
    after: str = ""
    trees: str = "parser"  # whose trees are scored: "parser", or "teacher"
    parts: dict[str, str] = {}

    @property
    def label(self) -> str:
        """The job's name in messages; its folder below that of the experiment."""
        run = self.protocol if self.system == BASELINES else self.seed
        return f"{self.treebank}/{self.system}/{run}"

    @property
    def folder(self) -> Path:
        """The folder of everything that the job writes."""
        return Path(self.out, self.label)

    def settings(self) -> Settings:
        """The settings of the run, without expectations that are still to be counted."""
        return load_settings(self.presets, [*self.set, f"seed={self.seed}"])


def record(job: Job, start: Job | None = None) -> Job:
    """The job with its record; `start` is the job whose model it starts from.

    Raises: ConfigError, DataError, a setting or a file is at fault.
    """
    settings = job.settings()
    values = {**settings.to_dict(), "rules": "", "seed": 0}
    for name in ("vectors", "clusters"):
        if values.get("words", {}).get(name):
            values["words"] = {**values["words"], name: _sha256(values["words"][name])}
    if job.trees != "parser":
        values["trees"] = job.trees
    parts = {
        "settings": values,
        "seed": job.seed,
        "data": [_names_and_sums(job.files["train"]), _names_and_sums(job.files["dev"])],
        "rules": [
            _sha256(str(rules_path(settings.rules))),
            _names_and_sums(job.files["expectations"]),
        ],
        "code": code_version(),
        "start": {name: value for name, value in start.parts.items() if name != SCORING}
        if start
        else {},
        SCORING: [_names_and_sums(job.files["test"]), job.lengths],
    }
    hashed = {name: _hash(value) for name, value in parts.items()}
    return msgspec.structs.replace(job, protocol=settings.data.protocol, parts=hashed)


def state(job: Job) -> str:
    """`done`, `new`, `resume`, or `again` with what has changed, judged by the contents of the
    folder."""
    if recorded(job.folder / RESULT).get("parts") == job.parts:
        return "done"
    before = recorded(job.folder / RECORD).get("parts")
    if not isinstance(before, dict):
        return (
            "again (folder changed)" if job.folder.is_dir() and any(job.folder.iterdir()) else "new"
        )
    changed = [name for name, value in job.parts.items() if before.get(name) != value]
    return "resume" if changed in ([], [SCORING]) else f"again ({', '.join(changed)} changed)"


def commit() -> str:
    """The commit of the checkout that the program runs from; without one, or without git, the
    version."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists() or shutil.which("git") is None:
        return __version__
    command = [
        "git",
        "-C",
        str(checkout),
        "describe",
        "--always",
        "--dirty=+",
        "--abbrev=7",
        "--exclude=*",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@cache
def code_version() -> str:
    """Checksum of the sources that a result may depend on."""
    digest = hashlib.sha256(__version__.encode())
    root = Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _NOT_LEARNING:
            digest.update(f"\n{path.relative_to(root)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _sha256(path: str) -> str:
    status = os.stat(path) if os.path.exists(path) else None
    return _sha256_at(path, status and (status.st_mtime_ns, status.st_size))


@cache
def _sha256_at(path: str, _status: object) -> str:
    return files.sha256(path)


def _names_and_sums(names: Sequence[str]) -> list[list[str]]:
    return [[Path(name).name, _sha256(name)] for name in names]


RUNNING: set[BaseProcess] = set()

STOPPED = threading.Event()
"""Processes to kill when the program is interrupted, and whether it is."""


def in_own_process(job: Job) -> str:
    """Does a job in a process of its own; "" or why it failed."""
    _make_folder(job)
    log = job.folder / LOG
    begin = log.stat().st_size if log.exists() else 0
    process = multiprocessing.get_context("spawn").Process(
        target=work, args=(job.folder,), daemon=True
    )
    process.start()
    RUNNING.add(process)
    if STOPPED.is_set():
        process.kill()
    process.join()
    RUNNING.discard(process)
    status = process.exitcode or 0
    if status < 0:
        return f"killed by signal {-status}" + (" (out of memory?)" if status == -9 else "")
    lines = log.read_bytes()[begin:].decode(errors="replace").split("\n") if status else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), f"exit status {status}")
    return last if status else ""


def _make_folder(job: Job) -> None:
    """Prepares the job's folder; what is there of another record is moved aside, in one step."""
    job_state = state(job)
    if job_state.startswith("again"):
        aside = Path(job.out, REPLACED, job.label.replace("/", "."))
        number = next(n for n in range(1, sys.maxsize) if not Path(f"{aside}-{n}").exists())
        aside.parent.mkdir(exist_ok=True)
        job.folder.rename(f"{aside}-{number}")
    job.folder.mkdir(parents=True, exist_ok=True)
    (job.folder / RESULT).unlink(missing_ok=True)
    # left by a process that was killed while writing
    for unfinished in job.folder.glob(".vdgi-*.tmp"):
        unfinished.unlink()
    with files.atomic_writer(job.folder / RECORD) as handle:
        handle.write(json.dumps(msgspec.to_builtins(job), ensure_ascii=False, indent=1))


def work(folder: Path) -> None:
    """Does the job of a folder, in a process that ends with its parent and writes to the folder's
    log."""
    # Ctrl-C is for the parent, which stops this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    with open(folder / LOG, "ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        do(msgspec.json.decode((folder / RECORD).read_bytes(), type=Job))
    except VdgiError as error:
        sys.exit(f"{error}")


def do(job: Job) -> None:
    """Does a job whose folder is there, and writes its result. Raises: VdgiError."""
    with one_thread():
        if job.system == BASELINES:
            rows = _baselines(job)
        else:
            rows = _run_teacher(job) if job.trees == "teacher" else _run(job)
    content = {"parts": job.parts, "rows": msgspec.to_builtins(rows)}
    with files.atomic_writer(job.folder / RESULT) as handle:
        handle.write(json.dumps(content, ensure_ascii=False, indent=1))


def _row(job: Job, system: str, scored: Evaluation, **more: Any) -> TableRow:
    test = " ".join("/".join(Path(name).parts[-2:]) for name in job.files["test"])
    more |= {
        "language": job.treebank,
        "seed": job.seed,
        "commit": commit(),
        "protocol": job.protocol,
        "test": test,
    }
    return row_of(scored, system=system, **more)


def _run(job: Job) -> list[TableRow]:
    """Trains, parses and scores; goes on from a checkpoint if there is one. Raises: VdgiError."""
    before_s = sum(row.get("cpu_s", 0.0) for row in RunLog(job.folder / config.LOG_NAME).rows())
    settings = job.settings()
    used = []
    if job.files["expectations"]:
        rules, counted = load_rules(rules_path(settings.rules)), job.folder / "rules.txt"
        with files.atomic_writer(counted) as handle:
            data = settings.data
            handle.write(
                estimated_rules(job.files["expectations"], rules, data.max_len, data.tags).text
            )
        settings = merge(settings, {"rules": str(counted), "posterior": {"expectations": "rates"}})
        names = ", ".join(Path(name).name for name in job.files["expectations"])
        used = [f"{names}: expectations of the rules counted in its trees"]
    begin = job.folder.parents[1] / job.after / str(job.seed) if job.after else None
    init = str(begin / config.MODEL_NAME) if begin else None
    command = _command(job, settings, init)
    logger.info("%s", shlex.join(command))
    inputs = Inputs({"": job.files["train"]}, dev=job.files["dev"], init=init)
    preset = " + ".join(job.presets)
    model = run(inputs, settings, out=job.folder, resume=True, preset=preset, command=command)
    assert model is not None
    tests, trees = job.files["test"], []
    parser = FileParser(load_parser(str(job.folder / config.MODEL_NAME)))
    start = time.process_time()
    for test in tests:
        output = str(job.folder / f"{files.without_ending(Path(test).name)}.parsed.conllu")
        parser.parse([test], output)
        trees.append(output)
    parsing_s = max(time.process_time() - start, 1e-9)
    sentences = [
        [s for path in each for s in reading.read(path, heads="required")]
        for each in (tests, trees)
    ]
    scored = evaluate(*sentences, protocol=job.protocol, max_lens=(*job.lengths, None), by=())
    used += recorded(begin / RESULT)["rows"][0]["gold_trees"].split("; ") if begin else []
    used = [each for each in (*used, *model.provenance.gold_trees) if each not in ("", _FOLLOWED)]
    more = {
        "cpu_s": round(before_s + time.process_time(), 1),
        "words_per_cpu_s": round(sum(map(len, sentences[0])) / parsing_s),
        "gold_trees": "; ".join(dict.fromkeys(used)),
    }
    return [_row(job, job.system, scored, **more)]


def _run_teacher(job: Job) -> list[TableRow]:
    """Learns a teacher and scores its own trees. Raises: VdgiError."""
    settings = job.settings()
    assert isinstance(settings, TaughtSettings)
    teacher = teacher_of_text(job.files["train"], settings)
    logger.info("%s has learnt: %s", teacher.name, ", ".join(job.files["train"]))
    (job.folder / config.LOG_NAME).unlink(missing_ok=True)  # of a run that was interrupted
    log = RunLog(job.folder / config.LOG_NAME)
    for number, row in enumerate(teacher.log_rows(), 1):
        log.append({"phase": "teacher", "iteration": number, **row})
    gold, trees = list[Sentence](), list[Sentence]()
    start = time.process_time()
    for test in job.files["test"]:
        sentences = list(reading.read(test, heads="required", tags=settings.data.tags))
        parsed = trees_of(teacher, sentences, settings.data)
        write(parsed, job.folder / f"{files.without_ending(Path(test).name)}.parsed.conllu")
        gold += sentences
        trees += parsed
    parsing_s = max(time.process_time() - start, 1e-9)
    scored = evaluate(gold, trees, protocol=job.protocol, max_lens=(*job.lengths, None), by=())
    more = {
        "cpu_s": round(time.process_time(), 1),
        "words_per_cpu_s": round(sum(map(len, gold)) / parsing_s),
    }
    return [_row(job, job.system, scored, **more)]


def _command(job: Job, settings: Settings, init: str | None) -> list[str]:
    """The command that makes the same model, for the model file."""
    words = ["vdgi", "train", "--train", *job.files["train"]]
    words += ["--dev", *job.files["dev"]] if job.files["dev"] else []
    words += [word for preset in job.presets for word in ("--preset", preset)]
    words += [word for assignment in job.set for word in ("--set", assignment)]
    words += (
        ["--rules", settings.rules, "--set", "posterior.expectations=rates"]
        if job.files["expectations"]
        else []
    )
    return [
        *words,
        *(["--init", init] if init else []),
        "--seed",
        str(job.seed),
        "--out",
        str(job.folder),
    ]


def _baselines(job: Job) -> list[TableRow]:
    """A row for each parser that learns nothing, means over draws. Raises: DataError, nothing to
    score."""
    settings = job.settings()
    tags = settings.data.tags
    gold = [
        each
        for test in job.files["test"]
        for each in reading.read(test, heads="required", tags=tags)
    ]
    rules, max_lens = load_rules(rules_path(settings.rules)), (*job.lengths, None)
    scored = evaluate_baselines(GoldTrees.of(gold, job.protocol), rules, max_lens=max_lens, by=())
    used = {RULES_ONLY: Path(settings.rules).stem}
    return [_row(job, name, each, rules=used.get(name, "")) for name, each in scored.items()]
