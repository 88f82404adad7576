"""A column of the page from outside: one entry in a table, and it is shown, changed, written and
undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from annotating import guessed, seen, written

from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.text.sentence_state import ChangeError
from dynet_vdgi.page.text.word_columns import COLUMNS, Column
from dynet_vdgi.page.web.shown import shown_sentence


# The toy: glosses in MISC are words of small letters.
def gloss(value: Any) -> str:
    if type(value) is not str or not value.replace(" ", "a").islower():
        raise ChangeError(f"{value!r} is no gloss")
    return value


TOY = Column("gloss", "Gloss", gloss)
# It ends here.


def test_a_new_column_is_on_the_page_in_the_file_in_the_journal_and_undone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLUMNS, "gloss", TOY)
    session = guessed(Session(written(Path("a.conllu")), "anna"))
    marked = session.text.of_id(0)
    session.change(0, seen(marked), "gloss", 5, "to bark")
    with pytest.raises(ChangeError, match="7 is no gloss"):
        session.change(0, seen(marked), "gloss", 5, 7)
    words = shown_sentence(0, marked)["words"]
    glosses = [one for word in words for one in word["more"] if one["what"] == "gloss"]
    assert [one["value"] for one in glosses] == ["_", "a b", "_", "_", "to bark", "_"]
    assert glosses[0] == {"what": "gloss", "title": "gloss", "value": "_"}
    session.close()
    assert "SpaceAfter=No|Gloss=to bark\n" in Path("a.conllu").read_text(encoding="utf-8")
    session = Session("a.conllu", "anna")
    assert session.text.of_id(0).state.columns[4].misc.endswith("Gloss=to bark")
    session.back("undo")
    session.close()
    assert "Gloss=to bark" not in Path("a.conllu").read_text(encoding="utf-8")
