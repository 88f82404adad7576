"""Show how a model was made, or write an HTML page about runs.

Prints when, how and from which files the model was trained (with checksums), the protocol, and every use
of gold trees; then its settings. For a universal model it lists the treebanks learnt from, with their
licences; for a tagger or tokeniser, alone or in a model, what it has learnt from.

  vdgi info runs/my
  vdgi info universal
  vdgi info my.tagger

With -o, writes a page about folders that `vdgi train` wrote: settings, log, scores, trees. It is one file
without scripts, and needs no network. With --gold, each model parses the test sentences, and its trees are
scored as by `vdgi evaluate --baselines`, under the rules that the model was trained with.

  vdgi info runs/fr -o fr.html
  vdgi info runs/fr-1 runs/fr-2 --gold fr-ud-test.conllu -o fr.html
"""

import argparse
import json
import logging
import zipfile

from dynet_vdgi.commands import Options, one_file
from dynet_vdgi.data import files, sentence
from dynet_vdgi.errors import ModelError, UsageError

logger = logging.getLogger("dynet_vdgi")

SENTENCES = 5
"""Best and worst sentences drawn on a reports, of each."""


def add_arguments(add: Options) -> None:
    model = "model file, the folder of a run, universal, or the file of a tagger or tokeniser"
    add("MODEL...", f"{model}; with -o, folders of runs", dest="models")
    add("--json", "print JSON")
    add("-o --output FILE", "write a reports, FILE.html; a file that exists is replaced")
    add("--gold TEST", "CoNLL-U file with gold trees to score on")
    names = ", ".join(sentence.SCORING_PROTOCOLS)
    add("--protocol NAME", f"{names} (default: that of the models)")
    rules = "rules of the break-down and of the baseline: a model or run folder, a rule file, or a name"
    add("--rules MODEL", f"{rules} such as ud (default: those of each model)")
    drawn = f"best and worst sentences to draw, of each (default: {SENTENCES})"
    add("--sentences N", drawn, least=0)


def run(arguments: argparse.Namespace) -> None:
    if arguments.output is not None:
        _write_page(arguments)
        return
    if len(arguments.models) > 1:
        raise UsageError("several runs go on a page: name it with -o FILE.html")
    from dynet_vdgi.parsing.parser import everything, facts
    from dynet_vdgi.parsing.steps import Steps, description
    from dynet_vdgi.runs import model_file
    from dynet_vdgi.runs.run_folder import model_path
    from dynet_vdgi.system.names import aligned, told

    path = model_path(arguments.models[0])
    if path.is_file() and not zipfile.is_zipfile(path):
        what = "vdgi info describes models, runs, taggers and tokenisers"
        message = f"not a model, or damaged: {what}; vdgi check describes a text, vdgi expect its parse"
        raise ModelError(f"{path}: {message}")
    if (step := description(path)) is not None:
        if arguments.json:
            its_files = [text for name, text in step if name == "file"]
            print(json.dumps({**dict(step), "file": its_files}, indent=1, ensure_ascii=False))
        else:
            print(told(aligned([("path", str(path)), *step], left=2)))
        return
    model = model_file.load(path)
    tagger = Steps.of(path, model, {}).tagger
    if arguments.json:
        of_tagger = {"accuracy": tagger.accuracy, "words": tagger.n_words} if tagger else None
        print(json.dumps({**everything(model), "tagger": of_tagger}, indent=1))
        return
    rows = [("model", str(path)), *facts(model), ("weights", f"{model.n_weights:,}")]
    if tagger is not None:
        rows.append(("tagger", tagger.told.removeprefix("the tagger ")))
    print(told(f"{aligned(rows, left=2)}\n\n{model.settings.to_toml().rstrip()}"))


def _write_page(arguments: argparse.Namespace) -> None:
    from dynet_vdgi import reports
    from dynet_vdgi.reports import load_models, run_folders, run_of, score_runs
    from dynet_vdgi.runs.run_folder import rules_named

    reports.template()  # before any work, in case the library is missing
    folders = run_folders(arguments.models)
    gold = [one_file(arguments.gold, "--gold")] if arguments.gold is not None else []
    of_runs = [path for folder in folders.values() for path in folder.iterdir()]
    files.check_output(arguments.output, [*gold, *of_runs], ending=".html")
    n_sentences = SENTENCES if arguments.sentences is None else arguments.sentences
    with files.atomic_writer(arguments.output) as handle:
        models = load_models(folders)
        runs = [run_of(name, folders[name], model) for name, model in models.items()]
        scored = None
        if gold:
            rules = rules_named(arguments.rules) if arguments.rules else None
            scored = score_runs(models, gold[0], protocol=arguments.protocol, rules=rules)
        handle.write(reports.render(runs, scored, n_sentences=n_sentences))
    if arguments.output != files.STANDARD:
        logger.info("page: %s", arguments.output)
