"""Draw trees in the terminal, or as SVG.

Pictures show relations over the arcs, text shows them after the tags. If MISC has HeadConf= (vdgi
parse --confidence, vdgi choose), arcs show how certain the parser is: by colour, width and dashes
in a picture, by ? and ! in text. With --gold, every arc is marked instead: right, wrong (x), or a
missed gold arc (o). Below a tree, words are counted as by `vdgi evaluate` under the same
--protocol. The name of the output sets the format: text on standard output, a picture for .svg. A
picture shows all sentences, one below the other.

Multiword tokens and empty nodes are shown, too. Heads may be missing (_) and need not be a tree:
what is wrong, such as a second root or a cycle, stands below. Only with --gold, all words need
heads that form a tree.

  vdgi draw parsed.conllu --sentence 1-3 | less
  vdgi draw parsed.conllu --gold gold.conllu --sentence fr-ud-test_00012
  vdgi draw parsed.conllu --gold gold.conllu --sentence 1-20 -o pictures.svg
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

from dynet_vdgi.commands import add_ignore_feats, add_output, one_file
from dynet_vdgi.commands.options import Options
from dynet_vdgi.conllu import protocols, reading
from dynet_vdgi.errors import UsageError
from dynet_vdgi.system import file_checks, files
from dynet_vdgi.system.messages import count as counted

if TYPE_CHECKING:
    from dynet_vdgi.conllu.sentence import Sentence
    from dynet_vdgi.drawing.layout import DrawnTree

MAX_TREES = 100
"""Trees in one picture."""

_RANGE, _ID = re.compile(r"([1-9]\d*)(?:-([1-9]\d*))?"), "sent_id="


def add_arguments(add: Options) -> None:
    add("FILE...", "CoNLL-U with trees; - is standard input", dest="files")
    add("--gold GOLD", "CoNLL-U file with gold trees of the same sentences")
    add_ignore_feats(add)
    add(
        "--protocol NAME",
        "which heads to count below a tree, as in vdgi evaluate",
        default="standard",
    )
    which = (
        "draw only these: a number from 1, a range such as 3-7, "
        "or a sent_id (if numeric: sent_id=7)"
    )
    add("--sentence N...", which)
    add("--format", "default: by the output's name, otherwise text", choices=("text", "svg"))
    add_output(add)
    add("--width N", "columns of text (default: the terminal's, or 80)", least=1)


def run(arguments: argparse.Namespace) -> None:
    names = files.expand(arguments.files)
    gold = one_file(arguments.gold, "--gold") if arguments.gold else None
    inputs = [*names, gold] if gold else names
    file_checks.check_read_once(inputs)
    ending = Path(arguments.output).suffix.lower()
    form = arguments.format or ("svg" if ending == ".svg" else "text")
    file_checks.check_output(
        arguments.output, inputs, ending=".txt" if form == "text" else f".{form}"
    )
    drawn = _chosen_trees(
        names, gold, arguments.sentence, protocols.scoring_protocol(arguments.protocol)
    )
    if form == "text":
        _write_text(drawn, arguments.output, arguments.width)
    elif arguments.width:
        raise UsageError("--width has no effect: it is for text")
    else:
        _write_picture(drawn, arguments.output)


def _range_of(wanted: str) -> range | None:
    """The numbers of sentences that a word of the command line stands for; None: it is a name."""
    match = _RANGE.fullmatch(wanted)
    return range(int(match[1]), int(match[2] or match[1]) + 1) if match else None


def _chosen_trees(
    names: Sequence[str], gold: str | None, wanted: Sequence[str], protocol: protocols.Protocol
) -> Iterator[DrawnTree]:
    """The trees of the wanted sentences, by default of all, in order.

    Sentences without any head wait for one that has some.

    Raises: DataError, a file is malformed, no sentence has heads, or the gold file has other
    sentences; UsageError, a wanted sentence is in none of the files.
    """
    from dynet_vdgi.evaluation.drawings import tree_of, with_heads

    waiting: list[tuple[Sentence, str]] | None = []  # None: some have heads
    numbers = {one: _range_of(one) for one in wanted}
    ends = [each.stop if each else sys.maxsize for each in numbers.values()]
    missing, most = list(wanted), 0  # the number of sentences in a file
    for name in names:
        for number, (sentence, right) in enumerate(_read(name, gold), 1):
            if number >= max(ends, default=sys.maxsize):
                break
            most = max(most, number)
            sent_id = sentence.source.sent_id if sentence.source else None
            met = []
            for one, range_of_one in numbers.items():
                is_name = range_of_one is None and sent_id == one.removeprefix(_ID)
                if is_name or (range_of_one is not None and number in range_of_one):
                    met.append(one)
            missing = [one for one in missing if one not in met]
            if met or not wanted:
                place = f"{files.shown(name)}:{sentence.source.line if sentence.source else 1}"
                caption = f"sentence {number}{f' ({sent_id})' if sent_id else ''}, {place}"
                if waiting is not None and sentence.heads is None:
                    waiting.append((sentence, caption))
                    continue
                for waiting_one, its_caption in waiting or ():
                    yield tree_of(with_heads(waiting_one), caption=its_caption)
                waiting = None
                yield tree_of(with_heads(sentence), right, protocol=protocol, caption=caption)
    if waiting:
        yield tree_of(waiting[0][0])  # which says that it has no heads
    if missing:
        whose = "it has" if len(names) == 1 else "the longest has"
        there = f"{whose} {counted(most, 'sentence')}, 1 to {most}"
        raise UsageError(
            f"no sentence {missing[0]!r} in {', '.join(map(files.shown, names))} ({there})"
        )


def _read(name: str, gold: str | None) -> Iterator[tuple[Sentence, Sentence | None]]:
    """Sentences, each with its gold sentence if there is a gold file."""
    sentences = reading.read(name, heads="unchecked" if gold is None else "required")
    if gold is None:
        return ((sentence, None) for sentence in sentences)
    from dynet_vdgi.evaluation.pairing import matched

    parsed, drawn = tee(sentences)
    pairs = zip(matched(reading.read(gold, heads="required"), parsed), drawn)
    return ((sentence, right) for (right, _), sentence in pairs)


def _write_text(drawn: Iterable[DrawnTree], output: str, width: int | None) -> None:
    from dynet_vdgi.drawing.terminal import MIN_WIDTH
    from dynet_vdgi.evaluation.drawings import TEXT_WIDTH, tree_text

    on_terminal = output == files.STANDARD and sys.stdout.isatty()
    if width is None:
        width = max(MIN_WIDTH, shutil.get_terminal_size().columns) if on_terminal else TEXT_WIDTH
    elif width < MIN_WIDTH:
        raise UsageError(f"--width {width}: text needs at least {MIN_WIDTH} columns")
    colour = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    blocks = (tree_text(tree, width, colour=colour) + "\n\n" for tree in drawn)
    if output == files.STANDARD:
        sys.stdout.writelines(blocks)
    else:
        with files.atomic_writer(output) as handle:
            handle.writelines(blocks)


def _write_picture(drawn: Iterable[DrawnTree], output: str) -> None:
    from dynet_vdgi.drawing.svg import svg_document

    trees = list(islice(drawn, MAX_TREES + 1))
    if len(trees) > MAX_TREES:
        raise UsageError(
            f"more than {MAX_TREES} trees for one picture (choose some with --sentence)"
        )
    with files.atomic_writer(output) as handle:
        handle.write(svg_document(trees))
