"""`vdgi convert` of FLExText: what becomes of each item, and of files with faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from converting import Made, check_refusal, converted
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import reading


def convert(vdgi: Vdgi, content: str | bytes, *options: str) -> Made:
    made = converted(vdgi, "in.flextext", content, *options)
    text = Path("out.conllu").read_text(encoding="utf-8")
    assert len(list(reading.read("out.conllu", tags="known"))) == text.split("\n").count("") - 1
    return made


def item(kind: str, text: str, language: str = "en") -> str:
    return f'<item type="{kind}" lang="{language}">{text}</item>'


def word(form: str, tag: str = "", gloss: str = "", morphs: str = "", more: str = "") -> str:
    items = (
        item("txt", form, "qvl")
        + (item("gls", gloss) if gloss else "")
        + (item("pos", tag) if tag else "")
    )
    return f"<word>{items}{morphs and f'<morphemes>{morphs}</morphemes>'}{more}</word>"


def morph(form: str, gloss: str = "", lemma: str = "", tag: str = "", kind: str = "") -> str:
    known = (("txt", form), ("cf", lemma), ("gls", gloss), ("msa", tag))
    items = "".join(item(name, text) for name, text in known if text)
    return f"<morph{kind and f' type={chr(34)}{kind}{chr(34)}'}>{items}</morph>"


def mark(text: str) -> str:
    return f"<word>{item('punct', text, 'qvl')}</word>"


def phrase(words: str, items: str = "", attributes: str = "") -> str:
    return f"<phrase{attributes}><words>{words}</words>{items}</phrase>"


def text(*phrases: str, title: str = "Tale", more: str = "") -> str:
    inner = "".join(phrases)
    named = item("title", title) if title else ""
    return (
        f"<interlinear-text>{named}<paragraphs><paragraph><phrases>{inner}</phrases></paragraph></paragraphs>"
        f"{more}</interlinear-text>"
    )


def document(*texts: str, head: str = '<?xml version="1.0" encoding="utf-8"?>\n') -> str:
    return f'{head}<document version="2">\n{"".join(texts)}</document>'


GO = word("domu", "VERB", "go")


def test_every_item_has_its_place(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    morphs = morph("domu", "go", "domu", "V", "stem") + morph(
        "-ka", "PST", "-ka", "V:Tns", "suffix"
    )
    words = (
        word("Domuka", "VERB", "went", morphs)
        + mark(",")
        + word("numa", "NOUN", "granny")
        + mark("!")
    )
    items = item("segnum", "1.2") + item("gls", "She went.") + item("gls", "Sie ging.", "de")
    items += item("lit", "Went she.") + item("note", "loud")
    attributes = ' begin-time-offset="10" end-time-offset="900" speaker="Ami" media-file="m"'
    media = '<media-files><media guid="m" location="a.wav"/></media-files>'
    made = convert(vdgi, document(text(phrase(words, items, attributes), more=media)))
    wording.check(made.comments)
    assert [[row[0], row[1], row[2], row[8]] for row in made.words] == [
        ["Domuka", "domu", "VERB", "Gloss=went|MSeg=domu-ka|MGloss=go-PST|SpaceAfter=No"],
        [",", ",", "PUNCT", "_"],
        ["numa", "_", "NOUN", "Gloss=granny|SpaceAfter=No"],
        ["!", "!", "PUNCT", "_"],
    ]
    wording.check(made.err)


@pytest.mark.parametrize(
    ("morphs", "lemma", "tag", "misc"),
    [
        (morph("run", "run", "run", "V"), "run", "V", "Gloss=run"),
        (
            morph("mi-", "1", "mi-") + morph("run", "run", "run", "V"),
            "run",
            "V",
            "MSeg=mi-run|MGloss=1-run|Gloss=1-run",
        ),
        (
            morph("run", "run", "run", "V") + morph("=ma", "too"),
            "run",
            "V",
            "MSeg=run=ma|MGloss=run=too|Gloss=run=too",
        ),
        (
            morph("run", "run", "run", "V", "stem") + morph("ma", "too", "ma", "", "enclitic"),
            "run",
            "V",
            "MSeg=run=ma|MGloss=run=too|Gloss=run=too",
        ),
        (morph("run", "run") + morph("-s"), "_", "_", "MSeg=run-s|MGloss=run-?|Gloss=run-?"),
        (
            morph("a", "x", "a", "N") + morph("b", "y", "b", "N"),
            "_",
            "_",
            "MSeg=a-b|MGloss=x-y|Gloss=x-y",
        ),
        (morph("", "x", "cf", "N"), "cf", "N", "Gloss=x"),
        (morph("-ka", "PST", "-ka", "T"), "ka", "T", "Gloss=PST"),
        (morph("a|b", "p|q", "a"), "a", "_", "Gloss=p\\pq"),
        ("<morph/>", "_", "_", "_"),
    ],
)
def test_morphs_give_lemma_tag_segments_and_gloss(
    vdgi: Vdgi, folder: Path, morphs: str, lemma: str, tag: str, misc: str
) -> None:
    made = convert(vdgi, document(text(phrase(word("w", morphs=morphs)))))
    assert [made.words[0][k] for k in (1, 3, 8)] == [lemma, tag, misc]


@pytest.mark.parametrize(
    ("words", "baseline", "written"),
    [
        (word("go") + mark(".") + word("Stop") + mark("!"), "", "go. Stop!"),
        (mark("«") + word("go") + mark("»") + word("he") + mark(":"), "", "«go» he:"),
        (mark('"') + word("go") + mark('"') + word("he"), "", '"go" he'),
        (mark("¿") + word("go") + mark("?") + mark("—") + word("no"), "", "¿go? — no"),
        (word("go") + mark('." "') + word("no"), "", 'go." "no'),
        (word("go") + word("home"), "Go, home!", "Go, home!"),
        (word("l") + mark("'") + word("eau"), "l'eau", "l'eau"),
        (word("go") + mark("—") + word("no"), "go—no", "go—no"),
        (word("go") + word("home"), "something else", "go home"),
        (word("\u0633\u0644\u0627\u0645") + mark("\u061f"), "", "\u0633\u0644\u0627\u0645\u061f"),
        (word("e\u0301t"), "e\u0301t.", "\u00e9t."),
    ],
)
def test_spaces_are_those_of_the_baseline_or_the_usual_ones(
    vdgi: Vdgi, folder: Path, words: str, baseline: str, written: str
) -> None:
    made = convert(vdgi, document(text(phrase(words, item("txt", baseline) if baseline else ""))))
    assert f"text = {written}" in made.comments
    assert ("orig_text = something else" in made.comments) == (baseline == "something else")


ENTITIES = "<!DOCTYPE d [<!ENTITY a 'xxxxxxxxxx'><!ENTITY b '&a;&a;&a;'><!ENTITY c SYSTEM 'file:///etc/passwd'>]>"
SOUND = {
    "no title": (document(text(phrase(GO), title="")), ["domu"], ""),
    "several texts": (
        document(text(phrase(GO)), text(phrase(GO), title="Two")),
        ["domu", "domu"],
        "",
    ),
    "two texts with one title": (
        document(text(phrase(GO)), text(phrase(GO))),
        ["domu", "domu"],
        "",
    ),
    "an interlinear text alone": (text(phrase(GO)), ["domu"], ""),
    "phrases without paragraphs": (
        document(f"<interlinear-text><phrases>{phrase(GO)}</phrases></interlinear-text>"),
        ["domu"],
        "",
    ),
    "nested phrases": (
        document(text(phrase(GO + phrase(GO)))),
        ["domu", "domu"],
        "phrases inside phrases",
    ),
    "words of words": (
        document(text(phrase(f"<word><words>{GO}{GO}</words></word>"))),
        ["domu", "domu"],
        "words that consist of words",
    ),
    "verses": (
        document(text(phrase("<scrMilestone/>" + GO))),
        ["domu"],
        "chapter and verse numbers: left out",
    ),
    "no words, but a text": (
        document(text("<phrase>" + item("txt", "Domu, numa!") + "</phrase>")),
        ["Domu", ",", "numa", "!"],
        "phrases without word division: divided at blanks and marks",
    ),
    "an empty phrase": (
        document(text(phrase(""), phrase(GO))),
        ["domu"],
        "phrases without words: left out",
    ),
    "an empty word": (
        document(text(phrase(GO + "<word/>"))),
        ["domu"],
        "words without a form: left out",
    ),
    "an empty item": (
        document(text(phrase(GO + word("")))),
        ["domu"],
        "words without a form: left out",
    ),
    "a word as text": (document(text(phrase("<word>domu</word>"))), ["domu"], ""),
    "a word with a space": (
        document(text(phrase(word("in front")))),
        ["in front"],
        "words with a space inside",
    ),
    "a tag not of UD": (
        document(text(phrase(word("domu", "vt")))),
        ["domu"],
        "tags that are not UD's",
    ),
    "an unknown item": (
        document(text(phrase(word("domu", more=item("x", "y"))))),
        ["domu"],
        "items of words of the type 'x': left out; once, 'y'",
    ),
    "an unknown language": (document(text(phrase(GO, item("gls", "x", "q z/1")))), ["domu"], ""),
    "no language": (document(text(phrase(GO, '<item type="gls">x</item>'))), ["domu"], ""),
    "no type": (document(text(phrase(GO, "<item>x</item>"))), ["domu"], ""),
    "line ends in values": (
        document(text(phrase(word("do\n mu"), item("gls", "a\nb")))),
        ["do mu"],
        "",
    ),
    "a namespace": (
        document(text(phrase(GO))).replace("<document", '<document xmlns="http://x.org/f"'),
        ["domu"],
        "",
    ),
    "Windows line ends": (document(text(phrase(GO))).replace("\n", "\r\n"), ["domu"], ""),
    "no declaration": (document(text(phrase(GO)), head=""), ["domu"], ""),
    "an unknown medium": (
        document(text(phrase(GO, "", ' media-file="no" speaker=""'))),
        ["domu"],
        "",
    ),
    "odd times": (document(text(phrase(GO, "", ' begin-time-offset="x"'))), ["domu"], ""),
    "right to left": (
        document(text(phrase(word("\u0643\u062a\u0628", "VERB")), title="\u0642\u0635\u0629")),
        ["\u0643\u062a\u0628"],
        "",
    ),
    "letters apart": (document(text(phrase(word("e\u0301")))), ["\u00e9"], "values written in NFC"),
}


@pytest.mark.parametrize("name", SOUND)
def test_files_of_all_forms_are_read_and_losses_counted(
    vdgi: Vdgi, folder: Path, name: str
) -> None:
    content, forms, loss = SOUND[name]
    made = convert(vdgi, content)
    assert [row[0] for row in made.words] == forms
    assert loss in made.err
    names = [line for line in made.comments if line.startswith("sent_id")]
    assert len(names) == len({*names})


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1"])
def test_xml_says_its_encoding(vdgi: Vdgi, folder: Path, encoding: str) -> None:
    head = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig").removesuffix("-le")}"?>'
    content = document(text(phrase(word("gå"))), head=head)
    made = convert(
        vdgi,
        content.encode(encoding)
        if encoding != "utf-16-le"
        else b"\xff\xfe" + content.encode(encoding),
    )
    assert made.words[0][0] == "gå"


BROKEN = {
    "cut off": document(text(phrase(GO)))[:-20],
    "an open element": "<document><interlinear-text></document>",
    "no text": document(),
    "no phrases": document(text()),
    "only empty phrases": document(text(phrase(""))),
    "entities": ENTITIES + document(text(phrase(word("&b;"))), head=""),
    "an entity nobody declares": document(text(phrase(word("&x;")))),
    "huge nesting": "<document>" + "<a>" * 5000 + "</a>" * 5000 + "</document>",
    "an unknown encoding": document(text(), head='<?xml version="1.0" encoding="x-no"?>'),
    "not UTF-8": document(text(phrase(word("g")))).encode().replace(b">g<", b">\xe5<"),
    "a control character": document(text(phrase(word("\x01")))),
    "another XML": "<?xml version='1.0'?><!-- <document> --><TEI/>",
    "empty": "",
    "blanks": " \n",
    "plain text": "\n once upon a time",
    "a zip file": b"PK\x03\x04" + bytes(50),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_place_and_remedy(
    vdgi: Vdgi, folder: Path, name: str, wording: Wording
) -> None:
    check_refusal(vdgi, "in.flextext", BROKEN[name], wording)


def test_a_file_of_too_many_elements_is_refused(
    vdgi: Vdgi, folder: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    Path("in.flextext").write_text(document(text(phrase(GO))), encoding="utf-8")
    monkeypatch.setenv("VDGI_LIMITS", "elements=5")
    wording.check(vdgi("convert", "in.flextext").err)
