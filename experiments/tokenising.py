"""Tokens, sentences and words from raw text, beside UDPipe 1; speed; random texts.

    python experiments/tokenising.py --list experiments/lists/ud2.csv --data DIR --scored test \\
        --languages fr et wo ta cop vi --udpipe 100 10 --models FOLDER

The first k sentences of a shuffle of the text (random.Random(1)) are learnt from. The scored file's
sentences are joined as its SpaceAfter says, paragraphs by empty lines. F1 is that of the CoNLL 2018
shared task. With --scored text, the sentences of the text that were not learnt from are scored, in
their order: choose on them.

UDPipe (package ufal.udpipe) is left out unless --udpipe gives numbers of epochs of its tokeniser;
100 is its default. Its models are kept in the folder --models, because each takes minutes. --random
N checks that nothing of N random texts is lost.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import udpipe
from languages import file_list_parser, listed
from measuring import conditions, print_table

from dynet_vdgi.conllu import raw_documents, raw_text, raw_writing
from dynet_vdgi.evaluation.raw_scores import score_files
from dynet_vdgi.words.tokeniser.tokeniser import Tokeniser

METRICS = ("Tokens", "Sentences", "Words")


def blocks(paths: Sequence[Path]) -> list[str]:
    """The sentences of CoNLL-U files as they are there."""
    texts = [path.read_text(encoding="utf-8").strip("\n") for path in paths]
    return [block + "\n\n" for text in texts for block in text.split("\n\n")]


def write(path: Path, parts: Sequence[str]) -> Path:
    path.write_text("".join(parts), encoding="utf-8")
    return path


def joined(path: Path) -> str:
    """The raw text of a file of CoNLL-U."""
    return "\n\n".join(each.text.strip() for each in raw_documents.read_documents([path])) + "\n"


def our_tokeniser(learnt: Path, raw: str) -> tuple[str, float, float]:
    """CoNLL-U of a raw text; CPU seconds of learning and of tokenising."""
    start = time.process_time()
    documents = raw_documents.read_documents([learnt])
    tokeniser = Tokeniser.fit(documents)
    middle = time.process_time()
    text = "".join(raw_writing.conllu_of(part, begins=at == 0) for part, at in tokeniser.parts(raw))
    return text, middle - start, time.process_time() - middle


def udpipe_model(
    learnt: Path, model_path: Path, epochs: int, tagger: str = "none", parser: str = "none"
) -> tuple[Callable[[str], str], float]:
    """UDPipe from raw text to CoNLL-U, and the CPU seconds of learning; nan: its model was
    at `model_path` before.

    `epochs` are the tokeniser's; the options of tagger and parser are UDPipe's, none leaves them
    out.
    """
    from ufal.udpipe import Model, Pipeline, ProcessingError

    seconds = float("nan")
    if not model_path.exists():
        start = time.process_time()
        model_path.write_bytes(
            udpipe.train(learnt.read_text(encoding="utf-8"), f"epochs={epochs}", tagger, parser)
        )
        seconds = time.process_time() - start
    loaded = Model.load(str(model_path))
    steps = (Pipeline.NONE if each == "none" else Pipeline.DEFAULT for each in (tagger, parser))
    pipeline = Pipeline(loaded, "tokenize", *steps, "conllu")

    def process(raw: str) -> str:
        assert loaded is not None  # the pipeline does not keep it alive
        return str(pipeline.process(raw, ProcessingError()))

    return process, seconds


def udpipe_tokeniser(
    epochs: int, model_path: Path
) -> Callable[[Path, str], tuple[str, float, float]]:
    """UDPipe's tokeniser, as `our_tokeniser`; its model is `model_path`."""

    def run(learnt: Path, raw: str) -> tuple[str, float, float]:
        tokenise, seconds = udpipe_model(learnt, model_path, epochs)
        start = time.process_time()
        return tokenise(raw), seconds, time.process_time() - start

    return run


def random_text(rng: random.Random) -> str:
    """Up to 200 characters of all sorts; the fewest are those of one language."""
    sorts = (
        " \t\n\r\v\f\x00\x1f\x85\u00a0\u2028\u3000\ufeff\u200b\n\n\n",
        "abcdeéßİŉ.,!?-'\"()[]|\\_#=:;…“”",
        "אبكखமிழ்ไทย漢字かな한ⲁⲃ\u0301\u200d🇫🇷👩",
        "".join(
            chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000))))
            for _ in range(9)
        ),
    )
    return "".join(rng.choice(rng.choice(sorts)) for _ in range(rng.randrange(200)))


def n_lost(tokeniser: Tokeniser, n_texts: int, folder: Path) -> int:
    """How many of so many random texts do not come back from CoNLL-U byte for byte."""
    rng, lost, path = random.Random(1), 0, folder / "random.conllu"
    for _ in range(n_texts):
        text = random_text(rng)
        document = tokeniser.tokenise(text)
        if document.sentences:
            path.write_bytes(raw_writing.conllu_of(document).encode())
            lost += [each.text.encode() for each in raw_documents.read_documents([path])] != [
                text.encode()
            ]
        else:
            lost += bool(raw_text.GAP.sub("", text))  # invisible characters alone make no sentence
    return lost


def main() -> None:
    """Measures and prints the tables."""
    parser = file_list_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=100, metavar="K", help="to learn from")
    parser.add_argument(
        "--most", type=int, default=600, help="sentences of the text to score at most"
    )
    parser.add_argument("--udpipe", type=int, nargs="*", default=[], metavar="EPOCHS")
    parser.add_argument("--models", type=Path, help="folder for UDPipe's models")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random texts")
    arguments = parser.parse_args()
    at_start, rows, speeds = conditions(), [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for files in listed(arguments):
            text = blocks(files.text)
            order = list(range(len(text)))
            random.Random(1).shuffle(order)
            learnt = write(
                folder / "learnt.conllu", [text[n] for n in order[: arguments.sentences]]
            )
            rest = [text[n] for n in sorted(order[arguments.sentences :])[: arguments.most]]
            scored = rest if arguments.scored == "text" else blocks(files.scored)
            gold = write(folder / "gold.conllu", scored)
            raw = joined(gold)
            systems = {"vdgi": our_tokeniser}
            for epochs in arguments.udpipe:
                file_name = f"{files.name}-{arguments.sentences}-e{epochs}.udpipe"
                systems[f"UDPipe, {epochs} epochs"] = udpipe_tokeniser(
                    epochs, (arguments.models or folder) / file_name
                )
            for system, run in systems.items():
                tokenised, learning, tokenising = run(learnt, raw)
                path = write(folder / "found.conllu", [tokenised])
                scores = score_files(gold, [path])[str(path)]
                rows.append(
                    [files.name, system, *(f"{100 * scores[metric].f1:.2f}" for metric in METRICS)]
                )
                speeds.append(
                    [files.name, system, f"{learning:.1f}", f"{len(raw) / tokenising:,.0f}"]
                )
                print(*rows[-1], *speeds[-1][2:], file=sys.stderr, flush=True)
        print(at_start)
        print_table("F1", ["", "system", *METRICS], rows)
        print_table("Speed", ["", "system", "learning, CPU s", "characters / CPU s"], speeds)
        if arguments.random:
            tokeniser = Tokeniser.fit(raw_documents.read_documents([learnt]))
            lost = n_lost(tokeniser, arguments.random, folder)
            print(f"\nRandom texts: {arguments.random}; not recovered byte for byte: {lost}.")


if __name__ == "__main__":
    main()
