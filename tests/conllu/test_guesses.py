"""Notes about heads stay true when a parser writes other heads; only confirmed ones are learnt
from."""

from __future__ import annotations

from pathlib import Path

import pytest
from annotating import seen
from shell import Vdgi
from wording import Wording

from dynet_vdgi.conllu import guess_marks
from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.store.session import Session
from dynet_vdgi.settings.bundled import resources

DEMO = resources() / "demo" / "demo-ud-dev.conllu"


def noted(text: str, *notes: str) -> str:
    """The text with these parts in MISC of all words but punctuation."""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        columns = line.split("\t")
        if columns[0].isdigit() and columns[3] != "PUNCT":
            columns[9] = "|".join([*([] if columns[9] == "_" else [columns[9]]), *notes])
            lines[k] = "\t".join(columns)
    return "\n".join(lines)


def words_of(path: Path) -> list[list[str]]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").split("\n"))
    return [columns for columns in rows if columns[0].isdigit()]


def begun(folder: Path) -> Path:
    """Ten sentences with gold trees, all confirmed, each with a chance."""
    text = "\n\n".join(DEMO.read_text(encoding="utf-8").split("\n\n")[:10]) + "\n\n"
    path = folder / "begun.conllu"
    path.write_text(noted(text, "HeadBy=anna", "LabelBy=anna", "HeadConf=0.5000"), encoding="utf-8")
    return path


@pytest.mark.parametrize("more", [(), ("--confidence",), ("--keep-heads",)], ids=str)
def test_notes_about_other_heads_do_not_outlive_them(
    more: tuple[str, ...], vdgi: Vdgi, tmp_path: Path
) -> None:
    before, after = begun(tmp_path), tmp_path / "parsed.conllu"
    vdgi("parse", "universal", before, "-o", after, *more)
    pairs = list(zip(words_of(before), words_of(after)))
    assert ("HeadConf=" in after.read_text(encoding="utf-8")) == ("--confidence" in more)
    assert "HeadConf=0.5000" not in after.read_text(encoding="utf-8")
    for old, new in pairs:
        if old[3] != "PUNCT":
            assert ("HeadBy=anna" in new[9]) == (old[6] == new[6])
            assert ("LabelBy=anna" in new[9]) == (old[7] == new[7])
    assert any(old[6] != new[6] for old, new in pairs) != ("--keep-heads" in more)


def test_a_parsed_choice_is_a_guess_again(vdgi: Vdgi, tmp_path: Path) -> None:
    chosen, parsed, kept = (tmp_path / f"{name}.conllu" for name in ("chosen", "parsed", "kept"))
    vdgi("choose", "universal", DEMO, "-n", "10", "-o", chosen)
    chosen.write_text(
        chosen.read_text(encoding="utf-8").replace("\troot\t", "\troot:x\t"), encoding="utf-8"
    )
    assert not any(guess_marks.is_guess(s.source.lines) for s in read(chosen) if s.source)
    vdgi("parse", "universal", chosen, "-o", parsed)
    vdgi("parse", "universal", chosen, "-o", kept, "--keep-heads")
    assert all(guess_marks.is_guess(s.source.lines) for s in read(parsed) if s.source)
    assert not any(guess_marks.is_guess(s.source.lines) for s in read(kept) if s.source)


def test_chosen_sentences_are_opened_corrected_and_learnt_from(vdgi: Vdgi, tmp_path: Path) -> None:
    chosen, out = tmp_path / "ten.conllu", tmp_path / "trees.conllu"
    vdgi("choose", "universal", DEMO, "-n", "10", "-o", chosen)
    guesses = [(sentence.heads, sentence.deprels) for sentence in read(chosen)]
    session = Session(chosen, "anna")  # it need not be told what these trees are
    assert [(m.heads, tuple(arc.label for arc in m.arcs)) for m in session.sentences] == guesses
    assert not any(marked.is_done for marked in session.sentences)
    for marked in session.sentences[:2]:  # the first was right, the second is corrected
        if marked is session.sentences[1]:
            session.change(marked.id, seen(marked), "label", 1, "dislocated")
        session.change(marked.id, seen(marked), "done")
    session.close()
    vdgi("annotate", chosen, "--export", out, "--finished")
    said = vdgi(
        "train", "--train", DEMO, "--trees", out, "--out", tmp_path / "run", "--dry-run"
    ).err
    assert "tree: 2 sentences" in said
    assert "guess" not in said


def test_only_some_trees_of_a_choice_are_known_as_guesses(
    vdgi: Vdgi, tmp_path: Path, wording: Wording
) -> None:
    chosen = tmp_path / "ten.conllu"
    vdgi("choose", "universal", DEMO, "-n", "10", "-o", chosen)
    chosen.write_text(
        chosen.read_text(encoding="utf-8").replace("# guess", "# was", 3), encoding="utf-8"
    )
    with wording.raises(UsageError):
        Session(chosen, "anna")
    Session(chosen, "anna", "guessed").close()


def test_only_confirmed_heads_of_a_begun_tree_are_learnt_from(
    vdgi: Vdgi, tmp_path: Path, wording: Wording
) -> None:
    path = begun(tmp_path)
    once = path.read_text(encoding="utf-8").replace("HeadBy=anna|LabelBy=anna|", "", 7)
    path.write_text(once, encoding="utf-8")
    sentences = list(read(path))
    found = [guess_marks.with_confirmed_only(sentence) for sentence in sentences]
    assert sum((sentence.heads or ()).count(FREE) for sentence in found) == 7
    assert sum(sentence.deprels.count("_") for sentence in found) == 7
    names = ["--train", DEMO, "--trees", path, "--out", tmp_path / "run", "--dry-run"]
    said = vdgi("train", "--preset", "best", *names).err
    wording.lines(said, "HeadBy=", "no head")

    said = vdgi("train", "--preset", "fixed-lambda", *names).err
    wording.lines(said, "HeadBy=", "no head")
