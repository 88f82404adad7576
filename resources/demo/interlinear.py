"""Makes one text of thirty sentences as FLEx, ELAN and Toolbox keep it: files to try `vdgi convert` with.

    python resources/demo/interlinear.py [OUTDIR]          (default: the folder of this file)

writes interlinear.flextext, interlinear.eaf and interlinear.sfm. The language, Velu, and the text are
invented for this project; they are in the public domain.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

LANGUAGE, TITLE, SOUND = "qvl", "The boat of Numa", "boat.wav"
STEMS = """
numa NOUN grandmother; tiro NOUN boy; vano NOUN boat; kala NOUN fish; leru NOUN lake; tami NOUN net
oska NOUN stone; hena NOUN house; suri NOUN wind; palo NOUN day; meka NOUN bread; rino NOUN bird
sela VERB swim; domu VERB go; vesa VERB see; tuka VERB take; ponu VERB give; lasi VERB sleep; kiru VERB say
hamo VERB eat; zelu VERB come; bora VERB break; nito VERB mend; suma VERB sing
pelu ADJ big; miri ADJ small; vako ADJ old; sano ADJ good; toku ADJ cold
a DET the; ti DET that; ke DET two
mo PRON I; so PRON he; lo PRON they; ne PART not; i CCONJ and; ru SCONJ when
pa ADP in; le ADP to; su ADP from; nu ADV now; tare ADV again; hai INTJ yes; Numa PROPN Numa
"""
AFFIXES = {"-n": "PL", "-ka": "PST", "-sa": "GEN", "=ma": "too"}
SENTENCES = """
a vako numa domu-ka le a leru . | The old grandmother went to the lake.
Numa vesa-ka a vano . | Numa saw the boat.
a vano ne sela-ka . | The boat did not swim.
a suri bora-ka a vano , kiru-ka Numa . | The wind broke the boat, said Numa.
a tiro zelu-ka su a hena . | The boy came from the house.
so vesa-ka a numa i a vano . | He saw the grandmother and the boat.
" hai , mo nito a vano ! " kiru-ka a tiro . | "Yes, I mend the boat!" said the boy.
a tiro tuka-ka ke pelu oska-n . | The boy took two big stones.
a oska-n bora-ka . | The stones broke.
Numa ponu-ka a tami le a tiro . | Numa gave the net to the boy.
a tami ne sano . | The net is not good.
a palo toku . | The day is cold.
a tiro lasi-ka pa a vako hena . | The boy slept in the old house.
a numa=ma lasi-ka . | The grandmother, too, slept.
ru a palo zelu-ka , a suri lasi-ka . | When the day came, the wind slept.
a rino-n suma-ka . | The birds sang.
nu a tiro nito-ka a vano . | Now the boy mended the boat.
so tuka-ka meka su a numa-sa hena . | He took bread from the house of the grandmother.
Numa i a tiro domu-ka le a leru . | Numa and the boy went to the lake.
a vano sela-ka ! | The boat swam!
lo vesa-ka a kala-n pa a leru . | They saw the fish in the lake.
a miri kala zelu-ka le a tami . | The small fish came to the net.
a pelu kala ne zelu-ka . | The big fish did not come.
" ti kala vako , " kiru-ka Numa . | "That fish is old," said Numa.
a tiro tuka-ka ke kala-n . | The boy took two fish.
lo hamo-ka a kala-n i a meka . | They ate the fish and the bread.
a kala sano , a meka=ma sano . | The fish is good, the bread, too, is good.
ru a suri zelu-ka tare , lo domu-ka le a hena . | When the wind came again, they went to the house.
nu a vano lasi pa a leru . | Now the boat sleeps in the lake.
Numa suma : " mo vako , a vano vako , a leru ne vako . " | Numa sings: "I am old, the boat is old, the lake is not old."
"""
OPENING, CLOSING = '"', ".,:!"


class Token(NamedTuple):
    """A word with its morphs, or a mark without any: forms with their signs, glosses, and a tag."""

    form: str
    morphs: tuple[str, ...] = ()
    glosses: tuple[str, ...] = ()
    tag: str = ""


class Said(NamedTuple):
    """A sentence: its tokens, its text, its translation, its speaker and its times in ms."""

    tokens: list[Token]
    text: str
    translation: str
    speaker: str
    begin: int
    end: int


def stems() -> dict[str, tuple[str, str]]:
    """Tag and gloss of each stem."""
    entries = [entry.split() for line in STEMS.strip().split("\n") for entry in line.split(";")]
    return {stem: (tag, gloss) for stem, tag, gloss in entries}


def token(text: str, known: dict[str, tuple[str, str]]) -> Token:
    """A token of the table above."""
    if text in OPENING + CLOSING:
        return Token(text)
    morphs = text.replace("-", " -").replace("=", " =").split()
    tag, gloss = known[morphs[0]]
    form = "".join(morph.lstrip("-=") for morph in morphs)
    return Token(form, tuple(morphs), (gloss, *(AFFIXES[morph] for morph in morphs[1:])), tag)


def text_of(tokens: list[Token]) -> str:
    """The sentence as it is written."""
    text, is_open, is_joined = "", False, True
    for one in tokens:
        is_quote = one.form == OPENING
        is_closing = one.form in CLOSING or (is_quote and is_open)
        text += one.form if is_joined or is_closing else " " + one.form
        is_open ^= is_quote
        is_joined = is_quote and is_open
    start = next(n for n, character in enumerate(text) if character.isalpha())
    return text[:start] + text[start].upper() + text[start + 1 :]


def sentences() -> Iterator[Said]:
    """The thirty sentences, two seconds each; every third is told by another speaker."""
    known = stems()
    for n, line in enumerate(SENTENCES.strip().split("\n")):
        words, translation = line.split(" | ")
        tokens = [token(text, known) for text in words.split()]
        speaker = "Teno" if n % 3 == 2 else "Ami"
        yield Said(tokens, text_of(tokens), translation, speaker, 2000 * n, 2000 * n + 1800)


def item(kind: str, text: str, language: str = "en") -> str:
    return f'<item type="{kind}" lang="{language}">{escape(text)}</item>'


def flextext() -> str:
    """The text as FLEx exports it."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<document version="2">',
        '<interlinear-text guid="t1">',
    ]
    lines += [item("title", TITLE), "<paragraphs>"]
    for n, one in enumerate(sentences(), 1):
        times = (
            f'begin-time-offset="{one.begin}" end-time-offset="{one.end}" speaker="{one.speaker}"'
        )
        if n % 10 == 1:
            lines += ["</phrases></paragraph>"] * (n > 1) + [f'<paragraph guid="p{n}"><phrases>']
        lines += [f'<phrase guid="s{n}" {times} media-file="m1">']
        lines += [item("txt", one.text, LANGUAGE), item("segnum", str(n)), "<words>"]
        for each in one.tokens:
            lines.append(flex_word(each))
        lines += ["</words>", item("gls", one.translation), "</phrase>"]
    lines += [
        "</phrases></paragraph>",
        "</paragraphs>",
        f'<languages><language lang="{LANGUAGE}" vernacular="true"/></languages>',
    ]
    lines += [f'<media-files offset-type=""><media guid="m1" location="{SOUND}"/></media-files>']
    return "\n".join([*lines, "</interlinear-text>", "</document>", ""])


def flex_word(one: Token) -> str:
    """A word of FLExText."""
    if not one.morphs:
        return f"<word>{item('punct', one.form, LANGUAGE)}</word>"
    parts = []
    for morph, gloss in zip(one.morphs, one.glosses):
        kind = {"-": "suffix", "=": "enclitic"}.get(morph[0], "stem")
        tag = one.tag if kind == "stem" else "affix"
        items = (
            item("txt", morph, LANGUAGE)
            + item("cf", morph, LANGUAGE)
            + item("gls", gloss)
            + item("msa", tag)
        )
        parts.append(f'<morph type="{kind}">{items}</morph>')
    morphs = f"<morphemes>{''.join(parts)}</morphemes>"
    return f"<word>{item('txt', one.form, LANGUAGE)}{morphs}{item('pos', one.tag)}</word>"


TIERS = (
    ("ref", "", "ref"),
    ("tx", "ref", "association"),
    ("word", "tx", "subdivision"),
    ("pos", "word", "association"),
    ("mb", "word", "subdivision"),
    ("ge", "mb", "association"),
    ("lemma", "mb", "association"),
    ("ft", "ref", "association"),
)
CONSTRAINTS = {"association": "Symbolic_Association", "subdivision": "Symbolic_Subdivision"}


def eaf() -> str:
    """The text as ELAN keeps it: tiers for each of the two speakers."""
    rows: dict[tuple[str, str], list[str]] = {}
    slots: list[str] = []
    number = 0

    def add(name: str, speaker: str, value: str, above: str, previous: str = "") -> str:
        nonlocal number
        number += 1
        key = f"a{number}"
        if above:
            after = f' PREVIOUS_ANNOTATION="{previous}"' if previous else ""
            kind, where = "REF_ANNOTATION", f'ANNOTATION_REF="{above}"{after}'
        else:
            kind = "ALIGNABLE_ANNOTATION"
            where = f'TIME_SLOT_REF1="ts{len(slots) - 1}" TIME_SLOT_REF2="ts{len(slots)}"'
        text = f"<ANNOTATION_VALUE>{escape(value)}</ANNOTATION_VALUE>"
        row = f'<ANNOTATION><{kind} ANNOTATION_ID="{key}" {where}>{text}</{kind}></ANNOTATION>'
        rows.setdefault((name, speaker), []).append(row)
        return key

    for n, one in enumerate(sentences(), 1):
        slots += [str(one.begin), str(one.end)]
        ref = add("ref", one.speaker, str(n), "")
        text, word = add("tx", one.speaker, one.text, ref), ""
        add("ft", one.speaker, one.translation, ref)
        for each in one.tokens:
            word = add("word", one.speaker, each.form, text, word)
            if each.morphs:
                add("pos", one.speaker, each.tag, word)
            morph = ""
            for form, gloss in zip(each.morphs, each.glosses):
                morph = add("mb", one.speaker, form, word, morph)
                add("ge", one.speaker, gloss, morph)
                add("lemma", one.speaker, form, morph)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="EAFv3.0.xsd"'
    lines += [
        f'<ANNOTATION_DOCUMENT AUTHOR="" DATE="2026-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0" {schema}>'
    ]
    media = f'<MEDIA_DESCRIPTOR MEDIA_URL="{SOUND}" MIME_TYPE="audio/x-wav" RELATIVE_MEDIA_URL="{SOUND}"/>'
    lines += [f'<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">{media}</HEADER>', "<TIME_ORDER>"]
    lines += [
        f'<TIME_SLOT TIME_SLOT_ID="ts{n}" TIME_VALUE="{value}"/>'
        for n, value in enumerate(slots, 1)
    ]
    lines.append("</TIME_ORDER>")
    for speaker in ("Ami", "Teno"):
        for name, parent, kind in TIERS:
            above = f' PARENT_REF="{parent}@{speaker}"' if parent else ""
            spoken = ' LANG_REF="en"' if name == "ft" else ""
            who = f"PARTICIPANT={quoteattr(speaker)}"
            lines.append(
                f'<TIER LINGUISTIC_TYPE_REF="{kind}"{above} {who}{spoken} TIER_ID="{name}@{speaker}">'
            )
            lines += [*rows[name, speaker], "</TIER>"]
    lines.append('<LINGUISTIC_TYPE LINGUISTIC_TYPE_ID="ref" TIME_ALIGNABLE="true"/>')
    lines += [
        f'<LINGUISTIC_TYPE CONSTRAINTS="{constraint}" LINGUISTIC_TYPE_ID="{kind}" TIME_ALIGNABLE="false"/>'
        for kind, constraint in CONSTRAINTS.items()
    ]
    lines.append('<LANGUAGE LANG_ID="en" LANG_DEF="" LANG_LABEL="English"/>')
    return "\n".join([*lines, "</ANNOTATION_DOCUMENT>", ""])


def toolbox() -> str:
    """The text as Toolbox keeps it: columns that begin at the same place, marks at their words."""
    lines = [r"\_sh v3.0  400  Text", "", rf"\id {TITLE}", ""]
    for n, one in enumerate(sentences(), 1):
        rows = dict.fromkeys(("tx", "mb", "ge", "ps"), "")
        for word, each in zip(one.text.split(), words_with_marks(one)):
            for k, (morph, gloss) in enumerate(zip(each.morphs, each.glosses)):
                cells = (word if not k else "", morph, gloss, each.tag if not k else "suff")
                width = max(map(len, cells)) + 1
                for marker, cell in zip(rows, cells):
                    rows[marker] += cell.ljust(width)
        lines += [rf"\ref {n}", rf"\ELANParticipant {one.speaker}"]
        lines += [rf"\ELANBegin {one.begin}", rf"\ELANEnd {one.end}", rf"\sound {SOUND}"]
        lines += [rf"\{marker} {row.rstrip()}" for marker, row in rows.items()]
        lines += [rf"\ft {one.translation}", ""]
    return "\n".join(lines)


def words_with_marks(one: Said) -> list[Token]:
    """The tokens that have morphs, one for each run between blanks in the text."""
    return [each for each in one.tokens if each.morphs]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, text in (("flextext", flextext()), ("eaf", eaf()), ("sfm", toolbox())):
        (folder / f"interlinear.{name}").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
