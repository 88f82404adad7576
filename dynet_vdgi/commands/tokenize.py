"""Split raw text into sentences, tokens and words; learn how.

A tokeniser learns from CoNLL-U how a language is written, and makes CoNLL-U of plain text.

  vdgi tokenize train my.conllu -o my.tokeniser
  vdgi tokenize my.tokeniser raw.txt -o raw.conllu                 # or runs/my, which keeps one
  vdgi evaluate --raw gold.conllu raw.conllu                       # how good it is
"""

from __future__ import annotations

import argparse
import logging

from dynet_vdgi.commands import add_output, add_tasks, model_first
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu.faults import SPLIT
from dynet_vdgi.errors import DataError, UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count

logger = logging.getLogger("dynet_vdgi")

LEARNS = (
    "vdgi tokenize train learns from CoNLL-U whose words somebody has split, best with `# text`"
)


def add_arguments(add: Options) -> None:
    """The tasks; `vdgi tokenize MODEL FILE` is short for `vdgi tokenize text MODEL FILE`."""
    add_tasks(add, {"text": (_add_text, _split), "train": (_add_train, _train)}, usual="text")


def _add_text(add: Options) -> None:
    add("MODEL", "a tokeniser, or a run that keeps one")
    add("[FILE...]", "text; - is standard input (default)", dest="files", default=["-"])
    add("--lines", "each line of the text is a sentence, whatever it ends with")
    add_output(add)


def _split(arguments: argparse.Namespace) -> None:
    """Split text by a tokeniser; `text` may be left out.

    An empty line in the text ends a paragraph, and with it a sentence; other line ends are spaces.
    If each line of your text is a sentence, say --lines: then no sentence ends elsewhere. The
    comment `# newdoc` begins each FILE, `# newpar` each paragraph. No character is lost but a
    byte-order mark: MISC records the spaces, with SpaceAfter=No or, as UDPipe does, SpacesAfter,
    SpacesBefore and SpacesInToken.

    Web and e-mail addresses, numbers such as 1,234.5, 12/05/2019 and 1990-95, times, @names, #tags
    and emoji stay whole unless what was learnt from cuts them. Characters that cannot be seen, such
    as soft hyphens, stay with the letters before them.

      vdgi tokenize my.tokeniser raw.txt -o raw.conllu
    """
    from dynet_vdgi.models.run_folder import model_path
    from dynet_vdgi.parser.steps import loaded

    model_first(arguments.model, arguments.files, "vdgi tokenize my.tokeniser")
    names = files.expand(arguments.files)
    file_checks.check_read_once(names)
    file_checks.check_output(arguments.output, [model_path(arguments.model), *names])
    tokeniser, n_sentences, n_tokens = loaded("tokeniser", arguments.model), 0, 0
    with files.atomic_writer(arguments.output) as handle:
        for k, name in enumerate(names, 1):
            is_followed, lines = k < len(names), arguments.lines
            for part, text in tokeniser.read(
                name, n_sentences + 1, lines=lines, is_followed=is_followed
            ):
                handle.write(text)
                n_sentences += len(part.sentences)
                n_tokens += sum(len(sentence.tokens) for sentence in part.sentences)
    logger.info("%s, %s", count(n_sentences, "sentence"), count(n_tokens, "token"))


def _add_train(add: Options) -> None:
    add("FILE...", "CoNLL-U", dest="files")
    add("-o --output FILE", "the tokeniser's file", required=True)
    add("--overwrite", "replace a tokeniser that exists")


def _train(arguments: argparse.Namespace) -> None:
    """Learn from CoNLL-U how a language is written.

    Needs only the forms and the comments `# text` or SpaceAfter=No; a hundred sentences are enough
    to begin. It learns multiword tokens, such as French du = de le, and scripts without spaces. A
    tokeniser that exists is replaced only with --overwrite. To see how good it is, keep some
    sentences aside, and give them to vdgi evaluate --raw: a wrongly split word has a wrong head,
    and often its neighbours have.

      vdgi tokenize train my.conllu -o my.tokeniser
    """
    names, output = files.expand(arguments.files), arguments.output
    if output == files.STANDARD:
        raise UsageError("a tokeniser goes to a file: -o my.tokeniser")
    file_checks.check_read_again(names, "it is read twice")
    file_checks.check_output(output, names, ending=".tokeniser")
    file_checks.check_new(output, overwrite=arguments.overwrite)
    from dynet_vdgi.words.tokeniser import tokeniser_file

    try:
        made = tokeniser_file.train(names, output)
    except DataError as fault:
        if fault.hint != SPLIT:
            raise
        raise DataError(fault.path, fault.line, fault.message, LEARNS) from None
    sentences = count(made.sentences, "sentence")
    logger.info("%s: a tokeniser from %s, %s", output, sentences, count(made.tokens, "token"))
