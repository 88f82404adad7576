"""Splits that are offered for a word: those of words like it."""

from __future__ import annotations

from pathlib import Path

import pytest
from annotating import seen, written

from dynet_vdgi.page.learn.splits import WordSplit
from dynet_vdgi.page.store.session import Session


def text_of(*tokens: str) -> str:
    """Lines of a sentence: `du=de+le` is a multiword token, `l'_` a token without a space after it."""
    lines, place = [], 1
    for token in tokens:
        form, _, words = token.partition("=")
        misc, forms = (
            "SpaceAfter=No" if form.endswith("_") else "_",
            words.split("+") if words else [form.rstrip("_")],
        )
        if words:
            lines.append(f"{place}-{place + len(forms) - 1}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n")
        for each in forms:
            lines.append(f"{place}\t{each}\t_\tX\t_\t_\t_\t_\t_\t{'_' if words else misc}\n")
            place += 1
    return "".join(lines) + "\n"


@pytest.mark.parametrize(
    ("tokens", "form", "offered"),
    [
        (["du=de+le"], "du", ["de|le"]),
        (["Du=De+le"], "du", ["de|le"]),
        (["du=de+le"], "Du", ["De|le"]),
        (["avanum=avan+um"], "naanum", ["naan|um"]),
        (["avanum=avan+um", "num=nu+m"], "naanum", ["naan|um", "naanu|m"]),  # of the longer ending
        (["nas=en+as"], "nos", ["en|os"]),
        (["nas=en+as"], "n", []),
        (["da_", "eau", "est", "la"], "Daor", ["Da or"]),
        # hardly any spaces: tokens without one are no splits
        (["da_", "eau", "est_", "la_"], "daor", []),
        (["du=de+le"], "du x", []),
        (["l'_", "eau"], "d'or", ["d' or", "d'|or"]),  # at an apostrophe, whatever the words
        (["eau_", "."], "or.", []),  # punctuation is no split
        (["eau", "or"], "eauor", []),  # there was a space
        (["a=b+c"], "x", []),
        (["i\u0307x=i\u0307+x"], "\u0130x", ["\u0130|x"]),
    ],
)
def test_words_are_split_as_others_were(
    folder: Path, tokens: list[str], form: str, offered: list[str]
) -> None:
    session = Session(written(Path("a.conllu"), text_of(*tokens) + text_of(form)), "anna")
    for marked in session.text.sentences:
        marked.is_from_file = False
    assert session.text.splits.offered_splits(form, session.text.sentences[:1]) == offered
    # again, from what was kept
    assert session.text.splits.offered_splits(form, session.text.sentences[:1]) == offered


def test_only_tokens_that_somebody_has_looked_at_teach_and_what_is_offered_can_be_stored(
    folder: Path,
) -> None:
    session = Session(written(Path("a.conllu"), text_of("avanum") + text_of("naanum")), "anna")
    splits, sentences = session.text.splits, session.text.sentences
    assert splits.offered_splits("naanum", sentences) == []
    session.change(0, seen(session.text.of_id(0)), "split", 1, ["avan", "um"])
    assert splits.offered_splits("naanum", sentences) == ["naan|um"]
    session.change(1, seen(session.text.of_id(1)), "split", 1, ["naan", "um"])
    assert [marked.forms for marked in sentences] == [("avan", "um"), ("naan", "um")]
    session.back("undo")
    session.back("undo")
    assert splits.offered_splits("naanum", sentences) == []


def test_a_split_never_takes_a_whole_word_away() -> None:
    assert WordSplit("end", "um", ("", "um"), "|").typed_words("um") == ""
    assert WordSplit("whole", "um", ("u", "m"), "|").typed_words("xum") == ""
