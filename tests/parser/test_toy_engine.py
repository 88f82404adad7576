"""An engine from outside that only scores arcs: trees, relations, kept heads, `vdgi parse`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tiny
from few import trees
from wording import Wording

from dynet_vdgi.api import train
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.parser.given_heads import KeepError
from dynet_vdgi.parser.parser import How
from dynet_vdgi.settings.registry import RECIPES


def test_an_engine_from_outside_does_all_that_others_do(
    monkeypatch, folder, vdgi, wording: Wording
):
    monkeypatch.setattr(RECIPES, "_places", {**RECIPES._places, "toy": "toys:RECIPE"})
    parser = train(trees(12), settings={"recipe": "toy"})  # every word hangs from the one before
    text = [replace(one, heads=None, deprels=(), gaps=()) for one in trees(6)]
    found = parser.parse_all(text, relations=True)
    assert [one.heads for one in found] == [tuple(range(len(one))) for one in text]
    assert all(one.relations and one.relations[0] == "root" for one in found)
    given = [replace(one, heads=(2, *[FREE] * (len(one) - 1))) for one in text]
    for one in parser.parse_all(given, How(keep_heads=True)):
        assert one.heads == (2, 0, *range(2, len(one.heads)))
    with wording.raises(KeepError):
        parser.parse_all([replace(text[0], heads=(2, 1, FREE, FREE, FREE))], How(keep_heads=True))
    parser.save("toy.vdgi")
    tiny.write(Path("text.conllu"), heads=False)
    vdgi.good("parse", "toy.vdgi", "text.conllu", "-o", "parsed.conllu")
    parsed, before = list(read("parsed.conllu")), list(read("text.conllu"))
    assert [one.forms for one in parsed] == [one.forms for one in before]
    assert all(one.heads and 0 in one.heads and "root" in one.deprels for one in parsed)
