"""Small model files of every kind, to be changed."""

from __future__ import annotations

from pathlib import Path

import tiny

from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.settings.presets import load_settings
from dynet_vdgi.settings.settings import MODEL_NAME
from dynet_vdgi.training.inputs import Inputs
from dynet_vdgi.training.run import run


def small_models(folder: Path) -> list[bytes]:
    """A neural model, one that learns from trees, and a perceptron under a whole rule table."""
    demo = (resources() / "demo" / "demo-ud-test.conllu").read_text(encoding="utf-8")
    trees = folder / "demo.conllu"
    trees.write_text("\n\n".join(demo.split("\n\n")[:30]) + "\n\n", encoding="utf-8")
    text, gold = (str(tiny.write(folder / "train.conllu")),), (str(trees),)
    few = load_settings("best")
    runs = {
        "neural": (Inputs({"": text}), tiny.settings()),
        "words": (Inputs({"": gold}, trees=gold), few),
        "perceptron": (Inputs({"": gold}), few),
    }
    found = []
    for name, (inputs, settings) in runs.items():
        run(inputs, settings, out=folder / name)
        found.append((folder / name / MODEL_NAME).read_bytes())
    return found
