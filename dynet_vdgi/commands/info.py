"""Show how a model was made.

Prints when, how and from which files the model was trained (with checksums), the protocol, and
every use of gold trees; then its settings. For a universal model it lists the treebanks learnt
from, with their licences; for a tagger or tokeniser, alone or in a model, what it has learnt from.

  vdgi info runs/my
  vdgi info universal
  vdgi info my.tagger
"""

from __future__ import annotations

import argparse
import json
import zipfile

from dynet_vdgi.commands.options import Options
from dynet_vdgi.errors import ModelError


def add_arguments(add: Options) -> None:
    add("MODEL", "model file, the folder of a run, universal, or the file of a tagger or tokeniser")
    add("--json", "print JSON")


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.models import model_file
    from dynet_vdgi.models.run_folder import model_path
    from dynet_vdgi.parser.description import facts, to_json
    from dynet_vdgi.parser.steps import Steps, description
    from dynet_vdgi.system.messages import printable_text
    from dynet_vdgi.system.text_tables import aligned

    path = model_path(arguments.model)
    if path.is_file() and not zipfile.is_zipfile(path):
        what = "vdgi info describes models, runs, taggers and tokenisers"
        message = (
            f"not a model, or damaged: {what}; vdgi check describes a text, vdgi expect its parse"
        )
        raise ModelError(f"{path}: {message}")
    if (step := description(path)) is not None:
        if arguments.json:
            its_files = [text for name, text in step if name == "file"]
            print(json.dumps({**dict(step), "file": its_files}, indent=1, ensure_ascii=False))
        else:
            print(printable_text(aligned([("path", str(path)), *step], left=2)))
        return
    model = model_file.load(path)
    tagger = Steps.of(path, model, {}).tagger
    if arguments.json:
        of_tagger = {"accuracy": tagger.accuracy, "words": tagger.n_words} if tagger else None
        print(json.dumps({**to_json(model), "tagger": of_tagger}, indent=1))
        return
    rows = [("model", str(path)), *facts(model), ("weights", f"{model.n_weights:,}")]
    if tagger is not None:
        rows.append(("tagger", tagger.told.removeprefix("the tagger ")))
    print(printable_text(f"{aligned(rows, left=2)}\n\n{model.settings.to_toml().rstrip()}"))
