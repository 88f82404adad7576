"""The tokeniser: what it learns, that nothing of a text is lost, its files and its command."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from fuzz import mutations
from shell import Vdgi

from dynet_vdgi.conllu import raw_text, raw_writing
from dynet_vdgi.conllu.raw_documents import read_documents
from dynet_vdgi.conllu.raw_text import Document
from dynet_vdgi.errors import ModelError
from dynet_vdgi.models import archive
from dynet_vdgi.page.store.plain_text import sentences_by_rule
from dynet_vdgi.system.jit import as_python
from dynet_vdgi.words.tagger.crf import Items, Tokens
from dynet_vdgi.words.tokeniser import features, tokeniser_file, whole
from dynet_vdgi.words.tokeniser import passages as passages_module
from dynet_vdgi.words.tokeniser.passages import passages
from dynet_vdgi.words.tokeniser.seen import Seen
from dynet_vdgi.words.tokeniser.splitter import Splitter
from dynet_vdgi.words.tokeniser.symbols import symbols_of
from dynet_vdgi.words.tokeniser.tokeniser import Tokeniser
from dynet_vdgi.words.tokeniser.whole import wholes

NOUNS = ["chat", "chien", "voisin", "livre", "jardin", "train", "pain", "temps"]
WORDS = {"du": "de le", "au": "à le", "dammelo": "dam me lo", "auquel": "à lequel"}
"""Multiword tokens; the words of one are its pieces."""


def block(tokens: list[str], glue: str = " ") -> str:
    """A sentence whose last token is a full stop without a space before it."""
    lines, number = [], 0
    for n, token in enumerate(tokens):
        misc = "_" if glue and n + 2 != len(tokens) else "SpaceAfter=No"
        words = WORDS.get(token.lower(), token).split() if token != "20 000" else [token]
        if len(words) > 1:
            lines.append(f"{number + 1}-{number + len(words)}\t{token}" + "\t_" * 7 + f"\t{misc}")
        for word in words:
            number += 1
            lines.append(f"{number}\t{word}" + "\t_" * 7 + f"\t{misc if len(words) == 1 else '_'}")
    return "\n".join(lines) + "\n\n"


def treebank(n_sentences: int = 60, seed: int = 1) -> str:
    rng = random.Random(seed)
    text = ""
    for _ in range(n_sentences):
        parts = [
            "Le",
            rng.choice(NOUNS),
            rng.choice(["du", "au", "auquel"]),
            rng.choice(NOUNS),
            "dort",
        ]
        if rng.random() < 0.5:
            parts += [rng.choice(["dammelo", "M.", "20 000"]), rng.choice(NOUNS)]
        text += block([*parts, rng.choice(".!")])
    return text


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    path = tmp_path_factory.mktemp("tokens") / "text.conllu"
    path.write_text(treebank(), encoding="utf-8")
    return read_documents([path])


@pytest.fixture(scope="module")
def learnt(documents: list[Document]) -> Tokeniser:
    return Tokeniser.fit(documents, iterations=25)


def sentences_of(document: Document) -> list[list[tuple[str, tuple[str, ...]]]]:
    """Forms and words."""
    return [
        [(document.text[t.start : t.end], t.words) for t in s.tokens] for s in document.sentences
    ]


def test_sentences_tokens_and_words_of_new_text(learnt: Tokeniser) -> None:
    document = learnt.tokenise(
        "Le pain du chien dort dammelo train! Le jardin\nau chat dort 20\n000 livre."
    )
    first, second = sentences_of(document)
    assert first[2] == ("du", ("de", "le"))
    assert first[5] == ("dammelo", ("dam", "me", "lo"))
    assert [form for form, _ in first[-2:]] == ["train", "!"]
    assert second[2] == ("au", ("à", "le"))
    assert second[5] == ("20\n000", ("20 000",))


def test_a_paragraph_ends_a_sentence_and_knows_nothing_of_others(learnt: Tokeniser) -> None:
    parts = ["Le chat du", " dort. Le \t", "x"]
    together = learnt.tokenise("\n \n".join(parts) + "\n\n\n")
    apart = [sentence for part in parts for sentence in sentences_of(learnt.tokenise(part))]
    assert sentences_of(together) == apart
    assert [s.begins_paragraph for s in together.sentences] == [True, True, False, True]


def test_lines_are_sentences_if_the_user_says_so(learnt: Tokeniser, tmp_path: Path) -> None:
    text = "\nLe chat dort. Le pain\n du voisin\r\n\n\tLe livre!\nau train "
    found = learnt.tokenise(text, lines=True)
    assert [[form for form, _ in sentence] for sentence in sentences_of(found)] == [
        ["Le", "chat", "dort", ".", "Le", "pain"],
        ["du", "voisin"],
        ["Le", "livre", "!"],
        ["au", "train"],
    ]
    assert sentences_of(found)[1][0] == ("du", ("de", "le"))
    assert [s.begins_paragraph for s in found.sentences] == [True, False, True, False]
    (tmp_path / "text.conllu").write_bytes(raw_writing.conllu_of(found).encode())
    assert read_documents([tmp_path / "text.conllu"]) == [found]


def test_lines_of_any_text_lose_nothing(
    learnt: Tokeniser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages_module, "PASSAGE", 60)
    rng, path = random.Random(5), tmp_path / "text.conllu"
    for _ in range(40):
        text = "\n".join(random_text(rng) for _ in range(4))
        if not raw_text.GAP.sub("", text):
            continue
        document = learnt.tokenise(text, lines=True)
        for one, other in zip(document.sentences, document.sentences[1:]):
            between = text[one.tokens[-1].end : other.tokens[0].start]
            assert len(text) > 60 or "\n" in between or "\u2029" in between
        path.write_bytes(raw_writing.conllu_of(document).encode())
        assert read_documents([path])[0].text == text


def test_a_script_without_spaces(tmp_path: Path) -> None:
    rng = random.Random(2)
    words = ["我", "喜欢", "图书", "馆", "北京", "大学"]
    path = tmp_path / "text.conllu"
    path.write_text(
        "".join(block([*rng.choices(words, k=5), "。"], "") for _ in range(40)), encoding="utf-8"
    )
    documents = read_documents([path])
    assert " " not in documents[0].text
    found = Tokeniser.fit(documents, iterations=25)
    assert found.tokenise(documents[0].text) == documents[0]
    assert len(found.labels) == 3, "labels that do not occur cost time"


SPLIT = [
    ("auquel", ("à", "lequel")),
    ("auxquelles", ("à", "lesquelles")),
    ("des", ("de", "les")),
    ("நாட்டிலும்", ("நாட்டில்", "உம்")),
    ("எனும்", ("என்", "உம்")),
]


def test_tokens_are_split_like_those_with_the_longest_common_beginning_and_end() -> None:
    splitter = Splitter.fit(SPLIT)
    for form in ("auquel", "des"):
        assert splitter.split(form) == dict(SPLIT)[form]
    assert splitter.split("கர்நாடகத்திலும்") == ("கர்நாடகத்தில்", "உம்")
    assert splitter.split("auxquels") == ("à", "lesquels")
    assert splitter.split("Auxquels") == ("À", "lesquels")
    assert splitter.split("DES") == ("DE", "LES")


def test_new_forms_are_split_by_their_endings_and_lengths() -> None:
    """Of the known forms in -um, the long ones are split, and none of the others."""
    rng = random.Random(1)
    stems = ["".join(rng.choices("abcdefghijkl", k=k)) for k in [8] * 30 + [2] * 30]
    long = [(stem + "um", (stem, "um")) for stem in stems[:30]]
    others = [(stem + "um", ()) for stem in stems[30:]] + [(stem + "is", ()) for stem in stems]
    splitter = Splitter.fit([*long, *others])
    assert splitter.is_split("zyxwvutzum", False)
    assert splitter.split("zyxwvutzum") == ("zyxwvutz", "um")
    assert not splitter.is_split("zyum", False)
    assert not splitter.is_split("zyxwvutzis", False)
    assert not splitter.is_split(long[0][0], False), "it is known: the context decides"
    assert splitter.is_split(long[0][0], True)


def test_the_context_decides_where_nothing_else_does() -> None:
    splitter = Splitter.fit([("a", ()), ("b", ())])
    assert splitter == Splitter()
    assert [splitter.is_split("ab", probable) for probable in (False, True)] == [False, True]
    splitter = Splitter.fit([("des", ()), ("des", ()), ("des", ("de", "les"))])
    assert [splitter.is_split("Des", probable) for probable in (False, True)] == [False, True]
    assert splitter.split("des") == ("de", "les")


KINDS = (
    " \t\n\r\v\f\x00\x1f\x7f\x85\u00a0\u2009\u2028\u2029\u3000\ufeff\u200b",
    "\n\n \n",
    "abcdeéßİŉﬁ.,!?-–'\"()[]|\\_#=:;…",
    "אבגدهوकखगதமிழ்ไทย漢字かなハングル한ⲁⲃ",
    "0123456789²½",
    "👩\u200d👩\u200d👧🏽🇫🇷e\u0301",
    "\u00ad\u200b\u200c\u200d\u200e\u202b\u2060\U000e0067 e\u0301\u1100\u1161\u11a8\u0958\u0340\u212b",
)


def random_text(rng: random.Random) -> str:
    """Text as nobody writes it."""
    anything = "".join(map(chr, rng.choices(range(1, 0xD800), k=9)))
    kinds = [*KINDS, anything, chr(rng.randint(0x10000, 0x10FFFF))]
    return "".join(rng.choice(rng.choice(kinds)) for _ in range(rng.choice((0, 1, 3, 20, 80))))


@pytest.mark.parametrize("seed", range(2))
def test_joining_tokens_gives_the_text_byte_for_byte(
    seed: int, learnt: Tokeniser, tmp_path: Path
) -> None:
    rng, path = random.Random(seed), tmp_path / "text.conllu"
    for _ in range(100):
        text = random_text(rng)
        document = learnt.tokenise(text)
        places = [place for s in document.sentences for t in s.tokens for place in (t.start, t.end)]
        assert places == sorted(places)
        between = [text[a:b] for a, b in zip([0, *places[1::2]], [*places[::2], len(text)])]
        assert not raw_text.GAP.sub("", "".join(between)), "what is in no token cannot be seen"
        for a, gap in zip([0, *places[1::2]], between):
            assert a == 0 or not raw_text.FORMAT.match(gap), "it stays with the letters before it"
        if document.sentences:
            path.write_bytes(raw_writing.conllu_of(document).encode())
            assert read_documents([path]) == [document]


@pytest.mark.parametrize("size", [1, 40])
def test_passages_lose_nothing(
    size: int, learnt: Tokeniser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages_module, "PASSAGE", size)
    rng, path = random.Random(size), tmp_path / "text.conllu"
    for _ in range(40):
        text = " ".join(random_text(rng) for _ in range(3))
        found = [passage for _, passage, _ in passages(text)]
        assert "".join(found) == text
        assert not any(raw_text.GAP.match(passage) for passage in found[1:])
        parts = list(learnt.parts(text))
        path.write_bytes(
            "".join(
                raw_writing.conllu_of(part, begins=start == 0) for part, start in parts
            ).encode()
        )
        if raw_text.GAP.sub("", text):
            assert [document.text for document in read_documents([path])] == [text]


def test_passages_end_with_paragraphs_or_lines_or_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages_module, "PASSAGE", 4)
    assert [p for _, p, _ in passages("ab cd\n\nef gh\nij klmnopqrstuv")] == [
        "ab cd\n\n",
        "ef gh\n",
        "ij klmno",
        "pqrstuv",
    ]
    assert [starts for _, _, starts in passages("ab cd\n\nef gh\nij")] == [True, True, False]


def test_a_list_without_an_end_is_cut_into_sentences_that_can_be_read(
    learnt: Tokeniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDGI_LIMITS", "words=20")
    document = learnt.tokenise("chat " * 90)
    assert max(sum(len(token.words) for token in s.tokens) for s in document.sentences) <= 20


INVISIBLE = "Le cha\u00adt\u200b \u200bdu \u200e chien\u200d dort\u200b.\u200f "
INVISIBLE += "Le pain\u2060 dort!\u200e\n\u202bLe livre dort.\u200f"


def test_format_characters_stay_with_the_letters_before_them(
    learnt: Tokeniser, tmp_path: Path
) -> None:
    """They begin no word, make none and hide no end of a sentence; the simple rule agrees."""
    plain = raw_text.FORMAT.sub("", INVISIBLE)
    document = learnt.tokenise(INVISIBLE)
    forms = [[form for form, _ in sentence] for sentence in sentences_of(document)]
    assert [[raw_text.FORMAT.sub("", form) for form in sentence] for sentence in forms] == [
        [form for form, _ in sentence] for sentence in sentences_of(learnt.tokenise(plain))
    ]
    assert forms[0] == ["Le", "cha\u00adt\u200b", "du", "chien\u200d", "dort\u200b", ".\u200f"]
    assert [sentence[-1] for sentence in forms] == [".\u200f", "!\u200e", ".\u200f"]
    assert document.sentences[0].tokens[2].words == ("de", "le")
    assert [
        [INVISIBLE[t.start : t.end] for t in s.tokens] for s in sentences_by_rule(INVISIBLE)
    ] == forms
    path = tmp_path / "text.conllu"
    path.write_bytes(raw_writing.conllu_of(document).encode())
    assert read_documents([path]) == [document]
    text = path.read_text(encoding="utf-8")
    assert "# text = Le cha\u00adt\u200b du chien\u200d dort\u200b.\u200f\n" in text
    assert "SpacesAfter=\\s\\u200e\\s" in text


def test_format_characters_between_letters_are_learnt_where_they_are_frequent(
    tmp_path: Path,
) -> None:
    """Here a zero-width space separates words, as in Khmer, and the non-joiner does not."""
    rng, lines = random.Random(1), ""
    for _ in range(40):
        one, two = rng.sample(["ab", "cd", "ef", "gh"], 2)
        lines += block([f"{one}\u200b", two, f"{two}\u200c{one}", "."], "")
    (tmp_path / "text.conllu").write_text(lines, encoding="utf-8")
    found = Tokeniser.fit(read_documents([tmp_path / "text.conllu"]), iterations=25)
    (sentence,) = sentences_of(found.tokenise("ef\u200bghgh\u200cef."))
    assert [form for form, _ in sentence] == ["ef\u200b", "gh", "gh\u200cef", "."]


ACCENTS = {"chat": "châté", "chien": "chïeñ", "pain": "pâin", "train": "tràin"}


def accented(text: str, form: str) -> str:
    for plain, new in ACCENTS.items():
        text = text.replace(plain, new)
    return unicodedata.normalize(form, text.replace("auquel", "auquél"))


def test_decomposed_text_is_tokenised_as_composed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learning from NFD makes the same file, and NFD text gets the same tokens, byte for byte its
    own."""
    monkeypatch.setitem(WORDS, "auquel", "à lequél")
    texts = {}
    for form in ("NFC", "NFD"):
        path = tmp_path / f"{form}.conllu"
        path.write_text(accented(treebank(), form), encoding="utf-8")
        learnt = Tokeniser.fit(read_documents([path]), iterations=25)
        texts[form] = tokeniser_file.members(learnt, tokeniser_file.Made())
    assert texts["NFC"] == texts["NFD"]
    raw = "Le châté auquél tràin dort. Le pâin du chïeñ 20 000 dort! ÀÉÎ auquéls 각"
    documents = [learnt.tokenise(unicodedata.normalize(form, raw)) for form in ("NFC", "NFD")]
    one, other = map(sentences_of, documents)
    assert other != one
    assert accented(repr(other), "NFC") == accented(repr(one), "NFC")
    assert other[0][2] == (
        accented("auquel", "NFD"),
        (accented("à", "NFD"), accented("lequél", "NFD")),
    )
    (tmp_path / "out.conllu").write_bytes(raw_writing.conllu_of(documents[1]).encode())
    assert read_documents([tmp_path / "out.conllu"]) == documents[1:]


def test_what_is_seen_is_in_the_form_nfc_and_stands_for_all_of_the_text() -> None:
    rng = random.Random(4)
    for _ in range(500):
        text = random_text(rng)
        seen = Seen.of(text)
        visible = raw_text.FORMAT.sub("", text)
        assert seen.text == unicodedata.normalize("NFC", visible)
        assert len(seen.text) == len(seen.starts) == len(seen.ends) == len(seen.joined)
        covered = [
            text[a:b] for a, b in dict.fromkeys(zip(seen.starts.tolist(), seen.ends.tolist()))
        ]
        assert text.endswith("".join(covered))
        assert not raw_text.FORMAT.sub("", text.removesuffix("".join(covered)))


WHOLE = (
    "https://foo.example/a_(b)?a=b&c=%20#x",
    "www.gaeilge.ie/foo/",
    "sean.o-neill@tcd.example.ie",
    "12.500,00",
    "1,234.5",
    "12,34,567",
    "٣٫٥",
    "12:30",
    "12:30:59",
    "@user_1",
    "#gwaith_da",
    "#हिन्दी",
)


@pytest.mark.parametrize("stretch", WHOLE)
def test_addresses_numbers_times_names_and_tags_stay_whole(stretch: str, learnt: Tokeniser) -> None:
    """The tokeniser has never seen one; the marks around them are cut off, and sentences end after
    them."""
    text = f"Le chat ({stretch}), {stretch}. Le pain dort {stretch}.\n\nLe “{stretch}” dort."
    expected = [
        ["Le", "chat", "(", stretch, ")", ",", stretch, "."],
        ["Le", "pain", "dort", stretch, "."],
        ["Le", "“", stretch, "”", "dort", "."],
    ]
    assert [
        [form for form, _ in sentence] for sentence in sentences_of(learnt.tokenise(text))
    ] == expected
    assert [[text[t.start : t.end] for t in s.tokens] for s in sentences_by_rule(text)] == expected


NUMBERS = (
    "8/2013",
    "12/05/2019",
    "1/2",
    "1½",
    "¾",
    "26.12.2008",
    "192.168.1.1",
    "2019-05-12",
    "1990–1995",
    "3-4",
    "3,5-4",
    "1-3.5",
    "12:30–13:00",
    "0171-555-2368",
    "1:2",
    "10:9:8",
    "1'000",
    "12’500’000",
    "2019",
    "1234567890",
    "१२/०५/२०१९",
    "٢٠١٩",
    "7",
)


@pytest.mark.parametrize("number", NUMBERS)
def test_nothing_is_cut_between_digits(number: str, learnt: Tokeniser) -> None:
    """Not where the tokeniser has never seen a number, nor a bracket after one."""
    text = f"Le chat ({number}) dort {number} pain. Le pain {number}) dort."
    expected = [
        ["Le", "chat", "(", number, ")", "dort", number, "pain", "."],
        ["Le", "pain", number, ")", "dort", "."],
    ]
    assert [
        [form for form, _ in sentence] for sentence in sentences_of(learnt.tokenise(text))
    ] == expected


@pytest.mark.parametrize("number", [n for n in NUMBERS if len(n) > 1])
def test_digits_stay_together_inside_words_too(number: str, learnt: Tokeniser) -> None:
    for text in (
        f"Le A{number}b dort.",
        f"Le {number}% dort",
        f"Le dort:{number}?",
        f"pain{number}",
    ):
        tokens = [text[t.start : t.end] for s in learnt.tokenise(text).sentences for t in s.tokens]
        assert any(number in token for token in tokens)


PICTURES = {
    "flag": "\U0001f1eb\U0001f1f7",
    "flag of Wales": "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "flag of Scotland": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "skin tone": "\U0001f44d\U0001f3fd",
    "astronaut": "\U0001f469\U0001f3fd\u200d\U0001f680",
    "health worker": "\U0001f469\U0001f3ff\u200d\u2695\ufe0f",
    "heart": "\u2764\ufe0f",
    "heart without a selector": "\u2764",
    "keycap": "3\ufe0f\u20e3",
    "face": "\U0001f600",
    "new face": "\U0001fae0",
    "sun": "\u2600\ufe0f",
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_a_token_and_the_mark_after_it_another(name: str, learnt: Tokeniser) -> None:
    picture = PICTURES[name]
    for mark in "!.,?…)":
        for text in (f"Le chat dort {picture}{mark} pain", f"Le chat {picture}{mark}"):
            for found in (learnt.tokenise(text).sentences, sentences_by_rule(text)):
                tokens = [text[t.start : t.end] for sentence in found for t in sentence.tokens]
                assert tokens[tokens.index("chat") + 1 + ("dort" in tokens) :][:2] == [
                    picture,
                    mark,
                ]


def test_what_the_training_text_cuts_between_digits_is_cut(tmp_path: Path) -> None:
    """Ranges and dates are three tokens there, and `30)` is one; digits stay together nevertheless."""
    rng, lines = random.Random(1), ""
    for _ in range(60):
        left, right = f"{rng.randint(1, 99)}", f"{rng.randint(100, 999)}"
        number = [left, "-", right] if rng.random() < 0.5 else [left, "/", right]
        words = [f"{rng.randint(1, 9)})", rng.choice(NOUNS), "dort"]
        text = f"{' '.join(words)} {''.join(number)}."
        forms = [*words, *number, "."]
        lines += f"# text = {text}\n"
        lines += "".join(
            f"{n}\t{form}" + "\t_" * 7 + f"\t{'SpaceAfter=No' if is_near else '_'}\n"
            for n, (form, is_near) in enumerate(zip(forms, spaces_missing(text, forms)), 1)
        )
        lines += "\n"
    (tmp_path / "text.conllu").write_text(lines, encoding="utf-8")
    learnt = Tokeniser.fit(read_documents([tmp_path / "text.conllu"]), iterations=25)
    assert learnt.cut == {"range", "slash"}
    assert not learnt.cuts_brackets
    archive.write(tmp_path / "my", tokeniser_file.members(learnt, tokeniser_file.Made()))
    for each in (learnt, tokeniser_file.load(tmp_path / "my")):
        (sentence,) = sentences_of(each.tokenise("7) chat dort 2014-2025 88/101."))
        forms = [form for form, _ in sentence]
        assert forms == ["7)", "chat", "dort", "2014", "-", "2025", "88", "/", "101", "."]


def test_brackets_are_cut_from_digits_as_the_training_text_cuts_them_from_words(
    tmp_path: Path,
) -> None:
    """The text has no digit before a bracket; in the second, brackets belong to the words before
    them."""
    for glued in (False, True):
        rng, text = random.Random(1), ""
        for _ in range(40):
            noun = rng.choice(NOUNS)
            bracket = [f"{noun})"] if glued else [noun, ")"]
            forms = ["Le", *bracket, "dort", "."]
            said = f"Le {noun}) dort."
            text += f"# text = {said}\n"
            text += "".join(
                f"{n}\t{form}" + "\t_" * 7 + f"\t{'SpaceAfter=No' if is_near else '_'}\n"
                for n, (form, is_near) in enumerate(zip(forms, spaces_missing(said, forms)), 1)
            )
            text += "\n"
        (tmp_path / "text.conllu").write_text(text, encoding="utf-8")
        learnt = Tokeniser.fit(read_documents([tmp_path / "text.conllu"]), iterations=25)
        assert learnt.cuts_brackets is not glued
        archive.write(tmp_path / "my", tokeniser_file.members(learnt, tokeniser_file.Made()))
        assert tokeniser_file.load(tmp_path / "my").cuts_brackets is not glued
        if not glued:
            (sentence,) = sentences_of(learnt.tokenise("Le pain 30) dort."))
            assert [form for form, _ in sentence] == ["Le", "pain", "30", ")", "dort", "."]


def test_files_of_earlier_versions_work_and_leave_brackets_to_what_they_have_learnt(
    learnt: Tokeniser,
) -> None:
    """They know the first eight kinds only; these have kept their numbers."""
    assert whole.WHOLE_KINDS[:8] == (
        "url",
        "email",
        "time",
        "number",
        "name",
        "tag",
        "edges",
        "stop",
    )
    arrays = {
        name: array for name, array in learnt.arrays().items() if name != "tokeniser/brackets"
    }
    arrays["tokeniser/cut"] = np.array([3, 7])
    earlier = Tokeniser.from_arrays(arrays, learnt.splitter)
    assert (earlier.cut, earlier.cuts_brackets) == ({"number", "stop"}, False)
    (sentence,) = sentences_of(earlier.tokenise("Le chat 8/2013 dort 2019 pain."))
    assert [form for form, _ in sentence] == ["Le", "chat", "8/2013", "dort", "2019", "pain", "."]


def test_nothing_else_is_kept_whole() -> None:
    assert list(wholes("a.b, #1, @, 3. end.Next ://x 9: 3, a/b, x-y, l'un")) == []
    (found,) = wholes("请发a@b.example.com谢谢")
    assert (found.start, found.end, found.kind) == (2, 17, "email")


def test_what_stays_whole_is_found_in_linear_time() -> None:
    """In a word of 100,000 letters; quadratic time would take minutes."""
    for text in (
        "@" + "a" * 10**5,
        "a" * 10**5 + "@",
        "www." + "." * 10**5,
        "1." * 10**5,
        "a.b@c" * 10**5,
        "7" * 10**5,
    ):
        assert len(list(wholes(text))) <= 10**5
    for text in (
        "1-" * 10**5,
        "1/" * 10**5,
        "1:" * 10**5,
        "1.1-" * 10**5,
        "1'" * 10**5,
        "\U0001f600\ufe0f" * 10**5,
    ):
        assert len(list(wholes(text))) <= 10**5


def test_what_the_training_text_cuts_is_not_kept_whole(tmp_path: Path) -> None:
    """Numbers are cut there, times are not in most cases; the file remembers."""
    rng, lines = random.Random(1), ""
    for _ in range(60):
        number = [f"{rng.randint(1, 99)}", ",", f"{rng.randint(1, 99)}"]
        time = ["7", ":", "30"] if rng.random() < 0.2 else [f"{rng.randint(1, 24)}:30"]
        words = ["Le", rng.choice(NOUNS), "dort"]
        text = f"{' '.join(words)} {''.join(number)} {''.join(time)}."
        forms = [*words, *number, *time, "."]
        lines += f"# text = {text}\n"
        lines += "".join(
            f"{n}\t{form}" + "\t_" * 7 + f"\t{'SpaceAfter=No' if is_near else '_'}\n"
            for n, (form, is_near) in enumerate(zip(forms, spaces_missing(text, forms)), 1)
        )
        lines += "\n"
    (tmp_path / "text.conllu").write_text(lines, encoding="utf-8")
    learnt = Tokeniser.fit(read_documents([tmp_path / "text.conllu"]), iterations=25)
    assert learnt.cut == {"number"}
    archive.write(tmp_path / "my", tokeniser_file.members(learnt, tokeniser_file.Made()))
    for each in (learnt, tokeniser_file.load(tmp_path / "my")):
        (sentence,) = sentences_of(each.tokenise("Le pain dort 14,25 12:30."))
        assert [form for form, _ in sentence] == [
            "Le",
            "pain",
            "dort",
            "14",
            ",",
            "25",
            "12:30",
            ".",
        ]


def spaces_missing(text: str, forms: list[str]) -> list[bool]:
    """Whether no space follows each form of a text."""
    found, place = [], 0
    for form in forms:
        place = text.index(form, place) + len(form)
        found.append(not text[place : place + 1].isspace())
    return found


def test_labelling_sums_the_weights_that_learning_gave(
    learnt: Tokeniser, documents: list[Document]
) -> None:
    symbols = symbols_of(documents[0].text[:900] + " Ünseen(“x”)…")
    tokens = Tokens.of_items(Items(*features.keys_of(symbols)), symbols.first)
    assert np.allclose(
        features.scores_of(symbols, learnt._weight_lookup), learnt.crf.scores(tokens)
    )


def test_compiled_and_uncompiled_features_are_equal() -> None:
    symbols = symbols_of("Le chat (du) voisin.\n\n20 000…")
    first, keys = np.zeros(len(symbols.units) + 1, np.int64), np.zeros(5000, np.uint64)
    with np.errstate(all="ignore"):
        as_python(features.all_keys)(features.window(symbols), symbols.units, first, keys)
    its_first, its_keys = np.zeros_like(first), np.zeros_like(keys)
    features.KEYS(features.window(symbols), symbols.units, its_first, its_keys, work=10**6)
    assert first.tolist() == its_first.tolist()
    assert keys.tolist() == its_keys.tolist()
    assert np.diff(first).max() <= features.MOST_FEATURES


@pytest.fixture(scope="module")
def file(learnt: Tokeniser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "my.tokeniser"
    archive.write(path, tokeniser_file.members(learnt, tokeniser_file.Made()))
    return path


def test_a_file_gives_the_tokeniser_back(
    file: Path, learnt: Tokeniser, documents: list[Document]
) -> None:
    text = documents[0].text + "(Autrement.) auxquels, M. 3!"
    assert tokeniser_file.load(file).tokenise(text) == learnt.tokenise(text)


def test_a_changed_file_is_refused_or_works(file: Path, tmp_path: Path) -> None:
    content, path = file.read_bytes(), tmp_path / "changed.tokeniser"
    refused = []
    for seed in range(60):
        path.write_bytes(mutations.model(content, random.Random(seed)))
        try:
            raw_writing.conllu_of(
                tokeniser_file.load(path).tokenise("Le chat (du) voisin auxquels dort. Oui\n\nA")
            )
        except ModelError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(str(path) in error for error in refused)


def test_a_token_of_countless_words_is_never_learnt() -> None:
    many = ("x",) * 1000
    assert Splitter.fit([("ab", many), ("du", ("de", "le"))]).words == {"du": ("de", "le")}
    assert Splitter({"a": ("x",) * 5, "b": ("x",) * 4}).split("a") == ("a",)
    assert len(Splitter({"b": ("x",) * 4}).split("b")) == 4


RAW = "\ufeffLe chat du voisin dort.  Le pain\n dort!\n\nLe train au jardin dort. "


def test_the_command_trains_and_tokenises(vdgi: Vdgi, folder: Path) -> None:
    Path("my.conllu").write_text(treebank(), encoding="utf-8")
    said = vdgi.good("tokenize", "train", "my.conllu", "-o", "my.tokeniser").err
    assert "60 sentences" in said
    Path("raw.txt").write_text(RAW, encoding="utf-8")
    Path("b.txt").write_text("Le chat dort.", encoding="utf-8")
    vdgi.good("tokenize", "my.tokeniser", "raw.txt", "b.txt", "-o", "raw.conllu")
    documents = read_documents(["raw.conllu"])
    assert [document.text for document in documents] == [
        RAW.removeprefix("\ufeff"),
        "Le chat dort.",
    ]
    assert len(documents[0].sentences) == 3
    text = Path("raw.conllu").read_text(encoding="utf-8")
    assert text.startswith(
        "# newdoc id = raw.txt\n# newpar\n# sent_id = 1\n# text = Le chat du voisin d"
    )
    assert "# newdoc id = b.txt\n# newpar\n# sent_id = 4\n" in text
    before = Path("my.tokeniser").read_bytes()
    vdgi.good("tokenize", "train", "my.conllu", "-o", "my.tokeniser", "--overwrite")
    assert Path("my.tokeniser").read_bytes() == before


def test_the_end_of_a_file_is_a_space_where_another_one_follows(
    vdgi: Vdgi, folder: Path, file: Path
) -> None:
    """UD forbids SpaceAfter=No before `# newdoc`; the texts are still recovered byte for byte."""
    texts = ["Le chat dort.", "Le pain dort.\n", "Le train dort"]
    for n, text in enumerate(texts):
        Path(f"{n}.txt").write_text(text, encoding="utf-8")
    vdgi.good("tokenize", file, "0.txt", "1.txt", "2.txt", "-o", "out.conllu")
    assert [document.text for document in read_documents(["out.conllu"])] == texts
    blocks = Path("out.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    ends = [block.split("\n")[-1].split("\t")[-1] for block in blocks]
    assert ends == ["_", "SpacesAfter=\\n", "SpaceAfter=No"], "the last one is as it was"


def test_sentences_without_end_point_to_lines(
    vdgi: Vdgi, folder: Path, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["Le pain du voisin dort"] * 30
    Path("list.txt").write_text("Le chat dort.\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    said = vdgi.good("tokenize", file, "list.txt", "-o", "list.conllu").err
    hint = "warning: list.txt:3: a sentence of 150 tokens over 30 lines; if each line is a sentence, say --lines"
    assert said.count("warning") == 1
    assert hint in said
    quiet = vdgi.good("tokenize", file, "list.txt", "--lines", "-o", "list.conllu").err
    assert "warning" not in quiet
    assert "31 sentences" in quiet
    Path("long.txt").write_text(" ".join(lines), encoding="utf-8")
    assert (
        "long.txt:1: a sentence of 150 tokens; if it is"
        in vdgi.good("tokenize", file, "long.txt").err
    )
    Path("prose.txt").write_text("\n".join(["Le pain dort. Le\nchat dort."] * 90), encoding="utf-8")
    assert "warning" not in vdgi.good("tokenize", file, "prose.txt").err


def test_what_the_command_refuses(vdgi: Vdgi, folder: Path, file: Path) -> None:
    Path("white.txt").write_text(" \n\t\n", encoding="utf-8")
    Path("bytes.txt").write_bytes(b"a\n\xff")
    Path("nul.txt").write_bytes(b"a\nb\0c")
    Path("raw.txt").write_text(RAW, encoding="utf-8")
    Path("damaged").write_text("damaged", encoding="utf-8")
    Path("my.conllu").write_text(treebank(2), encoding="utf-8")
    cases = [
        (3, ["tokenize", file, "white.txt", "-o", "out.conllu"], "white.txt: no text"),
        (
            3,
            ["tokenize", file, "bytes.txt", "-o", "out.conllu"],
            "bytes.txt:2: byte 0xff is not UTF-8",
        ),
        (
            3,
            ["tokenize", file, "nul.txt", "-o", "out.conllu"],
            "nul.txt:2: NUL byte (a damaged or binary",
        ),
        (3, ["tokenize", "train", "raw.txt", "-o", "out"], "plain text, not CoNLL-U"),
        (2, ["tokenize", "train", "my.conllu", "--lines", "-o", "x"], "no option --lines"),
        (
            2,
            ["tokenize", "train", "my.conllu"],
            "the following arguments are required: -o/--output",
        ),
        (2, ["tokenize", "train", "-", "-o", "out"], "save standard input"),
        (2, ["tokenize", "train", "my.conllu", "-o", "my.conllu"], "which would be lost"),
        (2, ["tokenize", file, "raw.txt", "-o", "raw.txt"], "which would be lost"),
        (4, ["tokenize", "damaged", "raw.txt"], "not a vdgi tokeniser"),
    ]
    for status, command, message in cases:
        found = vdgi(*command)
        assert (found.status, message in found.err) == (status, True), (command, found.err)
    assert not Path("out.conllu").exists()
    assert not Path("out").exists()
