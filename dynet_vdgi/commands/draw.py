"""Draw trees in the terminal, or as SVG.

Pictures show relations over the arcs, text shows them after the tags. If MISC has HeadConf= (vdgi parse
--confidence, vdgi choose), arcs show how certain the parser is: by colour, width and dashes in a picture, by
? and ! in text. With --gold, every arc is marked instead: right, wrong (x), or a missed gold arc (o). Below a
tree, words are counted as by `vdgi evaluate` under the same --protocol. The name of the output sets the
format: text on standard output, a picture for .svg. A picture shows all sentences, one below the other. With
{} in the output's name, each sentence gets its own file: {} becomes the
name of the input, without folder and .conllu, and the number of the sentence.

  vdgi draw parsed.conllu --sentence 1-3 | less
  vdgi draw parsed.conllu --gold gold.conllu --sentence fr-ud-test_00012
  vdgi draw parsed.conllu --gold gold.conllu --sentence 1-20 -o pictures.svg
  mkdir trees && vdgi draw parsed.conllu -o 'trees/{}.svg'
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi.commands import Options, add_output, one_file
from dynet_vdgi.data import conllu, files, protocols
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system.names import count as counted

if TYPE_CHECKING:
    from dynet_vdgi.data.sentence import Sentence
    from dynet_vdgi.drawing.pictures import DrawnTree

MAX_TREES = 100
"""Trees in one picture."""

_RANGE, _ID = re.compile(r"([1-9]\d*)(?:-([1-9]\d*))?"), "sent_id="


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = Options(parser)
    add("FILE...", "CoNLL-U with trees; - is standard input", dest="files")
    add("--gold GOLD", "CoNLL-U file with gold trees of the same sentences")
    add("--protocol NAME", "which heads to count below a tree, as in vdgi evaluate", default="standard")
    which = "draw only these: a number from 1, a range such as 3-7, or a sent_id (if numeric: sent_id=7)"
    add("--sentence N...", which)
    add("--format", "default: by the output's name, otherwise text", choices=("text", "svg"))
    add_output(add)
    add("--width N", "columns of text (default: the terminal's, or 80)", least=1)


class _Choice:
    """The sentences requested by --sentence; records which of them were found."""

    def __init__(self, wanted: Sequence[str]) -> None:
        found = ((one, _RANGE.fullmatch(one)) for one in wanted)
        self._wanted = {one: range(int(m[1]), int(m[2] or m[1]) + 1) if m else None for one, m in found}
        self.missing = list(wanted)
        self.most = 0  # number of sentences in a file

    def takes(self, number: int, sent_id: str | None) -> bool:
        """True if the sentence is to be drawn."""
        met = [
            one
            for one, numbers in self._wanted.items()
            if (sent_id == one.removeprefix(_ID) if numbers is None else number in numbers)
        ]
        self.missing = [one for one in self.missing if one not in met]
        return bool(met) or not self._wanted

    def is_past(self, number: int) -> bool:
        """True if no sentence from this number on is requested."""
        every = self._wanted.values()
        return bool(every) and all(numbers is not None and number >= numbers.stop for numbers in every)


def run(arguments: argparse.Namespace) -> None:
    names = files.expand(arguments.files)
    gold = one_file(arguments.gold, "--gold") if arguments.gold else None
    inputs = [*names, gold] if gold else names
    files.check_read_once(inputs)
    ending = Path(arguments.output).suffix.lower()
    form = arguments.format or ("svg" if ending == ".svg" else "text")
    files.check_output(arguments.output, inputs, ending=".txt" if form == "text" else f".{form}")
    choice = _Choice(arguments.sentence)
    drawn = _chosen(names, gold, choice, protocols.scoring_protocol(arguments.protocol))
    if form == "text":
        _write_text(drawn, arguments.output, arguments.width)
    elif arguments.width:
        raise UsageError("--width has no effect: it is for text")
    else:
        _write_pictures(drawn, arguments.output)


# ------------------------------------------------------------------------------------------- reading
def _chosen(
    names: Sequence[str], gold: str | None, choice: _Choice, protocol: protocols.Protocol
) -> Iterator[tuple[str, DrawnTree]]:
    """The requested trees, each with its name, in order.

    Raises: DataError, a file is malformed or has no trees, or the gold file has other sentences; UsageError,
    a requested sentence is in none of the files.
    """
    from dynet_vdgi.drawing.sentences import tree_of

    for name in names:
        stem = "stdin" if name == files.STANDARD else re.sub(r"\.conllu(\.gz)?$", "", Path(name).name)
        for number, (sentence, right) in enumerate(_read(name, gold), 1):
            if choice.is_past(number):
                break
            choice.most = max(choice.most, number)
            sent_id = sentence.source.sent_id if sentence.source else None
            if choice.takes(number, sent_id):
                place = f"{files.shown(name)}:{sentence.source.line if sentence.source else 1}"
                caption = f"sentence {number}{f' ({sent_id})' if sent_id else ''}, {place}"
                yield f"{stem}-{number}", tree_of(sentence, right, protocol=protocol, caption=caption)
    if choice.missing:
        whose = "it has" if len(names) == 1 else "the longest has"
        there = f"{whose} {counted(choice.most, 'sentence')}, 1 to {choice.most}"
        raise UsageError(
            f"no sentence {choice.missing[0]!r} in {', '.join(map(files.shown, names))} ({there})"
        )


def _read(name: str, gold: str | None) -> Iterator[tuple[Sentence, Sentence | None]]:
    """Sentences, each with its gold sentence if there is a gold file."""
    sentences = conllu.read(name, heads="required")
    if gold is None:
        return ((sentence, None) for sentence in sentences)
    from dynet_vdgi.evaluation.attachment import matched

    parsed, drawn = tee(sentences)
    pairs = zip(matched(conllu.read(gold, heads="required"), parsed), drawn)
    return ((sentence, right) for (right, _), sentence in pairs)


# ------------------------------------------------------------------------------------------- writing
def _write_text(drawn: Iterable[tuple[str, DrawnTree]], output: str, width: int | None) -> None:
    """Writes all drawings into one text, each under its caption."""
    from dynet_vdgi.drawing.sentences import TEXT_WIDTH, tree_text
    from dynet_vdgi.drawing.text import MIN_WIDTH

    if "{}" in output:
        raise UsageError("{} in --output is for pictures (--format svg)")
    on_terminal = output == files.STANDARD and sys.stdout.isatty()
    if width is None:
        width = max(MIN_WIDTH, shutil.get_terminal_size().columns) if on_terminal else TEXT_WIDTH
    elif width < MIN_WIDTH:
        raise UsageError(f"--width {width}: text needs at least {MIN_WIDTH} columns")
    colour = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def blocks() -> Iterator[str]:
        for _, tree in drawn:
            yield tree_text(tree, width, colour=colour) + "\n\n"

    if output == files.STANDARD:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        table = {} if _LINES.encode(encoding, "replace").decode(encoding) == _LINES else _IN_ASCII
        sys.stdout.writelines(block.translate(table) for block in blocks())
    else:
        with files.atomic_writer(output) as handle:
            handle.writelines(blocks())


_LINES = "─│┌┐└┘├┤┬┴┼"
_IN_ASCII = str.maketrans(_LINES, "-|+++++++++")


def _write_pictures(drawn: Iterable[tuple[str, DrawnTree]], output: str) -> None:
    """Writes one picture of all trees, or one of each."""
    from dynet_vdgi.drawing.pictures import svg_document

    def write(path: str, trees: Sequence[DrawnTree]) -> None:
        with files.atomic_writer(path) as handle:
            handle.write(svg_document(trees))

    if "{}" in output:
        written: set[str] = set()
        for name, tree in drawn:
            path = output.replace("{}", name)
            if path in written:
                raise UsageError(f"--output {output}: two inputs would be written to {path}")
            written.add(path)
            write(path, [tree])
        return
    together: list[DrawnTree] = []
    for _, tree in drawn:
        together.append(tree)
        if len(together) > MAX_TREES:
            hint = "choose some with --sentence, or write one file each with {} in -o"
            raise UsageError(f"more than {MAX_TREES} trees for one picture ({hint})")
    write(output, together)
