"""Objects of the library conllu: columns by name, whatever the order of their keys, and nothing
swallowed."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import conllu
import pytest
from conllu.models import Token
from wording import Wording

import dynet_vdgi as vdgi
from dynet_vdgi.conllu.writing import block_of
from dynet_vdgi.errors import DataError, UsageError

TEXT = (
    "# sent_id = a\n# text = du lac\n# newpar\n"
    "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "1\tde\tde\tADP\tE\t_\t3\tcase\t3:case|3.1:case:de\tGloss=of|Lang=fr|Odd\n"
    "2\tle\tle\tDET\tD\tDefinite=Def|Number=Sing\t3\tdet\t_\t_\n"
    "3\tlac\tlac\tNOUN\t_\tNumber=Plur,Sing\t0\troot\t0:root\t_\n"
    "3.1\tx\tx\tX\t_\t_\t_\t_\t3:dep\tA=_\n\n"
)
ROW: dict[str, Any] = {
    "id": 1,
    "form": "cathod",
    "upos": "NOUN",
    "lemma": "cath",
    "head": 0,
    "deprel": "root",
}


def line_of(*rows: dict[str, Any], **metadata: Any) -> str:
    """The last line of the sentence of these rows."""
    sentence = vdgi.from_conllu(conllu.TokenList([Token(row) for row in rows], metadata))
    assert sentence.source is not None
    return sentence.source.lines[-1]


def test_the_order_of_keys_says_nothing() -> None:
    """Multiword tokens, empty nodes, FEATS, DEPS and MISC, which the library takes apart, and
    comments."""
    (tokens,) = conllu.parse(TEXT)
    expected = vdgi.from_conllu(tokens)
    assert block_of(expected) == TEXT == tokens.serialize()
    order = random.Random(3)
    for _ in range(20):
        mixed = conllu.TokenList(
            [Token(order.sample([*row.items()], len(row))) for row in tokens], tokens.metadata
        )
        assert mixed.serialize() != TEXT
        assert vdgi.from_conllu(mixed) == expected
        assert block_of(vdgi.from_conllu(mixed)) == TEXT


def test_a_key_that_is_missing_is_an_underscore() -> None:
    """As in rows that people write by hand, and in words that they append to a sentence."""
    assert line_of(ROW) == "1\tcathod\tcath\tNOUN\t_\t_\t0\troot\t_\t_"
    (tokens,) = conllu.parse(
        "1\tcath\tcath\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tcysgu\tcysgu\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    )
    tokens.append(Token({"id": 3, "form": "yno", "upos": "ADV", "head": 2, "deprel": "advmod"}))
    sentence = vdgi.from_conllu(tokens)
    assert sentence.tags == ("NOUN", "VERB", "ADV")
    assert sentence.lemmas == ("cath", "cysgu", "_")
    assert sentence.heads == (2, 0, 2)


def test_the_earlier_names_of_keys_are_columns_too(wording: Wording) -> None:
    earlier = {"upostag": "NOUN", "xpostag": "N", **{key: ROW[key] for key in ("id", "form")}}
    assert line_of(earlier) == "1\tcathod\t_\tNOUN\tN\t_\t_\t_\t_\t_"
    assert line_of({**earlier, "upos": "NOUN"}) == line_of(earlier)
    with wording.raises(UsageError):
        line_of({**earlier, "upos": "VERB"})


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"feats": {"Case": "Nom", "Number": "Sing"}}, "Case=Nom|Number=Sing"),
        ({"feats": {}}, "_"),
        ({"feats": None}, "_"),
        ({"feats": "Case=Nom"}, "Case=Nom"),
        ({"misc": {"Gloss": "cat", "Odd": "", "A": None}}, "Gloss=cat|Odd|A=_"),
        ({"deps": [("root", 0), ("nsubj:x", (1, ".", 2))]}, "0:root|1.2:nsubj:x"),
        ({"deps": []}, "_"),
        ({"head": "0"}, "0"),
        ({"lemma": None}, "_"),
    ],
)
def test_values_are_written_as_the_library_writes_them(columns: dict[str, Any], text: str) -> None:
    assert text in line_of({**ROW, **columns}).split("\t")


@pytest.mark.parametrize(
    "columns",
    [
        {"parseme:mwe": "*"},
        {7: None},
        {"misc": {"A": [1]}},
        {"deps": [7]},
        {"form": "a\tb"},
        {"misc": {"A": "b\n\n1\tc"}},
    ],
)
def test_what_no_column_can_hold_is_refused(columns: dict[Any, Any], wording: Wording) -> None:
    with wording.raises(UsageError):
        line_of({**ROW, **columns})


def test_a_comment_of_two_lines_is_refused(wording: Wording) -> None:
    assert line_of(ROW, text="cathod", newpar=None)[:1] == "1"
    with wording.raises(UsageError):
        line_of(ROW, text="cathod\n1\tx")


def test_what_is_no_list_of_tokens_is_refused_with_what_to_do(wording: Wording) -> None:
    (tree,) = conllu.parse_tree(TEXT)
    for each in (tree, conllu.parse(TEXT)[0].to_tree()):
        with wording.raises(UsageError):
            vdgi.from_conllu(each)
    items = conllu.TokenList([Token(ROW)])
    list.append(items, "cath")  # as the library itself does not
    with wording.raises(UsageError):
        vdgi.from_conllu(items)
    with wording.raises(DataError):
        vdgi.from_conllu(conllu.TokenList())
    with wording.raises(DataError):
        vdgi.from_conllu(conllu.TokenList([], {"sent_id": "a"}))


def test_sentences_of_real_treebanks_are_what_the_library_writes(data_dir: Path) -> None:
    files = sorted((data_dir / "ud2").rglob("*.conllu"))[::20]
    assert files
    for path in files:
        with path.open(encoding="utf-8") as handle:
            for tokens in itertools.islice(conllu.parse_incr(handle), 50):
                found = vdgi.from_conllu(tokens, heads="ignored")
                assert block_of(found) == tokens.serialize()
                mixed = conllu.TokenList(
                    [Token(reversed(row.items())) for row in tokens], tokens.metadata
                )
                assert block_of(vdgi.from_conllu(mixed, heads="ignored")) == tokens.serialize()
