"""From plain text to a treebank: what somebody changes in `vdgi annotate`, and what the validator
says of it.

    python experiments/annotate_text.py ta_ttb-ud-test.conllu --sentences 30 --out ta.conllu

The text is the `# text` of the treebank's first sentences in one paragraph. `vdgi annotate` begins
with it, and the script makes a person's changes by the page's own requests, sentence after
sentence, towards the gold sentences, tokens and multiword tokens, then tags, heads and relations of
all words; then it says that the sentence is right. It is quicker than a person, so the program has
learnt less: it needs more changes. In the end the file is exported to --out, compared with the
treebank and checked by `vdgi check --ud` (extra `validate`).
"""

from __future__ import annotations

import http.client
import json
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from measuring import VDGI, annotating, argument_parser, conditions, print_table

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence

CORRECTION_KINDS = {
    "glue": "sentences joined",
    "cut": "sentences cut",
    "join": "words joined",
    "split": "words split",
    "range": "multiword tokens",
    "tag": "tags",
    "head": "heads",
    "label": "relations",
}

Shown = dict[str, Any]


@dataclass(frozen=True)
class GoldTokens:
    """The tokens of a sentence: each one's form and its words."""

    text: str
    tokens: list[tuple[str, tuple[str, ...]]]

    @classmethod
    def of(cls, sentence: Sentence) -> GoldTokens:
        """Reads the lines of a sentence."""
        assert sentence.source is not None
        tokens: list[tuple[str, tuple[str, ...]]] = []
        text, last = " ".join(sentence.forms), 0
        for line in sentence.source.lines:
            number, _, rest = line.partition("\t")
            if line.startswith("# text = "):
                text = line[len("# text = ") :]
            elif "-" in number and not line.startswith("#"):
                first, last = map(int, number.split("-"))
                tokens.append((rest.partition("\t")[0], sentence.forms[first - 1 : last]))
            elif number.isdigit() and int(number) > last:
                form = sentence.forms[int(number) - 1]
                tokens.append((form, (form,)))
        return cls(text, tokens)


class Requests:
    """The page's requests to a running program, and the changes they made.

    `seconds` have passed between the last change that was made and its answer.
    """

    def __init__(self, address: str) -> None:
        self._parts = urlsplit(address)
        self.made: Counter[str] = Counter()
        self.seconds = 0.0

    def _answer(self, method: str, path: str, content: object = None) -> tuple[int, Any]:
        assert self._parts.hostname is not None
        connection = http.client.HTTPConnection(self._parts.hostname, self._parts.port, timeout=120)
        headers = {"Origin": f"http://{self._parts.netloc}", "Content-Type": "application/json"}
        body = None if content is None else json.dumps(content)
        connection.request(method, self._parts.path + path, body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer

    def get(self, path: str) -> Any:
        """An answer that must be good."""
        status, answer = self._answer("GET", path)
        if status != 200:
            raise SystemExit(f"{path}: {answer}")
        return answer

    def change(self, number: int, what: str, word: int = 0, value: object = 0) -> Shown:
        """Makes a change, and looks again where the program has parsed meanwhile; returns the
        sentence."""
        while True:
            state = self.get(f"sentence/{number}")
            order = {"sentence": number, "edits": state["edits"], "version": state["version"]}
            asked = {**order, "what": what, "word": word, "value": value, "anyway": True}
            start = time.perf_counter()
            status, answer = self._answer("POST", "change", asked)
            self.seconds = time.perf_counter() - start
            if status == 200:
                self.made["range" if isinstance(value, list) else what] += 1
                shown: Shown = self.get(f"guess/{answer['id']}")
                return shown
            if status != 409:
                raise SystemExit(f"{what} of word {word}: {answer}")


def tokenised(page: Requests, number: int, gold: GoldTokens) -> Shown:
    """Gives a sentence the gold tokens; what follows them becomes the next sentence."""
    shown = page.get(f"sentence/{number}")
    place = 0  # words that are right
    for form, words in gold.tokens:
        if place == len(shown["words"]):
            shown = page.change(number, "glue")
        while (present := shown["words"][place]["form"]) != form:
            if len(present) > len(form) and present.startswith(form):
                shown = page.change(number, "split", place + 1, len(form))
            elif form.startswith(present):
                is_last = place + 1 == len(shown["words"])
                shown = page.change(number, *(("glue",) if is_last else ("join", place + 1)))
            else:
                raise SystemExit(f"sentence {number}: {present} is not {form}")
        if len(words) > 1:
            shown = page.change(number, "split", place + 1, list(words))
        place += len(words)
    return page.change(number, "cut", place + 1) if place < len(shown["words"]) else shown


def corrected(page: Requests, number: int, gold: Sentence) -> None:
    """Corrects tags, then heads, then relations, and says that the sentence is right, until it
    is."""
    goals = (("tag", gold.tags), ("head", gold.heads or ()), ("label", gold.deprels))
    shown = page.get(f"sentence/{number}")
    while True:
        wrong = [
            (what, place, value)
            for what, values in goals
            for place, (word, value) in enumerate(zip(shown["words"], values), 1)
            if word[what] != value
        ]
        if not wrong and shown["done"]:
            return
        shown = page.change(number, *(wrong[0] if wrong else ("done",)))


def rows(sentence: Sentence) -> list[tuple[str, ...]]:
    """What is compared: forms, tags, heads, relations; ranges."""
    assert sentence.source is not None
    ranges = [
        tuple(line.split("\t")[:2]) for line in sentence.source.lines if "-" in line.split("\t")[0]
    ]
    heads = map(str, sentence.heads or ())
    range_rows = [each for each in ranges if not each[0].startswith("#")]
    return [*range_rows, *zip(sentence.forms, sentence.tags, heads, sentence.deprels)]


def from_text(gold: list[Sentence], out: str, every: int) -> Counter[str]:
    """Annotates the text of the sentences, and exports them; returns how often each change was
    made."""
    tokens = [GoldTokens.of(sentence) for sentence in gold]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "raw.txt")
        path.write_text(" ".join(each.text for each in tokens) + "\n", encoding="utf-8")
        with annotating(path, "--every", str(every)) as (address, _):
            page = Requests(address)
            for number, sentence in enumerate(gold):
                page_number = page.get(f"next?number={number}")["next"]
                tokenised(page, page_number, tokens[number])
                corrected(page, page_number, sentence)
        subprocess.run(
            [*VDGI, "annotate", str(path.with_suffix(".conllu")), "--export", out], check=True
        )
    return page.made


def main() -> None:
    """Annotates, compares, validates, and prints both."""
    parser = argument_parser(__doc__)
    parser.add_argument("file")
    parser.add_argument("--sentences", type=int, default=30)
    parser.add_argument(
        "--every", type=int, default=10, help="sentences after which the program learns"
    )
    parser.add_argument("--out", required=True, help="file of the result")
    arguments = parser.parse_args()
    at_start = conditions()
    gold = list(read(arguments.file, heads="required"))[: arguments.sentences]
    made = from_text(gold, arguments.out, arguments.every)
    annotated = list(read(arguments.out, heads="required"))
    same = 0
    if len(annotated) == len(gold):
        same = sum(rows(a) == rows(b) for a, b in zip(annotated, gold))
    texts = sum(GoldTokens.of(a).text == GoldTokens.of(b).text for a, b in zip(annotated, gold))
    print(at_start)
    n_words = sum(map(len, gold))
    table = [
        [title, str(made[kind]), f"{100 * made[kind] / n_words:.1f}"]
        for kind, title in CORRECTION_KINDS.items()
    ]
    print_table(
        f"Changes, {len(gold)} sentences of {n_words} words", ["", "number", "per 100 words"], table
    )
    print(
        f"Sentences equal to the treebank's: {same} of {len(gold)}, with the same text: {texts}.\n"
    )
    checked = subprocess.run([*VDGI, "check", "--ud", "--level", "2", arguments.out], check=False)
    print(f"`vdgi check --ud --level 2` ends with status {checked.returncode}.")


if __name__ == "__main__":
    main()
