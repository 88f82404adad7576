"""Show how a model was made.

Prints when, how and from which files the model was trained (with checksums), the protocol, and every use
of gold trees; then its settings. A universal model also has the treebanks of other languages that it was
learnt from, with their branches and licences.

  vdgi info runs/my
  vdgi info universal
"""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file, the folder of a run, or universal")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.parsing.description import everything, facts
    from dynet_vdgi.runs import model_file
    from dynet_vdgi.runs.run_folder import model_path
    from dynet_vdgi.system.names import told
    from dynet_vdgi.system.text_tables import aligned

    path = model_path(arguments.model)
    model = model_file.load(path)
    if arguments.json:
        print(json.dumps(everything(model), indent=1))
        return
    rows = [("model", str(path)), *facts(model), ("weights", f"{model.n_weights:,}")]
    print(told(f"{aligned(rows, left=2)}\n\n{model.settings.to_toml().rstrip()}"))
