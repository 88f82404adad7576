"""Score a tagger on a file with gold tags.

The words of GOLD are tagged as if they had no tags. The table has the words that get the gold UPOS, XPOS,
FEATS (all of a word's), UPOS and FEATS, and lemma.

  vdgi tag evaluate my.tagger gold.conllu
"""

from __future__ import annotations

import argparse

from dynet_vdgi.commands import model_first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vdgi tag evaluate`."""
    parser.add_argument(
        "model", metavar="MODEL", help="a tagger, made by vdgi tag train, or a run that keeps one"
    )
    parser.add_argument("gold", metavar="GOLD", help="CoNLL-U with gold tags; - is standard input")


def run(arguments: argparse.Namespace) -> None:
    """Runs `vdgi tag evaluate`."""
    from dynet_vdgi.data.corpus import read
    from dynet_vdgi.parsing.steps import loaded
    from dynet_vdgi.system.text_tables import aligned
    from dynet_vdgi.tagging.label_scores import scores_of

    model_first(arguments.model, [arguments.gold], "vdgi tag evaluate my.tagger")
    tagger = loaded("tagger", arguments.model)
    gold = list(read(arguments.gold, heads="ignored"))
    scores = scores_of(gold, tagger.predict(gold, retag=True))
    rows = [["", "right", "words", "%"]]
    for name, share in scores.accuracy.items():
        rows.append([name, str(scores.right[name]), str(scores.n_words), f"{100 * share:.2f}"])
    print(aligned(rows, left=1))
