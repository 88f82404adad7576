"""Parse CoNLL-U files with a trained model.

Fills HEAD and DEPREL and keeps every other byte; but Windows line ends become those of Unix.
Relations are those of UD 2, by a table of rules that you can copy, edit and name with --labels (see
vdgi rules show ud2); a model that has learnt from trees with relations corrects it. Heads in the
input are replaced, sound or not, unless you say --keep-heads. If an input is malformed in another
way, its output is not written; otherwise an output that exists is replaced. With --skip-faulty,
sentences that are malformed are copied as they are, their faults are listed as FILE:LINE, and the
others are parsed; the exit status is then 3. Columns after MISC (CoNLL-U Plus) are kept.

  vdgi parse runs/my new.conllu -o new.parsed.conllu
  zcat raw.conllu.gz | vdgi parse runs/my - > parsed.conllu
  vdgi parse runs/my a.conllu b.conllu -o '{}.vdgi.conllu'

The model `universal` comes with the package and needs no training: it has learnt from gold trees of
other languages, and measures on the first 20,000 words of the input what kind of language it is;
fewer than fifty sentences are a poor measure. vdgi train measures a longer text once, so its run
parses small files of that language better. Such runs have a fast student, too, which --fast
chooses: six to fifteen times faster, and 1 to 2 points less accurate; more, if the text that it
learnt from has fewer than 500 sentences.

  vdgi parse universal my.conllu -o my.parsed.conllu
  vdgi parse runs/my large.conllu --fast -o large.parsed.conllu

Raw text is split into words and tagged first, and so are words of CoNLL-U whose UPOS is _; other
words keep the tags they have, unless you say --retag. The tokeniser and the tagger learn from some
tagged sentences. A run trained with these two options keeps both, so vdgi parse runs/my raw.txt
needs neither. If each line of the text is a sentence, say --lines; otherwise line ends are spaces,
and empty lines end sentences. Text from standard input is raw only if you say so: vdgi parse
runs/my --tokeniser runs/my.

  vdgi tokenize train tagged.conllu -o my.tokeniser
  vdgi tag train tagged.conllu -o my.tagger
  vdgi parse universal raw.txt --tokeniser my.tokeniser --tagger my.tagger -o my.parsed.conllu

--keep-heads fills in heads that are _ and keeps the others. Words hang from punctuation only where
a head that you gave makes it so. If no projective tree contains the given heads of a sentence, it
is written unchanged, a message names its line, and the exit status is 3.

To find heads worth checking, use --confidence: HeadConf= in MISC is how probable it is that the
head is right, except for punctuation. Without trees of the language, trust the order of these
values more than their level: all may be ten points too high or too low, or more. The model
`universal` ends with an estimate of the share of right heads; after training with --trees there is
none, so keep some trees aside and evaluate. Words that had to be tagged get TagConf=, the
probability of their UPOS. Neural models have no confidences.

  vdgi parse runs/my new.conllu --confidence -o new.parsed.conllu
  vdgi parse runs/my begun.conllu --keep-heads -o filled.conllu              # HEAD _: to be filled in

--exact is for students, as --preset best makes them: their teacher finds the best tree, in time
that is cubic in the length of a sentence. Parsers that start from the universal one find the best
tree anyway; without trees of yours they write the most probable one, and with --exact that of most
expected right heads.
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynet_vdgi.commands import FaultsFoundError, add_ignore_feats, model_first
from dynet_vdgi.commands.options import Options
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count

if TYPE_CHECKING:
    from dynet_vdgi.models.model_file import ModelFile
    from dynet_vdgi.parser.steps import Steps

logger = logging.getLogger("dynet_vdgi")


def add_arguments(add: Options) -> None:
    add("MODEL", "model file, the folder of a run, or universal, which needs no training")
    inputs = "CoNLL-U, or raw text with --tokeniser; - is standard input (default)"
    add("[FILE...]", inputs, dest="files", default=["-"])
    one_each = "with {} in its name, one per input: {} is the input's name without .conllu"
    add("-o --output FILE", f"output file (default: standard output); {one_each}", default="-")
    sure = (
        "write HeadConf= to MISC: how probable each head is to be right, and TagConf=, "
        "if it tagged the word"
    )
    add("--confidence", f"{sure}; not for neural models")
    add(
        "--keep-heads",
        "fill in only heads that are _, by a projective tree that contains the given ones",
    )
    add("--fast", "parse with the fast student that vdgi train keeps beside a universal parser")
    teacher = "let the parser's teacher find the best tree, in cubic instead of linear time"
    add("--exact", f"{teacher}; not for neural models")
    add(
        "--tokeniser FILE",
        "splits raw text into words: the inputs, unless their names end in .conllu",
    )
    add("--tagger FILE", "tags the words without UPOS")
    add("--lines", "each line of raw text is a sentence")
    add("--retag", "tag the words with UPOS, too")
    add("--in-place", "the output may replace an input")
    labels = "relations: the name or file of a table of labels, or none for root and dep only"
    add("--labels TABLE", labels, default="ud2")
    add(
        "--skip-faulty",
        "copy malformed sentences as they are, list their faults, and parse the others",
    )
    add("--jobs N", "worker processes", default=1, least=1)
    add_ignore_feats(add)


def run(arguments: argparse.Namespace) -> None:
    model_first(arguments.model, arguments.files, "vdgi parse universal")
    names = files.expand(arguments.files)
    if "{}" not in arguments.output:
        outputs = [(names, arguments.output)]
    else:
        if "-" in names:
            raise UsageError("{} in --output stands for a file name, and standard input has none")
        outputs = [
            ([name], arguments.output.replace("{}", files.without_ending(name))) for name in names
        ]
        for output, times in Counter(output for _, output in outputs).items():
            if times > 1:
                raise UsageError(
                    f"--output {arguments.output}: {times} inputs would be written to {output}"
                )
    _check_outputs(arguments, names, [output for _, output in outputs])
    from dynet_vdgi.parser.file_parser import FileParser
    from dynet_vdgi.parser.given_heads import KeepError
    from dynet_vdgi.parser.parser import How, load
    from dynet_vdgi.relations.label_table import named_table
    from dynet_vdgi.rule_tables.tag_warnings import tell_unknown

    how = How(arguments.exact, arguments.confidence, arguments.keep_heads)
    labels = named_table(arguments.labels)
    parser = load(arguments.model, fast=arguments.fast, labels=labels)
    if arguments.exact and parser.is_exact:
        logger.warning("--exact had no effect: the trees of this model are exact")
    files_parser = FileParser(
        parser, how, labels is not None, arguments.jobs, arguments.skip_faulty
    )
    steps = _steps(arguments, parser.model, names)
    n_unlabelled, n_unfilled, n_faulty, unknown = 0, 0, 0, Counter[str]()
    for inputs, output in outputs:
        totals = files_parser.parse(inputs, output, steps)
        n_unlabelled += totals.n_unlabelled
        n_unfilled += totals.n_unfilled
        n_faulty += totals.n_faulty
        unknown.update(totals.unknown_tags)
    if steps.n_tagged:
        logger.info("%s tagged", count(steps.n_tagged, "word"))
    elif arguments.tagger is not None:
        logger.warning("--tagger had no effect: every word has UPOS; --retag replaces it")
    if n_unlabelled:
        message = "%s without universal tags (column 4): their relations are root and dep only"
        logger.warning(message, count(n_unlabelled, "sentence"))
    tell_unknown(unknown, set())
    if n_faulty:
        more = f", and {count(n_unfilled, 'sentence')} left unchanged" if n_unfilled else ""
        raise FaultsFoundError(
            f"{count(n_faulty, 'faulty sentence')} copied{more}; all others are parsed"
        )
    if n_unfilled:
        raise KeepError(f"{count(n_unfilled, 'sentence')} left unchanged, any others are filled in")


def _check_outputs(
    arguments: argparse.Namespace, names: Sequence[str], outputs: Sequence[str]
) -> None:
    from dynet_vdgi.models.run_folder import model_path

    replaced = 0
    models = [
        model_path(each)
        for each in (arguments.model, arguments.tokeniser, arguments.tagger)
        if each
    ]
    for output in outputs:
        file_checks.check_output(output, models)
        try:
            file_checks.check_output(output, names, "--in-place replaces it, or name another file")
        except UsageError:
            if not arguments.in_place:
                raise
            replaced += 1
    if arguments.in_place and not replaced:
        raise UsageError("--in-place has no effect: no output is one of the inputs")


def _steps(arguments: argparse.Namespace, model: ModelFile, names: Sequence[str]) -> Steps:
    """The steps before parsing. Raises: UsageError, one is missing or has no effect; ModelError."""
    from dynet_vdgi.parser.steps import Steps

    step_names = {"tokeniser": arguments.tokeniser, "tagger": arguments.tagger}
    how = {"retag": arguments.retag, "notes": arguments.confidence, "lines": arguments.lines}
    steps = Steps.of(arguments.model, model, step_names, **how)
    steps.check(names)
    if arguments.in_place and any(steps.is_raw(name) for name in names):
        raise UsageError("--in-place would replace raw text: name another output")
    return steps
