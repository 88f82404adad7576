"""Keys pressed in the real page of `vdgi annotate` until the trees are right.

    python experiments/annotate_keys.py --language cy cy_ccg-ud-test.conllu --rows rows.jsonl

A script drives the page in Chromium through Playwright, sentence after sentence as in the file. It
corrects towards gold heads and full relations, of all words but punctuation: it goes to the first
word with a wrong head or relation, types the head, waits until the rest has been parsed again, sets
the relation if it is wrong, and so on; then `a`. It goes to a word by arrow keys, by the next
doubtful or unconfirmed word, or by number, and sets a relation by turning, by first letter or from
the list, whichever takes the fewest keys. Shift counts as a key. After every ten sentences it waits
until the program has learnt, as it has while a person reads.

"as before" counts the same corrections with the keys of earlier versions: arrow keys alone, and
relations written out in full. Languages that are in --rows are not measured again.

--whole corrects punctuation, too, and all columns, word after word; the export is compared with
gold. --text does so from the treebank's text, one sentence a line, without a tagger:

    python experiments/annotate_keys.py --data UD --language ta ta_ttb-ud-test.conllu --text \\
        --sentences 10 --rows rows.jsonl
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from annotate_text import GoldTokens
from measuring import (
    VDGI,
    add_json_rows,
    annotating,
    argument_parser,
    conditions,
    json_rows,
    print_table,
)

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.page.learn.arc_lessons import PRESET

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
KEY_KINDS = ("heads", "relations", "walking", "confirming")
COLUMNS = {
    "tag": ("t", "e", "tags"),
    "feats": ("f", "v", "feats"),
    "xpos": ("y", "i", "xpos"),
    "lemma": ("m", "k", "lemmas"),
}
"""With --whole: the key of each column's box, the key that turns through its values, and its name
in a sentence."""
TITLES = {"Tag": "tag", "Features": "feats", "XPOS": "xpos", "Lemma": "lemma"}
"""Columns by the first word in the title of their box."""
PATIENCE = 3600.0
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
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}"""
"""Waits in the page until a sentence is as it will stay."""

FEATURES = """async ([goal, present, bundles]) => {
  const { composed, offers } = await import("./features.js");
  const parts = (feats) => (feats === "_" ? [] : feats.split("|"));
  const [name, value] = [0, 1].map((k) => (one) => one.split("=")[k]);
  const own = parts(goal).sort((a, b) => Number(/[0-9]$/.test(a)) - Number(/[0-9]$/.test(b)));
  let best = null;
  const weigh = (typed) => { // without a blank before it, a digit takes what has this number
    const k = offers(typed, present, bundles).indexOf(goal);
    const downs = Array(Math.max(0, k)).fill("ArrowDown");
    const keys = [...typed.replace(/^[0-9]/, " $&"), ...downs, "Enter"];
    if (k >= 0 && (!best || keys.length < best.length)) best = keys;
  };
  const letters = own.map((one) => value(one).toLowerCase());
  if (bundles.includes(goal)) for (const [k, one] of letters.entries()) {
    for (const n of [1, 2, 3]) weigh(one.slice(0, n));
    for (const other of letters.slice(k + 1)) {
      weigh(one[0] + other[0]);
      for (const [n, m] of [[1, 1], [2, 1], [1, 2]]) {
        weigh(`${one.slice(0, n)} ${other.slice(0, m)}`);
      }
    }
  }
  const change = (start, from) => {
    const now = parts(from);
    const gone = now.filter((one) => !own.some((other) => name(other) === name(one)));
    let typed = start;
    const added = own.filter((one) => !now.includes(one));
    for (const one of [...added, ...gone.map((one) => `-${one}`)]) {
      const sign = one[0] === "-" ? "-" : "";
      const [n, v] = [name(one).replace("-", ""), value(one)].map((text) => text.toLowerCase());
      const k = now.findIndex((other) => name(other).toLowerCase() === n);
      if (k >= 0) now.splice(k, 1);
      if (!sign) now.push(one);
      const begun = (m) => v.split(",").map((each) => each.slice(0, m)).join(",");
      const some = v.includes(",") ? [1, 2, 3].map(begun) : [];
      const pieces = [1, 2, 3, 4].flatMap((k) => [sign + v.slice(0, k), sign + n.slice(0, k)]);
      const both = [1, 2, 3].flatMap(
        (k) => [1, 2, 3].map((m) => `${n.slice(0, k)}=${v.slice(0, m)}`));
      const whole = [1, 2, 3, 4].flatMap(
        (k) => [v, ...some].map((its) => `${n.slice(0, k)}=${its}`));
      if (!sign) pieces.push(one, ...both, ...whole);
      const goal = String([...now].sort());
      const ways = [...pieces, ...pieces.map((piece) => ` ${piece}`)].map((piece) => {
        const offered = composed(`${typed}${piece}`, present, bundles);
        const k = offered.findIndex((one) => String(parts(one).sort()) === goal);
        const cost = piece.length + 3 * k + (piece.trim() === one ? 2 : 0);
        return { piece, cost: k < 0 ? Infinity : cost };
      });
      const best = ways.reduce((a, b) => (b.cost < a.cost ? b : a));
      if (best.cost === Infinity) return;
      typed += best.piece;
    }
    weigh(typed.trim());
  };
  change("", present);
  change("_", "_");
  return best;
}"""
"""Few keys, after `f`, that make features those of gold by the beginnings of their values."""

XPOS = """async ([goal, present, known]) => {
  const { xposOffers } = await import("./features.js");
  const parts = (xpos) => (/[:.,|]/.test(xpos) ? xpos.split(/[:.,|]/) : [...xpos]);
  const [own, now] = [parts(goal), parts(present === "_" ? known[0] ?? "" : present)];
  const isNumber = (part) => Number(/^[0-9]/.test(part));
  const changed = own.filter((part, k) => part !== now[k] && part);
  const others = changed.sort((a, b) => isNumber(a) - isNumber(b));
  const pieces = [1, 2, 3].map((n) => others.map((part) => part.slice(0, n).toLowerCase()));
  const typed = pieces.flatMap((some) => [some.join(""), some.join(" ")]);
  for (let n = 1; n <= goal.length; n++) {
    typed.push(goal.slice(0, n), goal.slice(0, n).toLowerCase());
  }
  let best = [...goal, ...(xposOffers(goal, present, known).length ? ["ArrowUp"] : []), "Enter"];
  for (const text of typed.filter(Boolean)) {
    const one = text.replace(/^[0-9]/, " $&"); // as for features
    const k = xposOffers(text, present, known).indexOf(goal);
    const keys = [...one, ...Array(Math.max(0, k)).fill("ArrowDown"), "Enter"];
    if (k >= 0 && keys.length < best.length) best = keys;
  }
  return best;
}"""
"""Few keys, after `y`, that make an XPOS that of gold."""

LEMMA = """async ([goal, form, present, known]) => {
  const { lemmaOffers } = await import("./features.js");
  let best = null;
  for (let n = 1; n < goal.length; n++) for (const typed of [goal.slice(0, n), goal.slice(-n)]) {
    const k = lemmaOffers(typed, form, present, known).indexOf(goal);
    const keys = [...typed, ...Array(k + 1).fill("ArrowDown"), "Enter"];
    if (k >= 0 && (!best || keys.length < best.length)) best = keys;
  }
  return best;
}"""
"""Few keys, after `m`, that make a lemma that of gold by an option; null: none does."""

RELATION = """async ([goal, present, all]) => {
  const { matching } = await import("./relation.js");
  const [base, subtype] = goal.split(":");
  const own = [1, 2, 3].map((n) => base.slice(0, n));
  const ends = subtype ? [...Array(subtype.length).keys()].map((k) => subtype.slice(0, k + 1)) : [];
  const withEnd = (end) => [`:${end}`, ...own.map((start) => `${start}:${end}`)];
  const typed = [...own, ...ends.flatMap(withEnd)];
  let best = null;
  const weigh = (keys) => { if (!best || keys.length < best.length) best = keys; };
  const key = matching("", all, present).find(({ value }) => value === goal)?.key;
  if (key) weigh([key]);
  for (const one of typed) {
    const options = matching(one, all, present);
    const k = options.findIndex(({ value }) => value === goal);
    const isAsked = !all.includes(goal) && options.length === 1; // whether it is meant
    const enters = isAsked ? ["Enter", "Enter"] : ["Enter"];
    if (k >= 0) weigh([...one, ...Array(k).fill("ArrowDown"), ...enters]);
  }
  return best;
}"""
"""Few keys, after `l`, that take a relation from the list; null: nothing shorter than the whole
does."""

Keys = list[str]
Shown = dict[str, Any]


def digits(number: int, n_words: int) -> Keys:
    """The keys of a word's number: Enter only where more digits could follow."""
    return [*str(number), *(["Enter"] if number and number * 10 <= n_words else [])]


def cost(keys: Keys) -> int:
    """Number of keys, Shift among them; held over several letters it is pressed once."""
    return len(keys) + any(key.startswith("Shift+") for key in keys)


def typed_cost(keys: Keys) -> int:
    """Number of keys; Shift counts once for capitals, bars and underscores that follow each
    other."""
    return len(keys) + len(
        re.findall("[A-Z|_:]+", "".join(key if len(key) == 1 else " " for key in keys))
    )


def walk(shown: Shown, start: int, goal: int) -> Keys:
    """The shortest of the ways to a word."""
    n_words = len(shown["words"])
    arrow = "ArrowRight" if goal > start else "ArrowLeft"
    ways = [[arrow] * abs(goal - start), ["g", *digits(goal, n_words)]]
    ways += [["Home"] + ["ArrowRight"] * (goal - 1), ["End"] + ["ArrowLeft"] * (n_words - goal)]
    for key, holds in (("d", is_doubtful), ("w", is_unconfirmed)):
        stops = [
            p for p in [*range(start + 1, n_words + 1), *range(1, start + 1)] if holds(shown, p)
        ]
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


def relation_keys(present: str, goal: str, offered: Sequence[str], by_list: Keys | None) -> Keys:
    """The shortest way to a relation, perhaps the one that takes it from the list; those offered
    first are likely."""
    likely = offered[:LIKELY]
    ways = [written(goal, offered), *([["l", *by_list]] if by_list else [])]
    if goal in likely:
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


class Driver:
    """The page in a browser, and the keys pressed so far."""

    def __init__(self, page: Any, process: int) -> None:
        self.page, self.process = page, process
        self.keys: Counter[str] = Counter()
        self.bundles: set[tuple[str, str]] = set()  # tags and features that were set
        # if they had been set before, and XPOS was still wrong
        self.xpos_left: Counter[tuple[bool, bool]] = Counter()

    def get(self, path: str) -> Any:
        """The program's answer to a request of the page."""
        return self.page.evaluate(
            "path => fetch(path, {cache: 'no-store'}).then(one => one.json())", path
        )

    def press(self, kind: str, keys: Keys) -> None:
        """Presses keys, and counts them."""
        for key in keys:
            self.page.keyboard.press(key)
        self.keys[kind] += cost(keys)

    def type(self, kind: str, keys: Keys) -> None:
        """Presses the keys of a way to a value, and counts them."""
        for key in keys:
            (self.page.keyboard.press if len(key) > 1 else self.page.keyboard.type)(key)
        self.keys[kind] += typed_cost(keys)

    def edit(self, kind: str, key: str, goal: str, edits: int) -> Shown:
        """Makes what a box proposes another text."""
        self.press(kind, [key])
        field = self.page.locator("#choice-input")
        field.wait_for()
        self.page.wait_for_timeout(100)  # for the list
        self.type(kind, [*edited(field.input_value(), goal), "Enter"])
        return self.shown(edits + 1)

    def split(self, goal: str, shown: Shown) -> Shown:
        """Splits the selected word, by a key if the page offers that."""
        form = shown["words"][self.place - 1]["form"]
        offered = self.get(f"values/{shown['id']}?word={self.place}&what=split").get("values", [])
        if goal in offered and not re.search("[0-9]", form):
            return self.change("tokens", ["s", str(offered.index(goal) + 1)], shown)
        return self.edit("tokens", "s", goal, shown["edits"])

    def take(self, kind: str, keys: Keys, edits: int) -> Shown:
        """Takes a value on one of the ways to it: keys that turn, or those of a box."""
        box, turn, _ = COLUMNS[kind]
        turns = len(keys) if keys[0] == turn else 1
        if self.box and (self.box != kind or keys[0] != box):
            self.type(kind, ["Escape"])
        if keys[0] == box:
            if not self.box:
                self.type(kind, keys[:1])
                self.page.locator("#choice").wait_for()
            keys = keys[1:]
            self.page.wait_for_timeout(100)  # for the list
        self.type(kind, keys)
        self.page.wait_for_timeout(100)
        if self.box == kind:  # the page asks once whether it is meant
            self.type(kind, ["Enter"])
        return self.shown(edits + turns)

    @property
    def box(self) -> str:
        """The column whose box is open; "" if none is."""
        title = self.page.locator("#choice-title")
        return TITLES.get(title.text_content().split()[0], "") if title.is_visible() else ""

    @property
    def place(self) -> int:
        """The selected word."""
        return int(self.page.locator("#words li[aria-selected=true]").get_attribute("data-place"))

    def go(self, shown: Shown, place: int) -> None:
        """Goes to a word; where the page stops at other words than expected, by its number."""
        for keys in (walk(shown, self.place, place), ["g", *digits(place, len(shown["words"]))]):
            if self.place != place:
                self.press("walking", ["Escape"] * bool(self.box) + keys)
                self.page.wait_for_timeout(500 if "g" in keys else 50)  # a number ends by a pause

    @property
    def is_refused(self) -> bool:
        """Whether the page asks to look again, because the tree has changed meanwhile."""
        return "bad" in (self.page.locator("#notice").get_attribute("class") or "")

    def shown(self, edits: int = 0) -> Shown:
        """The sentence after so many changes, when nothing changes any more and the page shows
        that.

        After half a minute it is as it is: a key may have been refused, and a person would look
        again.
        """
        after: Shown = self.page.evaluate(QUIET, edits)
        return after

    def change(self, kind: str, keys: Keys, shown: Shown) -> Shown:
        """Presses keys that change the sentence, and returns it afterwards."""
        # the page asks once whether a new relation is meant
        is_new = keys[-2:] == ["Enter", "Enter"]
        self.press(kind, keys[:-1] if is_new else keys)
        if is_new:
            self.page.wait_for_timeout(200)
            if self.page.locator("#choice").is_visible():
                self.press(kind, keys[-1:])
        turns = len(keys) if keys[0] in (".", ",") or keys[0].startswith("Shift+") else 1
        after = self.shown(shown["edits"] + turns)
        if self.page.locator("#choice").is_visible():  # refused: the tree has changed meanwhile
            self.press(kind, ["Enter" if ":" in "".join(keys) else "Escape"])
            after = self.shown()
        return after


def wait_for(condition: Callable[[], bool]) -> None:
    """Returns when it holds. Raises: TimeoutError."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the page does not do what its keys say")
        time.sleep(0.1)


def corrected(driver: Driver, gold: Sentence, whole: bool = False) -> dict[str, int]:
    """Corrects the sentence shown; returns the keys by kind, and the number of the earlier keys."""
    driver.keys.clear()
    counts = dict.fromkeys(("heads_set", "relations_set", "before"), 0)
    number = driver.shown()["id"]
    while True:
        edits = -1
        while edits != (edits := driver.shown()["edits"]):  # guesses may have changed meanwhile
            if whole:
                correct_tokens(driver, gold)
                correct_columns(driver, gold)
                wait_for_rest(driver)
            correct(driver, gold, counts, whole)
        driver.press("confirming", ["a"])
        counts["before"] += 1
        wait_for(lambda: driver.get(f"sentence/{number}")["done"] or driver.is_refused)
        if driver.get(f"sentence/{number}")["done"]:
            return {kind: driver.keys[kind] for kind in (*KEY_KINDS, "tokens", *COLUMNS)} | counts


def correct_tokens(driver: Driver, gold: Sentence) -> None:
    """Makes tokens and multiword tokens those of gold, from the first on."""
    shown, place = driver.shown(), 1
    for form, words in GoldTokens.of(gold).tokens:
        while (present := shown["words"][place - 1]["form"]) not in (form, words[0]):
            driver.go(shown, place)
            if form.startswith(present):
                shown = driver.change("tokens", ["j"], shown)
            else:
                shown = driver.split(f"{form} {present.removeprefix(form)}", shown)
        if len(words) > 1 and [one["form"] for one in shown["words"][place - 1 :]][
            : len(words)
        ] != [*words]:
            driver.go(shown, place)
            mark = "|" if "".join(words) == form else " "
            shown = driver.split(mark.join(words), shown)
        place += len(words)


def correct_columns(driver: Driver, gold: Sentence) -> None:
    """Makes tags, features, XPOS and lemmas those of gold, word after word, on the shortest
    ways."""
    for place in range(1, len(gold) + 1):
        wait_for_rest(driver)
        shown = driver.shown()
        for name, (_, _, column) in COLUMNS.items():
            goal = (getattr(gold, column) or ("_",) * len(gold))[place - 1]
            failed: list[Keys] = []  # the list in the page was an older one
            while shown["words"][place - 1][name] != goal:
                driver.go(shown, place)
                all_ways = ways(driver, shown, name, goal)
                untried = [way for way in all_ways if way not in failed] or all_ways
                failed.append(
                    min(
                        untried,
                        key=partial(left_cost, box=COLUMNS[name][0] if driver.box == name else ""),
                    )
                )
                keys, left = failed[-1], wrong(shown, gold, place)
                if keys[-1] == "Enter":
                    keys = [*keys[:-1], taking(driver, shown, gold, place, name, len(keys) > 2)]
                shown = driver.take(name, keys, shown["edits"])
                if name == "feats":
                    bundle = shown["words"][place - 1]["tag"], goal
                    driver.xpos_left[
                        bundle in driver.bundles, "xpos" in wrong(shown, gold, place)
                    ] += "xpos" in left
                    driver.bundles.add(bundle)
            if driver.box == name:
                driver.press(name, ["Escape"])  # it was right when its box came


def left_cost(keys: Keys, box: str) -> int:
    """The keys that are left of a way when a column's box is open; "": none is."""
    return typed_cost(keys) + (0 if not box else -1 if keys[0] == box else 1)


def taking(
    driver: Driver, shown: Shown, gold: Sentence, place: int, name: str, is_typed: bool
) -> str:
    """The key that takes a value; Tab opens the column that is wrong next, the arrow goes to the
    next word."""
    left = [other for other in wrong(shown, gold, place) if other != name]
    after = wrong(shown, gold, place + 1) if place < len(gold) else []
    if left:
        has_xpos = any(word["xpos"] != "_" for word in shown["words"])
        following = {"feats": "xpos" if has_xpos else "lemma", "xpos": "lemma"}.get(name)
        is_known = (shown["words"][place - 1]["tag"], gold.feats[place - 1]) in driver.bundles
        is_likely = (
            following != "xpos"
            or driver.xpos_left[is_known, True] >= driver.xpos_left[is_known, False]
        )
        return "Tab" if left[0] == following and is_likely else "Enter"
    if not after:
        return "Enter"
    if name == "lemma" and after[0] == "feats":
        return "Tab"
    return "ArrowRight" if is_typed else "Enter"


def wrong(shown: Shown, gold: Sentence, place: int) -> list[str]:
    """The columns of a word that are not as in gold."""
    goals = {
        name: (getattr(gold, column) or ("_",) * len(gold))[place - 1]
        for name, (_, _, column) in COLUMNS.items()
    }
    return [name for name in goals if shown["words"][place - 1][name] != goals[name]]


def ways(driver: Driver, shown: Shown, name: str, goal: str) -> list[Keys]:
    """The ways from the present value of the selected word's column to another, or closer to it."""
    box, turn, _ = COLUMNS[name]
    word = shown["words"][driver.place - 1]
    present = word[name]
    if name == "tag":
        ring = [tag for tag, _ in word["tags"]]
        letters = driver.page.evaluate("() => import('./keys.js').then((keys) => keys.TAG_KEYS)")
        letter = next(letter for letter, tag in letters.items() if tag == goal)
        return [[turn] * _turns(present, goal, ring, 1), [box, letter]]
    ring = driver.get(f"values/{shown['id']}?word={driver.place}&what={name}")["values"]
    shortest_ways = [[turn] * _turns(present, goal, ring, 1)] if goal in ring else []
    others = [value for value in ring if value != present]
    has_digits = name == "lemma" and re.search("[0-9]", word["form"])
    if goal in others[:9] and not has_digits:
        shortest_ways.append([box, str(others.index(goal) + 1)])
    if name == "lemma":
        proposed = present if present != "_" else word["form"]
        written = edited(proposed, goal)
        shortest_ways.append([box, *written, "Enter"])
        if by_option := driver.page.evaluate(LEMMA, [goal, word["form"], proposed, others]):
            shortest_ways.append([box, *by_option])
    elif goal == "_":
        shortest_ways.append([box, "_", "Enter"])
    elif name == "xpos":
        shortest_ways.append([box, *driver.page.evaluate(XPOS, [goal, present, ring])])
    else:
        if driver.place > 1 and shown["words"][driver.place - 2]["feats"] == goal:
            shortest_ways.append([box, "0"])
        if by_values := driver.page.evaluate(FEATURES, [goal, present, ring]):
            shortest_ways.append([box, *by_values])
        shortest_ways.append([box, *goal, "Enter"])
    return shortest_ways


def edited(present: str, goal: str) -> Keys:
    """The keys that make what a box proposes another text: from the end, or as a whole."""
    if present == goal:
        return []
    same = next(
        (k for k, (a, b) in enumerate(zip(present, goal)) if a != b), min(len(present), len(goal))
    )
    return min([*goal], ["Backspace"] * (len(present) - same) + [*goal[same:]], key=typed_cost)


def correct(driver: Driver, gold: Sentence, counts: dict[str, int], whole: bool) -> None:
    """Makes heads and relations those of gold, from the first word on."""
    shown = driver.shown()
    while place := first_wrong(shown, gold, whole):
        head, relation = (gold.heads or ())[place - 1], gold.deprels[place - 1]
        start = driver.place
        counts["before"] += abs(place - start)
        driver.go(shown, place)
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
            by_list = driver.page.evaluate(RELATION, [relation, present, offered])
            shown = driver.change(
                "relations", relation_keys(present, relation, offered, by_list), shown
            )
            if shown["words"][place - 1]["label"] != relation:  # the page's list was an older one
                shown = driver.change("relations", written(relation, offered), shown)


def offered_relations(driver: Driver, shown: Shown, place: int) -> list[str]:
    """The relations that the page offers for a word, the likeliest first."""
    is_root = shown["words"][place - 1]["head"] == 0
    relations = driver.get(f"relations/{shown['id']}?word={place}")["relations"]
    return [relation for relation in relations if (relation == "root") == is_root]


def first_wrong(shown: Shown, gold: Sentence, whole: bool) -> int:
    """The first word with another head or relation than gold, 0: none; punctuation only if
    `whole`."""
    pairs = zip(shown["words"], gold.heads or (), gold.deprels)
    for place, (word, head, relation) in enumerate(pairs, 1):
        if (whole or place not in shown["punctuation"]) and (word["head"], word["label"]) != (
            head,
            relation,
        ):
            return place
    return 0


@contextmanager
def opened(path: Path, every: int, preset: str, *more: str) -> Iterator[Driver]:
    """The page of a file, in a browser."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    options = ["--order", "document", "--every", str(every), "--preset", preset, *more]
    with annotating(path, *options) as (address, process), sync_playwright() as tools:
        window = tools.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.locator("#words li").first.wait_for()
        yield Driver(page, process)
        window.close()


def bare(path: Path) -> str:
    """The text of a file without trees."""
    lines = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        columns = line.split("\t")
        if len(columns) == 10 and columns[0].isdigit():
            columns[6] = columns[7] = columns[8] = "_"
        lines.append("\t".join(columns))
    return "\n".join(lines)


def measured(name: str, path: Path, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One row per sentence."""
    done, every = 0, arguments.every
    gold = list(read(path, heads="required"))
    count = min(arguments.sentences, len(gold))
    with tempfile.TemporaryDirectory() as folder:
        opened_file = Path(folder) / ("own.txt" if arguments.text else "own.conllu")
        lines = [GoldTokens.of(one).text + "\n" for one in gold] if arguments.text else [bare(path)]
        opened_file.write_text("".join(lines), encoding="utf-8")
        with opened(opened_file, every, arguments.preset, *["--lines"] * arguments.text) as driver:
            if not arguments.text:
                wait_for_lesson(driver, 0, every)
            while done < count:
                wait_for_rest(driver)
                number = driver.shown()["number"]
                row = {"language": name, "sentence": number, "words": len(gold[number])}
                yield row | corrected(driver, gold[number], arguments.whole or arguments.text)
                done += 1
                if done % every == 0 and done < count:
                    wait_for_lesson(driver, done, every)
                wait_for(lambda: driver.shown()["number"] != number)  # noqa: B023
        if arguments.whole or arguments.text:
            out = opened_file.with_name("out.conllu")
            command = [
                *VDGI,
                "annotate",
                str(opened_file.with_suffix(".conllu")),
                "--finished",
                "--export",
                str(out),
            ]
            subprocess.run(command, check=True)
            print(
                f"{name}: "
                + compared(list(read(out, heads="required")), gold[:count], arguments.text)
            )


def compared(annotated: Sequence[Sentence], gold: Sequence[Sentence], is_text: bool) -> str:
    """In how many sentences all lines are equal, and the cells that are not, by column.

    Of sentences from text neither comments nor DEPS are compared, and of MISC only SpaceAfter=No.
    """

    def lines(sentence: Sentence) -> list[list[str]]:
        assert sentence.source is not None
        columns = [line.split("\t") for line in sentence.source.lines]
        if is_text:
            columns = [
                [*one[:8], str("SpaceAfter=No" in one[9])] for one in columns if len(one) == 10
            ]
        return columns

    pairs = [(lines(a), lines(b)) for a, b in zip(annotated, gold)]
    other = Counter(
        k
        for mine, theirs in pairs
        for a, b in zip(mine, theirs)
        for k, (x, y) in enumerate(zip(a, b), 1)
        if x != y
    )
    same = sum(a == b for a, b in pairs)
    return f"{same} of {len(gold)} sentences equal; other cells by column: {dict(other)}"


def wait_for_rest(driver: Driver) -> None:
    """Waits until the processes that learn and parse rest, as they do while a person reads, before
    each word."""
    children = Path(f"/proc/{driver.process}/task/{driver.process}/children")

    def are_resting() -> bool:
        for _ in range(10):
            stats = [
                Path(f"/proc/{child}/stat").read_text() for child in children.read_text().split()
            ]
            if any(stat.rpartition(") ")[2][0] in "RD" for stat in stats):
                return False
            time.sleep(0.1)
        return True

    wait_for(are_resting)


def wait_for_lesson(driver: Driver, done: int, every: int) -> None:
    """Waits until no lesson is due: the first one from plain text comes some sentences late, and so
    do the others."""

    def has_learnt() -> bool:
        learning = driver.get("state")["learning"]
        return bool(learning["state"] == "ready" and learning["trees"] > done - every)

    wait_for(has_learnt)


def main() -> None:
    """Measures what is missing, and prints the table."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--language", nargs=2, action="append", required=True, metavar=("NAME", "FILE")
    )
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the treebanks")
    parser.add_argument("--whole", action="store_true", help="correct all columns, and punctuation")
    parser.add_argument("--text", action="store_true", help="the same, from plain text")
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
            for row in measured(name, arguments.data / file, arguments):
                add_json_rows(arguments.rows, [row])
                rows.append(row)
    print(conditions())
    kinds = ("tokens", *COLUMNS, *KEY_KINDS) if arguments.whole or arguments.text else KEY_KINDS
    header = ["", "sentences", "words", *kinds, "keys", "as before", "heads set", "relations set"]
    table = [
        [name, *line([row for row in rows if row["language"] == name], kinds)]
        for name, _ in arguments.language
    ]
    print_table("Keys a sentence", header, table)


def line(rows: Sequence[dict[str, Any]], which: Sequence[str]) -> list[str]:
    """The number of sentences, and means of the figures."""

    def mean(*keys: str) -> str:
        return f"{sum(row[key] for row in rows for key in keys) / len(rows):.1f}"

    kinds = [mean(kind) for kind in which]
    return [
        str(len(rows)),
        mean("words"),
        *kinds,
        mean(*which),
        *map(mean, ("before", "heads_set", "relations_set")),
    ]


if __name__ == "__main__":
    main()
