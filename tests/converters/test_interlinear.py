"""The demo's interlinear text: the same in three formats, and from there to a release that UD's
validator takes."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path

import pytest
from shell import ROOT, Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading
from dynet_vdgi.validation import udtools

DEMO = ROOT / "resources" / "demo"
FORMATS = ["flextext", "eaf", "sfm"]
needs_udtools = pytest.mark.skipif(
    importlib.util.find_spec("udtools") is None, reason="udtools is not installed"
)


def converted(vdgi: Vdgi, ending: str) -> str:
    """The demo's CoNLL-U; nothing may be lost."""
    result = vdgi.good(
        "convert", DEMO / f"interlinear.{ending}", "--language", "en", "-o", f"{ending}.conllu"
    )
    assert result.err.endswith(": 30 sentences, 226 words\n")
    assert len(result.err.split("\n")) == 2
    return Path(f"{ending}.conllu").read_text(encoding="utf-8")


def test_the_script_makes_the_three_files_byte_for_byte(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["interlinear.py", str(folder)])
    runpy.run_path(str(DEMO / "interlinear.py"), run_name="__main__")
    for ending in FORMATS:
        name = f"interlinear.{ending}"
        assert (folder / name).read_bytes() == (DEMO / name).read_bytes()


def test_the_three_formats_give_the_same_sentences(vdgi: Vdgi, folder: Path) -> None:
    def kept(text: str) -> list[str]:
        """All but what only one format has: title and paragraphs, and so the sentences' names."""
        only = ("# newdoc", "# newpar", "# sent_id", "# meta::")
        return [line for line in text.split("\n") if not line.startswith(only)]

    flextext, eaf, sfm = (kept(converted(vdgi, ending)) for ending in FORMATS)
    assert flextext == eaf == sfm
    assert flextext[:6] == [
        "# text = A vako numa domuka le a leru.",
        "# speaker = Ami",
        "# sound_url = boat.wav",
        "# sent_timecode = 0, 1800",
        "# text_en = The old grandmother went to the lake.",
        "1\tA\ta\tDET\t_\t_\t_\t_\t_\tGloss=the",
    ]


@pytest.mark.parametrize("ending", FORMATS)
def test_the_result_is_sound(vdgi: Vdgi, folder: Path, ending: str) -> None:
    converted(vdgi, ending)
    assert vdgi.good("check", f"{ending}.conllu").out.startswith(f"{ending}.conllu: sound\n")


@needs_udtools
@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_an_interlinear_text_becomes_a_release_that_is_valid_at_level_2(
    vdgi: Vdgi, folder: Path, ending: str
) -> None:
    converted(vdgi, ending)
    vdgi.good("parse", "universal", f"{ending}.conllu", "-o", "trees.conllu")
    vdgi("release", "UD_Velu-Demo", "--code", "qvl", "--name", "Demo", "trees.conllu", "--all")
    released = Path("UD_Velu-Demo/qvl_demo-ud-test.conllu")
    sentences = list(reading.read(released, heads="required"))
    assert (len(sentences), sum(map(len, sentences))) == (30, 226)
    assert udtools.messages([released.read_text(encoding="utf-8")], "", "2") == []
    first = released.read_text(encoding="utf-8").split("\n\n")[0]
    for line in (
        "# speaker = Ami",
        "# text_en = The old grandmother went to the lake.",
        "# sent_timecode = 0, 1800",
    ):
        assert line in first
    assert "MSeg=domu-ka" in first
    assert "MGloss=go-PST" in first


@pytest.mark.parametrize(
    ("ending", "name", "there"), [("eaf", "Utterance", "word"), ("sfm", "wd", "tx")]
)
def test_a_tier_that_no_file_has_is_refused_with_the_names_that_there_are(
    vdgi: Vdgi, folder: Path, ending: str, name: str, there: str, wording: Wording
) -> None:
    demo = DEMO / f"interlinear.{ending}"
    refused = vdgi("convert", demo, "--tier", f"words={there}", f"gloss={name}", "-o", "out.conllu")
    assert refused.status == 2
    wording.check(refused.err)
    assert there in refused.err.partition("there are: ")[2]
    assert not Path("out.conllu").exists()


def test_a_tier_of_one_of_several_files_is_enough(vdgi: Vdgi, folder: Path) -> None:
    text = "\\ref 1\n\\{} go house\n"
    Path("a.txt").write_text(text.format("tx"), encoding="utf-8")
    Path("b.txt").write_text(text.format("wd"), encoding="utf-8")
    vdgi.good("convert", "a.txt", "b.txt", "--tier", "words=wd", "-o", "out.conllu")
    assert Path("out.conllu").read_text(encoding="utf-8").count("\tgo\t") == 2


def test_a_table_of_tags_without_effect_is_told(vdgi: Vdgi, folder: Path) -> None:
    Path("mine.tags").write_text("vt VERB\n", encoding="utf-8")
    demo = DEMO / "interlinear.flextext"
    told = "--tags mine.tags had no effect: no word has one of its tags"
    assert told in vdgi.good("convert", demo, "--tags", "mine.tags", "-o", "out.conllu").err
    Path("mine.tags").write_text("vt VERB\nNOUN PROPN\n", encoding="utf-8")
    assert told not in vdgi.good("convert", demo, "--tags", "mine.tags", "-o", "other.conllu").err
    assert Path("other.conllu").read_text(encoding="utf-8").count("\tPROPN\t") > 20
