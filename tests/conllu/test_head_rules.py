"""Head rules: tables against hand-analysed constituents, a second reading of them, and faulty
tables."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from wording import Wording

from dynet_vdgi.conllu import head_rules
from dynet_vdgi.errors import ConfigError
from dynet_vdgi.settings.bundled import resources

# Label, children, head under yamada-matsumoto, head under collins.
CONSTITUENTS = (Path(__file__).parents[1] / "tables" / "head_rules.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line", CONSTITUENTS.strip().split("\n"), ids=lambda line: "-".join(line.split())
)
def test_constituents_analysed_by_hand(line: str) -> None:
    label, *children, first, second = line.split()
    for name, head in (("yamada-matsumoto", first), ("collins", second)):
        expected = int(head) if head.isdigit() else children.index(head)
        assert head_rules.load_head_rules(name).head(label, children) == expected, name


def by_reading(name: str, label: str, children: Sequence[str]) -> int:
    """The head, found from the table's text in another way: all children are ranked, the least rank
    wins."""
    text = (resources() / "heads" / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line.split("#")[0].partition(":") for line in text.splitlines()]
    ranks: dict[int, tuple[int, int]] = {}
    end, item_number = "left", 0
    for items in [items for labels, _, items in lines if label in labels.split()]:
        end, *lists = items.split()
        for item in lists:
            item_number += 1
            for i, child in enumerate(children):
                if child in item.split("|"):
                    ranks.setdefault(i, (item_number, i if end == "left" else -i))
    head = (
        min(ranks, key=ranks.__getitem__) if ranks else (0 if end == "left" else len(children) - 1)
    )
    moves = "coordination" in text and head > 1 and children[head - 1] == "CC"
    return head - 2 if moves else head


@pytest.mark.parametrize("name", head_rules.names())
def test_two_readings_of_a_table_agree(name: str) -> None:
    rules = head_rules.load_head_rules(name)
    items = sorted(
        {item for searches in rules.searches.values() for _, wanted in searches for item in wanted}
    )
    rng = random.Random(1)
    n_moved = 0
    for _ in range(4000):
        label = rng.choice([*rules.searches, "Q"])
        own = [item for _, wanted in rules.searches.get(label, ()) for item in sorted(wanted)]
        children = rng.choices([*items, *own, *own, *["CC"] * 20, "Q"], k=rng.randrange(1, 6))
        head = rules.head(label, children)
        assert head == by_reading(name, label, children), (label, children)
        n_moved += head + 1 < len(children) and children[head + 1] == "CC"
    assert n_moved > 100


@pytest.mark.parametrize(
    "line",
    [
        "NP",
        "NP right NN",
        "NP: NN",
        "NP:",
        ": right NN",
        "NP: up NN",
        "coordination: last conjunct",
    ],
)
def test_faulty_lines(line: str, wording: Wording) -> None:
    with pytest.raises(ConfigError) as caught:
        head_rules.parse(f"# heads\nVP: left VB\n{line}  # of noun phrases\n", "mine.txt")
    wording.check(caught.value)
