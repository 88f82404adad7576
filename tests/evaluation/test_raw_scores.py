"""Scores of parses of raw text: by hand, and beside the official script."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from shell import Vdgi
from wording import Wording

from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation import raw_scores
from dynet_vdgi.evaluation.raw_scores import METRICS, longest_common, score_files

Word = tuple[str, str, int, str]  # form, UPOS, HEAD, DEPREL


def block(*tokens: Word | tuple[str, list[Word]]) -> str:
    """A sentence; a token is a word, or a form and its words."""
    lines, number = [], 0
    for token in tokens:
        words = [token] if isinstance(token[1], str) else token[1]
        if len(words) > 1:
            lines.append(f"{number + 1}-{number + len(words)}\t{token[0]}" + "\t_" * 8)
        for form, upos, head, deprel in words:
            number += 1
            lines.append(f"{number}\t{form}\t{form.lower()}\t{upos}\t_\t_\t{head}\t{deprel}\t_\t_")
    return "\n".join(lines) + "\n\n"


A, B, DOT = ("ab", "NOUN", 2, "nsubj"), ("c", "VERB", 0, "root"), (".", "PUNCT", 2, "punct")
DE, LE = ("de", "ADP", 2, "case"), ("le", "DET", 0, "root")

CASES = {
    "nothing differs": (
        block(A, B, DOT),
        block(A, B, DOT),
        {"Tokens": (3, 3, 3), "LAS": (3, 3, 3)},
    ),
    "a token is cut": (
        block(A, B, DOT),
        block(("a", "NOUN", 2, "nsubj"), ("b", "X", 3, "x"), B, (".", "PUNCT", 3, "punct")),
        {"Sentences": (1, 1, 1), **dict.fromkeys(("Tokens", "Words", "UPOS", "UAS"), (2, 3, 4))},
    ),
    "a sentence is cut": (
        block(A, B, DOT),
        block(("ab", "NOUN", 0, "root"))
        + block(("c", "VERB", 0, "root"), (".", "PUNCT", 1, "punct")),
        {"Tokens": (3, 3, 3), "Sentences": (0, 1, 2), "UAS": (2, 3, 3), "LAS": (2, 3, 3)},
    ),
    "a multiword token is not split": (
        block(("du", [DE, LE]), DOT),
        block(("du", "ADP", 0, "root"), (".", "PUNCT", 1, "punct")),
        {"Tokens": (2, 2, 2), "Words": (1, 3, 2), "UPOS": (1, 3, 2), "UAS": (0, 3, 2)},
    ),
    "one of its words is right": (
        block(("Du", [DE, LE]), DOT),
        block(("Du", [("De", "ADP", 2, "case"), ("un", "DET", 0, "root")]), DOT),
        {"Words": (2, 3, 3), "UPOS": (2, 3, 3), "Lemmas": (2, 3, 3), "UAS": (0, 3, 3)},
    ),
    "subtypes and language's own features do not count": (
        block(("a", "X", 0, "root:x")).replace("\tX\t_\t_\t", "\tX\t_\tCase=Nom|Own=1\t"),
        block(("a", "X", 0, "root"))
        .replace("\tX\t_\t_\t", "\tX\t_\tCase=Nom\t")
        .replace("\ta\tX", "\tz\tX"),
        {"UFeats": (1, 1, 1), "LAS": (1, 1, 1), "Lemmas": (0, 1, 1)},
    ),
}


def scored(folder: Path, gold: str, parsed: str) -> dict[str, tuple[int, int, int]]:
    """Right, gold and found, by metric."""
    paths = folder / "gold.conllu", folder / "parsed.conllu"
    for path, text in zip(paths, (gold, parsed)):
        path.write_text(text, encoding="utf-8")
    (found,) = score_files(paths[0], paths[1:]).values()
    return {name: (score.right, score.gold, score.system) for name, score in found.items()}


@pytest.mark.parametrize("name", CASES)
def test_hand_made_cases(name: str, tmp_path: Path) -> None:
    gold, parsed, expected = CASES[name]
    found = scored(tmp_path, gold, parsed)
    assert {metric: found[metric] for metric in expected} == expected


def test_other_characters_are_refused_with_their_place(tmp_path: Path, wording: Wording) -> None:
    with wording.raises(DataError):
        scored(tmp_path, block(A, B, DOT), block(A, ("d", "VERB", 0, "root"), DOT))


def test_heads_outside_the_sentence_are_refused_however_long(
    tmp_path: Path, wording: Wording
) -> None:
    for head in ("3", "02", "9" * 5000):
        odd = block(A, B).replace("\t2\tnsubj", f"\t{head}\tnsubj")
        with wording.raises(DataError):
            scored(tmp_path, odd, odd)


def test_heads_that_are_missing_are_never_right(tmp_path: Path) -> None:
    bare = block(A, B, DOT).replace("\t2\tnsubj", "\t_\t_").replace("\t0\troot", "\t_\t_")
    found = scored(tmp_path, bare, bare)
    assert (found["UAS"], found["Words"]) == ((1, 1, 1), (3, 3, 3))
    found = scored(tmp_path, block(A, B, DOT), bare)
    assert (found["UAS"], found["Words"]) == ((1, 3, 3), (3, 3, 3))


def test_longest_common_subsequence_is_a_longest_one() -> None:
    rng = random.Random(1)
    for _ in range(200):
        left, right = (rng.choices("abc", k=rng.randrange(6)) for _ in range(2))
        pairs = longest_common(left, right)
        assert all(left[i] == right[j] for i, j in pairs)
        assert pairs == sorted(set(pairs))
        assert (
            len({i for i, _ in pairs})
            == len({j for _, j in pairs})
            == len(pairs)
            == _length(left, right)
        )
        i = j = 0
        # of several, the one that skips the left side first
        for pair in [*pairs, (len(left), len(right))]:
            while (i, j) < pair and i < len(left) and j < len(right) and left[i] != right[j]:
                skips_left = _length(left[i + 1 :], right[j:]) == _length(left[i:], right[j:])
                i, j = (i + 1, j) if skips_left else (i, j + 1)
            assert pair == (i, j) or pair[0] == len(left)
            i, j = i + 1, j + 1


def test_chains_of_overlapping_multiword_tokens_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    def word(form: str, k: int) -> Word:
        return form, "X", k, "dep" if k else "root"

    gold = [("ab", [word("a", 2 * k), word("b", 2 * k + 1)]) for k in range(4)]
    parse = [
        word("a", 0),
        *(("ba", [word("b", 2 * k - 1), word("a", 2 * k)]) for k in range(1, 4)),
        word("b", 7),
    ]
    (tmp_path / "g.conllu").write_text(block(*gold))
    (tmp_path / "p.conllu").write_text(block(*parse))
    paths = tmp_path / "g.conllu", tmp_path / "p.conllu"
    found = score_files(paths[0], paths[1:])[str(paths[1])]
    assert (found["Words"].right, found["UAS"].right, found["Tokens"].right) == (8, 8, 0)
    monkeypatch.setattr(raw_scores, "MOST_PAIRS", 63)
    with wording.raises(DataError):
        score_files(paths[0], paths[1:])


@pytest.mark.parametrize(
    "heads",
    [
        (2, 1, 0),
        (0, 1, 0),
        (2, 3, 1),
        (0, 0, 0),
        (2, 1, "_"),
    ],
)
def test_heads_that_are_no_tree_are_not_scored(
    tmp_path: Path, heads: tuple[int | str, ...], wording: Wording
) -> None:
    """The script of the shared task refuses them, too."""
    bad = (
        "".join(f"{k}\tw\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for k, head in enumerate(heads, 1))
        + "\n"
    )
    good = tmp_path / "good.conllu"
    good.write_text(block(*[("w", "X", k, "dep" if k else "root") for k in range(3)]))
    (tmp_path / "bad.conllu").write_text(bad)
    for gold, parse in ((good, tmp_path / "bad.conllu"), (tmp_path / "bad.conllu", good)):
        with wording.raises(DataError):
            score_files(gold, [parse])


PARTIAL = {
    # heads of gold and of the parse, right, of how many on each side
    "no gold head": (("_", "_", "_"), (2, 0, 2), (0, 0, 0)),
    "some gold heads": (("_", 0, 2), (2, 0, 2), (2, 2, 2)),
    "some gold heads, one wrong": (("_", 0, 2), (0, 1, 2), (1, 2, 2)),
    "no head of the parse": ((2, 0, 2), ("_", "_", "_"), (0, 3, 3)),
    "some heads of the parse": ((2, 0, 2), (2, 0, "_"), (2, 3, 3)),
}


def heads_only(heads: tuple[int | str, ...]) -> str:
    return (
        "".join(f"{k}\tw\tw\tX\t_\t_\t{head}\tdep\t_\t_\n" for k, head in enumerate(heads, 1))
        + "\n"
    )


@pytest.mark.parametrize("name", PARTIAL)
def test_arcs_are_scored_where_gold_has_heads(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gold, parsed, expected = PARTIAL[name]
    found = scored(tmp_path, heads_only(gold), heads_only(parsed))
    assert found["UAS"] == found["LAS"] == expected
    assert found["UPOS"] == (3, 3, 3)
    n_missing = gold.count("_")
    told = f"gold.conllu: {n_missing} of 3 words without HEAD: UAS and LAS are those of the others"
    assert (told in caplog.text) == (n_missing > 0)


def test_words_of_the_parse_alone_still_count(tmp_path: Path) -> None:
    """Gold has one word where the parse has two: neither of these is aligned."""
    gold = "1\tab\t_\tX\t_\t_\t0\troot\t_\t_\n2\tc\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
    parsed = block(("a", "X", 0, "root"), ("b", "X", 1, "dep"), ("c", "X", 1, "dep"))
    assert scored(tmp_path, gold, parsed)["UAS"] == (0, 1, 2)


def test_no_figure_is_shown_where_gold_has_no_heads(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    Path("gold.conllu").write_text(heads_only(("_", "_", "_")), encoding="utf-8")
    for name in ("a.conllu", "b.conllu"):
        Path(name).write_text(heads_only((2, 0, 2)), encoding="utf-8")
    one = vdgi.good("evaluate", "--raw", "gold.conllu", "a.conllu")
    assert [line.split() for line in one.out.splitlines()[-2:]] == [
        ["UAS", "-", "-", "-"],
        ["LAS", "-", "-", "-"],
    ]
    wording.check(one.err)
    two = vdgi.good("evaluate", "--raw", "gold.conllu", "a.conllu", "b.conllu").out
    assert [line.split()[-3:] for line in two.splitlines()[1:]] == [["100.00", "-", "-"]] * 2
    content = json.loads(vdgi.good("evaluate", "--raw", "gold.conllu", "a.conllu", "--json").out)
    las = content["parses"]["a.conllu"]["LAS"]
    assert las == {"right": 0, "gold": 0, "found": 0, "precision": None, "recall": None, "f1": None}
    assert content["parses"]["a.conllu"]["UPOS"]["f1"] == 1


def _length(left: list[str], right: list[str]) -> int:
    """By trying everything."""
    if not left or not right:
        return 0
    paired = 1 + _length(left[1:], right[1:]) if left[0] == right[0] else 0
    return max(paired, _length(left[1:], right), _length(left, right[1:]))


def random_side(rng: random.Random, text: str) -> str:
    """A random analysis of a text as CoNLL-U, whose multiword tokens have different words."""
    blocks, place = [], 0
    while place < len(text):
        tokens: list[Word | tuple[str, list[Word]]] = []
        lengths = [rng.choice((1, 1, 1, 2, 3)) for _ in range(rng.randint(1, 5))]
        forms, places = [], []
        for length in lengths:
            if form := text[place : place + length]:
                forms.append(form)
                places.append(place)
            place += length
        splits = [rng.choice((1, 1, 2, 3)) if rng.random() < 0.4 else 1 for _ in forms]
        n_words, number = sum(splits), 0
        root = rng.randint(1, n_words)
        for form, begin, n in zip(forms, places, splits):
            words: list[Word] = []
            for k in range(n):
                number += 1
                own = (
                    form
                    if n == 1
                    else rng.choice((f"{begin}.{k}", f"{begin}.{k + 1}.", f"x{begin}.{k}"))
                )
                head = 0 if number == root else root
                upos, relation = rng.choice(("NOUN", "VERB")), rng.choice(("a", "a:b", "c"))
                words.append((own, upos, head, "root" if head == 0 else relation))
            tokens.append(words[0] if n == 1 else (form, words))
        blocks.append(block(*tokens))
    return "".join(blocks)


OFFICIAL = """
import json, sys
from udtools import udeval
found = []
for gold, parsed in json.load(sys.stdin):
    scores = udeval.evaluate(udeval.load_conllu_file(gold), udeval.load_conllu_file(parsed))
    found.append({name: [s.correct, s.gold_total, s.system_total] for name, s in scores.items()})
json.dump(found, sys.stdout)
"""


def official_scores(pairs: list[list[str]]) -> list[dict[str, list[int]]]:
    """Right, gold and found of each metric, by the official script, which is under the MPL: a
    process of its own."""
    command = [sys.executable, "-c", OFFICIAL]
    done = subprocess.run(
        command, input=json.dumps(pairs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    scores: list[dict[str, list[int]]] = json.loads(done.stdout)
    return scores


@pytest.mark.skipif(importlib.util.find_spec("udtools") is None, reason="udtools is not installed")
def test_scores_equal_the_official_ones(tmp_path: Path) -> None:
    rng, pairs, ours = random.Random(3), [], []
    for n in range(60):
        text = "".join(rng.choices("abcd", k=rng.randint(1, 30)))
        paths = [tmp_path / f"{side}{n}.conllu" for side in ("gold", "parsed")]
        for path in paths:
            path.write_text(random_side(rng, text), encoding="utf-8")
        pairs.append([str(path) for path in paths])
        (found,) = score_files(paths[0], paths[1:]).values()
        ours.append(
            {name: [score.right, score.gold, score.system] for name, score in found.items()}
        )
    for mine, official in zip(ours, official_scores(pairs), strict=True):
        assert mine == {name: official[name] for name in METRICS}


def changed(text: str, rng: random.Random) -> str:
    """Another annotation of the same characters: sentences joined, tokens whole, and tags,
    relations, heads changed.

    A multiword token becomes one word now and then; what was attached to its words is attached to
    the root.
    """
    blocks = []
    for number, one in enumerate(text.strip("\n").split("\n\n")):
        rows = [line.split("\t") for line in one.split("\n") if line[0] != "#"]
        words: list[list[str]] = []  # with their old number first
        whole = 0
        for row in rows:
            first, _, last = row[0].partition("-")
            if last and rng.random() < 0.3:
                whole = int(last)
                words.append(row)
            elif "." not in first and not last and int(first) > whole:
                words.append(row)
            elif last:
                words.append([*row, "range"])
        places = {row[0]: n for n, row in enumerate((r for r in words if len(r) == 10), 1)}
        root = next(
            (place for name, place in places.items() if "-" not in name and rng.random() < 0.3), 1
        )
        lines = []
        for row in words:
            cells = row[:10]
            if len(row) > 10:
                first, _, last = cells[0].partition("-")
                cells[0] = f"{places[first]}-{places[last]}"
            else:
                place = places[cells[0]]
                relation = cells[7] if rng.random() < 0.8 else rng.choice(("obl", "nmod:poss"))
                tag = cells[3] if rng.random() < 0.8 else "NOUN"
                tag, relation = ("X", "dep") if tag == "_" else (tag, relation)
                head = 0 if place == root else root
                cells = [
                    str(place),
                    *cells[1:3],
                    tag,
                    *cells[4:6],
                    str(head),
                    relation if head else "root",
                    "_",
                    cells[9],
                ]
            lines.append(cells)
        if number % 3 == 2 and blocks:  # joined to the sentence before
            before = blocks[-1]
            n_before = sum(cells[0].isdecimal() for cells in before)
            top = next(cells[0] for cells in before if cells[6] == "0")
            for cells in lines:
                cells[0] = "-".join(str(int(each) + n_before) for each in cells[0].split("-"))
                if cells[6] == "0":
                    cells[6:8] = [top, "parataxis"]
                elif cells[6] != "_":
                    cells[6] = str(int(cells[6]) + n_before)
            before += lines
        else:
            blocks.append(lines)
    return "".join("\n".join(map("\t".join, lines)) + "\n\n" for lines in blocks)


@pytest.mark.skipif(importlib.util.find_spec("udtools") is None, reason="udtools is not installed")
def test_scores_of_real_treebanks_equal_the_official_ones(tmp_path: Path, data_dir: Path) -> None:
    """Among them multiword tokens, words with spaces, and no spaces between words."""
    rng, pairs, ours = random.Random(4), [], []
    for name in ("UD_Welsh", "UD_Tamil", "UD_Coptic", "UD_Vietnamese", "UD_Thai", "UD_Italian"):
        path = next((data_dir / "ud2").glob(f"{name}-*/*-ud-test*.conllu"))
        text = (
            "\n\n".join(path.read_text(encoding="utf-8").strip("\n").split("\n\n")[:200]) + "\n\n"
        )
        sides = [tmp_path / f"{name}-{side}.conllu" for side in ("gold", "parsed")]
        sides[0].write_text(text, encoding="utf-8")
        sides[1].write_text(changed(text, rng), encoding="utf-8")
        pairs.append([str(side) for side in sides])
        (found,) = score_files(sides[0], sides[1:]).values()
        ours.append(
            {metric: [score.right, score.gold, score.system] for metric, score in found.items()}
        )
        assert 0 < found["LAS"].right < found["UAS"].right < found["Words"].right
        assert found["Sentences"].right < found["Sentences"].gold
    for mine, official in zip(ours, official_scores(pairs), strict=True):
        assert mine == {metric: official[metric] for metric in METRICS}


def test_the_command_prints_f1_of_every_metric(vdgi: Vdgi, folder: Path) -> None:
    gold, parsed, _ = CASES["a sentence is cut"]
    Path("gold.conllu").write_text(gold, encoding="utf-8")
    Path("parsed.conllu").write_text(parsed, encoding="utf-8")
    lines = vdgi.good("evaluate", "--raw", "gold.conllu", "parsed.conllu").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(METRICS)
    assert lines[1].split()[1:] == ["100.00"] * 3
    two = vdgi.good("evaluate", "--raw", "gold.conllu", "parsed.conllu", "gold.conllu").out
    assert "100.00" in two.splitlines()[2]
    found = json.loads(vdgi.good("evaluate", "--raw", "gold.conllu", "parsed.conllu", "--json").out)
    assert found["parses"]["parsed.conllu"]["UAS"]["right"] == 2


@pytest.mark.parametrize(
    "command", [["evaluate"], ["evaluate", "--raw"], ["evaluate", "--agreement"]]
)
def test_texts_that_differ_by_normalisation_only_are_told_so(
    vdgi: Vdgi, folder: Path, command: list[str]
) -> None:
    for name, form in (("nfc", "\u00e9"), ("nfd", "e\u0301"), ("other", "e")):
        text = block((form, "NOUN", 2, "nsubj"), ("c", "VERB", 0, "root"))
        Path(f"{name}.conllu").write_text(text, encoding="utf-8")
    same = "they differ only in Unicode normalisation (NFC/NFD) (bring both to one form"
    for names, expected in (
        (("nfc", "nfd"), True),
        (("nfd", "nfc"), True),
        (("nfc", "other"), False),
    ):
        found = vdgi(*command, *(f"{name}.conllu" for name in names))
        assert (found.status, same in found.err) == (3, expected), found.err
