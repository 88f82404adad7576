"""List the most frequent words of a text, to fill in their tags.

The output has a line for each word: form, _ for UPOS, _ for FEATS, count, with tabs between. Forms are
lower-cased; punctuation and numbers are left out. TEXT is CoNLL-U (a name in .conllu) or plain text with
spaces between words. A list that exists, which you may have filled in, is replaced only with --overwrite.

  vdgi tag list more.conllu -n 200 -o words.tsv
  vdgi tag train --text more.conllu --tag-list words.tsv -o my.tagger   # when the tags are filled in
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands import add_output, check_at_least_1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi tag list`."""
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="text or CoNLL-U; - is standard input")
    parser.add_argument(
        "-n", "--number", type=int, default=200, metavar="N", help="how many words (default: %(default)s)"
    )
    add_output(parser, "is kept, unless you say --overwrite")
    parser.add_argument("--overwrite", action="store_true", help="replace a list that exists, with its tags")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi tag list`."""
    from collections import Counter

    from dynet_vdgi.data import file_checks, files, text
    from dynet_vdgi.data.normal_forms import nfc

    check_at_least_1("-n", arguments.number)
    names = files.expand(arguments.texts)
    file_checks.check_output(arguments.output, names, ending=".tsv")
    file_checks.check_new(arguments.output, overwrite=arguments.overwrite)
    every = (nfc(word) for words in text.sentences(names) for word in words)
    counts = Counter(word for word in every if any(map(str.isalpha, word)))
    with files.atomic_writer(arguments.output) as handle:
        for word, number in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[: arguments.number]:
            handle.write(f"{word}\t_\t_\t{number}\n")
