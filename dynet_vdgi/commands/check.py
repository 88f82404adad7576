"""Check CoNLL-U files before training or parsing.

Lists every structural fault as FILE:LINE, then says what is in the file: sentences, words, tags, lengths,
trees, and how the rules fit. Exit status 3 if there was a fault.

  vdgi check my.conllu
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from dynet_vdgi.bundled import rules_path
from dynet_vdgi.data import conllu, files, punctuation
from dynet_vdgi.errors import DataError, VdgiError

if TYPE_CHECKING:
    from dynet_vdgi.data.sentence import Sentence
    from dynet_vdgi.grammar.rules import RuleSet

logger = logging.getLogger("dynet_vdgi")

BANDS = (5, 10, 15, 20, 30, 40)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi check`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="CoNLL-U files; - is standard input")
    parser.add_argument("--rules", default="ud", metavar="FILE", help="rule file to try (default: ud)")
    parser.add_argument(
        "--max-faults", type=int, default=20, metavar="N", help="faults shown per file (default: 20)"
    )


@dataclass
class Summary:
    """What is in one file, without punctuation where it says so."""

    sentences: int = 0
    words: int = 0
    with_trees: int = 0
    projective: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)  # without punctuation
    arcs: int = 0  # without punctuation
    rule_arcs: Counter[str] = field(default_factory=Counter)

    def add(self, sentence: Sentence, pairs: dict[tuple[str, str], int], rules: RuleSet) -> None:
        """Takes in one sentence."""
        self.sentences += 1
        self.words += len(sentence)
        self.tags.update(sentence.tags)
        kept, _ = punctuation.without_punctuation(sentence)
        self.lengths[len(kept)] += 1
        if sentence.heads is None or kept.heads is None:
            return
        self.with_trees += 1
        self.projective += punctuation.is_projective(sentence.heads)
        self.arcs += len(kept)
        for tag, head in zip(kept.tags, kept.heads):
            k = pairs.get((kept.tags[head - 1] if head else "ROOT", tag))
            if k is not None:
                self.rule_arcs[str(rules.rules[k])] += 1

    def lines(self, rules: RuleSet) -> list[str]:
        """The summary for people."""
        length_cells, previous = [], 0
        for band in (*BANDS, None):
            inside = sum(
                n
                for length, n in self.lengths.items()
                if length > previous and (band is None or length <= band)
            )
            length_cells.append(f"{previous + 1}-{band}: {inside}" if band else f">{previous}: {inside}")
            previous = band or previous
        result = [
            f"  sentences  {self.sentences:,}",
            f"  words      {self.words:,}",
            f"  tags       {' '.join(f'{tag} {n}' for tag, n in self.tags.most_common())}",
            f"  lengths    {', '.join(length_cells)} (without punctuation)",
        ]
        if self.with_trees:
            share = 100 * self.projective / self.with_trees
            covered = 100 * sum(self.rule_arcs.values()) / max(self.arcs, 1)
            result += [
                f"  trees      {self.with_trees:,} sentences, {share:.1f} % projective",
                f"  rules      hold for {covered:.1f} % of the arcs (without punctuation)",
            ]
        else:
            result.append("  trees      none (not needed for training or parsing)")
        unused = rules.unused(sorted(self.tags))
        if unused:
            result.append(f"  rules that can never hold, for want of a tag: {' '.join(map(str, unused))}")
        return result


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi check`."""
    from dynet_vdgi.grammar.rules import load_rules

    rules = load_rules(rules_path(arguments.rules))
    pairs = rules.pairs()
    n_faults = 0
    for name in files.expand(arguments.files):
        summary, faults = Summary(), count()

        def report(fault: DataError, faults: count[int] = faults) -> None:
            if next(faults) < arguments.max_faults:
                print(fault)

        for sentence in conllu.read(name, on_error=report):
            summary.add(sentence, pairs, rules)
        in_file = next(faults)
        n_faults += in_file
        print(f"{files.shown(name)}: {_faults(in_file) if in_file else 'sound'}")
        print("\n".join(summary.lines(rules)))
    if n_faults:
        raise FaultsFoundError(f"{_faults(n_faults)} found; nothing was changed")


def _faults(number: int) -> str:
    return f"{number:,} fault{'' if number == 1 else 's'}"


class FaultsFoundError(VdgiError):
    """At least one fault was listed."""

    exit_status = 3
