"""Agreement of the quick and the slow path of `vdgi parse` on sentences changed at random.

    python benchmarks/quick_paths.py CONLLU... [--model MODEL] [--count 100000] [--seed 1]

Without a model, the preset best trains one on the files. Each text is two sentences of the files with up to
four small changes: inserted or deleted characters, lines that are no words, odd white space, odd entries in
MISC. The script compares the output, byte for byte, the fault, the repairs and the counts. 100,000 texts take
about eight minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from pathlib import Path

import dynet_vdgi
from dynet_vdgi.data.conllu_blocks import Passage, _plain_lines
from dynet_vdgi.labels.label_table import load as load_labels
from dynet_vdgi.parsing import stream
from dynet_vdgi.parsing.parser import How, load

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from mutating import changed


def main() -> None:
    """Prints the outcomes of the texts; exit status 1 at the first difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="model file (default: trained on the files)")
    parser.add_argument("files", nargs="+", metavar="CONLLU")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    texts = [Path(name).read_text(encoding="utf-8") for name in arguments.files]
    sentences = [sentence for text in texts for sentence in text.strip().split("\n\n")]
    stream.is_worth_it = lambda n_chars: True  # even for very little text
    parsed_by = load(arguments.model) if arguments.model else dynet_vdgi.train(arguments.files)
    print("python benchmarks/quick_paths.py", *map(os.path.basename, sys.argv[1:]))
    engine = stream._LabellingParser(parsed_by, load_labels())
    rng, found = random.Random(arguments.seed), Counter[str]()
    for number in range(1, arguments.count + 1):
        text = changed(rng, sentences, 2, often=0.8, spaced=0.4)
        if _plain_lines(text.encode()) is None or not text.endswith("\n\n"):
            text = "\n\n".join(rng.sample(sentences, 2)) + "\n\n"  # the one without a quick path
        how = How(confidence=rng.random() < 0.5)
        wanted, passage = stream.Wanted(how, None, rng.random() < 0.5), Passage("a.conllu", 1, text.encode())
        quick = engine.quick_for(wanted, 0)
        assert quick is not None
        is_quick = quick.parse(text.encode(), how, wanted.verb_order) is not None
        slow = stream._parse_blocks(engine, wanted, passage.blocks(), 0)
        if repr(stream._parse_window(engine, wanted, passage, 0)) != repr(slow):
            sys.exit(f"text {number} is parsed differently: {text!r}")
        found["quick" if is_quick else "faulty" if slow.fault else "sound, left to the slow path"] += 1
        if number % 5000 == 0 or number == arguments.count:
            print(number, dict(found), flush=True)


if __name__ == "__main__":
    main()
