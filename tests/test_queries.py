"""Queries for words: each condition says what it should, and a wrong one is refused with the reason."""

from __future__ import annotations

import contextlib
import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.data.queries import COLUMNS, conditions, hint, words_of
from dynet_vdgi.errors import UsageError

ROWS = [
    ["1", "Big", "big", "ADJ", "JJ", "Degree=Pos", "2", "amod", "_", "_"],
    ["2", "dogs", "dog", "NOUN", "_", "Case=Nom|Number=Plur", "3", "nsubj", "3:nsubj", "Gloss=a b"],
    ["3", "bark", "bark", "VERB", "_", "_", "0", "root", "_", "_"],
    ["4", "at", "at", "ADP", "_", "_", "6", "case", "_", "_"],
    ["5", "New York", "York", "PROPN", "_", "_", "_", "_", "_", "_"],
    ["6", '"', '"', "PUNCT", "_", "_", "3", "obl:arg", "_", "SpaceAfter=No"],
]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("upos=NOUN", [2]),
        ("UPOS=NOUN  deprel=nsubj", [2]),
        ("upos=NOUN deprel=obj", []),
        ("head.upos=VERB", [2, 6]),
        ("head.upos!=VERB", [1, 3, 4, 5]),  # the root has no head, nor has 5
        ("head.head.form=bark", [1, 4]),
        ("head.head.head.form!=_", []),
        ("head=0", [3]),
        ("head=_", [5]),
        ("feats.Case=Nom", [2]),
        ("feats.Case!=_", [2]),
        ("feats=Case=Nom|Number=Plur", [2]),
        ("head.feats.Number=Plur", [1]),
        ("misc.Gloss~b", [2]),
        ('misc.Gloss="a b"', [2]),
        ('form="New York"', [5]),
        ('form="', [6]),
        ("lemma~^b", [1, 3]),
        ("lemma!~^b upos!=PUNCT", [2, 4, 5]),
        ("form~^(big|at)$", [4]),
        ("form~(?i)^(big|at)$", [1, 4]),
        ("deprel~^obl", [6]),
        ("deprel=obl", []),
        ("form=.", []),
        ("deps~nsubj xpos=_ id=2", [2]),
    ],
)
def test_the_words_are_found_of_which_all_conditions_hold(query: str, words: list[int]) -> None:
    assert words_of(conditions(query), ROWS) == words


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "1 to 1000 characters"),
        ("   ", "1 to 1000 characters"),
        ("upos=X " * 200, "1 to 1000 characters"),
        ("dog", "'dog' is no condition (expected such as upos=NOUN"),
        ("upos=NOUN dog", "'dog' is no condition"),
        ("upos=", "'upos=' is no condition"),
        ("upos= NOUN", "'upos=' is no condition"),
        ("upos!NOUN", "is no condition"),
        ("=NOUN", "'' is no column"),
        ("pos=NOUN", "'pos' is no column"),
        ("child.upos=NOUN", "'child.upos' is no column (there are: id, form, "),
        ("feats.=x", "'feats.' is no column"),
        ("upos.Case=x", "'upos.Case' is no column"),
        ("form~(", "'(' is no regular expression: missing )"),
        ("form~a{99999999999999999999}", "is no regular expression"),
        ('form="a b', "'b' is no condition"),
    ],
)
def test_a_wrong_query_is_refused_with_the_reason(query: str, why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        conditions(query)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("upos=noun", "no word has upos=noun; NOUN has 1"),
        ("deprel=NSUBJ upos=NOUN", "no word has deprel=NSUBJ; nsubj has 1"),
        ("feats.Case=nom", "no word has feats.Case=nom; Nom has 1"),
        ("head.upos=verb", "no word has head.upos=verb; VERB has 1"),
        ("upos=NOUN|VERB", "no word has upos=NOUN|VERB; for one of several values say upos~^(NOUN|VERB)$"),
        ("feats.Case=Nom|Acc", "no word has feats.Case=Nom|Acc; for one of several values say feats.Case~^(Nom|Acc)$"),
        ("upos=N", "no word has upos=N; most frequent there: ADJ, NOUN, VERB, ADP, PROPN"),
        ("feats.Case=Gen", "no word has feats.Case=Gen; most frequent there: Nom"),
        ("feats.Gender=Fem", "no word has feats.Gender=Fem"),
        ("feats=Case=Nom|Number=Sing", "no word has feats=Case=Nom|Number=Sing"),
        ("lemma=cat", "no word has lemma=cat"),
        ('form="new york"', 'no word has form="new york"; New York has 1'),
        ("upos=NOUN deprel=root", ""),
        ("upos~^N$", ""),
        ("upos!=_ lemma~zzz", ""),
    ],
)
def test_a_hint_says_what_is_nowhere_and_what_may_be_meant(query: str, why: str) -> None:
    assert words_of(conditions(query), ROWS) == []
    assert hint(conditions(query), [ROWS]) == why


VALUES = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters='"'), min_size=1, max_size=5)
CELLS = st.one_of(st.sampled_from(["_", "A=b", "A=b|C=d", "0", "1", "2"]), VALUES)


@st.composite
def sentences(draw: st.DrawFn) -> list[list[str]]:
    n = draw(st.integers(1, 4))
    rows = [draw(st.lists(CELLS, min_size=10, max_size=10)) for _ in range(n)]
    for row in rows:
        row[6] = str(draw(st.integers(0, n)))
    return rows


@given(sentences(), st.sampled_from(COLUMNS), VALUES, st.sampled_from(["", "head.", "head.head."]))
def test_a_condition_and_its_contrary_share_the_words_out(
    rows: list[list[str]], column: str, value: str, above: str
) -> None:
    for operator, text in (("=", value), ("~", re.escape(value).replace('"', "."))):
        holds = words_of(conditions(f"{above}{column}{operator}{text}"), rows)
        fails = words_of(conditions(f"{above}{column}!{operator}{text}"), rows)
        assert sorted(holds + fails) == list(range(1, len(rows) + 1))
    place = COLUMNS.index(column)
    if not above:
        equal = words_of(conditions(f"{column}={value}"), rows)
        assert equal == [k for k, row in enumerate(rows, 1) if row[place] == value]


@given(st.text(max_size=30))
def test_whatever_is_asked_is_a_query_or_refused(query: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of re, for sets that may mean something else one day
        with contextlib.suppress(UsageError):
            assert set(words_of(conditions(query), ROWS)) <= set(range(1, 7))
