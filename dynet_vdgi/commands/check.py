"""Check CoNLL-U files before training or parsing.

Lists every structural fault as FILE:LINE, also in unfinished trees, then describes the file: sentences,
words, tags, lengths, trees, how much of it training would use, and how well the rules fit. What UD forbids
but this program reads, `vdgi validate` tells. Exits with status 3 if there are faults.

  vdgi check my.conllu
  vdgi check new.conllu --model runs/my
"""

from __future__ import annotations

import argparse
from itertools import count

from dynet_vdgi.data import files
from dynet_vdgi.data.conllu import TAG_COLUMNS
from dynet_vdgi.data.protocols import protocol_named
from dynet_vdgi.data.tags import UD_TAGS
from dynet_vdgi.errors import DataError, UsageError, VdgiError
from dynet_vdgi.system.names import count as counted
from dynet_vdgi.system.names import told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="CoNLL-U files; - is standard input")
    parser.add_argument("--rules", metavar="FILE", help="rule table to check against (default: best)")
    parser.add_argument(
        "--model", metavar="MODEL", help="take rules, tags and limits from this model file or run folder"
    )
    parser.add_argument(
        "--tags", choices=TAG_COLUMNS, help="column of the tags (default: upos, or the model's)"
    )
    parser.add_argument(
        "--max-faults", type=int, default=20, metavar="N", help="faults shown per file (default: 20)"
    )


def run(arguments: argparse.Namespace) -> None:
    from dynet_vdgi.evaluation.treebank_check import check
    from dynet_vdgi.grammar.tag_warnings import TO_A_MODEL, check_known
    from dynet_vdgi.runs import model_file
    from dynet_vdgi.runs.run_folder import DEFAULT_RULES, model_path, rules_named
    from dynet_vdgi.settings.presets import load_settings

    if arguments.rules and arguments.model:
        raise UsageError("--rules and --model both name rules: give one of them")
    if arguments.model:
        model = model_file.load(model_path(arguments.model))
        rules, data = model.rules, model.settings.data
        known, hint = frozenset(model.vocabulary.tags), TO_A_MODEL
    else:
        rules, data = rules_named(arguments.rules or DEFAULT_RULES).rules, load_settings().data
        known, hint = UD_TAGS | rules.mentioned_tags(), ""
    n_faults = 0
    for name in files.expand(arguments.files):
        faults = count()

        def report(fault: DataError, faults: count[int] = faults) -> None:
            if next(faults) < arguments.max_faults:
                print(told(str(fault)))

        summary = check(
            name,
            rules,
            protocol_named(data.protocol),
            data.max_len,
            tags=arguments.tags or data.tags,
            on_fault=report,
        )
        try:
            check_known(summary.tags, known, files.shown(name), hint)
        except DataError as fault:
            report(fault)
        in_file = next(faults)
        n_faults += in_file
        print(told(f"{files.shown(name)}: {counted(in_file, 'fault') if in_file else 'sound'}"))
        print(told("\n".join(summary.lines(with_unused=bool(arguments.rules or arguments.model)))))
    if n_faults:
        raise FaultsFoundError(f"{counted(n_faults, 'fault')} found")
    print("sound: this program can use it; vdgi validate FILE tells whether it is valid UD")


class FaultsFoundError(VdgiError):
    """At least one fault was listed."""

    exit_status = 3
