"""What the user ordered, row by row: CONTRIBUTING names a command for each, and each runs here.

Commands run as they stand in the table, but on a few sentences, and with as few updates as can be.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pytest

from dynet_vdgi.evaluation import published
from dynet_vdgi.experiments import job as jobs
from dynet_vdgi.experiments import plan as plans
from dynet_vdgi.models.model_file import load

ROOT = Path(__file__).parents[1]

PHRASES = (
    "a dynamic graph for each sentence, with automatic batching",
    "encoder and decoder",
    "GloVe: text without header",
    "word2vec: text",
    "word2vec: .bin",
    "fastText: .vec",
    "fastText: .bin",
    "Brown clusters from resource files",
    "Brown clusters made from text",
    "run/train_wsj.sh",
    "run/train_ud.sh",
    "published figures beside ours",
    "published figures beside a parse",
    "packages dynet, numpy, gensim, conllu, pytest",
    "top level",
    "table 4, by the released algorithm: UniversalRules",
    "table 4, by the released algorithm: WeaklySupervised",
    "table 6, by the released algorithm: UniversalRules",
)
"""What the commission says, besides the systems of the paper."""

SYSTEMS = tuple(
    dict.fromkeys(
        f"table {figure.table.removeprefix('Li2019-T')}: {figure.model}"
        for figure in published.read()
        if figure.table.startswith("Li2019-T")
    )
)

TINY = {
    "parser.tag_dim": "4",
    "parser.hidden_dim": "4",
    "train.samples": "2",
    "train.updates": "1",
    "finetune.updates": "1",
}
"""The least settings of a paper's parser."""

RELEASED = {
    "parser.tag_dim": "4",
    "parser.hidden_dim": "4",
    "train.samples": "2",
    "train.epochs": "1",
    "finetune.epochs": "1",
}


def commands() -> dict[str, str]:
    """The table of CONTRIBUTING: a command for each thing that was ordered."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("<!-- commission -->")[2].partition("<!-- end -->")[0]
    return dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", table, re.MULTILINE))


def test_every_phrase_and_every_system_of_the_paper_has_a_row():
    assert sorted(commands()) == sorted([*PHRASES, *SYSTEMS])


def set_to(assignments, values) -> tuple[str, ...]:
    """The assignments with these values, where the plan does not switch a stage off."""
    kept_off = {text.split("=")[0] for text in assignments if text.endswith("=0")}
    others = [text for text in assignments if text.split("=")[0] not in values.keys() - kept_off]
    return (*others, *(f"{name}={value}" for name, value in values.items() if name not in kept_off))


def tiny(system: plans.System) -> plans.System:
    """A system of a plan with as little to do as can be."""
    values = TINY
    if system.trees == "teacher":
        values = {"teacher.iterations": "1"}
        if "hdp-dep" in system.presets:
            values["teacher.subsymbols"] = "1"
    elif "as_released" in system.presets:
        values = RELEASED
    return msgspec.structs.replace(system, set=set_to(system.set, values))


def conllu(n_sentences: int) -> str:
    """Sentences with gold trees, and tags of UD and of the Penn Treebank."""
    rows = (
        ("the", "DET", "DT", 2, "det"),
        ("dog{k}", "NOUN", "NN", 3, "nsubj"),
        ("saw{k}", "VERB", "VBD", 0, "root"),
        ("old", "ADJ", "JJ", 5, "amod"),
        ("cats", "NOUN", "NNS", 3, "dobj"),
    )
    sentences = []
    for k in range(n_sentences):
        words = rows if k % 2 else rows[1:3]
        first = 1 if k % 2 else 2
        lines = [
            f"{n}\t{form.format(k=k % 3)}\t_\t{upos}\t{xpos}\t_\t"
            f"{head - first + 1 if head else 0}\t{relation}\t_\t_\n"
            for n, (form, upos, xpos, head, relation) in enumerate(words, 1)
        ]
        sentences.append("".join(lines) + "\n")
    return "".join(sentences)


TREE = (
    "( (S (NP-SBJ (DT the) (NN noun{k})) (VP (VBD verb{k}) (NP (JJ old) (NN noun{k}))) (. .)) )\n"
)


def vectors(folder: Path) -> None:
    """The demo's vectors in each format that the table names."""
    from gensim.models import FastText, KeyedVectors
    from gensim.models.fasttext import save_facebook_model

    demo = KeyedVectors.load_word2vec_format(str(ROOT / "resources" / "demo" / "demo.vec"))
    demo.save_word2vec_format(str(folder / "glove.txt"), write_header=False)
    demo.save_word2vec_format(str(folder / "word2vec.txt"))
    demo.save_word2vec_format(str(folder / "word2vec.bin"), binary=True)
    text = [demo.index_to_key[:50]] * 3
    model = FastText(text, vector_size=4, min_count=1, bucket=50, epochs=1, seed=1, workers=1)
    save_facebook_model(model, str(folder / "fasttext.bin"))


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """What the commands of the table start from: resources and scripts, and a little data."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("setup.py", "README.md", "dynet_vdgi", "run", "resources", "tests", "experiments"):
        (folder / name).symlink_to(ROOT / name)
    release = folder / "DATA" / "UD_French"
    release.mkdir(parents=True)
    (folder / "RUNS").mkdir()
    for part, n_sentences in {"train": 8, "dev": 3, "test": 4}.items():
        for path in (folder / "DATA" / f"{part}.conllu", release / f"fr-ud-{part}.conllu"):
            path.write_text(conllu(n_sentences), encoding="utf-8")
    for name in ("vectors", "fr"):
        (folder / "DATA" / f"{name}.vec").write_text("the 1 2 3\ncats 3 2 1\n", encoding="utf-8")
    for name in ("clusters", "fr"):
        (folder / "DATA" / f"{name}.paths").write_text("0\tthe\t8\n1\tcats\t4\n", encoding="utf-8")
    (folder / "PTB").mkdir()
    for number in range(20):
        text = "".join(TREE.format(k=k) for k in range(number % 3 + 2))
        (folder / "PTB" / f"wsj_00{number:02}.mrg").write_text(text)
    vectors(folder)
    return folder


@dataclass
class Runner:
    """Runs commands of the table in the folder of the clone; `log` is what they tell of their work."""

    clone: Path
    vdgi: object
    log: str = ""

    def __call__(self, command: str) -> str:
        """The output of a command, which must succeed."""
        words = shlex.split(command)
        if words[0] == "vdgi":
            result = self.vdgi.good(*words[1:], *self._few_updates(words))
            self.log = result.err
            return result.out
        return self._process(words)

    def _few_updates(self, words: list[str]) -> list[str]:
        if words[1] != "train":
            return []
        values = TINY
        if "supervised" in words:
            values = {"parser.tag_dim": "4", "parser.hidden_dim": "4", "train.epochs": "1"}
        return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]

    def _process(self, words: list[str]) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        if words[0] == "bash":
            environment |= self._installed()
            if len(words) == 2:  # a small treebank in place of the demo's, which takes minutes
                words += ["fr", "DATA/UD_French", "--", "--preset", "pretraining"]
                words += ["--set", "train.updates=1"]
        if "experiments/parsing_speed.py" in words:
            words += ["--repeats", "1", "--seconds", "0.01", "--iterations", "1"]
        words = [sys.executable, *words[1:]] if words[0] == "python" else words
        result = subprocess.run(
            words, cwd=self.clone, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        self.log = result.stderr
        return result.stdout

    def _installed(self) -> dict[str, str]:
        """Variables under which the scripts install nothing, and carry out a plan of one system."""
        programs = self.clone / "venv" / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        if not (programs / "python").is_symlink():  # made once for both scripts
            (programs / "python").symlink_to(sys.executable)
        (programs / "vdgi").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dynet_vdgi "$@"\n')
        (programs / "vdgi").chmod(0o755)
        (self.clone / "venv" / "installed").touch()
        packages = os.pathsep.join([str(ROOT), str(Path(np.__file__).parents[1])])
        return {
            "VDGI_VENV": str(self.clone / "venv"),
            "PYTHONPATH": packages,
            "VDGI_RUN": str(self.clone / "RUNS" / "script"),
        }


@pytest.fixture
def runs(clone, vdgi, monkeypatch) -> Runner:
    """Runs commands; experiments do their jobs in this process, as `tiny` says."""
    load = plans.load_plan

    def load_tiny(path: Path) -> plans.Plan:
        plan = load(path)
        return msgspec.structs.replace(
            plan,
            seeds=(1,),
            treebanks=tuple(each for each in plan.treebanks if each.name in ("wsj", "fr")),
            systems=tuple(map(tiny, plan.systems)),
        )

    def do(job: jobs.Job) -> str:
        jobs._make_folder(job)
        jobs.do(job)
        return ""

    monkeypatch.chdir(clone)
    monkeypatch.setattr(plans, "load_plan", load_tiny)
    monkeypatch.setattr(jobs, "in_own_process", do)
    return Runner(clone, vdgi)


def marks(name: str) -> list[pytest.MarkDecorator]:
    """Scripts, and what measures time, start the program several times."""
    words = commands().get(name, "").split()
    is_slow = words[:1] == ["bash"] or "experiments/parsing_speed.py" in words
    return [pytest.mark.slow, pytest.mark.timeout(600)] if is_slow else []


def figures(table: str) -> dict[str, str]:
    """The rows of printed tables by their first cell."""
    rows = re.findall(r"^\| (?:&nbsp;)*([^|]+?) \| (.+) \|$", table, re.MULTILINE)
    return {name.removesuffix(" †"): cells for name, cells in rows}


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in SYSTEMS])
def test_each_system_of_the_paper_runs(name, runs):
    command = commands()[name]
    output = runs(command)
    if "parsing_speed" in command:
        label = name.partition(": ")[2].replace("Our_", "").replace("ized", "ised").lower()
        assert label in (runs.clone / "RUNS" / "speed.csv").read_text(encoding="utf-8").lower()
    elif command.startswith("vdgi experiment"):
        system = command.split()[-1]
        assert re.match(r"\d+\.\d", figures(output)[system])
    else:
        label = name.partition(": ")[2].replace("_", " ").lower()
        assert re.search(rf"^{label} .* \d+\.\d", output, re.MULTILINE)


VECTORS = "vectors: "
SIGNS = {
    "GloVe: text without header": (VECTORS, "20 dimensions", "glove.txt"),
    "word2vec: text": (VECTORS, "20 dimensions", "word2vec.txt"),
    "word2vec: .bin": (VECTORS, "20 dimensions", "word2vec.bin"),
    "fastText: .vec": (VECTORS, "20 dimensions", "resources/demo/demo.vec"),
    "fastText: .bin": (VECTORS, "4 dimensions", "fasttext.bin"),
    "Brown clusters from resource files": (VECTORS, "clusters: ", "33 classes"),
    "Brown clusters made from text": ("types in 32 clusters",),
    "a dynamic graph for each sentence, with automatic batching": ("finetune",),
    "encoder and decoder": ("gold trees used: training: 422 trees learnt from",),
}
"""What the log says where it worked."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in PHRASES])
def test_each_phrase_of_the_commission_runs(name, runs):
    if name == "published figures beside ours":
        runs(commands()["table 5: RF"])
    command = commands()[name]
    output = runs(command)
    for sign in SIGNS.get(name, ()):
        assert sign in runs.log
    if command.startswith("vdgi experiment") and " table " not in command:
        assert re.match(r"\d+\.\d", figures(output)[command.split()[-1]])
    if name.startswith("published"):
        assert re.search(r"Li2019-T\d", output)
    if name == "run/train_wsj.sh":
        table = figures(output.partition("Li2019-T5")[2])
        assert {"RF (here)", "RF+H1+H2 (here)", "Convex-MST (here)", "HDP-DEP (here)"} <= {*table}
    if name == "encoder and decoder":
        parameters = load("RUNS/supervised/model.vdgi").parameters
        assert {"encoder", "decoder"} <= {key.partition("/")[0] for key in parameters}
    if name == "run/train_ud.sh":
        assert "left branching" in output


def test_the_graphs_of_sentences_are_batched_automatically(runs, monkeypatch):
    from dynet_vdgi.paper import per_sentence

    asked = []
    new_graph = per_sentence.new_graph
    monkeypatch.setattr(
        per_sentence, "new_graph", lambda autobatch: (asked.append(autobatch), new_graph(autobatch))
    )
    name = "a dynamic graph for each sentence, with automatic batching"
    runs(commands()[name].replace("RUNS/graphs", "RUNS/batched"))
    assert asked.count(True) >= 2
