"""Validation by the rules of UD: the check of form agrees with the official validator."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from cases import rows
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu.blocks import blocks
from dynet_vdgi.errors import DataError
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.page.web.search import search
from dynet_vdgi.page.web.shown import shown_sentence
from dynet_vdgi.validation import udtools
from dynet_vdgi.validation.levels import problems_in

needs_udtools = pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None,
    reason="udtools, of the extra validate, is not installed",
)

GOOD = """# sent_id = s1
# text = aa bb cc.
1\taa\taa\tNOUN\t_\tCase=Nom|Number=Sing\t2\tnsubj\t2:nsubj\t_
2\tbb\tbb\tVERB\t_\t_\t0\troot\t0:root\t_
3\tcc\tcc\tNOUN\t_\t_\t2\tobj\t2:obj\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t2:punct\t_

"""

FAULTS = {name: (old, new, rule) for rule, name, old, new in rows("ud_faults.txt")}
"""What is replaced in the good sentence, by what, and the rule that finds it."""

FAULTS["an enhanced head of 5,000 digits"] = ("2:obj", "9" * 5000 + ":obj", "deps")
SOUND = {name: (old, new) for name, old, new in rows("ud_sound.txt")}


def replaced(old: str, new: str) -> str:
    """The good sentence with something else in place of the first occurrence of `old`."""
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def problems(text: str) -> list[str]:
    """The rules that a sentence breaks."""
    return [problem.rule for problem in problems_in(text.rstrip("\n").split("\n"))]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_rule(name: str) -> None:
    old, new, rule = FAULTS[name]
    assert set(problems(replaced(old, new))) == {rule}


def test_sound_sentences_have_no_problem() -> None:
    assert {name: problems(replaced(*row)) for name, row in SOUND.items()} == {
        name: [] for name in SOUND
    }
    assert problems(SPACED) == problems(SPACED.replace("bb cc", "bb\u00a0cc")) == ["spaces"]
    assert problems(replaced("\tNOUN\t", "\tPRON\t")) == []  # of which level 3 warns


def test_a_problem_names_its_word_and_its_line_and_no_heads_are_one_which_the_page_does_not_show(
    tmp_path: Path,
    wording: Wording,
) -> None:
    (one,) = problems_in(replaced("\tVERB", "\tVB").split("\n")[:-2])
    assert one.word == 2
    assert one.row == 3
    wording.check(one.text)
    rows = [line.split("\t") for line in GOOD.rstrip().split("\n")]
    text = "\n".join("\t".join([*c[:6], "_", "_", "_", c[9]]) if len(c) > 1 else c[0] for c in rows)
    (none,) = problems_in(text.split("\n"))
    assert none.word == 0
    wording.check(none.text)
    path = tmp_path / "a.conllu"
    path.write_text(text + "\n\n", encoding="utf-8")
    session = Session(path, "anna")
    assert shown_sentence(0, session.text.sentences[0])["problems"] == []
    session.close()


ERRORS = """
import json, sys
from udtools.validator import Validator
validator, found = Validator(level=2, lang="ud", output=None), {}
for name in sys.argv[1:]:
    try:
        told = validator.validate_files([name]).error_tracker
        found[name] = sorted({incident.testid for incident in told if incident.is_error()})
    except (ValueError, StopIteration, KeyError) as error:
        found[name] = []  # it ends so at empty nodes such as 1.10
print(json.dumps(found))
"""

OF_SEVERAL_SENTENCES = {
    "edeps-only-sometimes",
    "non-unique-parallel-id",
    "non-unique-sent-id",
    "parallel-id-alt",
    "parallel-id-part",
    "spaceafter-newdocpar",
}
"""Official rules that the check of one sentence does not claim to know."""

PIECES = """
_ 0 1 2 3 1-2 2-3 1.1 - | = : a B e\u0301 SpaceAfter=No SpaceAfter=Yes NoSpaceAfter=Yes |Lang=x
|A=B A=b,C 1=2 case Case[x]=Y nsubj:pass root 0:root 1:foo 1:ref 2:nmod:ü:x |2:obj a:b NOUN CONJ / #
""".split()  # noqa: SIM905


def changed(rng: random.Random, lines: list[str]) -> str:
    """A sentence with a place changed at random."""
    k = rng.randrange(len(lines))
    columns = lines[k].split("\t")
    j = rng.randrange(len(columns))
    old, piece = columns[j], rng.choice([*PIECES, " ", "\u00a0", "\u200b", "\ufffd", "\t"])
    place = rng.randrange(len(old) + 1)
    columns[j] = rng.choice(
        [piece, old[:place] + piece + old[place:], old[:place] + old[place + 1 :]]
    )
    lines = [*lines[:k], "\t".join(columns), *lines[k + 1 :]]
    return "\n".join(lines) + "\n\n"


def official_errors(paths: list[Path]) -> dict[Path, set[str]]:
    """What the validator calls errors of levels 1 and 2 in each file."""
    command = [sys.executable, "-c", ERRORS, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {Path(name): set(told) for name, told in json.loads(done.stdout).items()}


def has_errors(path: Path) -> bool:
    """Whether the reader or the check of form finds an error in a file."""
    repairs: list[DataError] = []
    try:
        errors = [p for block in blocks(path, repairs.append) for p in problems_in(block.lines)]
    except DataError as fault:
        # the validator passes an empty file
        return fault.message != "no sentences" or bool(repairs)
    return bool(errors or repairs)


def differing(paths: list[Path]) -> list[str]:
    """The files about which the check of form and the validator disagree."""
    return [
        f"{path}: {sorted(told)}"
        for path, told in official_errors(paths).items()
        if not (told and told <= OF_SEVERAL_SENTENCES) and bool(told) != has_errors(path)
    ]


@needs_udtools
@pytest.mark.slow
def test_the_official_validator_gives_the_same_verdict(tmp_path: Path) -> None:
    sound = [replaced(*row) for row in SOUND.values()]
    rng = random.Random(1)
    texts = [
        *(replaced(*row[:2]) for row in FAULTS.values()),
        *sound,
        *VERDICTS.values(),
        *(changed(rng, rng.choice(sound).rstrip().split("\n")) for _ in range(400)),
    ]
    for k, text in enumerate(texts):
        (tmp_path / f"{k}.conllu").write_text(text, encoding="utf-8")
    files = sorted(tmp_path.glob("*.conllu"))
    assert differing(files) == []
    begin = len(FAULTS) + len(sound)
    told = official_errors([tmp_path / f"{begin + k}.conllu" for k in range(len(VERDICTS))])
    assert [("", *rules)[-1] for rules in told.values()] == [
        "" if name == "crash" else name.partition(",")[0] for name in VERDICTS
    ]
    assert 200 < sum(map(has_errors, files)) < len(files) - 50


def two(first: str, second: str, joint: str = "") -> str:
    """Two good sentences, with a comment each, and `joint` at the end of the first."""
    texts = [GOOD.replace("2:punct\t_", f"2:punct\t{joint or '_'}"), GOOD.replace("= s1", "= s2")]
    return "".join(
        text.replace("# sent_id", f"{more}# sent_id") for text, more in zip(texts, (first, second))
    )


SPACED = GOOD.replace("SpaceAfter=No", "_").replace(
    "2\tbb", "2-3\tbb cc" + 7 * "\t_" + "\tSpaceAfter=No\n2\tbb"
)
BARE = GOOD.replace("\t2:", "\t_").replace("\t0:root", "\t_")
for _relation in ("nsubj", "obj", "punct"):
    BARE = BARE.replace(f"\t_{_relation}", "\t_")
NODES = "".join(f"4.{k}\t_\t_\t_\t_\t_\t_\t_\t2:dep\t_\n" for k in range(1, 12))

VERDICTS = {
    "edeps-only-sometimes": GOOD + BARE.replace("= s1", "= s2"),
    "edeps-only-sometimes, later": BARE + GOOD.replace("= s1", "= s2"),
    "non-unique-sent-id": GOOD + GOOD,
    "non-unique-parallel-id": two("# parallel_id = a/1\n", "# parallel_id = a/1\n"),
    "parallel-id-alt": two("# parallel_id = a/1/alt1\n", "# parallel_id = a/1/alt3\n"),
    "spaceafter-newdocpar": two("", "# newpar\n", "SpaceAfter=No"),
    "invalid-whitespace-mwt": SPACED,
    "invalid-whitespace-mwt, no break": SPACED.replace("bb cc", "bb\u00a0cc"),
    "multiple-newpar": two("# newpar\n# newpar\n", ""),
    "": two("# newpar\n", "", "A=1||=x"),
    "crash": GOOD.replace("2:punct", "2:punct|4.10:dep").replace("\t_\n\n", "\t_\n" + NODES + "\n"),
}
"""Texts by the official rule that they break: mostly what only several sentences show."""

FALSE = """
import sys
from pathlib import Path

for path in [each for each in sys.argv if each.endswith(".conllu")]:
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\\n"), 1):
        place = f"File {Path(path).name} Line {number} Sent s1"
        if "\\tNOUN\\t" in line:
            print(f"[{place}]: [L3 WARNING odd-noun] A noun.")
        if "\\tVB\\t" in line:
            print(f"[{place}]: [L2 MORPHO unknown-upos] A verb.\\n\\nAn explanation.\\n")
        if "crash" in line:
            raise RuntimeError("of the validator")
failed = False
print("*** FAILED *** with 1 errors" if failed else "*** PASSED ***", sys.argv[1:-2])
"""


@pytest.fixture
def false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A validator that warns of nouns and ends early at the word crash."""
    script = tmp_path / "udvalidate"
    script.write_text(f"#!{sys.executable}\n{FALSE}", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(
        udtools.shutil, "which", lambda name, path=None: None if path else str(script)
    )
    return script


def test_errors_come_before_warnings_with_number_and_places(
    vdgi: Vdgi, tmp_path: Path, false: Path, wording: Wording
) -> None:
    good, bad = tmp_path / "good.conllu", tmp_path / "bad.conllu"
    good.write_text(GOOD, encoding="utf-8")
    bad.write_text(replaced("\tVERB", "\tVB"), encoding="utf-8")
    status, out, err = vdgi("check", "--ud", good, bad, "--max-faults", "3")
    assert (status, err) == (3, "1 error found\n")
    program = false.name
    wording.check(out.splitlines())
    status, out, err = vdgi(
        "check", "--ud", good, "--level", "4", "--lang", "xx", "--max-faults", "0"
    )
    assert (status, err) == (0, "")
    said = "2 warnings: odd-noun (level 3)", f"{program} --lang=xx --level=4: 0 errors, 2 warnings"
    assert tuple(out.splitlines()) == said
    assert vdgi("check", "--ud", good, "--max-faults", "-1").status == 2


def test_the_page_shows_errors_by_rule(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    text = replaced("Case=Nom", "Case=nom").replace("\tobj", "\tcomp")
    path.write_text(text.replace("\tpunct\t", "\tstop\t"), encoding="utf-8")
    session = Session(path, "anna", "right")
    (marked,) = session.text.sentences
    shown = shown_sentence(0, marked)
    hits = [
        search(session.text, "problem", query)["found"] for query in ("", "no relation", "nowhere")
    ]
    session.close()
    assert [len(each) for each in hits] == [1, 1, 0]
    assert [group["rule"] for group in shown["problems"]] == ["feats", "deprel"]
    assert [place["word"] for place in shown["problems"][1]["places"]] == [3, 4]


DATA = Path(os.environ.get("VDGI_DATA", "/nowhere")) / "ud2"


@pytest.mark.parametrize("name", ["UD_Tamil-TTB", "UD_Italian-ParTUT"])
def test_released_treebanks_have_no_problem_of_form(name: str) -> None:
    paths = sorted((DATA / name).glob("*-dev.conllu"))
    if not paths:
        pytest.skip("the treebanks of Universal Dependencies are not there")
    for path in paths:
        assert not has_errors(path)
