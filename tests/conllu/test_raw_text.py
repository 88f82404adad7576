"""Raw text in CoNLL-U: spaces, offsets, multiword tokens and paragraphs, both ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from wording import Wording

from dynet_vdgi.conllu import raw_writing, reading
from dynet_vdgi.conllu.raw_documents import read_documents
from dynet_vdgi.conllu.raw_text import (
    Document,
    Token,
    TokenisedSentence,
    escaped,
    unescaped,
)
from dynet_vdgi.errors import DataError


def word(number: object, form: str, misc: str = "_") -> str:
    """A line with nothing but a form."""
    return f"{number}\t{form}" + "\t_" * 7 + f"\t{misc}\n"


def read(folder: Path, text: str) -> list[Document]:
    """The documents of a file with this content."""
    path = folder / "text.conllu"
    path.write_text(text, encoding="utf-8")
    return read_documents([path])


def only(folder: Path, text: str) -> Document:
    (document,) = read(folder, text)
    return document


DU = word("1-2", "du", "SpaceAfter=No") + word(1, "de") + word(2, "le") + word(3, ".") + "\n"


def test_offsets_and_words_of_multiword_tokens(tmp_path: Path) -> None:
    document = only(tmp_path, "# text = du.\n" + DU)
    assert document.text == "du."
    assert document.sentences[0].tokens == (Token(0, 2, ("de", "le")), Token(2, 3, (".",)))


def test_a_space_follows_unless_misc_says_otherwise(tmp_path: Path) -> None:
    lines = [
        word(1, "a", "SpaceAfter=No"),
        word(2, "b", r"Gloss=x|SpacesAfter=\s\n\t"),
        word(3, "c", r"SpacesAfter=\u00a0"),
        word(4, "d", r"SpacesBefore=\s"),
    ]
    assert only(tmp_path, "".join(lines) + "\n").text == "ab \n\tc\u00a0 d"


def test_a_token_may_hold_other_white_space_than_its_form(tmp_path: Path) -> None:
    document = only(tmp_path, word(1, "20 000", r"SpacesInToken=20\s\s\n000") + word(2, "b") + "\n")
    assert document.text == "20  \n000 b"
    assert document.sentences[0].tokens[0] == Token(0, 8, ("20 000",))


def test_an_empty_line_precedes_a_paragraph_and_documents_are_apart(tmp_path: Path) -> None:
    first = "# newdoc id = 1\n# newpar\n" + word(1, "a") + "\n"
    text = first + word(1, "b") + "\n# newpar\n" + word(1, "c", "SpaceAfter=No") + "\n"
    documents = read(tmp_path, text + "# newpar id = 3\n" + word(1, "d") + "\n" + first)
    assert [document.text for document in documents] == ["a b\n\nc\n\nd", "a"]
    assert [s.begins_paragraph for s in documents[0].sentences] == [True, False, True, True]


def test_the_comment_gives_the_spaces_where_misc_says_nothing(tmp_path: Path) -> None:
    assert (
        only(tmp_path, "# text = a,b c\n" + "".join(map(word, (1, 2, 3, 4), "a,bc")) + "\n").text
        == "a,b c"
    )


@pytest.mark.parametrize(
    ("said", "misc", "token"),
    [
        ("a bc", "_", "'c'"),
        ("abd", "SpaceAfter=No", "'c'"),
        ("a b", "_", "'c'"),
        ("a b c d", "_", "'c'"),
    ],
)
def test_a_comment_that_contradicts_the_tokens_is_refused(
    tmp_path: Path, said: str, misc: str, token: str, wording: Wording
) -> None:
    text = (
        f"# text = {said}\n"
        + word(1, "a", misc)
        + word(2, "b", misc)
        + word(3, "c", "Sic=1")
        + "\n"
    )
    if said == "a bc":
        text = text.replace("Sic=1", "_").replace("a\t_", "a\t_", 1).replace("b\t_", "b\t_", 1)
        text = text.replace(word(2, "b"), word(2, "b", r"SpacesAfter=\s"))
    with wording.raises(DataError) as error:
        read(tmp_path, text)
    assert token in str(error.value)


def test_every_space_comes_back(tmp_path: Path) -> None:
    text = "\ufeff\n a,b\u00a0\u3000c\t\x00d \n\n|\\ e\x85 \\s f "
    pieces = ["a", ",", "b", "c", "d", "|\\", "e", "\\s", "f"]
    tokens, place = [], 0
    for piece in pieces:
        place = text.index(piece, place)
        tokens.append(Token(place, place + len(piece), (piece,)))
        place += len(piece)
    sentences = (
        TokenisedSentence(tuple(tokens[:5]), True),
        TokenisedSentence(tuple(tokens[5:]), True),
    )
    document = Document(text, sentences)
    path = tmp_path / "text.conllu"
    path.write_text(raw_writing.conllu_of(document), encoding="utf-8")
    assert read_documents([path]) == [document]


def test_what_is_written_has_the_comments_of_ud_and_reads_as_conllu(tmp_path: Path) -> None:
    document = only(tmp_path, "# text = du.\n" + DU)
    assert raw_writing.conllu_of(
        document, 7
    ) == "# newdoc\n# newpar\n# sent_id = 7\n# text = du.\n" + DU.replace(
        word(3, "."), word(3, ".", "SpaceAfter=No")
    )
    path = tmp_path / "tagged.conllu"
    path.write_text(
        raw_writing.conllu_of(document).replace("\t_\t_\t", "\t_\tX\t", 5), encoding="utf-8"
    )
    with pytest.raises(DataError, match=r"UPOS"):  # of the range, which must have none
        list(reading.read(path))


@pytest.mark.parametrize(
    "text", ["", " ", "a|b", "\\", "\\s", "\\\\s\\", "\x00\x1f\u2028\ufeff\u00a0", "\\u0041"]
)
def test_an_escaped_value_is_one_column_and_means_the_text(text: str) -> None:
    value = escaped(text)
    assert unescaped(value) == text
    assert not set(value) & set(" \t\n\r|\u00a0\u2028")


def test_the_last_token_before_another_document_has_no_space_after_no(tmp_path: Path) -> None:
    """Whatever else MISC says of it, and if it is a multiword token; nothing of the text is lost."""
    for text, tokens, end in (
        ("du", (Token(0, 2, ("de", "le")),), "1-2\tdu" + "\t_" * 8),
        ("\n2  0", (Token(1, 5, ("2 0",)),), r"SpacesBefore=\n|SpacesInToken=2\s\s0"),
        ("a ", (Token(0, 1, ("a",)),), r"SpacesAfter=\s"),
    ):
        first = Document(text, (TokenisedSentence(tokens, True),))
        second = Document("b", (TokenisedSentence((Token(0, 1, ("b",)),), True),))
        written = raw_writing.conllu_of(first, is_followed=True) + raw_writing.conllu_of(second, 2)
        assert end in written
        assert written.count("SpaceAfter=No") == 1
        assert read(tmp_path, written) == [first, second]


def test_text_and_forms_that_differ_by_normalisation_only_are_told_so(
    tmp_path: Path, wording: Wording
) -> None:
    same = "they differ only in Unicode normalisation"
    with pytest.raises(DataError, match=same):
        read(tmp_path, "# text = b \u00e9\n" + word(1, "b") + word(2, "e\u0301") + "\n")
    with wording.raises(DataError) as caught:
        read(tmp_path, "# text = c \u00e9\n" + word(1, "b") + word(2, "e\u0301") + "\n")
    assert same not in str(caught.value)


def test_format_characters_between_tokens_are_recorded_with_the_spaces(tmp_path: Path) -> None:
    text = "\u202aa \u200b b\u200f \U000e0067c"
    tokens = (Token(1, 2, ("a",)), Token(5, 7, ("b\u200f",)), Token(9, 10, ("c",)))
    document = Document(text, (TokenisedSentence(tokens, True),))
    written = raw_writing.conllu_of(document)
    assert "# text = a b\u200f c\n" in written
    assert r"SpacesBefore=\u202a|SpacesAfter=\s\u200b\s" in written
    assert read(tmp_path, written) == [document]
