"""Inputs are plain data; their reader notes what a model file says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import tiny

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.blocks import Block
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.parser.steps import StepFile, Steps
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.settings import DataSettings
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs, shown_text
from dynet_vdgi.training.record import provenance_of

IN_MEMORY = Sentence(("a", "b"), ("NOUN", "VERB"), (2, 0))


@dataclass
class NotedSteps(Steps):
    """Steps with a tokeniser that no CoNLL-U needs; notes the files that they are asked for."""

    files_read: list[str] = field(default_factory=list)

    def blocks(self, names: Iterable[AnyPath]) -> Iterator[Block]:
        files = list(names)
        self.files_read += [Path(name).stem for name in files]
        return super().blocks(files)


def test_files_of_a_text_are_read_before_its_sentences_in_memory(tmp_path: Path) -> None:
    path = str(tiny.write(tmp_path / "text.conllu", 3))
    text = (IN_MEMORY, path)
    reader = InputReader(Inputs({"": text}), DataSettings())
    of_file = [sentence.forms for sentence in reading.read(path)]
    forms = [sentence.forms for sentence in reader.sentences(text, "optional")]
    assert forms == [*of_file, IN_MEMORY.forms]
    assert shown_text(text) == path
    assert shown_text((IN_MEMORY,)) == "<memory>"


def test_a_sentence_in_memory_needs_the_heads_and_tags_that_are_asked_for() -> None:
    headless = Sentence(IN_MEMORY.forms, IN_MEMORY.tags)
    reader = InputReader(Inputs({}, trees=(headless,)), DataSettings(tags="xpos"))
    with pytest.raises(DataError, match="a sentence has no heads"):
        list(reader.sentences((headless,), "required"))
    with pytest.raises(DataError, match="a sentence has no XPOS"):
        list(reader.sentences((headless,), "optional"))


def test_only_what_is_learnt_from_goes_through_the_steps(tmp_path: Path) -> None:
    paths = {
        name: (str(tiny.write(tmp_path / f"{name}.conllu", 6)),)
        for name in ("text", "trees", "dev", "other")
    }
    inputs = Inputs(
        {"": paths["text"]}, paths["trees"], paths["dev"], treebanks={"xx": paths["other"]}
    )
    steps = NotedSteps({"tokeniser": StepFile("tokeniser.zip")})
    reader = InputReader(inputs, DataSettings(), steps)
    material = reader.material(RuleSet(()))
    assert set(reader.treebanks()) == {"xx"}
    assert [len(part) > 0 for part in (material.sentences, material.trees, material.dev)] == [
        True
    ] * 3
    assert steps.files_read == ["text", "trees"]


def test_raw_text_is_read_after_the_text_and_has_a_role_of_its_own(tmp_path: Path) -> None:
    text, raw = (str(tiny.write(tmp_path / name, 3)) for name in ("text.conllu", "raw.conllu"))
    given = Inputs({"": (text,)}, raw=(raw, IN_MEMORY))
    inputs = given.with_raw_as_text()
    assert inputs.texts == {"": (text, raw, IN_MEMORY)}
    assert given.texts == {"": (text,)}
    settings = load_settings("best")
    reader = InputReader(inputs, settings.data)
    data = provenance_of(reader, settings, reader.material(RuleSet(())), "best", ()).data
    assert [(file.role, file.name) for file in data] == [
        ("train", "text.conllu"),
        ("raw", "raw.conllu"),
    ]


def test_raw_text_goes_with_the_text_of_one_language() -> None:
    with pytest.raises(UsageError, match="--train, not --language"):
        Inputs({"fr": (IN_MEMORY,)}, raw=()).check()
