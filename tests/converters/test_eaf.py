"""`vdgi convert` of ELAN's EAF: tiers of all kinds, times, speakers, and files with faults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from converting import Made, check_refusal, converted
from shell import Vdgi
from wording import Wording


def convert(vdgi: Vdgi, content: str | bytes, *options: str) -> Made:
    return converted(vdgi, "in.eaf", content, *options)


ASSOCIATION, SUBDIVISION = "Symbolic_Association", "Symbolic_Subdivision"
TIMED, INCLUDED = "Time_Subdivision", "Included_In"


class Tier(NamedTuple):
    """A tier: its annotations are (key, value, begin, end) or (key, value, key above) or, with the
    one before, 4."""

    name: str
    annotations: Sequence[tuple[str, ...] | tuple[str, str, int, int]]
    parent: str = ""
    constraint: str = ""
    more: str = ""
    kind: str = ""


def annotation(one: tuple[str, ...] | tuple[str, str, int, int], slots: list[str]) -> str:
    key, value, *where = one
    if isinstance(where[0], int):
        slots += [str(time) if isinstance(time, int) and time >= 0 else "" for time in where]
        tag = "ALIGNABLE_ANNOTATION"
        place = f'TIME_SLOT_REF1="ts{len(slots) - 1}" TIME_SLOT_REF2="ts{len(slots)}"'
    else:
        tag = "REF_ANNOTATION"
        place = f'ANNOTATION_REF="{where[0]}"' + (
            f' PREVIOUS_ANNOTATION="{where[1]}"' if len(where) > 1 else ""
        )
    text = f"<ANNOTATION_VALUE>{value}</ANNOTATION_VALUE>"
    return f'<ANNOTATION><{tag} ANNOTATION_ID="{key}" {place}>{text}</{tag}></ANNOTATION>'


def eaf(
    *tiers: Tier, head: str = '<?xml version="1.0" encoding="UTF-8"?>\n', media: str = ""
) -> str:
    slots: list[str] = []
    parts, kinds = [], {}
    for n, tier in enumerate(tiers):
        kind = tier.kind or f"k{n}"
        kinds[kind] = tier.constraint
        above = f' PARENT_REF="{tier.parent}"' if tier.parent else ""
        rows = "\n".join(annotation(one, slots) for one in tier.annotations)
        parts.append(
            f'<TIER TIER_ID="{tier.name}" LINGUISTIC_TYPE_REF="{kind}"{above}{tier.more}>\n{rows}\n</TIER>'
        )
    times = "".join(
        f'<TIME_SLOT TIME_SLOT_ID="ts{n}"{f" TIME_VALUE={chr(34)}{slot}{chr(34)}" if slot else ""}/>'
        for n, slot in enumerate(slots, 1)
    )
    types = "".join(
        f'<LINGUISTIC_TYPE LINGUISTIC_TYPE_ID="{kind}"{f" CONSTRAINTS={chr(34)}{how}{chr(34)}" if how else ""}/>'
        for kind, how in kinds.items()
    )
    header = f"<HEADER>{media}</HEADER><TIME_ORDER>{times}</TIME_ORDER>"
    return f"{head}<ANNOTATION_DOCUMENT>{header}\n{''.join(parts)}{types}</ANNOTATION_DOCUMENT>"


TEXT = Tier("text", [("a1", "Numa domuka.", 0, 900)])
WORDS = Tier("words", [("w1", "Numa", "a1"), ("w2", "domuka", "a1", "w1")], "text", SUBDIVISION)
POS = Tier("pos", [("p1", "PROPN", "w1"), ("p2", "VERB", "w2")], "words", ASSOCIATION)
GLOSS = Tier("gloss", [("g1", "Numa", "w1"), ("g2", "went", "w2")], "words", ASSOCIATION)
MORPHS = Tier("mb", [("m1", "domu", "w2"), ("m2", "-ka", "w2", "m1")], "words", SUBDIVISION)
MGLOSS = Tier("ge", [("n1", "go", "m1"), ("n2", "PST", "m2")], "mb", ASSOCIATION)
FREE = Tier("ft-fr", [("f1", "Numa alla.", "a1")], "text", ASSOCIATION)


def test_every_tier_has_its_place(vdgi: Vdgi, folder: Path, wording: Wording) -> None:
    media = '<MEDIA_DESCRIPTOR MEDIA_URL="file:///x/a.wav" RELATIVE_MEDIA_URL="./a.wav"/>'
    note = Tier("note", [("x1", "loud", "a1")], "text", ASSOCIATION)
    speaking = TEXT._replace(more=' PARTICIPANT="Ami"')
    made = convert(vdgi, eaf(speaking, WORDS, POS, GLOSS, MORPHS, MGLOSS, FREE, note, media=media))
    wording.check(made.comments)
    assert [[row[0], row[1], row[2], row[8]] for row in made.words] == [
        ["Numa", "_", "PROPN", "Gloss=Numa"],
        ["domuka", "_", "VERB", "Gloss=went|MSeg=domu-ka|MGloss=go-PST|SpaceAfter=No"],
        [".", ".", "PUNCT", "_"],
    ]
    wording.check(made.err)


def test_subdivisions_follow_their_chain_and_not_the_order_in_the_file(
    vdgi: Vdgi, folder: Path
) -> None:
    turned = WORDS._replace(annotations=[WORDS.annotations[1], WORDS.annotations[0]])
    assert [row[0] for row in convert(vdgi, eaf(TEXT, turned)).words] == ["Numa", "domuka", "."]


@pytest.mark.parametrize("constraint", [TIMED, INCLUDED])
def test_words_with_times_are_in_their_order_with_the_times_in_misc(
    vdgi: Vdgi, folder: Path, constraint: str
) -> None:
    timed = Tier("word", [("w2", "domuka", 400, 900), ("w1", "Numa", 0, 400)], "text", constraint)
    made = convert(vdgi, eaf(TEXT, timed, POS._replace(parent="word")))
    assert [(row[0], row[2], row[8]) for row in made.words[:2]] == [
        ("Numa", "PROPN", "AlignBegin=0|AlignEnd=400"),
        ("domuka", "VERB", "AlignBegin=400|AlignEnd=900|SpaceAfter=No"),
    ]


def test_speakers_who_overlap_follow_each_other_by_time(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    one = Tier("tx@A", [("a1", "One.", 0, 900), ("a2", "Three.", 1000, 2000)])
    two = Tier("tx@B", [("b1", "Two.", 500, 1100)])
    made = convert(vdgi, eaf(one, two))
    assert made.texts == ["One.", "Two.", "Three."]
    assert [line for line in made.comments if line.startswith("speaker")] == [
        f"speaker = {who}" for who in "ABA"
    ]
    wording.check(made.err)


def test_times_that_are_missing_lie_between_their_neighbours(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    text = Tier("text", [("a1", "A.", 0, -1), ("a2", "B.", -1, -1), ("a3", "C.", -1, 900)])
    made = convert(vdgi, eaf(text))
    assert made.texts == ["A.", "B.", "C."]
    assert not any(line.startswith("sent_timecode") for line in made.comments)
    wording.check(made.err)


def test_files_without_any_time_keep_the_order_of_the_file(vdgi: Vdgi, folder: Path) -> None:
    text = Tier("text", [("a1", "B.", -1, -1), ("a2", "A.", -1, -1)])
    assert convert(vdgi, eaf(text)).texts == ["B.", "A."]


@pytest.mark.parametrize(
    ("tiers", "options"),
    [
        ([TEXT, WORDS, POS], []),
        ([POS, WORDS, TEXT], []),
        (
            [
                TEXT._replace(name="ref"),
                WORDS._replace(name="tx", parent="ref"),
                POS._replace(parent="tx"),
            ],
            [],
        ),
        ([TEXT._replace(name="default"), WORDS._replace(parent="default"), POS], []),
        (
            [
                TEXT._replace(name="Zoé"),
                WORDS._replace(name="Zoé 2", parent="Zoé"),
                POS._replace(parent="Zoé 2"),
            ],
            [],
        ),
        (
            [
                TEXT._replace(name="x", kind="orthT"),
                WORDS._replace(name="y", kind="wordT", parent="x"),
                POS._replace(name="z", kind="posT", parent="y"),
            ],
            [],
        ),
        (
            [
                TEXT._replace(name="A_phrase-segnum-en"),
                WORDS._replace(name="A_word-txt-qvl", parent="A_phrase-segnum-en"),
                POS._replace(name="A_word-pos-en", parent="A_word-txt-qvl"),
            ],
            [],
        ),
        (
            [
                TEXT._replace(name="foo"),
                WORDS._replace(name="bar", parent="foo"),
                POS._replace(name="baz", parent="bar", kind="qux"),
            ],
            ["--tier", "text=foo", "words=bar", "pos=qux"],
        ),
        (
            [
                TEXT._replace(name="foo@A"),
                WORDS._replace(name="bar@A", parent="foo@A"),
                POS._replace(name="baz@A", parent="bar@A"),
            ],
            ["--tier", "text=foo", "words=bar", "pos=baz"],
        ),
        (
            [
                Tier("ref", [("r1", "1", 0, 900)]),
                Tier("orth", [("a1", "Numa domuka", "r1")], "ref", ASSOCIATION),
                WORDS._replace(parent="orth"),
                POS,
            ],
            [],
        ),
        (
            [
                TEXT,
                Tier("Words", [("w1", "Numa", 0, 400), ("w2", "domuka", 400, 900)]),
                POS._replace(parent="Words"),
            ],
            [],
        ),
        (
            [
                TEXT,
                WORDS,
                Tier(
                    "pos", [("p1", "PROPN", "a1"), ("p2", "VERB", "a1", "p1")], "text", SUBDIVISION
                ),
            ],
            [],
        ),
    ],
)
def test_tiers_of_many_names_give_the_same_words_and_tags(
    vdgi: Vdgi, folder: Path, tiers: list[Tier], options: list[str]
) -> None:
    made = convert(vdgi, eaf(*tiers), *options)
    assert [(row[0], row[2]) for row in made.words[:2]] == [("Numa", "PROPN"), ("domuka", "VERB")]


@pytest.mark.parametrize(
    ("name", "more", "options", "key"),
    [
        ("ft", "", [], "text_und"),
        ("ft", "", ["--language", "en"], "text_en"),
        ("ft", ' LANG_REF="spa"', ["--language", "en"], "text_spa"),
        ("ft-eng", "", [], "text_eng"),
        ("ft@Ami", "", [], "text_und"),
        ("English", "", [], "text_en"),
        ("Translation (French)", "", [], "text_fr"),
        ("A_phrase-gls-pt", "", [], "text_pt"),
        ("gloss", "", [], "text_und"),
    ],
)
def test_a_translation_is_written_under_its_language(
    vdgi: Vdgi, folder: Path, name: str, more: str, options: list[str], key: str
) -> None:
    made = convert(vdgi, eaf(TEXT, FREE._replace(name=name, more=more)), *options)
    assert f"{key} = Numa alla." in made.comments


def test_a_translation_on_a_tier_of_its_own_is_found_by_time(vdgi: Vdgi, folder: Path) -> None:
    text = Tier("text", [("a1", "Domu.", 0, 900), ("a2", "Lasi.", 1000, 1900)])
    free = Tier("translation", [("f2", "Sleep.", 1000, 1900), ("f1", "Go.", 10, 890)])
    made = convert(vdgi, eaf(text, free))
    assert [line for line in made.comments if line.startswith("text_")] == [
        "text_und = Go.",
        "text_und = Sleep.",
    ]


SOUND = {
    "no words": (eaf(TEXT), ["Numa", "domuka", "."], "sentences without word division"),
    "an empty text": (
        eaf(Tier("text", [("a1", "", 0, 5), ("a2", "Go", 5, 9)])),
        ["Go"],
        "annotations without words",
    ),
    "an empty word": (
        eaf(
            TEXT._replace(annotations=[("a1", "Numa", 0, 9)]),
            WORDS._replace(annotations=[("w1", "Numa", "a1"), ("w2", "", "a1", "w1")]),
        ),
        ["Numa"],
        "words without a form: left out; once",
    ),
    "a tier nobody knows": (
        eaf(TEXT, Tier("gesture", [("z1", "nod", 0, 5)])),
        ["Numa", "domuka", "."],
        "in.eaf:5: annotations of the tier 'gesture': not read (--tier ROLE=TIER says what it is); once",
    ),
    "a reference to nothing": (
        eaf(TEXT, WORDS._replace(annotations=[*WORDS.annotations, ("w9", "x", "a9")])),
        ["Numa", "domuka", "."],
        "annotations below no annotation: left out; once, 'x'",
    ),
    "a circle of words": (
        eaf(
            TEXT,
            WORDS._replace(annotations=[("w1", "Numa", "a1", "w2"), ("w2", "domuka", "a1", "w1")]),
        ),
        ["Numa", "domuka", "."],
        "",
    ),
    "slots that are not there": (
        eaf(TEXT).replace('TIME_SLOT_REF1="ts1"', 'TIME_SLOT_REF1="no"'),
        ["Numa", "domuka", "."],
        "annotations without both of their times",
    ),
    "times turned round": (
        eaf(Tier("text", [("a1", "Go", 9, 5)])),
        ["Go"],
        "annotations that end before they begin",
    ),
    "a time that is no number": (
        eaf(TEXT).replace('TIME_VALUE="0"', 'TIME_VALUE="x"'),
        ["Numa", "domuka", "."],
        "",
    ),
    "a parent that is not there": (eaf(TEXT._replace(parent="no")), ["Numa", "domuka", "."], ""),
    "two tiers of words": (
        eaf(TEXT, WORDS, Tier("token", [("t1", "Numa", "a1")], "text", SUBDIVISION)),
        ["Numa", "domuka", "."],
        "sentences with words on several tiers: the first tier is taken",
    ),
    "tags for some words": (
        eaf(TEXT, WORDS, Tier("pos", [("p1", "VERB", "a1")], "text", SUBDIVISION)),
        ["Numa", "domuka", "."],
        "annotations of the tier 'pos' beside the words, but not one for each: left out",
    ),
    "right to left": (
        eaf(Tier("text", [("a1", "\u0643\u062a\u0628\u061f", 0, 9)])),
        ["\u0643\u062a\u0628", "\u061f"],
        "",
    ),
    "odd tier names": (eaf(TEXT._replace(name="  ¿?&amp; text")), ["Numa", "domuka", "."], ""),
    "no types": (
        eaf(TEXT, WORDS).replace("LINGUISTIC_TYPE LING", "X LING"),
        ["Numa", "domuka", "."],
        "",
    ),
    "no header": (eaf(TEXT).replace("<HEADER></HEADER>", ""), ["Numa", "domuka", "."], ""),
    "a schema": (
        eaf(TEXT).replace("_DOCUMENT>", '_DOCUMENT xmlns:xsi="x" xsi:a="b">', 1),
        ["Numa", "domuka", "."],
        "",
    ),
    "Windows line ends": (eaf(TEXT).replace("\n", "\r\n"), ["Numa", "domuka", "."], ""),
    "a line end in a value": (eaf(Tier("text", [("a1", "Go\n home", 0, 9)])), ["Go", "home"], ""),
    "one file of many slots at a time": (
        eaf(Tier("text", [(f"a{n}", f"w{n}", 5, 5) for n in range(30)])),
        [f"w{n}" for n in range(30)],
        "",
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_files_of_all_forms_are_read_and_losses_counted(
    vdgi: Vdgi, folder: Path, name: str
) -> None:
    content, forms, loss = SOUND[name]
    made = convert(vdgi, content)
    assert [row[0] for row in made.words] == forms
    assert loss in made.err


def test_of_many_kinds_of_loss_the_first_have_messages(
    vdgi: Vdgi, folder: Path, wording: Wording
) -> None:
    tiers = [Tier(f"odd{n}", [(f"z{n}", "x", 0, 5)]) for n in range(50)]
    err = convert(vdgi, eaf(TEXT, *tiers)).err
    assert err.count("not read (--tier") < 31
    wording.check(err)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_make_no_difference(vdgi: Vdgi, folder: Path, encoding: str) -> None:
    content = eaf(
        TEXT, WORDS, head=f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    )
    assert [row[0] for row in convert(vdgi, content.encode(encoding)).words] == [
        "Numa",
        "domuka",
        ".",
    ]


CIRCLE = [TEXT._replace(parent="words"), WORDS]
CHAIN = [Tier(f"t{n}", [], f"t{n - 1}" if n else "") for n in range(40)]
BOMB = (
    "<!DOCTYPE d [<!ENTITY a 'x'>"
    + "".join(f"<!ENTITY b{n} '{'&a;' * 9}'>" for n in range(9))
    + "]>"
)
BROKEN = {
    "cut off": eaf(TEXT)[:-90],
    "no tiers": eaf(),
    "no annotations": eaf(TEXT._replace(annotations=[])),
    "only notes": eaf(TEXT._replace(name="note")),
    "only empty values": eaf(Tier("text", [("a1", "", 0, 9)])),
    "tiers in a circle": eaf(*CIRCLE),
    "a long chain of tiers": eaf(*CHAIN),
    "entities": eaf(TEXT, head=BOMB),
    "huge nesting": eaf(TEXT).replace("<TIER", "<X>" * 999 + "<TIER"),
    "another XML": "<TEI/>",
    "not UTF-8": eaf(Tier("text", [("a", "g", 0, 1)])).encode().replace(b">g<", b">\xe5<"),
    "empty": "",
    "plain text": "once upon a time",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_place_and_remedy(
    vdgi: Vdgi, folder: Path, name: str, wording: Wording
) -> None:
    check_refusal(vdgi, "in.eaf", BROKEN[name], wording)


def test_annotations_and_tiers_of_one_name_are_refused(vdgi: Vdgi, folder: Path) -> None:
    """Such annotations could be below themselves, or so often below others that reading never ends."""
    text, words = (
        Tier("text", [("a1", "a b", 0, 900)]),
        Tier("words", [("a1", "x", "a1")], "text", SUBDIVISION),
    )
    below = Tier("morphs", [("a1", "m", "a1")], "words", SUBDIVISION)
    chain = [text, Tier("t0", [("k0", "v", "a1")] * 9, "text", SUBDIVISION)]
    chain += [
        Tier(f"t{n}", [(f"k{n}", "v", f"k{n - 1}")] * 9, f"t{n - 1}", SUBDIVISION)
        for n in range(1, 9)
    ]
    again = Tier("text", [("a2", "c d", 900, 1000)])
    for tiers, message in (
        ([text, words, below], "a second annotation is called 'a1'"),
        (chain, "a second annotation is called 'k0'"),
        ([text, again], "a second tier is called 'text'"),
    ):
        Path("a.eaf").write_text(eaf(*tiers), encoding="utf-8")
        status, _, err = vdgi("convert", "a.eaf", "-o", "a.conllu", "--tier", "words=words")
        assert (status, message in err) == (3, True), err
        assert not Path("a.conllu").exists()
