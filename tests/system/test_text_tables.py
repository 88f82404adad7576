"""Tables as text and as Markdown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.system.text_tables import TextTable, aligned, columns

words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=6)


def test_columns_of_equal_width(wording: Wording) -> None:
    rows = [["DDA", "<=10", "all"], ["日本", "71.0", "9.5"], ["e\u0301a", "-", "100.0"]]
    assert aligned(rows).splitlines() == [
        "DDA   <=10    all",
        "日本  71.0    9.5",
        "e\u0301a       -  100.0",
    ]
    wording.check(aligned([["model", "a"], ["preset", "best"]], left=2))


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(words, min_size=n, max_size=n), min_size=1)
    )
)
def test_lines_are_as_wide_as_the_widest_cells(rows: list[list[str]]) -> None:
    widths = [max(map(columns, column)) for column in zip(*rows)]
    lines = aligned(rows, left=0).split("\n")
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows):
        assert columns(line) == (
            sum(widths) + 2 * (len(widths) - 1) if row[-1] else columns(line.rstrip())
        )


def test_markdown_shows_every_cell_as_it_is() -> None:
    table = TextTable(["", "a"], [["x|y*`", "<b>"], ["[l](u)", "[-0.5, +3.5]"], ["<=10", "\\"]])
    assert table.markdown().splitlines() == [
        "|  | a |",
        "| --- | ---: |",
        "| x\\|y\\*\\` | \\<b> |",
        "| [l\\](u) | [-0.5, +3.5] |",
        "| <=10 | \\\\ |",
    ]


def test_cells_that_are_markdown_stay_as_they_are() -> None:
    table = TextTable(["`a`", "b", "c"], [["[l](u)", "**1**", "2"]], left=2)
    assert (
        table.markdown(escaped=False)
        == "| `a` | b | c |\n| --- | --- | ---: |\n| [l](u) | **1** | 2 |"
    )


def test_columns_become_lines() -> None:
    table = TextTable(
        ["", "fr", "de"], [["best", "1", "2"]], title="DDA", notes=["One run."]
    ).turned()
    assert (table.heading, table.rows) == (("", "best"), [("fr", "1"), ("de", "2")])
    assert (table.title, table.notes) == ("DDA", ["One run."])
