"""Show what a model file says about itself.

How it was trained, on which files (with checksums), under which protocol, whether gold trees were used.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping

NEURAL_SECTIONS = ("model", "posterior", "finetune", "language_model")
"""Settings that say nothing about a linear parser."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi info`."""
    parser.add_argument("model", metavar="MODEL", help="model file that vdgi train wrote")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi info`."""
    from dynet_vdgi.learning import checkpoint
    from dynet_vdgi.parsing.parser import SYMBOLS

    model = checkpoint.load(arguments.model)
    n_weights = sum(array.size for array in model.parameters.values() if array.dtype.kind == "f")
    hidden = NEURAL_SECTIONS if model.meta.get("kind") == "linear" else ()
    if arguments.json:
        everything = {
            **model.meta,
            "vocabulary": model.vocabulary.to_json(),
            "rules": [str(rule) for rule in model.rules.rules],
            "weights": n_weights,
            "settings": {
                name: values for name, values in model.settings.to_dict().items() if name not in hidden
            },
        }
        print(json.dumps(everything, indent=1))
        return
    lines = [f"model         {arguments.model}"]
    for key, value in model.meta.items():
        if key == "data":
            lines += [f"{item['role']:13} {item['name']}  sha256 {item['sha256']}" for item in value]
        elif key == "languages":
            lines += [f"{'language':13} {label}: {_numbers(numbers)}" for label, numbers in value.items()]
        elif key == SYMBOLS:
            lines.append(f"{key:13} {len(value['coarse'])} of the model, {len(value['fine'])} of the student")
            measured = value["text"]["measures"].items()
            lines += [f"{'measured':13} {name} {level:.2f}" for name, level in measured]
        elif isinstance(value, dict):
            lines.append(f"{key:13} {_numbers(value)}")
        elif isinstance(value, list):
            joiner = " " if key == "command" else "; "
            lines.append(f"{key:13} {joiner.join(map(str, value)) or 'none'}")
        else:
            lines.append(f"{key:13} {'-' if value is None else value}")
    tags, words = model.vocabulary.tags, model.vocabulary.words
    lines.append(f"vocabulary    {len(tags)} tags ({' '.join(tags)}), {len(words)} words")
    lines.append(f"rules         {' '.join(map(str, model.rules.rules))}")
    lines.append(f"weights       {n_weights:,}")
    sections = model.settings.to_toml().rstrip().split("\n\n")
    shown = [text for text in sections if text.partition("]")[0].lstrip("[") not in hidden]
    print("\n\n".join(["\n".join(lines), *shown]))


def _numbers(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items())
