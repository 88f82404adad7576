"""Split raw text into sentences, tokens and words.

`vdgi tokenize train` learns from CoNLL-U how a language is written; the tokeniser then makes CoNLL-U of plain
text. It needs only the forms and the comments `# text` or SpaceAfter=No; a hundred sentences are enough to
begin. It learns multiword tokens, such as French du = de le, and scripts without spaces.

  vdgi tokenize train my.conllu -o my.tokeniser
  vdgi tokenize my.tokeniser raw.txt -o raw.conllu                 # or runs/my, which keeps one
  vdgi evaluate --raw gold.conllu raw.conllu                       # how good it is

An empty line in the text ends a paragraph, and with it a sentence; other line ends are spaces. If each line
of your text is a sentence, say --lines: then no sentence ends elsewhere. The comment `# newdoc`
begins each FILE, `# newpar` each paragraph. No character is lost but a byte-order mark: MISC records the
spaces, with SpaceAfter=No or, as UDPipe does, SpacesAfter, SpacesBefore and SpacesInToken.

Web and e-mail addresses, numbers such as 1,234.5, times, @names and #tags stay whole unless what was learnt
from cuts them. Characters that cannot be seen, such as soft hyphens, stay with the letters before them.

-o replaces a text that exists, but a tokeniser only with --overwrite.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Sequence

from dynet_vdgi.commands import model_first
from dynet_vdgi.data import file_checks, files
from dynet_vdgi.data.conllu_faults import SPLIT
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system.names import count

logger = logging.getLogger("dynet_vdgi")

TRAIN = "train"

LEARNS = f"vdgi tokenize {TRAIN} learns from CoNLL-U whose words somebody has split, best with `# text`"
FEW_WORDS = 0.95
SPLIT_WRONGLY = "a wrongly split word has a wrong head, and often its neighbours have: give it more sentences"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi tokenize`."""
    parser.add_argument(
        "model", metavar="MODEL", help=f"a tokeniser, or a run that keeps one; {TRAIN}: make one"
    )
    parser.add_argument(
        "files",
        nargs="*",
        default=["-"],
        metavar="FILE",
        help=f"text; after {TRAIN}: CoNLL-U; - is standard input (default)",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help=f"output file (default: standard output); after {TRAIN}: the tokeniser's",
    )
    parser.add_argument(
        "--lines", action="store_true", help="each line of the text is a sentence, whatever it ends with"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help=f"after {TRAIN}: replace a tokeniser that exists"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi tokenize`."""
    model_first(arguments.model, arguments.files, "vdgi tokenize my.tokeniser")
    if arguments.model == "evaluate" and not os.path.exists(arguments.model):
        raise UsageError("vdgi tokenize has no evaluate: vdgi evaluate --raw GOLD FILE scores what it writes")
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    if arguments.model == TRAIN:
        if arguments.lines:
            raise UsageError(f"--lines has no effect after {TRAIN}: CoNLL-U says where sentences end")
        _train(names, arguments.output, overwrite=arguments.overwrite)
    elif arguments.overwrite:
        raise UsageError(f"--overwrite is for vdgi tokenize {TRAIN}: a text is replaced without it")
    else:
        tokenise(arguments.model, names, arguments.output, lines=arguments.lines)


def _train(names: Sequence[str], output: str, *, overwrite: bool) -> None:
    if output == files.STANDARD:
        raise UsageError(f"vdgi tokenize {TRAIN} needs a file for the tokeniser: -o my.tokeniser")
    file_checks.check_output(output, names, ending=".tokeniser")
    file_checks.check_new(output, overwrite=overwrite)
    file_checks.check_read_again(names, "it is read twice")
    from dynet_vdgi.tokenising import tokeniser_file

    try:
        made = tokeniser_file.train(names, output)
    except DataError as fault:
        if fault.hint != SPLIT:
            raise
        raise DataError(fault.path, fault.line, fault.message, LEARNS) from None
    sentences = count(made.sentences, "sentence")
    logger.info("%s: a tokeniser from %s, %s", output, sentences, count(made.tokens, "token"))
    if scores := tokeniser_file.kept_aside(names):
        words, ends = (f"{100 * scores[name].f1:.0f} %" for name in ("Words", "Sentences"))
        advice = f"; {SPLIT_WRONGLY}" if scores["Words"].f1 < FEW_WORDS else ""
        logger.info(
            "in a fifth of them, kept aside, it finds %s of words, %s of sentences, fewer in other texts%s",
            words,
            ends,
            advice,
        )


def tokenise(model: str, names: Sequence[str], output: str, *, lines: bool = False) -> None:
    """Writes the sentences of some texts as CoNLL-U to `output`; `lines`: each line is one.

    Raises:
        ModelError: the model is no tokeniser.
        DataError: a text is not UTF-8, or has nothing but white space; the output is then unchanged.
        UsageError: the output cannot be written.
    """
    from dynet_vdgi.runs.run_folder import model_path

    file_checks.check_output(output, [model_path(model), *names])
    from dynet_vdgi.parsing.steps import loaded

    tokeniser, n_sentences, n_tokens = loaded("tokeniser", model), 0, 0
    with files.atomic_writer(output) as handle:
        for k, name in enumerate(names, 1):
            is_followed = k < len(names)
            for part, text in tokeniser.read(name, n_sentences + 1, lines=lines, is_followed=is_followed):
                handle.write(text)
                n_sentences += len(part.sentences)
                n_tokens += sum(len(sentence.tokens) for sentence in part.sentences)
    logger.info("%s, %s", count(n_sentences, "sentence"), count(n_tokens, "token"))
