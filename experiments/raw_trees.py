"""From raw text to trees: k tagged sentences without a tree; with their trees; UDPipe 1 with these
trees.

    python experiments/raw_trees.py --list experiments/lists/ud2.csv --data DIR --scored test \\
        --languages fr et wo ta vi cop --universal G1.npz=fr,wo,vi G2.npz=cop G3.npz=et,ta \\
        --models FOLDER --out rows.csv

The first k sentences of a shuffle of the text (random.Random(1)) are learnt from; the first
sentences of the others, in their order, are raw text to learn from. The scored file's sentences are
joined as its SpaceAfter says, paragraphs by empty lines. Scores are F1 of the CoNLL 2018 shared
task, punctuation included.

`tags`: tokeniser, tagger and parser learn from the tags of the k sentences, which are given
without heads, and from the raw text; the parser starts from a universal one. --universal names
networks of experiments/universal.py and the languages that each parses, so that none has seen
trees of the language's own branch; for languages without one it is the shipped model. `trees`: the
same with the trees of the k sentences. --retaggers names those of experiments/retagger.py as
--universal does networks. `best`, `best and trees`: the same with the rule table `best` instead of
a universal parser. `no features`: `tags`, but the parser does not see FEATS. With --scored text,
further sentences of the text are scored, as many as --raw says. `udpipe`: UDPipe's tokeniser
(--epochs), tagger and parser with default settings and the k trees; its models are kept in the
folder --models. Seconds are of the processor; nan: the model was kept.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

from languages import by_language, file_list_parser, listed
from measuring import conditions, csv_rows, print_table, write_csv
from tokenising import blocks, joined, udpipe_model, write
from universal import load as load_network

import dynet_vdgi as vdgi
from dynet_vdgi.conllu.writing import block_of
from dynet_vdgi.evaluation.raw_scores import score_files
from dynet_vdgi.models import model_file
from dynet_vdgi.training.universal import pack
from dynet_vdgi.words.tagger import retagger

METRICS = ("Tokens", "Sentences", "Words", "UPOS", "UFeats", "Lemmas", "UAS", "LAS")
SHIPPED = retagger.FILE
HEADER = ("language", "system", *METRICS, "learning, s", "parsing, s")
SYSTEMS = ("udpipe", "tags", "trees", "best", "best and trees", "no features")

Parse = Callable[[str], str]
"""From raw text to CoNLL-U."""


def our_chain(system: str, learnt: Path, rest: Path, network: Path | None) -> Parse:
    """Our chain, learnt from tagged sentences, or from trees, and from raw text."""
    has_trees, preset = (
        system.endswith("trees"),
        "best" if system.startswith("best") else "universal",
    )
    given = {"trees": learnt} if has_trees else {"text": learnt}
    if system == "no features":
        given["settings"] = {"data": {"ignore": ["feats"]}}
    if preset == "best":
        network = None
    if network and has_trees:  # what the preset universal becomes with trees, from another network
        preset = "few-trees"
        settings = {
            "teacher": {"kind": "universal", "model": str(network)},
            "data": {"max_len": 40},
        }
        given["settings"] = settings
    elif network:
        given["init"] = network
    parser = vdgi.train(**given, preset=preset, raw=rest)
    return lambda text: "".join(map(block_of, parser.parse_text(text)))


def without_heads(block: str) -> str:
    """A sentence of CoNLL-U without its tree."""
    rows = [line.split("\t") for line in block.split("\n")]
    return "\n".join(
        "\t".join([*row[:6], "_", "_", "_", row[9]] if row[9:] else row) for row in rows
    )


def packed(networks: list[str], folder: Path) -> dict[str, Path]:
    """Model files of the networks of --universal, by language."""
    networks_of = by_language(networks)
    paths = {name: folder / f"{Path(name).stem}.vdgi" for name in networks_of.values()}
    for name, path in paths.items():
        model_file.save(path, pack(load_network(Path(name)), {}))
    return {code: paths[name] for code, name in networks_of.items()}


def main() -> None:
    """Measures and prints the table."""
    parser = file_list_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=100, metavar="K", help="to learn from")
    parser.add_argument(
        "--raw", type=int, default=500, metavar="N", help="sentences of raw text at most"
    )
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS[:3])
    parser.add_argument("--universal", nargs="*", default=[], metavar="FILE.npz=CODE,CODE,...")
    parser.add_argument("--retaggers", nargs="*", default=[], metavar="FILE=CODE,CODE,...")
    parser.add_argument(
        "--epochs", type=int, default=10, help="of UDPipe's tokeniser (its default: 100)"
    )
    parser.add_argument("--models", type=Path, default=Path("."), help="folder for UDPipe's models")
    parser.add_argument(
        "--out", type=Path, required=True, help="rows, as CSV; those there are not made again"
    )
    arguments = parser.parse_args()
    at_start = conditions()
    rows = [list(row.values()) for row in csv_rows(arguments.out)]
    done = {tuple(row[:2]) for row in rows}
    retaggers = by_language(arguments.retaggers)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        networks = packed(arguments.universal, folder)
        for files in listed(arguments):
            text = blocks(files.text)
            order = list(range(len(text)))
            random.Random(1).shuffle(order)
            chosen, others = order[: arguments.sentences], sorted(order[arguments.sentences :])
            trees = write(folder / "trees.conllu", [text[n] for n in chosen])
            tagged = write(folder / "tagged.conllu", [without_heads(text[n]) for n in chosen])
            rest = write(folder / "rest.conllu", [text[n] for n in others[: arguments.raw]])
            more = write(folder / "rest.txt", [joined(rest)])
            held = [text[n] for n in others[arguments.raw :][: arguments.raw]]
            scored = held if arguments.scored == "text" else blocks(files.scored)
            gold = write(folder / "gold.conllu", scored)
            raw, network = joined(gold), networks.get(files.name)
            retagger.FILE = Path(retaggers.get(files.name, SHIPPED))
            for system in arguments.systems:
                if (files.name, system) in done:
                    continue
                start = time.process_time()
                if system == "udpipe":
                    file_name = f"{files.name}-{arguments.sentences}-e{arguments.epochs}-all.udpipe"
                    parse, learning = udpipe_model(
                        trees, arguments.models / file_name, arguments.epochs, "", ""
                    )
                else:
                    parse = our_chain(
                        system, trees if system.endswith("trees") else tagged, more, network
                    )
                    learning = time.process_time() - start
                middle = time.process_time()
                path = write(folder / "found.conllu", [parse(raw)])
                seconds = learning, time.process_time() - middle
                scores = score_files(gold, [path])[str(path)]
                values = [f"{100 * scores[metric].f1:.1f}" for metric in METRICS]
                rows.append([files.name, system, *values, *(f"{each:.1f}" for each in seconds)])
                print(*rows[-1], file=sys.stderr, flush=True)
                write_csv(arguments.out, HEADER, (dict(zip(HEADER, row)) for row in rows))
    print(at_start)
    print_table("F1", HEADER, rows)


if __name__ == "__main__":
    main()
