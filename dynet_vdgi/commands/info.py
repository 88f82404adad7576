"""Show how a model was made.

Prints when, how and from which files the model was trained (with checksums), the protocol, and every use
of gold trees; then its settings.

  vdgi info runs/my
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynet_vdgi.model_file import ModelFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi info`."""
    parser.add_argument("model", metavar="MODEL", help="model file, or the folder of a run")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi info`."""
    from dynet_vdgi import model_file
    from dynet_vdgi.names import told
    from dynet_vdgi.run_folder import model_path
    from dynet_vdgi.text_tables import aligned

    path = model_path(arguments.model)
    model = model_file.load(path)
    if arguments.json:
        everything = {
            **model.meta,
            "vocabulary": model.vocabulary.to_json(),
            "rules": [str(rule) for rule in model.rules.rules],
            "rules_without": model.rules.left_out,
            "weights": model.n_weights,
            "settings": model.settings.to_dict(),
        }
        print(json.dumps(everything, indent=1))
        return
    facts = [("model", str(path)), *_facts(model), ("weights", f"{model.n_weights:,}")]
    print(told(f"{aligned(facts, left=2)}\n\n{model.settings.to_toml().rstrip()}"))


def _facts(model: ModelFile) -> Iterator[tuple[str, str]]:
    """What is told about where the model comes from, and what it knows."""
    for key, value in model.meta.items():
        if key == "data":
            yield from ((item["role"], f"{item['name']}  sha256 {item['sha256']}") for item in value)
        elif key == "languages":
            yield from (("language", f"{label}: {_numbers(numbers)}") for label, numbers in value.items())
        elif key == "treebanks":
            told = (
                (label, f"{t['trees']} trees, mixing weight {t['share']:.2f}") for label, t in value.items()
            )
            yield from (("treebank", f"{label}: {text}") for label, text in told)
        elif isinstance(value, dict):
            yield key, _numbers(value)
        elif isinstance(value, (list, tuple)):
            yield key, (" " if key == "command" else "; ").join(map(str, value)) or "none"
        else:
            yield key, "-" if value is None else str(value)
    if model.symbols is not None:
        coarse, fine = len(model.symbols["coarse"]), len(model.symbols["fine"])
        yield "symbols", f"{coarse} of the teacher, {fine} of the student"
        for name, level in model.symbols["text"]["measures"].items():
            yield "measured", f"{name} {level:.2f}"
    tags, words = model.vocabulary.tags, model.vocabulary.words
    yield "vocabulary", f"{len(tags)} tags ({' '.join(tags)}), {len(words)} words"
    if model.rules.left_out:
        yield "rules without", ", ".join(f"[{part}]" for part in model.rules.left_out)
    yield "rules", " ".join(map(str, model.rules.rules))


def _numbers(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())
