"""Queries for words: each condition says what it should, and a wrong one is refused with the
reason."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from cases import rows
from hypothesis import given
from hypothesis import strategies as st
from shell import ROOT, Vdgi
from wording import Wording

from dynet_vdgi.conllu import expressions
from dynet_vdgi.conllu.expressions import Expression
from dynet_vdgi.conllu.queries import COLUMNS, conditions, hint, words_of
from dynet_vdgi.errors import UsageError

ROWS = [
    ["1", "Big", "big", "ADJ", "JJ", "Degree=Pos", "2", "amod", "_", "_"],
    ["2", "dogs", "dog", "NOUN", "_", "Case=Nom|Number=Plur", "3", "nsubj", "3:nsubj", "Gloss=a b"],
    ["3", "bark", "bark", "VERB", "_", "_", "0", "root", "_", "_"],
    ["4", "at", "at", "ADP", "_", "_", "6", "case", "_", "_"],
    ["5", "New York", "York", "PROPN", "_", "_", "_", "_", "_", "_"],
    ["6", '"', '"', "PUNCT", "_", "_", "3", "obl:arg", "_", "SpaceAfter=No"],
]


@pytest.mark.parametrize(("query", "words"), rows("queries.txt"))
def test_the_words_are_found_of_which_all_conditions_hold(query: str, words: str) -> None:
    found = words_of(conditions(query), ROWS)
    assert (" ".join(map(str, found)) or "none") == words


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "upos=X " * 200,
        "dog",
        "upos=NOUN dog",
        "upos=",
        "upos= NOUN",
        "upos!NOUN",
        "=NOUN",
        "pos=NOUN",
        "child.upos=NOUN",
        "feats.=x",
        "upos.Case=x",
        "form~(",
        "form~a{99999999999999999999}",
        'form="a b',
    ],
)
def test_a_wrong_query_is_refused_with_the_reason(query: str, wording: Wording) -> None:
    with wording.raises(UsageError):
        conditions(query)


@pytest.mark.parametrize(
    "query",
    [
        "upos=noun",
        "deprel=NSUBJ upos=NOUN",
        "feats.Case=nom",
        "head.upos=verb",
        "upos=NOUN|VERB",
        "feats.Case=Nom|Acc",
        "upos=N",
        "feats.Case=Gen",
        "feats.Gender=Fem",
        "feats=Case=Nom|Number=Sing",
        "lemma=cat",
        'form="new york"',
        "upos=NOUN deprel=root",
        "upos~^N$",
        "upos!=_ lemma~zzz",
    ],
)
def test_a_hint_says_what_is_nowhere_and_what_may_be_meant(query: str, wording: Wording) -> None:
    assert words_of(conditions(query), ROWS) == []
    wording.check(hint(conditions(query), [ROWS]))


VALUES = st.text(
    st.characters(exclude_categories=["Z", "C"], exclude_characters='"'), min_size=1, max_size=5
)
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
        # of re, for sets that may mean something else one day
        warnings.simplefilter("ignore", FutureWarning)
        with contextlib.suppress(UsageError):
            assert set(words_of(conditions(query), ROWS)) <= set(range(1, 7))


@pytest.mark.parametrize(
    "query",
    ["form~(a|aa)+c", "form~^(a|aa)+[bc]$", "lemma~x form~^(a|aa)+$.", "head.form!~(a|aa)+c"],
)
def test_an_expression_that_does_not_end_is_ended(
    query: str, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(expressions, "SECONDS", 0.1)
    rows = [[str(k), "a" * 60, "x", "X", "_", "_", "1", "_", "_", "_"] for k in (1, 2)]
    with wording.raises(UsageError):
        words_of(conditions(query), rows)


@pytest.mark.parametrize(
    "text",
    [
        "(?:(?:a?){5000}){5000}b",
        "(?:" * 20 + "a" + "){2}" * 20,
        "(?:" * 20 + "a" + "){2,}" * 20,
        "(" * 40 + "a" + ")+" * 40,
        "(?x)" + "(?:" * 20 + "a" + ") {2}" * 20,
        "(?x)" + "(?:" * 20 + "a" + ")#\n+" * 20,
    ],
)
def test_an_expression_that_takes_long_to_read_is_refused(text: str, wording: Wording) -> None:
    """The package regex copies repeated groups: some of these take minutes, and all memory."""
    with wording.raises(UsageError):
        Expression(text)


def test_usual_repeats_of_groups_are_read() -> None:
    assert Expression(r"^(([bdg][aeiou]){2,4}n?)+(s|z)?(ing|ed){0,1}(\.\d{1,3}){0,255}$").is_in(
        "badagons"
    )
    assert Expression("(ab){1000}").is_in("ab" * 1000)


def test_the_time_of_many_values_is_that_of_all_together(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    """Otherwise a text whose every word takes nearly two seconds would take days."""
    clock = itertools.count(0, 0.5)
    monkeypatch.setattr(expressions.time, "perf_counter", lambda: next(clock))
    found = Expression("b")
    assert [found.is_in("abc") for _ in range(3)] == [True] * 3
    assert found.is_in("abc") is True
    with wording.raises(UsageError):
        found.is_in("abc")


def test_other_threads_go_on_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "SECONDS", 0.3)
    steps, ended = [], threading.Event()

    def work() -> None:
        while not ended.is_set():
            steps.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        before = len(steps)
        with pytest.raises(UsageError):
            Expression("(a|aa)+c").is_in("a" * 60)
        assert len(steps) > before + 3
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    "text",
    [
        "^a",
        "ing$",
        "a{2,3}",
        "(?i)^A",
        "[^aeiou]{2}",
        r"\d",
        r"\.",
        "a|b",
        "^.$",
        r"(?<=a)b",
        "a+?b",
        "(?P<x>a)(?P=x)",
        "[a-c]+",
    ],
)
def test_expressions_mean_what_they_mean_in_python(text: str) -> None:
    values = ["", "a", "ab", "Aab", "aab", "abc", "bring", "1", ".", "a.b", "aa", "İ", "ß", "x1y"]
    expression, pattern = Expression(text), re.compile(text)
    assert [expression.is_in(value) for value in values] == [
        pattern.search(value) is not None for value in values
    ]


def test_marks_of_a_word_belong_to_it_in_expressions() -> None:
    """Python's `re` splits words of Hindi or Thai at their vowel signs; `\\w` of the package regex has them."""
    assert Expression(r"^\w+$").is_in("हिन्दी")


def test_what_only_the_package_regex_reads_is_no_expression(wording: Wording) -> None:
    """`(?R)`, an expression inside itself, would take gigabytes."""
    for text in ("(?R)", r"\p{L}", "(?&x)"):
        with wording.raises(UsageError):
            conditions(f"form~{text}")


def test_the_command_ends_with_a_message(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    Path("a.conllu").write_text(f"1\t{'a' * 60}\t_\tX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    status, out, err = vdgi("check", "a.conllu", "--find", "form~(a|aa)+c")
    assert (status, out) == (2, "")
    wording.check(err)


def test_ctrl_c_is_heard_while_a_query_runs(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(f"1\t{'a' * 60}\t_\tX\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    code = """
import sys, _thread, threading
from dynet_vdgi import cli
from dynet_vdgi.conllu import expressions
expressions.SECONDS = 600
search = expressions.Expression.is_in

def is_in(self, value):
    threading.Timer(0.2, _thread.interrupt_main).start()
    return search(self, value)

expressions.Expression.is_in = is_in
sys.exit(cli.main(["check", sys.argv[1], "--find", "form~(a|aa)+c"]))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, path],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
