"""Keys pressed in the real page of `vdgi annotate` until the trees are right.

    python benchmarks/annotate_keys.py --language cy cy_ccg-ud-test.conllu --rows rows.jsonl

A script drives the page in Chromium through Playwright, sentence after sentence as in the file. It corrects
towards gold heads and full relations, of all words but punctuation: it goes to the first word with a wrong
head or relation, types the head, waits until the rest has been parsed again, sets the relation if it is
wrong, and so on; then `a`. It goes to a word by arrow keys, by the next doubtful or unconfirmed word, or by
number, and sets a relation by turning, by first letter or from the list, whichever takes the fewest keys.
Shift counts as a key. After every ten sentences it waits until the program has learnt, as it has while a
person reads.

"as before" counts the same corrections with the keys of earlier versions: arrow keys alone, and relations
written out in full. Rows that are in --rows are not measured again.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import VDGI, add_json_rows, argument_parser, conditions, json_rows, print_table

from dynet_vdgi.annotation.loop import PRESET
from dynet_vdgi.data.conllu import read
from dynet_vdgi.data.sentence import Sentence

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
KINDS = ("heads", "relations", "walking", "confirming")
PATIENCE = 900.0
"""Seconds to wait for a tree or a lesson."""

DOUBTFUL = 0.85
LIKELY = 5

QUIET = """async edits => {
  const stage = document.getElementById("stage");
  const end = Date.now() + 30000;
  let before = "";
  for (;;) {
    const found = await (await fetch(`guess/${stage.dataset.shown.split(" ")[0]}`)).json();
    const text = `${found.id} ${found.edits} ${found.version}`;
    const isQuiet = found.edits >= edits && text === before && text === stage.dataset.shown;
    if (isQuiet || Date.now() > end) return found;
    before = text;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}"""
"""Waits in the page until a sentence is as it will stay."""

Keys = list[str]
Shown = dict[str, Any]


# ------------------------------------------------------------------------------------------- the fewest keys
def digits(number: int, n_words: int) -> Keys:
    """The keys of a word's number: Enter only where more digits could follow."""
    return [*str(number), *(["Enter"] if number and number * 10 <= n_words else [])]


def cost(keys: Keys) -> int:
    """Number of keys, Shift among them; held over several letters it is pressed once."""
    return len(keys) + any(key.startswith("Shift+") for key in keys)


def walk(shown: Shown, start: int, goal: int) -> Keys:
    """The shortest of the ways to a word."""
    n_words = len(shown["words"])
    arrow = "ArrowRight" if goal > start else "ArrowLeft"
    ways = [[arrow] * abs(goal - start), ["g", *digits(goal, n_words)]]
    ways += [["Home"] + ["ArrowRight"] * (goal - 1), ["End"] + ["ArrowLeft"] * (n_words - goal)]
    for key, holds in (("d", is_doubtful), ("w", is_unconfirmed)):
        stops = [p for p in [*range(start + 1, n_words + 1), *range(1, start + 1)] if holds(shown, p)]
        if goal in stops:
            ways.append([key] * (stops.index(goal) + 1))
    return min(ways, key=len)


def is_doubtful(shown: Shown, place: int) -> bool:
    """Whether the key `d` stops at a word."""
    word = shown["words"][place - 1]
    return not word["head_by"] and word["sure"] is not None and word["sure"] < DOUBTFUL


def is_unconfirmed(shown: Shown, place: int) -> bool:
    """Whether the key `w` stops at a word."""
    word = shown["words"][place - 1]
    return place not in shown["punctuation"] and not (word["head_by"] and word["label_by"])


def written(goal: str, offered: Sequence[str]) -> Keys:
    """The keys that write a relation out."""
    return ["l", *goal, "Enter"] + (["Enter"] if goal not in offered else [])


def relation_keys(present: str, goal: str, offered: Sequence[str]) -> Keys:
    """The shortest way to a relation; those offered first are the likely ones."""
    likely = offered[:LIKELY]
    ways = [written(goal, offered)]
    for letters in range(1, len(goal)):
        matching = [relation for relation in offered if relation.startswith(goal[:letters])]
        if matching and matching[0] == goal and goal[:letters] not in offered:
            ways.append(["l", *goal[:letters], "Enter"])
            break
    if goal in likely:
        ways.append(["l", str(likely.index(goal) + 1)])
        ways.append(["."] * _turns(present, goal, likely, 1))
        ways.append([","] * _turns(present, goal, likely, -1))
    if goal in offered:
        same = [relation for relation in offered if relation[0] == goal[0]]
        ways.append([f"Shift+{goal[0].upper()}"] * _turns(present, goal, same, 1))
    return min(ways, key=cost)


def _turns(present: str, goal: str, ring: Sequence[str], step: int) -> int:
    """How often a key is pressed that turns through a list."""
    end = -1 if step > 0 else len(ring)
    start = ring.index(present) if present in ring else end
    turns = (ring.index(goal) - start) * step
    return turns if turns > 0 else turns + len(ring)


# ------------------------------------------------------------------------------------------- the page
class Driver:
    """The page in a browser, and the keys pressed so far."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.keys: Counter[str] = Counter()

    def get(self, path: str) -> Any:
        """The program's answer to a request of the page."""
        return self.page.evaluate("path => fetch(path, {cache: 'no-store'}).then(one => one.json())", path)

    def press(self, kind: str, keys: Keys) -> None:
        """Presses keys, and counts them."""
        for key in keys:
            self.page.keyboard.press(key)
        self.keys[kind] += cost(keys)

    @property
    def place(self) -> int:
        """The selected word."""
        return int(self.page.locator("#words li[aria-selected=true]").get_attribute("data-place"))

    @property
    def is_refused(self) -> bool:
        """Whether the page asks to look again, because the tree has changed meanwhile."""
        return "bad" in (self.page.locator("#notice").get_attribute("class") or "")

    def shown(self, edits: int = 0) -> Shown:
        """The sentence after so many changes, when nothing changes any more and the page shows that.

        After half a minute it is as it is: a key may have been refused, and a person would look again.
        """
        found: Shown = self.page.evaluate(QUIET, edits)
        return found

    def change(self, kind: str, keys: Keys, shown: Shown) -> Shown:
        """Presses keys that change the sentence, and returns it afterwards."""
        is_new = keys[-2:] == ["Enter", "Enter"]  # the page asks once whether a new relation is meant
        self.press(kind, keys[:-1] if is_new else keys)
        if is_new:
            self.page.locator("#notice.bad").wait_for()
            self.press(kind, keys[-1:])
        turns = len(keys) if keys[0] in (".", ",") or keys[0].startswith("Shift+") else 1
        return self.shown(shown["edits"] + turns)


def wait_for(condition: Callable[[], bool]) -> None:
    """Returns when it holds. Raises: TimeoutError."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the page does not do what its keys say")
        time.sleep(0.1)


def corrected(driver: Driver, gold: Sentence) -> dict[str, int]:
    """Corrects the sentence shown; returns the keys by kind, and the number of the earlier keys."""
    driver.keys.clear()
    counts = dict.fromkeys(("heads_set", "relations_set", "before"), 0)
    number = driver.shown()["id"]
    while True:
        correct(driver, gold, counts)
        driver.press("confirming", ["a"])
        counts["before"] += 1
        wait_for(lambda: driver.get(f"sentence/{number}")["done"] or driver.is_refused)
        if driver.get(f"sentence/{number}")["done"]:
            return {kind: driver.keys[kind] for kind in KINDS} | counts


def correct(driver: Driver, gold: Sentence, counts: dict[str, int]) -> None:
    """Makes heads and relations those of gold, from the first word on."""
    shown = driver.shown()
    while place := first_wrong(shown, gold):
        head, relation = (gold.heads or ())[place - 1], gold.deprels[place - 1]
        start = driver.place
        counts["before"] += abs(place - start)
        driver.press("walking", walk(shown, start, place))
        if shown["words"][place - 1]["head"] != head:
            keys = digits(head, len(gold))
            counts["before"] += len(keys)
            counts["heads_set"] += 1
            shown = driver.change("heads", keys, shown)
        present = shown["words"][place - 1]["label"]
        if present != relation:
            offered = offered_relations(driver, shown, place)
            counts["before"] += 1 + len(relation) + 1 + (relation not in offered)
            counts["relations_set"] += 1
            shown = driver.change("relations", relation_keys(present, relation, offered), shown)
            if shown["words"][place - 1]["label"] != relation:  # the page's list was an older one
                shown = driver.change("relations", written(relation, offered), shown)


def offered_relations(driver: Driver, shown: Shown, place: int) -> list[str]:
    """The relations that the page offers for a word, the likeliest first."""
    is_root = shown["words"][place - 1]["head"] == 0
    relations = driver.get(f"relations/{shown['id']}?word={place}")["relations"]
    return [relation for relation in relations if (relation == "root") == is_root]


def first_wrong(shown: Shown, gold: Sentence) -> int:
    """The first word but punctuation with another head or relation than gold; 0: there is none."""
    pairs = zip(shown["words"], gold.heads or (), gold.deprels)
    for place, (word, head, relation) in enumerate(pairs, 1):
        if place not in shown["punctuation"] and (word["head"], word["label"]) != (head, relation):
            return place
    return 0


# ------------------------------------------------------------------------------------------- sessions
@contextmanager
def opened(path: Path, every: int, preset: str) -> Iterator[Driver]:
    """The page of a file, in a browser."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    command = [*VDGI, "annotate", str(path), "--no-browser", "--annotator", "x", "--order", "document"]
    command += ["--every", str(every), "--preset", preset]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        with sync_playwright() as tools:
            window = tools.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = window.new_page(viewport={"width": 1280, "height": 900})
            page.goto(address)
            page.locator("#words li").first.wait_for()
            yield Driver(page)
            window.close()
    finally:
        running.terminate()
        running.wait(20)


def bare(path: Path) -> str:
    """The text of a file without trees."""
    lines = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        columns = line.split("\t")
        if len(columns) == 10 and columns[0].isdigit():
            columns[6] = columns[7] = columns[8] = "_"
        lines.append("\t".join(columns))
    return "\n".join(lines)


def measured(name: str, path: Path, count: int, every: int, preset: str) -> Iterator[dict[str, Any]]:
    """One row per sentence."""
    done = 0
    gold = list(read(path, heads="required"))
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "own.conllu"
        own.write_text(bare(path), encoding="utf-8")
        with opened(own, every, preset) as driver:
            wait_for_lesson(driver, 0)
            while done < min(count, len(gold)):
                number = driver.shown()["number"]
                row = {"language": name, "sentence": number, "words": len(gold[number])}
                yield row | corrected(driver, gold[number])
                done += 1
                if done % every == 0:
                    wait_for_lesson(driver, done)
                wait_for(lambda: driver.shown()["number"] != number)  # noqa: B023


def wait_for_lesson(driver: Driver, trees: int) -> None:
    """Waits until so many sentences have been learnt from."""

    def has_learnt() -> bool:
        learning = driver.get("state")["learning"]
        return bool(learning["state"] == "ready" and learning["trees"] >= trees)

    wait_for(has_learnt)


def main() -> None:
    """Measures what is missing, and prints the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--language", nargs=2, action="append", required=True, metavar=("NAME", "FILE"))
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument(
        "--preset", default=PRESET, help="how the page learns: few-trees knows no other language"
    )
    parser.add_argument(
        "--rows", type=Path, required=True, help="measured rows, JSON lines; new ones are added"
    )
    arguments = parser.parse_args()
    rows = json_rows(arguments.rows)
    for name, file in arguments.language:
        if not any(row["language"] == name for row in rows):
            for row in measured(name, Path(file), arguments.sentences, arguments.every, arguments.preset):
                rows.append(row)
                add_json_rows(arguments.rows, [row])
    print(conditions())
    header = ["", "sentences", "words", *KINDS, "keys", "as before", "heads set", "relations set"]
    table = [
        [name, *line([row for row in rows if row["language"] == name])] for name, _ in arguments.language
    ]
    print_table("Keys a sentence", header, table)


def line(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The number of sentences, and means of the figures."""

    def mean(*keys: str) -> str:
        return f"{sum(row[key] for row in rows for key in keys) / len(rows):.1f}"

    kinds = [mean(kind) for kind in KINDS]
    return [
        str(len(rows)),
        mean("words"),
        *kinds,
        mean(*KINDS),
        *map(mean, ("before", "heads_set", "relations_set")),
    ]


if __name__ == "__main__":
    main()
