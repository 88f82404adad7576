"""The record of a run for its model file, as far as it can be written before learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dynet_vdgi.conllu.protocols import protocol_of
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.models.model_file import Amount, DataFile, Provenance
from dynet_vdgi.settings.settings import Settings
from dynet_vdgi.system import files
from dynet_vdgi.training.input_reader import InputReader
from dynet_vdgi.training.inputs import Inputs, file_names
from dynet_vdgi.training.material import Material


def provenance_of(
    reader: InputReader,
    settings: Settings,
    material: Material,
    preset: str,
    command: Sequence[str],
) -> Provenance:
    """How the model is made of what has been read."""
    protocol = protocol_of(settings.data.protocol)
    sections = settings.sections.values()
    named = {role: name for section in sections for role, name in section.files.items()}
    gold_trees = [
        *reader.gold_trees,
        *(line for section in sections for line in section.gold_trees),
    ]
    return Provenance.now(
        command=tuple(command),
        preset=preset,
        seed=settings.seed,
        recipe=settings.recipe,
        protocol=f"{protocol.name}: {protocol.description}",
        gold_trees=tuple(dict.fromkeys(gold_trees)),
        data=_data_files(reader.inputs, {**settings.files, **named}),
        trained_on=amount([*material.sentences, *material.trees]),
        dropped=tuple(reader.dropped),
        languages={label: amount(text) for label, text in material.texts.items() if label},
        facts=tuple(
            f"{label}: {name} = {fact}".removeprefix(": ")
            for label, facts in material.facts.items()
            for name, fact in facts.items()
        ),
    )


def amount(sentences: Sequence[Sentence]) -> Amount:
    """How much text these sentences are."""
    return Amount(len(sentences), sum(map(len, sentences)))


def _data_files(inputs: Inputs, others: Mapping[str, str]) -> tuple[DataFile, ...]:
    """Role, name and checksum of each file; `others` are files that the settings name, by role."""
    raw = inputs.raw_names
    by_role: dict[str, tuple[str, ...]] = {
        **{
            f"train {label}".rstrip(): tuple(name for name in file_names(text) if name not in raw)
            for label, text in inputs.texts.items()
        },
        "raw": raw,
        "trees": file_names(inputs.trees),
        **{f"treebank {label}": file_names(text) for label, text in inputs.treebanks.items()},
        "dev": file_names(inputs.dev),
        "init": (inputs.init,) if inputs.init else (),
        "tokeniser": (inputs.tokeniser,) if inputs.tokeniser else (),
        "tagger": (inputs.tagger,) if inputs.tagger else (),
        **{role: (name,) for role, name in others.items() if name},
        **{f"facts {label}".rstrip(): (name,) for label, name in inputs.facts.items()},
    }
    return tuple(
        DataFile(role, Path(name).name, files.sha256(name))
        for role, names in by_role.items()
        for name in names
    )
