"""Agreement of two annotators: figures as counted by hand and by scikit-learn, alignment, refusals."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
import tiny
from shell import Vdgi
from wording import Wording

from dynet_vdgi.evaluation.agreement import agreement
from dynet_vdgi.evaluation.two_files import TwoFiles

WORDS = (
    "Dogs/NOUN/Number=Plur|Case=Nom/2/nsubj",
    "chase/VERB/_/0/root",
    "cats/NOUN/_/2/obj",
    "./PUNCT/_/2/punct",
)


def sentence(*words: str, name: str = "") -> str:
    """Lines of words such as `form/UPOS/FEATS/HEAD/DEPREL`; `3-4/form` is a range."""
    lines = [f"# sent_id = {name}"] if name else []
    number = 0
    for word in words:
        form, *columns = word.split("/")
        if columns[1:]:
            number += 1
            tag, feats, head, deprel = columns
            lines.append(
                f"{number}\t{form}\t{form.lower()}\t{tag}\t_\t{feats}\t{head}\t{deprel}\t_\t_"
            )
        else:
            lines.append("\t".join([form, columns[0], *"________"]))
    return "\n".join(lines) + "\n\n"


def files(folder: Path, one: str, other: str) -> TwoFiles:
    (folder / "a.conllu").write_text(one, encoding="utf-8")
    (folder / "b.conllu").write_text(other, encoding="utf-8")
    return TwoFiles.read(folder / "a.conllu", folder / "b.conllu")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    one, other = list(WORDS), list(WORDS)
    other[0] = "Dogs/PROPN/Case=Nom|Number=Plur/2/nsubj:pass"
    other[2] = "cats/NOUN/_/1/nmod"
    files(
        tmp_path,
        sentence(*one, name="s1") * 2,
        sentence(*other, name="s1") + sentence(*one, name="s1"),
    )
    return tmp_path / "a.conllu", tmp_path / "b.conllu"


def test_the_figures_are_those_counted_by_hand(pair: tuple[Path, Path]) -> None:
    found = agreement(TwoFiles.read(*pair))
    shares = {name: (one.same, one.words) for name, one in found.counts.items()}
    assert shares == {
        "upos": (7, 8),
        "xpos": (0, 0),
        "feats": (8, 8),  # their order has no meaning
        "lemma": (8, 8),
        "head": (7, 8),
        "deprel": (7, 8),  # nsubj:pass is nsubj
        "subtype": (6, 8),
        "both": (7, 8),
    }
    # a: NOUN 4, VERB 2, PUNCT 2; b: NOUN 3, PROPN 1, VERB 2, PUNCT 2; by chance 4*3 + 2*2 + 2*2 =
    # 20 of 64
    assert found.counts["upos"].kappa == pytest.approx((7 / 8 - 20 / 64) / (1 - 20 / 64))
    # a: nsubj 2, root 2, obj 2, punct 2; b: obj 1, nmod 1: 2*2 + 2*2 + 2*1 + 2*2 = 14 of 64
    assert found.counts["deprel"].kappa == pytest.approx((7 / 8 - 14 / 64) / (1 - 14 / 64))
    assert found.confusions("upos", 5) == [("NOUN", "PROPN", 1)]
    assert found.confusions("deprel", 5) == [("obj", "nmod", 1)]


def brute_force_kappa(pairs: list[tuple[str, str]]) -> float:
    """Cohen's kappa from the text of its definition."""
    ones, others = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    agreed = sum(a == b for a, b in pairs) / len(pairs)
    chance = sum(ones[value] / len(pairs) * others[value] / len(pairs) for value in ones)
    return (agreed - chance) / (1 - chance)


def random_files(
    folder: Path, seed: int
) -> tuple[TwoFiles, list[tuple[str, str]], list[tuple[str, str]]]:
    """Two files of 50 sentences, with the tags and the relations of both."""
    rng = random.Random(seed)
    tags, relations, texts = [], [], ["", ""]
    for _ in range(50):
        n = rng.randint(1, 9)
        heads = [rng.randint(0, n) for _ in range(n)]
        words: list[list[str]] = [[], []]
        for k in range(n):
            tags.append((rng.choice("NV"), rng.choice("NVX")))
            relations.append((rng.choice("abc"), rng.choice("ab")))
            for side in (0, 1):
                words[side].append(f"w{k}/{tags[-1][side]}/_/{heads[k]}/{relations[-1][side]}")
        texts = [text + sentence(*row) for text, row in zip(texts, words)]
    return files(folder, *texts), tags, relations


@pytest.mark.parametrize("seed", range(2))
def test_kappa_is_that_of_the_definition_and_of_scikit_learn(tmp_path: Path, seed: int) -> None:
    two, tags, relations = random_files(tmp_path, seed)
    counts = agreement(two).counts
    for name, pairs in (("upos", tags), ("deprel", relations)):
        assert counts[name].words == len(pairs)
        assert counts[name].kappa == pytest.approx(brute_force_kappa(pairs), abs=1e-12)
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError:
        return
    for name, pairs in (("upos", tags), ("deprel", relations)):
        assert counts[name].kappa == pytest.approx(cohen_kappa_score(*zip(*pairs)), abs=1e-12)


def test_words_of_other_tokens_are_aligned_and_heads_follow_them(tmp_path: Path) -> None:
    one = sentence("1-2/don't", "do/AUX/_/3/aux", "n't/PART/_/3/advmod", "bark/VERB/_/0/root")
    other = sentence("don't/AUX/_/2/aux", "bark/VERB/_/0/root")
    two = files(tmp_path, one, other)
    found = agreement(two)
    assert (found.f1["tokens"].f1, found.f1["words"].right) == (1.0, 1)
    assert found.f1["words"].f1 == pytest.approx(2 / 5)
    assert found.counts["head"].same == 1  # bark
    (stretch,) = two.stretches()
    assert not stretch.same_words
    assert found.unlike[0].by_column == {"words": 3}


def test_a_sentence_that_one_file_has_as_two_is_one_stretch(tmp_path: Path) -> None:
    whole = sentence("a/X/_/0/root", "b/Y/_/1/dep", "c/X/_/1/dep")
    parts = sentence("a/X/_/0/root") + sentence("b/Y/_/0/root", "c/X/_/1/dep")
    tail = sentence("d/X/_/0/root")
    two = files(tmp_path, whole + tail, parts + tail)
    assert [(len(s.ones), len(s.others), len(s.pairs), s.same_words) for s in two.stretches()] == [
        (1, 2, 3, False),
        (1, 1, 1, True),
    ]
    found = agreement(two)
    assert (
        found.f1["sentences"].right,
        found.f1["sentences"].gold,
        found.f1["sentences"].system,
    ) == (1, 2, 3)
    # c hangs from b, not from a
    assert (found.counts["head"].same, found.counts["head"].words) == (2, 4)


def test_words_without_a_value_in_both_files_do_not_count(tmp_path: Path) -> None:
    one = sentence("a/X/_/_/_", "b/_/A=B/2/dep")
    other = sentence("a/X/_/2/dep", "b/Y/_/0/root")
    counts = agreement(files(tmp_path, one, other)).counts
    words = {name: counts[name].words for name in ("upos", "head", "deprel", "both", "feats")}
    assert words == {"upos": 1, "head": 1, "deprel": 1, "both": 1, "feats": 0}


def test_the_command_prints_figures_confusions_and_the_most_different_sentences(
    vdgi: Vdgi, pair: tuple[Path, Path], wording: Wording
) -> None:
    out = vdgi.good("evaluate", "--agreement", *pair).out
    wording.check(out)

    assert "Dogs chase" not in vdgi.good("evaluate", "--agreement", *pair, "--worst", "0").out


def test_uas_and_las_of_the_same_words_are_those_of_evaluate(vdgi: Vdgi, tmp_path: Path) -> None:
    gold, parse = tmp_path / "gold.conllu", tmp_path / "parse.conllu"
    tiny.write_gold_and_parse(gold, parse)
    official = json.loads(vdgi.good("evaluate", "--raw", gold, parse, "--json").out)["parses"][
        str(parse)
    ]
    figures = json.loads(vdgi.good("evaluate", "--agreement", gold, parse, "--json").out)["figures"]
    assert figures["head"]["share"] == official["UAS"]["f1"] < 1
    assert figures["both"]["share"] == official["LAS"]["f1"]


def test_other_texts_and_useless_options_are_refused(
    vdgi: Vdgi, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    other = tmp_path / "c.conllu"
    other.write_text(sentence(*WORDS[:2]), encoding="utf-8")
    status, _, err = vdgi("evaluate", "--agreement", pair[0], other)
    assert (status, "other text" in err) == (3, True)
    assert vdgi("evaluate", "--agreement", *pair, "--worst", "-1").status == 2
