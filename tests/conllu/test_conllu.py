"""The CoNLL-U reader and writer: faults by place, repairs, round trips, and a second reader as a
witness."""

from __future__ import annotations

import gzip
import io
import itertools
import re
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conllu import parse, parse_token_and_metadata
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

from dynet_vdgi.conllu import raw_documents, reading
from dynet_vdgi.conllu.faults import Repair
from dynet_vdgi.conllu.objects import from_conllu, to_conllu
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.writing import block_of, render, write
from dynet_vdgi.errors import DataError, UsageError

MALFORMED = Path(__file__).parents[1] / "malformed"

# One file per fault in tests/malformed, and what reading it says. Each file but those of one line
# or of odd bytes opens with a good sentence of six lines, an empty line included.
FAULTS = (Path(__file__).parents[1] / "tables" / "conllu_faults.txt").read_text(encoding="utf-8")

NEED_TREES = ("head-required.conllu", "head-some-missing.conllu", "tree-all-roots.conllu")
"""Files whose fault is none where trees are not needed."""

GOOD = """\
# sent_id = kites-1
# a remark without equals sign
1-2\tDelkites\t_\t_\t_\tTypo=Yes\t_\t_\t_\tSpaceAfter=No
1\tDel\tde\tADP\tE\t_\t2\tcase\t2:case\tA=B=C|D
2\tkites\tkite\tNOUN\tS\tNumber=Plur\t3\tnsubj\t3:nsubj|3.1:nsubj\t_
3\tglide\tglide\tVERB\tV\tNumber=Plur|Person=3\t0\troot\t0:root\tNote=two words
3.1\tglide\tglide\tVERB\t_\t_\t_\t_\t3:conj\t_
4\tof course\tof course\tADV\t_\t_\t3\tadvmod:emph\t_\t_

# sent_id = kites-2
0.1\tit\t_\tPRON\t_\t_\t_\t_\t1:nsubj\t_
1\t_\t_\tSYM\t_\t_\t0\troot\t_\t_

"""
BARE = "1\tKites\tkite\tNOUN\t_\t_\t_\t_\t_\t_\n2\tglide\tglide\tVERB\t_\t_\t_\t_\t_\t_\n\n"
TREE = BARE.replace("NOUN\t_\t_\t_", "NOUN\t_\t_\t2").replace("VERB\t_\t_\t_", "VERB\t_\t_\t0")


@pytest.fixture(scope="session")
def file_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | bytes], str]:
    """A function that puts text or bytes into a file, always the same one, and gives its path."""
    path = tmp_path_factory.mktemp("conllu") / "kites.conllu"

    def put(content: str | bytes) -> str:
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return str(path)

    return put


def no_repair(repair: DataError) -> None:
    raise AssertionError(f"unexpected repair: {repair}")


# Faults


def test_every_malformed_file_is_in_the_table() -> None:
    named = [line.split(":")[0] for line in FAULTS.strip().split("\n")]
    assert named == sorted(path.name for path in MALFORMED.iterdir())


@pytest.mark.parametrize(
    "expected", FAULTS.strip().split("\n"), ids=lambda line: line.split(".")[0]
)
def test_fault_names_file_line_and_remedy(expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MALFORMED)
    name = expected.split(":")[0]
    policy: reading.HeadPolicy = "required" if name in NEED_TREES else "optional"
    with pytest.raises(DataError) as caught:
        list(read(name, heads=policy))
    assert str(caught.value) == expected
    assert not isinstance(caught.value, Repair)
    faults: list[DataError] = []
    sentences = list(read(name, heads="required", on_error=faults.append))  # good sentences go on
    assert [str(fault) for fault in faults] == [expected]
    assert all(sentence.heads is not None for sentence in sentences)


def test_on_error_tells_one_fault_per_faulty_sentence(
    file_of: Callable[[str], str], wording: Wording
) -> None:
    faults: list[DataError] = []
    bad = "1\ta\t_\tX\n1\tb\n\n"
    sentences = list(read(file_of(TREE + bad + TREE + "word\n\n" + TREE), on_error=faults.append))
    assert len(sentences) == 3
    wording.check([f"{fault.line}: {fault.message}" for fault in faults])


def test_a_sentence_without_end_is_given_up_early(
    file_of: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setenv("VDGI_LIMITS", "lines=9")
    faults: list[DataError] = []
    path = file_of("\n" + "# a\n" * 9 + "\n" + "# a\n" * 5000 + "\n" + TREE)
    assert [
        sentence.source.line for sentence in read(path, on_error=faults.append) if sentence.source
    ] == [5013]
    wording.check([f"{fault.line}: {fault.message}" for fault in faults])


# What is read


def test_words_tags_heads_and_source(file_of: Callable[[str], str]) -> None:
    path = file_of(GOOD)
    first, second = read(path, on_repair=no_repair)
    assert first.forms == ("Del", "kites", "glide", "of course")
    assert first.tags == ("ADP", "NOUN", "VERB", "ADV")
    assert first.heads == (2, 3, 0, 3)
    assert first.source is not None
    assert first.source.path == path
    assert first.source.line == 1
    assert first.source.rows == (3, 4, 5, 7)
    assert first.source.lines == tuple(GOOD.split("\n\n")[0].split("\n"))
    assert second.forms == ("_",)
    assert second.source is not None
    assert second.source.line == 10


def test_head_policies(file_of: Callable[[str], str], wording: Wording) -> None:
    assert [sentence.heads for sentence in read(file_of(TREE + BARE))] == [(2, 0), None]
    assert [sentence.heads for sentence in read(file_of(TREE + BARE), heads="ignored")] == [
        None,
        None,
    ]
    assert [sentence.heads for sentence in read(file_of(TREE), heads="required")] == [(2, 0)]
    odd = TREE.replace("\t2\t", "\tseven\t")
    assert [sentence.heads for sentence in read(file_of(odd), heads="ignored")] == [None]
    with wording.raises(DataError):
        list(read(file_of(TREE.replace("\t2\t", "\t\t")), heads="ignored"))


@pytest.mark.parametrize(
    "form", ["a\u2028b", "1\u0085000", "1\u00a0000", "a\u3000b", "a b", "\u200b", "a\x0cb"]
)
def test_odd_characters_inside_a_form_are_kept(form: str, file_of: Callable[[str], str]) -> None:
    (sentence,) = read(file_of(TREE.replace("Kites", form)), on_repair=no_repair)
    assert sentence.forms == (form, "glide")
    assert render(sentence, (2, 0)).split("\t")[1] == form


def test_gz_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    path = tmp_path / "kites.conllu.gz"
    path.write_bytes(gzip.compress(TREE.encode(), mtime=0))
    assert [sentence.heads for sentence in read(path)] == [(2, 0)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((TREE + "x\n\n").encode())))
    with wording.raises(DataError):
        list(read("-"))


# Repairs


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("\ufeff" + TREE, 1),
        (TREE.replace("\n", "\r\n"), 1),
        (TREE[:-1], 2),
        (TREE[:-2], 2),
        (TREE + "\n\n", 4),
        ("\n \n" + TREE, 1),
        (TREE[:-1] + " \t\n", 3),
        (TREE[:-1] + "\u00a0\n", 3),
    ],
)
def test_repair(content: str, line: int, wording: Wording, file_of: Callable[[str], str]) -> None:
    repairs: list[DataError] = []
    path = file_of(content)
    (sentence,) = read(path, on_repair=repairs.append)
    wording.check([str(repair) for repair in repairs])
    assert all(isinstance(repair, Repair) for repair in repairs)
    assert render(sentence, (2, 0), ["_", "_"]) == TREE


# Round trips


def test_only_columns_seven_and_eight_change(file_of: Callable[[str], str]) -> None:
    first, second = read(file_of(GOOD))
    assert (
        render(first, first.heads or (), ["case", "nsubj", "root", "advmod:emph"])
        + render(second, [0])
        == GOOD
    )
    assert render(first, [0, 1, 1, 3]).split("\n") == [
        "# sent_id = kites-1",
        "# a remark without equals sign",
        "1-2\tDelkites\t_\t_\t_\tTypo=Yes\t_\t_\t_\tSpaceAfter=No",
        "1\tDel\tde\tADP\tE\t_\t0\troot\t2:case\tA=B=C|D",
        "2\tkites\tkite\tNOUN\tS\tNumber=Plur\t1\tdep\t3:nsubj|3.1:nsubj\t_",
        "3\tglide\tglide\tVERB\tV\tNumber=Plur|Person=3\t1\tdep\t0:root\tNote=two words",
        "3.1\tglide\tglide\tVERB\t_\t_\t_\t_\t3:conj\t_",
        "4\tof course\tof course\tADV\t_\t_\t3\tdep\t_\t_",
        "",
        "",
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_treebanks_round_trip_and_the_library_agrees(treebanks: list[Path]) -> None:
    raw: dict[str, Callable[[list[str], int], Any]] = dict.fromkeys(
        ("feats", "deps", "misc"), list.__getitem__
    )
    for path in treebanks[::4]:
        *blocks, rest = path.read_bytes().decode("utf-8").split("\n\n")
        assert rest == ""
        n_sentences = 0
        for block, sentence in zip(blocks, read(path, on_repair=no_repair)):
            n_sentences += 1
            assert sentence.source is not None
            deprels = [sentence.source.lines[row].split("\t", 8)[7] for row in sentence.source.rows]
            if sentence.heads is None:
                again = render(sentence, [0] * len(sentence), deprels).replace(
                    "\t0\t_\t", "\t_\t_\t"
                )
            else:
                again = render(sentence, sentence.heads, deprels)
            assert again == block + "\n\n", path
            if n_sentences % 50 == 1:  # the library is slow
                tokens = parse_token_and_metadata(block, field_parsers=raw)
                words = [token for token in tokens if isinstance(token["id"], int)]
                assert sentence.forms == tuple(word["form"] for word in words), path
                assert sentence.tags == tuple(word["upos"] for word in words), path
                heads = None if words[0]["head"] is None else tuple(word["head"] for word in words)
                assert sentence.heads == heads, path
        assert n_sentences == len(blocks)


FORMS = (
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"),
        min_size=1,
        max_size=8,
    )
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)
TAGS = st.sampled_from(["NOUN", "VERB", "ADJ", "PUNCT", "NN$"])
VALUES = st.one_of(
    st.text(st.characters(), max_size=4),
    st.text("aA=|_ \t\n\r\u00a0\u2028\x85\0\ud800#", max_size=4),
    st.sampled_from(["_", "A=b", "A=b|C=d", "nsubj"]),
)
"""What might stand in a column, and much that cannot."""


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """A random sentence with a random tree: each word of a shuffled order hangs below an earlier
    one."""
    words = draw(st.lists(st.tuples(FORMS, TAGS), min_size=1, max_size=8))
    order = draw(st.permutations(range(1, len(words) + 1)))
    heads = [0] * len(words)
    for position in range(1, len(order)):
        heads[order[position] - 1] = order[draw(st.integers(0, position - 1))]
    return Sentence(tuple(form for form, _ in words), tuple(tag for _, tag in words), tuple(heads))


@given(st.lists(sentences(), min_size=1, max_size=4))
def test_read_undoes_write(file_of: Callable[[str], str], made: list[Sentence]) -> None:
    handle = io.StringIO()
    assert write(made, handle) == len(made)
    back = list(read(file_of(handle.getvalue()), heads="required", on_repair=no_repair))
    assert [(s.forms, s.tags, s.heads) for s in back] == [(s.forms, s.tags, s.heads) for s in made]
    again = "".join(render(sentence, sentence.heads or ()) for sentence in back)
    assert again == handle.getvalue()


@st.composite
def wild_sentences(draw: st.DrawFn) -> Sentence:
    """Sentences that a program may make by mistake: any text in each column, any heads."""
    n = draw(st.integers(1, 3))
    column = st.one_of(st.just(()), st.tuples(*[VALUES] * n))
    words = st.tuples(*[st.one_of(FORMS, VALUES)] * n)
    heads = st.one_of(
        st.none(), st.tuples(*[st.integers(-2, n + 1)] * n), st.permutations(range(n)).map(tuple)
    )
    tags = st.tuples(*[st.one_of(TAGS, VALUES)] * n)
    made = Sentence(draw(words), draw(tags), draw(heads))
    names = ("upos", "lemmas", "xpos", "feats", "deprels")
    return replace(made, **{name: draw(column) for name in names})


@given(wild_sentences())
def test_what_write_accepts_is_read_back_equal(
    file_of: Callable[[str], str], made: Sentence
) -> None:
    handle = io.StringIO()
    try:
        write([made], handle)
    except (DataError, UsageError):
        return
    (back,) = read(file_of(handle.getvalue()), heads="partial", tags="known", on_repair=no_repair)
    again = io.StringIO()
    write([replace(back, source=None)] if "_" not in back.tags else [back], again)
    assert again.getvalue() == handle.getvalue()

    def known(column: tuple[str, ...]) -> tuple[str, ...]:
        values = tuple([value or "_" for value in column])
        return values if {*values} - {"_"} else ()

    assert back.forms == made.forms
    assert back.heads == (None if {*(made.heads or (-1,))} == {-1} else made.heads)
    assert back.tags == tuple([tag or "_" for tag in made.upos or made.tags])
    xpos = made.tags if made.upos else made.xpos
    assert (back.lemmas, back.xpos, back.feats) == tuple(
        map(known, (made.lemmas, xpos, made.feats))
    )
    if back.heads and known(made.deprels):
        assert back.deprels == known(made.deprels)


# Writing


def test_what_cannot_be_rendered(wording: Wording) -> None:
    two = Sentence(("a", "b"), ("X", "X"))
    for heads in ([0], [0, 1, 1], [0, 3], [-1, 0]):
        with wording.raises(UsageError):
            render(two, heads)
    for sentence, relations, message in (
        (two, ["root"], "1 relations for a sentence of 2 words"),
        (replace(two, tags=("X", "")), None, "word 2: a tag '' cannot be written"),
        (replace(two, tags=("_", "X")), None, "word 1: a tag '_' cannot be written"),
        (Sentence((), ()), None, "without words"),
    ):
        with pytest.raises(UsageError, match=message):
            render(sentence, [0, 1][: len(sentence)], relations)


BAD_VALUES = ["a\tb", "a\nb", "a\r", "a\0", " a", "a  b", "a\u00a0", "a\ud800"]


@pytest.mark.parametrize(
    ("column", "number", "bad"),
    [
        ("forms", 2, ["", *BAD_VALUES]),
        ("lemmas", 3, BAD_VALUES),
        ("tags", 4, ["X Y", "X\u2003", *BAD_VALUES]),
        ("xpos", 5, ["X Y", *BAD_VALUES]),
        ("feats", 6, ["==", "A=", "A=b c", "x", *BAD_VALUES]),
        ("deprels", 8, ["n subj", *BAD_VALUES]),
    ],
)
def test_what_a_column_cannot_hold_is_refused_by_every_writer(
    column: str, number: int, bad: list[str]
) -> None:
    made = Sentence(("a", "b"), ("NOUN", "VERB"), (2, 0), deprels=("nsubj", "root"))
    good = {"feats": "A=b"}.get(column, "x")
    for value in bad:
        for writer in (lambda s: write([s], io.StringIO()), to_conllu):
            with pytest.raises(UsageError, match=rf"word 2.*(column {number} \(|lone surrogate)"):
                writer(replace(made, **{column: (good, value)}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "heads",
    [
        (2, 1),
        (0, 3),
        (0, 0),
        (0, 2),
        (0, 3, 2),
        (-1, 3, 2),
        (0, 1, 0),
        (0, -2),
    ],
)
def test_heads_that_are_no_tree_are_not_written(heads: tuple[int, ...], wording: Wording) -> None:
    made = Sentence(("w",) * len(heads), ("X",) * len(heads), heads)
    for writer in (lambda s: write([s], io.StringIO()), to_conllu):
        with wording.raises(DataError):
            writer(made)  # type: ignore[no-untyped-call]


# Cost


def test_memory_does_not_grow_with_the_file(file_of: Callable[[str], str]) -> None:
    path = file_of(GOOD * 1000)  # half a megabyte
    shared = list(itertools.islice(read(path), 2))  # the strings that all sentences share
    tracemalloc.start()
    try:
        n_words = sum(len(sentence) for sentence in read(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_words == 5000
    assert len(shared) == 2
    assert peak < 400_000  # half of it are small tuples that Python keeps for later


def test_columns_of_words_are_read_and_empty_where_nothing_is_known(
    file_of: Callable[[str], str],
) -> None:
    rows = [
        "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_",
        "2\tbark\t_\tVERB\tVBP\t_\t0\troot\t_\t_",
    ]
    bare = ["1\tDogs\t_\tNOUN\t_\t_\t_\t_\t_\t_"]
    rich, poor = read(file_of("\n".join([*rows, "", *bare, "", ""])))
    assert rich.lemmas == ("dog", "_")
    assert (rich.xpos, rich.feats, rich.deprels) == (
        ("NNS", "VBP"),
        ("Number=Plur", "_"),
        ("nsubj", "root"),
    )
    assert (poor.lemmas, poor.xpos, poor.feats, poor.deprels) == ((), (), (), ())
    ignored = next(read(file_of("\n".join([*rows, "", ""])), heads="ignored"))
    assert (ignored.deprels, ignored.heads) == ((), None)
    assert [a is b for a, b in zip(rich.feats, ignored.feats)] == [True, True]


# Text whose heads are no trees, or that is no CoNLL-U


@pytest.mark.parametrize("heads", [["0", "0", "0"], ["2", "_", "_"]])
def test_heads_that_are_no_trees_are_told_once_a_file_and_left_out(
    file_of: Callable[[str], str], heads: list[str], wording: Wording
) -> None:
    rows = [f"{k}\tw\t_\tNOUN\t_\t_\t{head}\tdep\t_\t_" for k, head in enumerate(heads, 1)]
    path = file_of(("\n".join(rows) + "\n\n") * 3)
    told: list[DataError] = []
    found = list(read(path, on_repair=told.append))
    assert [(sentence.heads, sentence.deprels) for sentence in found] == [(None, ())] * 3
    wording.check([f"{fault.message} ({fault.hint})" for fault in told])
    with wording.raises(DataError):
        list(read(path, heads="required"))
    assert [s.heads for s in read(path, heads="ignored", on_repair=no_repair)] == [None] * 3
    handle = io.StringIO()
    write(found, handle)
    assert handle.getvalue() == Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "Dogs bark .",
        "2016 was a year .",
        "Dogs\tNOUN",
        "Dogs\tdog\tNNS",
        "<s>",
        "1\tDogs" + "\t_" * 12,
        "1\tDogs\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tDogs\t_\t_\tNNS\t_\t_\t_\t_\t_",
    ],
)
def test_other_files_are_told_what_they_are(
    file_of: Callable[[str], str], line: str, wording: Wording
) -> None:
    with pytest.raises(DataError) as caught:
        list(read(file_of(line + "\n\n")))
    wording.check(caught.value)
    assert caught.value.line == 1


def test_tags_from_xpos_need_no_upos(file_of: Callable[[str], str]) -> None:
    xpos = ["NNS", ",", "VBP", "$", "-LRB-", "PUNCT|x", "``"]
    rows = [f"{k}\tw\t_\t_\t{tag}\t_\t_\t_\t_\t_" for k, tag in enumerate(xpos, 1)]
    path = file_of(("\n".join(rows) + "\n\n") * 2)
    told: list[DataError] = []
    found = list(read(path, tags="xpos", on_repair=told.append))
    assert found[0].tags == tuple(xpos)
    assert found[0].upos == ("_", "PUNCT", "_", "_", "PUNCT", "PUNCT", "PUNCT")
    assert [str(fault).partition(" (")[0] for fault in told] == [f"{path}:1: column 4"]
    assert len(told) == 1
    assert "punctuation" in told[0].hint
    handle = io.StringIO()
    write([replace(found[0], source=None, heads=(3, 1, 0, 3, 3, 3, 3))], handle)
    assert handle.getvalue().startswith("1\tw\t_\t_\tNNS\t_\t3\tdep\t_\t_\n")


# Writing sentences, and objects of the library


def test_a_file_is_written_as_it_was_read(file_of: Callable[[str], str], tmp_path: Path) -> None:
    sentences = list(read(file_of(GOOD + TREE + BARE)))
    assert write(sentences, tmp_path / "out.conllu") == 4
    assert (tmp_path / "out.conllu").read_text(encoding="utf-8") == GOOD + TREE + BARE
    other = replace(sentences[0], heads=(0, 1, 1, 1), deprels=())
    assert write([other], tmp_path / "out.conllu.gz") == 1
    with gzip.open(tmp_path / "out.conllu.gz", "rt", encoding="utf-8") as handle:
        assert handle.read() == render(other, other.heads or ())


def test_objects_of_the_library_come_back_as_they_were(file_of: Callable[[str], str]) -> None:
    for sentence in read(file_of(GOOD + TREE + BARE)):
        back = from_conllu(to_conllu(sentence))
        assert sentence.source is not None
        assert back.source is not None
        assert back == replace(sentence, source=back.source)
        assert (back.source.lines, back.source.rows) == (
            sentence.source.lines,
            sentence.source.rows,
        )


def test_what_the_library_parses_is_taken(file_of: Callable[[str], str]) -> None:
    """With ranges, empty nodes, FEATS of two values, DEPS and MISC, which that library takes apart."""
    text = (
        "# sent_id = a\n# text = du lac\n"
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tde\tde\tADP\t_\t_\t3\tcase\t3:case\tGloss=of|Lang=fr\n"
        "2\tle\tle\tDET\tD\tDefinite=Def|Number=Sing\t3\tdet\t_\t_\n"
        "3\tlac\tlac\tNOUN\t_\tNumber=Plur,Sing\t0\troot\t0:root\t_\n"
        "3.1\tx\tx\tX\t_\t_\t_\t_\t3:dep\t_\n\n"
        "1\tva\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n"
    )
    found = [from_conllu(tokens) for tokens in parse(text)]
    assert found == [replace(s, source=found[k].source) for k, s in enumerate(read(file_of(text)))]
    assert "".join(map(block_of, found)) == text


def test_an_object_that_is_no_sound_sentence_is_refused(
    file_of: Callable[[str], str], wording: Wording
) -> None:
    tokens = to_conllu(next(read(file_of(GOOD))))
    tokens[1]["head"] = 77
    with wording.raises(DataError):
        from_conllu(tokens)
    with wording.raises(UsageError):
        from_conllu(parse(GOOD))  # type: ignore[arg-type]


NBSP = "1\ta\t_\tNOUN\t_\t_\t0\troot\t_\tSpacesAfter=\u00a0\n\n"


def test_spaces_that_udpipe_writes_as_they_are_are_read_and_written(
    file_of: Callable[[str], str],
    wording: Wording,
) -> None:
    text = NBSP + NBSP.replace("SpacesAfter", "Gloss=x|SpacesBefore=\u3000|SpacesInToken=\u00a0a")
    read_back = list(read(file_of(text)))
    handle = io.StringIO()
    write(read_back, handle)
    assert handle.getvalue() == text
    (document,) = raw_documents.read_documents([file_of(NBSP)])
    assert document.text == "a\u00a0"
    for faulty in (
        "Gloss=\u00a0",
        "SpacesAfter= ",
        "SpacesAfter=a  b",
        "SpacesAfter=\u00a0|A=\u00a0",
    ):
        with wording.raises(DataError):
            list(read(file_of(NBSP.replace("SpacesAfter=\u00a0", faulty))))


COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"


@pytest.mark.parametrize(
    ("columns", "n_columns"),
    [
        (COLUMNS.replace("LEMMA UPOS", "UPOS LEMMA"), 10),
        ("ID FORM UPOS HEAD DEPREL", 5),
        (COLUMNS.replace("MISC", "PARSEME:MWE MISC"), 11),
    ],
)
def test_other_columns_are_refused_by_their_names(
    file_of: Callable[[str], str], columns: str, n_columns: int
) -> None:
    row = "\t".join(["1", "w", "X", "x", *["_"] * 7][:n_columns])
    path = file_of(f"# global.columns = {columns}\n{row}\n\n{row}\n\n")
    message = f"{path}:1: this is CoNLL-U Plus with the columns {columns}, not CoNLL-U (convert it to {COLUMNS})"
    faults: list[DataError] = []
    assert list(read(path, on_error=faults.append)) == []
    assert list(map(str, faults)) == [message]
    with pytest.raises(DataError, match=re.escape(message)):
        raw_documents.read_documents([path])


# Odd spaces in MISC

VERBATIM = (
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x1f",
    "\x85",
    "\xa0",
    "\u2003",
    "\u2028",
    "\u3000",
    "\x0c\x0c",
    "\x01",
)


@pytest.mark.parametrize("space", VERBATIM)
@pytest.mark.parametrize("key", ["SpacesAfter", "SpacesBefore", "SpacesInToken", "SpaceAfter"])
@pytest.mark.parametrize("around", ["{}", "Gloss=x|{}", "{}|Gloss=x", "A=b|{}\\n|Gloss=x"])
def test_spaces_that_udpipe_writes_as_they_are_are_read_and_kept(
    file_of: Callable[[str], str], space: str, key: str, around: str
) -> None:
    misc = around.format(f"{key}={space}")
    text = TREE.replace("_\n2", f"{misc}\n2")
    assert misc in text
    found = list(read(file_of(text), heads="ignored", on_repair=no_repair))
    assert block_of(found[0]) == text
    written = render(found[0], (2, 0))
    assert written.split("\n")[0].endswith("\t" + misc)
    (document,) = raw_documents.read_documents([file_of(text)])
    assert len(document.sentences) == 1


@pytest.mark.parametrize(
    "misc", ["Note=a \x0c", " SpacesAfter=\x0c", "SpacesAfter= |A=b", "xSpaceAfter=\xa0", "\x0c"]
)
def test_other_white_space_at_the_ends_of_misc_is_a_fault(
    file_of: Callable[[str], str], misc: str, wording: Wording
) -> None:
    with wording.raises(DataError):
        list(read(file_of(TREE.replace("_\n2", f"{misc}\n2"))))


def test_a_no_break_space_after_a_token_is_in_the_text(file_of: Callable[[str], str]) -> None:
    (document,) = raw_documents.read_documents(
        [file_of(TREE.replace("_\n2", "SpaceAfter=\xa0\n2"))]
    )
    assert document.text.startswith("Kites\xa0glide")
