"""A run of an experiment: trains, parses the test files and scores them, in a process of its own."""

from __future__ import annotations

import logging
import platform
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from dynet_vdgi.data import conllu, files
from dynet_vdgi.errors import ModelError
from dynet_vdgi.evaluation.attachment import evaluate, length_label
from dynet_vdgi.experiments.tasks import RESULT_NAME, TASK_NAME, Task, parsed_path, recorded, write_json
from dynet_vdgi.grammar.estimated_rules import estimated_rules
from dynet_vdgi.grammar.rules import load_rules
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.parsing.files import parse_files
from dynet_vdgi.recipes.given import Given, Inputs
from dynet_vdgi.recipes.run import run
from dynet_vdgi.runs import model_file
from dynet_vdgi.runs.runlog import RunLog
from dynet_vdgi.settings import config
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.config import Settings
from dynet_vdgi.settings.presets import merge

RULES_NAME = "rules.txt"

logger = logging.getLogger("dynet_vdgi")


def perform(task: Task) -> None:
    """Writes `result.json` into the run's folder, last of all; continues from a checkpoint if there is one.

    Raises: VdgiError, as `train`, `parse_files` and `evaluate`.
    """
    from dynet_vdgi.parsing.stream import Stream

    clock = _RunClock(task.folder / config.LOG_NAME)
    settings, gold_trees = _settings(task)
    model = _trained(task, settings)
    trained_cpu_s = clock.cpu()
    with Stream(str(model), labels=load_labels()) as stream:
        start = time.process_time()
        for test in task.test:
            parse_files(stream, [test], str(parsed_path(task, test)))
        parsing_s = max(time.process_time() - start, 1e-9)
    scored = _score(task)
    used = [*_gold_trees_before(task), *model_file.load(model).provenance.gold_trees, *gold_trees]
    write_json(
        task.result,
        {
            "key": task.key,
            "parts": dict(task.parts),
            **{name: getattr(task, name) for name in ("treebank", "system", "seed", "after")},
            "protocol": task.protocols[0],
            "gold_trees": used,
            "words_per_cpu_s": round(scored["words_parsed"] / parsing_s, 1),
            "training_cpu_s": trained_cpu_s,
            "cpu_s": clock.cpu(),
            "wall_s": clock.wall(),
            "memory_mb": peak_memory_mb(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": platform.machine(),
            **scored,
        },
    )


def _settings(task: Task) -> tuple[Settings, list[str]]:
    """The settings of the run, with expectations of rules counted on request, and the trees used for this."""
    settings = task.settings()
    if not settings.counts_in_trees or not task.expectations:
        return settings, []
    rules = load_rules(rules_path(settings.rules))
    path = task.folder / RULES_NAME
    counted = estimated_rules(task.expectations, rules, settings.data.max_len, settings.data.tags)
    with files.atomic_writer(path) as handle:
        handle.write(counted.text)
    settings = merge(settings, {"rules": str(path), "posterior": {"expectations": "rules"}})
    names = ", ".join(Path(name).name for name in task.expectations)
    return settings, [f"{names}: expectations of the rules counted in its trees"]


def _command(task: Task, settings: Settings, init: str | None) -> list[str]:
    """The command that makes the same model, for the model file."""
    by_language = task.by_language()
    words = ["vdgi", "train", *([] if by_language else ["--train", *task.train])]
    words += [word for label, names in by_language.items() for word in ("--language", label, *names)]
    words += ["--dev", *task.dev] if task.dev else []
    words += [word for preset in task.presets for word in ("--preset", preset)]
    words += [word for assignment in task.set for word in ("--set", assignment)]
    words += ["--rules", settings.rules] if task.expectations else []
    return [*words, *(["--init", init] if init else []), "--seed", str(task.seed), "--out", str(task.folder)]


def _trained(task: Task, settings: Settings) -> Path:
    """The path of the fully trained model."""
    model = task.folder / config.MODEL_NAME
    if _complete(model):
        return model  # it has this very key, because models with other keys were moved aside
    same = _trained_before(task)
    if same:
        logger.info("the model is that of %s", same)
        with files.atomic_bytes_writer(model) as handle:
            handle.write(same.read_bytes())
        return model
    init = str(task.start / config.MODEL_NAME) if task.start else None
    command = _command(task, settings, init)
    logger.info("%s", shlex.join(command))
    texts = task.by_language() or {"": list(task.train)}
    inputs = Inputs(
        {label: Given(tuple(names)) for label, names in texts.items()}, dev=Given(task.dev), init=init
    )
    preset = " + ".join(task.presets)
    try:
        run(inputs, settings, out=task.folder, resume=True, preset=preset, command=command)
    except ModelError as error:
        if not model.exists():
            raise
        # The key says that the run is the same, but file names have changed.
        logger.warning("%s; training from the start", error)
        model.replace(model.with_name(f"unfinished-{config.MODEL_NAME}"))
        run(inputs, settings, out=task.folder, preset=preset, command=command)
    return model


def _trained_before(task: Task) -> Path | None:
    """The fully trained model with the same key from the system's run on another treebank."""
    for path in sorted(Path(task.out).glob(f"*/{task.system}/{task.seed}/{TASK_NAME}")):
        model = path.with_name(config.MODEL_NAME)
        if recorded(path).get("model_key") == task.model_key and _complete(model):
            return model
    return None


def _complete(model: Path) -> bool:
    """True if the model file exists and its training is complete."""
    return model.exists() and model_file.load(model).provenance.complete


def _gold_trees_before(task: Task) -> list[str]:
    """The trees used by the run that this one starts from."""
    if not task.start:
        return []
    used = recorded(task.start / RESULT_NAME).get("gold_trees", [])
    return [f"{task.after}: {line}" for line in used]


def _score(task: Task) -> dict[str, Any]:
    """Scores by length; and for each sentence its number of words and of right heads."""
    gold = [sentence for test in task.test for sentence in conllu.read(test, heads="required")]
    parsed = (
        sentence
        for test in task.test
        for sentence in conllu.read(str(parsed_path(task, test)), heads="required")
    )
    evaluation = evaluate(gold, parsed, protocol=task.protocols[0], max_lens=(*task.lengths, None), by=())
    return {
        "policy": evaluation.policy,
        "scores": {length_label(m): tally.to_dict() for m, tally in evaluation.by_length.items()},
        "words": [words for _, words in evaluation.per_sentence],
        "right": [right for right, _ in evaluation.per_sentence],
        "words_parsed": sum(map(len, gold)),
    }


class _RunClock:
    """CPU and wall seconds of a run; the time before an interruption is taken from its log."""

    def __init__(self, log: Path) -> None:
        rows = RunLog(log).rows()
        self._cpu_before: float = sum(row.get("cpu_s", 0.0) for row in rows)
        self._wall_before: float = sum(row.get("wall_s", 0.0) for row in rows)
        self._start = time.perf_counter()

    def cpu(self) -> float:
        return round(self._cpu_before + time.process_time(), 2)

    def wall(self) -> float:
        return round(self._wall_before + time.perf_counter() - self._start, 2)


def peak_memory_mb() -> float | None:
    """Peak resident memory of this process; None if the system does not report it.

    Linux also gives the peak since the program started; the other figure may include the process that
    started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 2**10, 1)
    if sys.platform == "win32":
        return None
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes elsewhere
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
