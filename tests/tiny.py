"""A made-up treebank and settings so small that a training run takes a fraction of a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.vocabulary import build_vocabulary
from dynet_vdgi.models import model_file
from dynet_vdgi.models.archive import Arrays
from dynet_vdgi.models.model_file import ModelFile, Provenance
from dynet_vdgi.models.run_log import RunLog
from dynet_vdgi.paper.trainer import Trainer
from dynet_vdgi.rule_tables.rules import load_rules
from dynet_vdgi.settings import presets
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.settings.settings import Settings
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.material import Material
from dynet_vdgi.training.run import run

Changes = Mapping[str, Mapping[str, Any]]

PATTERNS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("DET NOUN VERB PUNCT", (2, 3, 0, 3)),
    ("VERB DET NOUN ADJ", (0, 3, 1, 3)),
    ("NOUN AUX VERB ADV NOUN NUM PUNCT", (3, 3, 0, 3, 3, 5, 3)),
    ("NOUN ADJ VERB PUNCT DET NOUN", (3, 1, 0, 6, 6, 3)),
    ("VERB NOUN ADJ ADV PUNCT", (0, 1, 2, 1, 1)),
    ("DET ADJ NOUN VERB NOUN DET", (3, 3, 4, 0, 4, 5)),
)
"""Tags and heads: every arc but those of PUNCT is one of the rules `ud`, and heads stand on both
sides."""

NINE_COLUMNS = "1\tword\t_\tNOUN\t_\t_\t_\t_\t_\n\n"
"""A malformed sentence."""

SMALL: Changes = {
    "parser": {"hidden_dim": 6, "tag_dim": 6},
    "train": {"updates": 4, "samples": 3, "batch_size": 4, "evaluate_every": 2},
}
"""Settings of the smallest runs, on top of the preset `fixed-lambda`, as `presets.merge` takes
them."""

SMALL_OPTIONS = ["--preset", "fixed-lambda"] + [
    option
    for section, values in SMALL.items()
    for name, value in values.items()
    for option in ("--set", f"{section}.{name}={value}")
]
"""`SMALL` as options of the command line."""


def block(number: int, tags: Sequence[str], heads: Sequence[int] | None) -> str:
    """One sentence as CoNLL-U; without heads, HEAD and DEPREL are `_`."""
    lines = [f"# sent_id = {number}"]
    for word, tag in enumerate(tags, 1):
        arc = f"{heads[word - 1]}\t{'dep' if heads[word - 1] else 'root'}" if heads else "_\t_"
        lines.append(f"{word}\t{tag.lower()}{number % 3}\t_\t{tag}\t_\t_\t{arc}\t_\t_")
    return "\n".join(lines) + "\n\n"


TWO_ROOTS = block(9, ["NOUN", "VERB", "NOUN"], [0, 0, 1])
"""A sentence whose heads are no tree."""


def treebank(n_sentences: int = 12, *, heads: bool = True) -> str:
    """CoNLL-U text of so many sentences, the patterns one after the other."""
    patterns = islice(cycle(PATTERNS), n_sentences)
    return "".join(
        block(number, tags.split(), tree if heads else None)
        for number, (tags, tree) in enumerate(patterns)
    )


def write(path: Path, n_sentences: int = 12, *, heads: bool = True) -> Path:
    """`treebank` in a file."""
    path.write_text(treebank(n_sentences, heads=heads), encoding="utf-8")
    return path


def write_gold_and_parse(gold: Path, parse: Path) -> None:
    """`treebank` of six sentences, and the same with another tree for the first."""
    text = treebank(6)
    wrong = block(0, ["DET", "NOUN", "VERB", "PUNCT"], [0, 1, 2, 3])
    gold.write_text(text, encoding="utf-8")
    parse.write_text(text.replace(treebank(1), wrong), encoding="utf-8")


def settings(changes: Changes | None = None) -> Settings:
    """Small settings with some changed."""
    return presets.merge(presets.load_settings("fixed-lambda", changes=SMALL), changes or {})


def data(folder: Path, n_sentences: int = 12, *, dev: bool = False) -> Material:
    """What a trainer needs, punctuation kept."""
    sentences: list[Sentence] = list(read(write(folder / "tiny.conllu", n_sentences)))
    vocabulary = build_vocabulary(sentences, lexicalised=False)
    rules = load_rules(rules_path("ud"))
    return Material({"": sentences}, vocabulary, rules, dev=sentences[:6] if dev else [])


def trainer(
    folder: Path,
    changes: Changes | None = None,
    *,
    n_sentences: int = 12,
    dev: bool = False,
) -> Trainer:
    """A trainer whose run is in `folder`."""
    folder.mkdir(exist_ok=True)
    return Trainer(settings(changes), data(folder, n_sentences, dev=dev), Provenance(), folder)


UPDATES = 8
"""Of a `Run`; an epoch has 6."""

TIMES = ("cpu_s", "wall_s", "sentences_per_cpu_s")
"""Keys of a log's rows that differ from run to run."""


class Run:
    """`vdgi train` on the tiny treebank, in a folder of its own, that can be interrupted and
    resumed."""

    def __init__(
        self,
        folder: Path,
        changes: Changes | None = None,
        *,
        dev: bool = False,
        trees: bool = False,
    ) -> None:
        self.folder, self.out, self.dev, self.trees = folder, folder / "run", dev, trees
        every = {"train": {"batch_size": 2, "updates": UPDATES, "evaluate_every": 3}}
        self.settings = presets.merge(settings(every), changes or {})

    def train(self, *, resume: bool = False) -> ModelFile:
        """Trains to the end and gives the model file; files that are there already stay as they
        are."""
        self.folder.mkdir(exist_ok=True)
        paths = [self.folder / "train.conllu", *([self.folder / "dev.conllu"] if self.dev else [])]
        for path, n_sentences in zip(paths, (12, 6)):
            if not path.exists():
                write(path, n_sentences)
        trees = self.folder / "trees.conllu"
        if self.trees and not trees.exists():
            write(trees, 6)
        dev = tuple(str(path) for path in paths[1:])
        gold = (str(trees),) if self.trees else ()
        run(
            Inputs({"": (str(paths[0]),)}, trees=gold, dev=dev),
            self.settings,
            out=self.out,
            resume=resume,
        )
        return model_file.load(self.out / "model.vdgi", training=True)

    def rows(self) -> list[dict[str, Any]]:
        """The log without the times."""
        rows = RunLog(self.out / "log.jsonl").rows()
        return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def same_arrays(left: Arrays, right: Arrays) -> bool:
    """True if names, types, shapes and every bit agree."""
    return list(left) == list(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(left.values(), right.values())
    )


def assert_same_run(run: Run, model: ModelFile, other: Run, other_model: ModelFile) -> None:
    """Both runs are complete, and left the same, but for times and the command."""
    assert same_arrays(model.parameters, other_model.parameters)
    assert same_arrays(model.training, other_model.training)
    assert model.progress == other_model.progress
    assert model.meta["complete"] is True
    assert {**model.meta, "created": "", "command": ""} == {
        **other_model.meta,
        "created": "",
        "command": "",
    }
    assert run.rows() == other.rows()
    assert (run.out / "settings.toml").read_bytes() == (other.out / "settings.toml").read_bytes()


_TAGS = "DET/DT NOUN/NN VERB/VBD ADJ/JJ ADV/RB AUX/MD NUM/CD PUNCT/."
PENN = dict(pair.split("/") for pair in _TAGS.split())
"""Tags of the Penn Treebank for those of the treebank here."""
