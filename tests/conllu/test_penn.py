"""Bracketed trees: faults by place, what is taken out, heads, and the sample of the Wall Street
Journal."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import rows
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.conllu import head_rules, penn
from dynet_vdgi.conllu.penn import Constituent, read
from dynet_vdgi.conllu.punctuation import is_projective
from dynet_vdgi.errors import DataError

MALFORMED = Path(__file__).parents[1] / "malformed_penn"

# A file per fault in tests/malformed_penn, and what reading it says. Line 5 follows a good tree in
# most.
FAULTS = (Path(__file__).parents[1] / "tables" / "penn_faults.txt").read_text(encoding="utf-8")

TreesOf = Callable[[str], "list[Constituent]"]


@pytest.fixture(scope="session")
def trees_of(tmp_path_factory: pytest.TempPathFactory) -> TreesOf:
    """A function that gives the trees of a file with this text."""
    path = tmp_path_factory.mktemp("penn") / "wsj_0001.mrg"

    def trees(text: str) -> list[Constituent]:
        path.write_text(text, encoding="utf-8")
        return list(read(path))

    return trees


# Faults


def test_every_malformed_file_is_in_the_table() -> None:
    named = [line.split(":")[0] for line in FAULTS.strip().split("\n")]
    assert named == sorted(path.name for path in MALFORMED.iterdir())


@pytest.mark.parametrize(
    "expected", FAULTS.strip().split("\n"), ids=lambda line: line.split(".")[0]
)
def test_fault_names_file_line_and_remedy(expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MALFORMED)
    with pytest.raises(DataError) as caught:
        list(read(expected.split(":")[0]))
    assert str(caught.value) == expected


@given(
    st.lists(
        st.sampled_from(["(", ")", "S ", "(NN kite)", "(-NONE- *)", "\n", "*x*\n"]), max_size=12
    )
)
def test_any_text_is_read_or_refused_with_its_place(trees_of: TreesOf, pieces: list[str]) -> None:
    text = "".join(pieces)
    outcome: list[Constituent] | DataError
    try:
        outcome = trees_of(text)
    except DataError as error:
        outcome = error
    if isinstance(outcome, DataError):
        assert outcome.line in range(1, text.count("\n") + 2) or outcome.message == "no trees"
    else:
        assert sum(len(list(tree.words())) for tree in outcome) == text.count("(NN kite)") > 0
        assert text.count("(") == text.count(")")


# What is taken out


def shown(tree: Constituent) -> str:
    """The tree in brackets on one line."""
    return f"({tree.label} {tree.form or ' '.join(map(shown, tree.children))})"


@pytest.mark.parametrize(("text", "expected"), rows("penn_trees.txt"))
def test_trees_by_hand(trees_of: TreesOf, text: str, expected: str) -> None:
    assert " ".join(map(shown, trees_of(text))) == expected


WORDS = st.builds(
    lambda tag, form: Constituent(tag, (), form),
    st.sampled_from(sorted(penn.UPOS)),
    st.text("ab`'.*/\\-$", min_size=1),
)
CONSTITUENTS = st.recursive(
    WORDS,
    lambda children: st.builds(
        lambda label, some: Constituent(label, tuple(some)),
        st.sampled_from(["S", "NP", "VP", "PRN", "FRAG", "UCP"]),
        st.lists(children, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


def written(tree: Constituent, rng: random.Random) -> str:
    """The tree in brackets with random white space, function tags and empty elements."""

    def space() -> str:
        return rng.choice(["", " ", "\n  ", "\t"])

    def empty() -> str:
        return rng.choice(
            [
                "",
                "",
                "(-NONE- *T*-1)",
                "(NP-SBJ (-NONE- *))",
                "(S=1\n(NP(-NONE- *))(VP (-NONE- *?*)))",
            ]
        )

    if tree.form:
        return f"({space()}{tree.label} {tree.form}{space()})"
    label = tree.label + rng.choice(["", "-TMP", "-SBJ-1", "=2", "|X"])
    inside = "".join(empty() + space() + written(child, rng) for child in tree.children)
    return f"({space()}{label}{inside}{space()}{empty()})"


@given(st.lists(CONSTITUENTS, min_size=1, max_size=3), st.integers(0, 10**6))
def test_layout_tags_and_empty_elements_leave_no_trace(
    trees_of: TreesOf, trees: list[Constituent], seed: int
) -> None:
    rng = random.Random(seed)
    text = "".join(
        rng.choice(["", "\n"]) + rng.choice(["{}", "( {} )", "((\n{}))"]).format(written(tree, rng))
        for tree in trees
    )
    assert trees_of(text) == trees


# Heads


def spans(tree: Constituent, start: int = 1) -> list[range]:
    """The words of every constituent, counted from 1."""
    if tree.form:
        return [range(start, start + 1)]
    result, end = [], start
    for child in tree.children:
        below = spans(child, end)
        result += below
        end = below[-1].stop
    return [*result, range(start, end)]


@pytest.mark.parametrize("name", head_rules.names())
@given(tree=CONSTITUENTS)
def test_every_constituent_hangs_on_one_word(name: str, tree: Constituent) -> None:
    heads = penn.heads(tree, head_rules.load_head_rules(name))
    assert is_projective(heads)
    assert heads.count(0) == 1
    for span in spans(tree):
        assert sum(heads[word - 1] not in span for word in span) == 1
    tags = ["ROOT", *(word.label for word in tree.words())]
    for word, head in enumerate(heads, 1):
        if head and tags[word] not in penn.PUNCTUATION:
            assert tags[head] not in penn.PUNCTUATION


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("(S (NP (DT a) (NN kite)) (VP (VBZ flies)) (. .))", [2, 3, 0, 3], [2, 3, 0, 3]),
        ("(VP (VBP want) (S (VP (TO to) (VP (VB fly)))))", [0, 3, 1], [0, 1, 2]),
        ("(NP (NN kite) (, ,) (NN string) (CC and) (NN reel))", [5, 5, 5, 5, 0], [3, 3, 0, 3, 3]),
        ("(NP (NNS kites) (, ,) (CC and) (: --) (NNS reels))", [5, 5, 5, 5, 0], [0, 1, 1, 1, 1]),
        ("(NP (NN kite) (`` ``) ('' ''))", [0, 1, 1], [0, 1, 1]),
        ("(PRN (-LRB- -LRB-) (NN kite) (-RRB- -RRB-))", [2, 0, 2], [2, 0, 2]),
        ("(FRAG (NN kite) (X (: --)))", [0, 1], [0, 1]),
        ("(X (: --) (. .))", [2, 0], [0, 1]),
        ("( (NN kite) (. .) )", [0, 1], [0, 1]),
    ],
)
def test_heads_by_hand(trees_of: TreesOf, text: str, ours: list[int], theirs: list[int]) -> None:
    (tree,) = trees_of(text)
    assert penn.heads(tree, head_rules.load_head_rules("yamada-matsumoto")) == ours
    assert penn.heads(tree, head_rules.load_head_rules("collins")) == theirs


# CoNLL-U


def test_a_block_of_conllu(trees_of: TreesOf) -> None:
    (tree,) = trees_of("(S (NP ($ $) (CD 5)) (VP (MD will) (VP (TO to) (VB do))) (. .))")
    words = list(tree.words())
    block = penn.conllu_block(words, [2, 3, 0, 5, 3, 3], "wsj_0001-1", penn.POLICIES["standard"])
    assert block == (
        "# sent_id = wsj_0001-1\n"
        "1\t$\t_\tSYM\t$\t_\t2\tdep\t_\t_\n"
        "2\t5\t_\tNUM\tCD\t_\t3\tdep\t_\t_\n"
        "3\twill\t_\tAUX\tMD\t_\t0\troot\t_\t_\n"
        "4\tto\t_\tPART\tTO\t_\t5\tdep\t_\t_\n"
        "5\tdo\t_\tVERB\tVB\t_\t3\tdep\t_\t_\n"
        "6\t.\t_\tPUNCT\t.\t_\t3\tpunct\t_\t_\n\n"
    )
    klein_manning = penn.conllu_block(
        words, [2, 3, 0, 5, 3, 3], "wsj_0001-1", penn.POLICIES["wsj10"]
    )
    assert klein_manning == block.replace("\tSYM\t$\t_\t2\tdep", "\tPUNCT\t$\t_\t2\tpunct")


# Files


# The sample of sections 00 and 01: treebank/combined/*.mrg, and its dependencies,
# dependency_treebank/*.dp


@pytest.fixture(scope="module")
def sample(data_dir: Path) -> Path:
    folder = data_dir / "wsj_sample"
    if not folder.is_dir():
        if os.environ.get("VDGI_REQUIRE_DATA") == "1":
            pytest.fail(f"no {folder}")
        pytest.skip(f"no {folder}")
    return folder


@pytest.fixture(scope="module")
def blocks(sample: Path) -> dict[str, str]:
    """The sentences in CoNLL-U, by sent_id."""
    rules = head_rules.load_head_rules("yamada-matsumoto")
    punctuation = penn.POLICIES["standard"]
    return {
        (sent_id := f"{path.stem}-{number}"): penn.conllu_block(
            list(tree.words()), penn.heads(tree, rules), sent_id, punctuation
        )
        for path in penn.find(sample / "treebank")
        for number, tree in enumerate(read(path), 1)
    }


@pytest.mark.slow
def test_the_sample_has_the_heads_of_its_dependency_version(
    sample: Path, blocks: dict[str, str]
) -> None:
    paths = sorted((sample / "dependency_treebank").glob("*.dp"))
    expected = [
        [tuple(line.split("\t")) for line in sentence.strip().split("\n")]
        for path in paths
        for sentence in re.split(r"\n\s*\n", path.read_text(encoding="latin-1"))
        if sentence.strip()
    ]
    found = [
        [line.split("\t") for line in block.strip().split("\n")[1:]] for block in blocks.values()
    ]
    assert [[(row[1], row[4], row[6]) for row in rows] for rows in found] == expected
    assert (len(found), sum(map(len, found))) == (3914, 94084)
    assert len(paths) == 199
    assert next(iter(blocks)) == "wsj_0001-1"
