"""Validation by the rules of UD: each rule finds its fault, sound text has none, the official one agrees."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from shell import Vdgi

from dynet_vdgi.annotation.finding import found
from dynet_vdgi.annotation.session import Session
from dynet_vdgi.annotation.shown import shown_sentence
from dynet_vdgi.data.tags import UD2_TAGS
from dynet_vdgi.validation.checking import problems_in, problems_in_file
from dynet_vdgi.validation.content import BELOW, FROM_THE_LEFT, TAGS

GOOD = """# sent_id = s1
# text = aa bb cc.
1\taa\taa\tNOUN\t_\tCase=Nom|Number=Sing\t2\tnsubj\t2:nsubj\t_
2\tbb\tbb\tVERB\t_\t_\t0\troot\t0:root\t_
3\tcc\tcc\tNOUN\t_\t_\t2\tobj\t2:obj\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t2:punct\t_

"""

CIRCLE = "\t2\tobj\t2:obj\tSpaceAfter=No\n4\t.\t.\tPUNCT\t_\t_\t2\tpunct"
RANGE = "3-4\tcc.\t_\t_\t_\t_\t_\t_\t_\t{}\n3\tcc"
NODE = "2.1\tee\t_\t{}\t_\t{}\t_\t_\t{}\t{}\n3\tcc"

FAULTS = {
    "no sent_id": ("# sent_id = s1\n", "", "sent_id"),
    "a sent_id with a space": ("= s1", "= s 1", "sent_id"),
    "two sent_ids": ("# sent_id = s1\n", "# sent_id = s1\n# sent_id = s2\n", "sent_id"),
    "no text": ("# text = aa bb cc.\n", "", "text"),
    "two texts": ("# text = aa bb cc.\n", "# text = aa bb cc.\n# text = aa bb cc.\n", "text"),
    "a space after the text": ("bb cc.\n", "bb cc. \n", "text"),
    "a text that lacks a word": ("aa bb", "aa", "text"),
    "a text with a word more": ("bb cc.", "bb cc. dd", "text"),
    "a text with a space too many": ("cc.\n", "cc .\n", "text"),
    "a text with a space too few": ("aa bb", "aabb", "text"),
    "a letter not in NFC": ("\taa\taa", "\taa\te\u0301", "unicode"),
    "a lost letter": ("\taa\taa", "\taa\t\ufffd", "unicode"),
    "nine columns": ("2:nsubj\t_", "2:nsubj", "format"),
    "an ID that skips a word": ("4\t.", "5\t.", "format"),
    "a filled column of a range": ("3\tcc", "3-4\tcc.\tx\t_\t_\t_\t_\t_\t_\t_\n3\tcc", "format"),
    "an empty node out of order": ("3\tcc", NODE.replace("2.1", "2.2"), "format"),
    "an unknown tag": ("\tVERB", "\tVB", "upos"),
    "a tag of UD 1": ("\tVERB", "\tCONJ", "upos"),
    "no tag": ("\tVERB", "\t_", "upos"),
    "a small letter in a feature": ("Case=Nom", "case=Nom", "feats"),
    "a small letter in a value": ("Case=Nom", "Case=nom", "feats"),
    "a feature with a hyphen": ("Number=", "Num-ber=", "feats"),
    "a capital in a layer": ("Case=Nom", "Case[PS]=Nom", "feats"),
    "features out of order": ("Case=Nom|Number=Sing", "Number=Sing|Case=Nom", "feats"),
    "a feature twice": ("Case=Nom", "Case=Acc|Case=Nom", "feats"),
    "values out of order": ("Case=Nom", "Case=Nom,Acc", "feats"),
    "a value twice": ("Case=Nom", "Case=Acc,Acc", "feats"),
    "a head that is no word": ("\t2\tobj\t", "\t9\tobj\t", "head"),
    "a head that is no number": ("\t2\tobj\t", "\tx\tobj\t", "head"),
    "a head with a zero before it": ("\t2\tobj\t", "\t02\tobj\t", "head"),
    "a missing head": ("\t2\tobj\t", "\t_\tobj\t", "head"),
    "a word that is its own head": ("\t2\tobj\t", "\t3\tobj\t", "head"),
    "two roots": ("\t2\tobj\t2:obj", "\t0\troot\t2:obj", "root"),
    "a circle without a root": ("\t0\troot\t", "\t3\tdep\t", "root"),
    "a circle beside the root": (
        CIRCLE,
        CIRCLE.replace("\t2\tobj", "\t4\tobj").replace("\t2\tpunct", "\t3\tpunct"),
        "cycle",
    ),
    "a missing relation": ("\t2\tobj\t", "\t2\t_\t", "deprel"),
    "a relation in capitals": ("\t2\tobj\t", "\t2\tOBJ\t", "deprel"),
    "a relation that UD does not have": ("\t2\tobj\t", "\t2\tcomp\t", "deprel"),
    "two subtypes": ("\t2\tobj\t", "\t2\tobj:a:b\t", "deprel"),
    "a subtype with a line": ("\t2\tobj\t", "\t2\tobj:x_y\t", "deprel"),
    "root below a word": ("\t2\tobj\t", "\t2\troot\t", "root"),
    "another relation to 0": ("\t0\troot\t", "\t0\tdep\t", "root"),
    "an enhanced head that is no node": ("2:obj", "9:obj", "deps"),
    "an enhanced head that is no empty node": ("2:obj", "1.1:obj", "deps"),
    "an enhanced head of 5,000 digits": ("2:obj", "9" * 5000 + ":obj", "deps"),
    "an enhanced relation in capitals": ("2:obj", "2:OBJ", "deps"),
    "an enhanced relation without a head": ("2:obj", "obj", "deps"),
    "an enhanced marker in capitals": ("2:obj", "2:obl:In", "deps"),
    "an enhanced arc to itself": ("2:obj", "3:obj", "deps"),
    "enhanced heads out of order": ("2:obj", "4:dep|2:obj", "deps"),
    "an enhanced arc twice": ("2:obj", "2:obj|2:obj", "deps"),
    "a node that the root does not reach": ("2:obj", "_", "deps"),
    "enhanced root below a word": ("2:obj", "2:root", "root"),
    "an enhanced relation to 0 that is not root": ("2:obj", "0:obj", "root"),
    "an empty entry of MISC": ("SpaceAfter=No", "SpaceAfter=No|", "misc"),
    "a space in MISC": ("SpaceAfter=No", "SpaceAfter=No| X=1", "misc"),
    "SpaceAfter=Yes": ("2:nsubj\t_", "2:nsubj\tSpaceAfter=Yes", "misc"),
    "SpaceAfter inside a range": ("3\tcc", RANGE.format("_"), "misc"),
    "an empty node with SpaceAfter": ("3\tcc", NODE.format("NOUN", "_", "2:obj", "SpaceAfter=No"), "misc"),
    "an empty node with an unknown tag": ("3\tcc", NODE.format("FOO", "_", "2:obj", "_"), "upos"),
    "an empty node with a small feature": ("3\tcc", NODE.format("NOUN", "b=C", "2:obj", "_"), "empty-node"),
    "an empty node above itself": ("3\tcc", NODE.format("NOUN", "_", "2:dep|2.1:obj", "_"), "empty-node"),
}
"""What is replaced in the good sentence, by what, and the rule that finds it."""

SOUND = {
    "nothing": ("", ""),
    "a layered feature": ("Case=Nom", "Case[psor]=Nom"),
    "two values": ("Case=Nom", "Case=Acc,Nom"),
    "a value of digits": ("Case=Nom", "Case=1a"),
    "a marker's lemma": ("2:obj", "2:obl:in_the"),
    "a marker of another script": ("2:obj", "2:obl:உம்:nom"),
    "a subtype": ("\t2\tobj\t", "\t2\tobj:lvc\t"),
    "a range": (
        "3\tcc\tcc\tNOUN\t_\t_\t2\tobj\t2:obj\tSpaceAfter=No",
        RANGE.format("_") + "\tcc\tNOUN\t_\t_\t2\tobj\t2:obj\t_",
    ),
    "an empty node": ("3\tcc", NODE.format("NOUN", "_", "2:obj", "_")),
    "two spaces in the text": ("aa bb", "aa  bb"),
    "a space after the last word": ("2:punct\t_", "2:punct\tSpaceAfter=No"),
}


def replaced(old: str, new: str) -> str:
    """The good sentence with something else in place of the first occurrence of `old`."""
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def rules(text: str, level: int = 3) -> list[str]:
    """The rules that a sentence breaks."""
    return [problem.rule for problem in problems_in(text.rstrip("\n").split("\n"), level)]


# ------------------------------------------------------------------------------------------- levels 1 and 2
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_rule(name: str) -> None:
    old, new, rule = FAULTS[name]
    assert set(rules(replaced(old, new))) == {rule}


@pytest.mark.parametrize("name", SOUND)
def test_sound_sentences_have_no_problem(name: str) -> None:
    assert rules(replaced(*SOUND[name])) == []


def test_a_problem_names_its_word_and_its_line() -> None:
    (found,) = problems_in(replaced("\tVERB", "\tVB").split("\n")[:-2])
    assert (found.word, found.level, found.row) == (2, 2, 3)
    assert found.text == "'VB' is no tag of UD"


def test_a_sentence_without_heads_says_so_once() -> None:
    lines = [line.split("\t") for line in GOOD.rstrip().split("\n")]
    text = "\n".join("\t".join([*c[:6], "_", "_", "_", c[9]]) if len(c) > 1 else c[0] for c in lines)
    assert [(p.word, p.text) for p in problems_in(text.split("\n"))] == [(0, "no word has a head")]


def test_levels_end_where_they_are_told() -> None:
    text = replaced("\t2\tobj\t", "\t2\troot\t").replace("\tVERB", "\tVB")
    assert (rules(text, 1), rules(text, 2), rules(text)) == ([], ["upos"], ["upos", "root"])


# ------------------------------------------------------------------------------------------- level 3
def tree(*words: str) -> str:
    """A sentence of words such as `NOUN/2/nsubj` or `PRON/2/nsubj/PronType=Prs`."""
    lines = ["# sent_id = s", f"# text = {' '.join('abcdefghij'[: len(words)])}"]
    for number, word in enumerate(words, 1):
        tag, head, relation, *feats = word.split("/")
        letter = "abcdefghij"[number - 1]
        lemma = "_" if relation == "goeswith" else letter
        lines.append(
            f"{number}\t{letter}\t{lemma}\t{tag}\t_\t{'|'.join(feats) or '_'}\t{head}\t{relation}\t_\t_"
        )
    return "\n".join(lines) + "\n\n"


VERB = "VERB/0/root"
CONTENT = {
    "tag-of-det": (VERB, "NOUN/1/det"),
    "tag-of-case": (VERB, "NOUN/1/obl", "ADJ/2/case"),
    "tag-of-punct": (VERB, "X/1/punct"),
    "punct": (VERB, "PUNCT/1/obj"),
    "below-case": (VERB, "NOUN/1/obl", "ADP/2/case", "NOUN/3/nmod"),
    "below-aux": (VERB, "AUX/1/aux", "ADV/2/advmod"),
    "below-punct": (VERB, "PUNCT/1/punct", "NOUN/2/nmod"),
    "left-to-right": ("NOUN/2/conj", VERB),
    "subjects": (VERB, "NOUN/1/nsubj", "NOUN/1/nsubj"),
    "objects": (VERB, "NOUN/1/obj", "NOUN/1/obj"),
    "orphan": (VERB, "NOUN/1/obj", "NOUN/2/orphan"),
    "extpos": (VERB, "ADP/1/mark", "NOUN/2/fixed"),
    "gap-in-fixed": (VERB, "ADP/1/mark/ExtPos=SCONJ", "NOUN/1/obj", "NOUN/2/fixed"),
    "goeswith": ("VERB/0/root/Typo=Yes", "NOUN/1/goeswith"),
    "gap-in-goeswith": ("VERB/0/root/Typo=Yes", "NOUN/1/obj", "X/1/goeswith"),
    "flat-foreign": ("X/0/root/Foreign=Yes", "NOUN/1/flat:foreign"),
    "prontype": (VERB, "PRON/1/obj/Case=Acc"),
    "mood": ("VERB/0/root/VerbForm=Fin",),
    "punct-crosses": ("NOUN/2/nsubj", VERB, "PUNCT/1/punct"),
}

ALLOWED = {
    "a tag of what a fixed expression stands for": (VERB, "NOUN/1/case/ExtPos=ADP", "ADP/2/fixed"),
    "a negated function word": (VERB, "NOUN/1/obj", "CCONJ/2/cc", "PART/3/advmod/Polarity=Neg"),
    "an outer subject": (VERB, "NOUN/1/nsubj", "NOUN/1/nsubj:outer"),
    "an orphan of a conjunct": (VERB, "NOUN/1/conj", "NOUN/2/orphan"),
    "punctuation inside a fixed expression": (
        VERB,
        "ADP/1/mark/ExtPos=SCONJ",
        "PUNCT/2/punct",
        "NOUN/2/fixed",
    ),
    "pronouns of a text without features": (VERB, "PRON/1/obj"),
    "crossing arcs above punctuation": ("NOUN/4/obj", VERB, "NOUN/2/obj", "VERB/2/xcomp", "PUNCT/2/punct"),
}


@pytest.mark.parametrize("rule", CONTENT)
def test_a_tree_that_breaks_a_guideline_is_found(rule: str) -> None:
    assert rule in rules(tree(*CONTENT[rule]))
    assert rules(tree(*CONTENT[rule]), 2) == []


@pytest.mark.parametrize("name", ALLOWED)
def test_what_guidelines_allow_is_no_problem(name: str) -> None:
    assert rules(tree(*ALLOWED[name])) == []


# ------------------------------------------------------------------------------------------- files
def test_a_name_given_twice_and_an_odd_line_are_problems_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(GOOD + "\n" + GOOD, encoding="utf-8")
    found = list(problems_in_file(path))
    texts = [str(each) if isinstance(each, Exception) else [p.text for p in each[1]] for each in found]
    assert texts == [
        [],
        f"{path}:8: needless empty line (skipped, here and below)",
        ["sent_id s1 is that of the sentence in line 1"],
    ]


def test_the_command_names_lines_counts_rules_and_ends_with_its_status(vdgi: Vdgi, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.conllu", tmp_path / "bad.conllu"
    good.write_text(GOOD, encoding="utf-8")
    bad.write_text(replaced("\tVERB", "\tVB").replace("Case=Nom", "Case=nom"), encoding="utf-8")
    assert vdgi.good("validate", good).out == f"{good}: 1 sentence, 0 faults\n"
    status, out, err = vdgi("validate", good, bad, "--max-faults", "1")
    assert status == 3
    assert f"{bad}:3: word 1: 'Case=nom' is no feature" in out
    assert "'VB'" not in out
    assert "and 1 more" in out
    assert out.endswith("feats  level 2      1\nupos   level 2      1\n")
    assert err == "2 faults found\n"
    assert vdgi("validate", bad, "--level", "1").status == 0
    assert vdgi("validate", bad, "--max-faults", "-1").status == 2


def test_sentences_without_a_tree_are_one_line_and_hide_no_other_fault(vdgi: Vdgi, tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    rows = [line.split("\t") for line in GOOD.splitlines() if line and line[0] != "#"]
    bare = "".join("\t".join([*row[:6], "_", "_", "_", row[9]]) + "\n" for row in rows) + "\n"
    names = [f"# sent_id = t{k}\n# text = aa bb cc.\n" for k in range(3)]
    text = "".join(name + bare for name in names) + GOOD.replace("\tVERB", "\tVB")
    path.write_text(text, encoding="utf-8")
    status, out, _ = vdgi("validate", path, "--max-faults", "1")
    assert status == 3
    assert out.count("no word has a head") == 1
    assert f"{path}:1: no word has a head, nor in 2 more sentences [head]\n" in out
    assert "'VB'" in out
    assert "more (--max-faults" not in out
    assert re.search(r"^head +level 2 +3$", out, re.M)


# ------------------------------------------------------------------------------------------- the official one
OFFICIAL = """
import json, sys
from udtools.validator import Validator
validator, found = Validator(level=3, lang="ud", output=None), {}
for name in sys.argv[1:]:
    try:
        told = validator.validate_files([name]).error_tracker
        found[name] = [[incident.testid, incident.level, incident.lineno] for incident in told]
    except Exception as error:  # it ends so for some heads and lines
        found[name] = [[type(error).__name__, 0, 0]]
print(json.dumps(found))
"""

ONE_BY_ONE = {
    "subjects": "too-many-subjects",
    "objects": "too-many-objects",
    "orphan": "orphan-parent",
    "extpos": "fixed-without-extpos",
    "gap-in-fixed": "fixed-gap",
    "prontype": "pron-det-without-prontype",
    "mood": "verbform-fin-without-mood",
    "punct": "upos-rel-punct",
    "flat-foreign": "flat-foreign-upos-feats",
    **{f"tag-of-{relation}": f"rel-upos-{relation}" for relation in TAGS},
    **{f"below-{relation}": f"leaf-{relation}" for relation in BELOW},
    **{f"below-{relation}": "leaf-mark-case" for relation in ("mark", "case")},
    **{f"below-{relation}": "leaf-aux-cop" for relation in ("aux", "cop")},
}
"""The official name of each rule of ours that has one."""

TOGETHER = [
    ({"punct-crosses"}, {"punct-causes-nonproj", "punct-is-nonproj"}),
    ({"left-to-right"}, {f"right-to-left-{relation}" for relation in FROM_THE_LEFT}),
    *(
        ({rule for rule, name in ONE_BY_ONE.items() if name == official}, {official})
        for official in set(ONE_BY_ONE.values())
    ),
]
"""Rules of ours, and the official ones that find the same."""


def random_trees(n_sentences: int) -> str:
    """Sentences whose tags, relations and heads are chosen at random."""
    rng = random.Random(1)
    tags = sorted(UD2_TAGS)
    others = "nsubj obj nmod orphan advcl cc clf flat:foreign"
    relations = [*TAGS, *sorted(FROM_THE_LEFT - {"goeswith"}), *others.split()]
    texts = []
    for number in range(n_sentences):
        n = rng.randint(3, 8)
        order = rng.sample(range(1, n + 1), n)
        words = ["" for _ in range(n)]
        for place, word in enumerate(order):
            head = order[rng.randrange(place)] if place else 0
            tag = rng.choice(tags)
            feats = ["PronType=Dem"] * (tag in ("PRON", "DET") and rng.random() < 0.7)
            words[word - 1] = "/".join([tag, str(head), rng.choice(relations) if head else "root", *feats])
        text = tree(*words).replace("sent_id = s", f"sent_id = s{number}")
        texts.append(text)
    return "".join(texts)


@pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None, reason="udtools, the official validator, is not installed"
)
@pytest.mark.slow
def test_the_official_validator_finds_the_same(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{k}.conllu" for k, name in enumerate((*FAULTS, *SOUND))}
    for name, path in paths.items():
        path.write_text(replaced(*(FAULTS.get(name) or SOUND[name])[:2]), encoding="utf-8")
    trees = tmp_path / "trees.conllu"
    trees.write_text(random_trees(400), encoding="utf-8")
    command = [sys.executable, "-c", OFFICIAL, str(trees), *map(str, paths.values())]  # it remembers files
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    official = json.loads(done.stdout)
    minor = {"edeps-identical-to-basic-trees"}
    for name, path in paths.items():
        assert bool({testid for testid, *_ in official[str(path)]} - minor) == (name in FAULTS), name
    lines = trees.read_text(encoding="utf-8").split("\n")
    begins = [n for n, line in enumerate(lines, 1) if line.startswith("# sent_id")]

    def sentence(line: int) -> int:
        return sum(begin <= line for begin in begins)

    theirs = {(sentence(line), testid) for testid, level, line in official[str(trees)]}
    assert {level for _, level, _ in official[str(trees)]} == {3}
    ours = {
        (number, problem.rule)
        for number, (_, found) in enumerate(problems_in_file(trees), 1)
        for problem in found
    }
    n_compared = 0
    for own, testids in TOGETHER:
        found = {number for number, rule in ours if rule in own}
        assert found == {number for number, testid in theirs if testid in testids}, own
        n_compared += len(found)
    assert n_compared > 1000


# ------------------------------------------------------------------------------------------- in the page
def test_the_page_shows_problems_of_the_tree_that_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(replaced("\t2\tobj\t", "\t2\tdet\t"), encoding="utf-8")
    session = Session(path, "anna", "right")
    (marked,) = session.text.sentences
    shown = shown_sentence(0, marked, session.text.relations)
    hits = [found(session.text, "problem", query)["found"] for query in ("", "relation of det", "nowhere")]
    session.close()
    assert [len(each) for each in hits] == [1, 1, 0]
    assert hits[0][0]["why"].startswith("det is")
    text = "det is the relation of DET, PRON, not of NOUN"
    assert shown["problems"] == [{"word": 3, "level": 3, "text": text}]


def test_an_export_tells_how_many_finished_sentences_have_faults(vdgi: Vdgi, tmp_path: Path) -> None:
    path, out = tmp_path / "a.conllu", tmp_path / "b.conllu"
    path.write_text(replaced("\t2\tobj\t", "\t2\tdet\t"), encoding="utf-8")
    Session(path, "anna", "right").close()
    assert (
        f"1 of these has faults by the rules of UD: vdgi validate {out}"
        in vdgi.good("annotate", path, "--export", out).err
    )


def test_a_sentence_without_a_tree_yet_has_no_problem_for_that(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    rows = [line.split("\t") for line in GOOD.rstrip().split("\n")]
    text = "\n".join("\t".join([*c[:6], "_", "_", "_", c[9]]) if len(c) > 1 else c[0] for c in rows)
    path.write_text(text + "\n\n", encoding="utf-8")
    session = Session(path, "anna")
    assert shown_sentence(0, session.text.sentences[0], session.text.relations)["problems"] == []
    session.close()


# ------------------------------------------------------------------------------------------- real treebanks
DATA = Path(os.environ.get("VDGI_DATA", "/nowhere")) / "ud2"


@pytest.mark.parametrize("name", ["UD_Estonian-EWT", "UD_Tamil-TTB", "UD_Italian-ParTUT", "UD_Basque-BDT"])
def test_released_treebanks_have_no_problem_of_form(name: str) -> None:
    paths = sorted((DATA / name).glob("*-dev.conllu"))
    if not paths:
        pytest.skip("the treebanks of Universal Dependencies are not there")
    for path in paths:
        found = [each for each in problems_in_file(path, 2) if isinstance(each, Exception) or each[1]]
        assert found == []
