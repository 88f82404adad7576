"""Files whose heads are no trees: they open, what cannot be is open, and nothing else changes."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from annotating import chain, seen, written

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.tree_faults import FREE, tree_faults
from dynet_vdgi.errors import DataError
from dynet_vdgi.page.learn.live import Live
from dynet_vdgi.page.store.session import Given, Session, exported_sentences
from dynet_vdgi.page.text.guesses import Guess
from dynet_vdgi.page.text.sentence_blocks import file_block
from dynet_vdgi.page.text.sentence_state import UNSET, ChangeError
from dynet_vdgi.page.web.problems import IN_FILE, problems_of
from dynet_vdgi.page.web.search import search
from dynet_vdgi.page.web.shown import shown_sentence

DEMO = Path(__file__).parents[2] / "resources" / "demo" / "demo-ud-train.conllu"
DATA = Path(os.environ.get("VDGI_DATA", "/nowhere")) / "ud2"
KINDS = ("roots", "cycle", "own")


def tree(*words: str, name: str = "s") -> str:
    """A sentence of words such as `form TAG HEAD`, with comments and a multiword token after it."""
    rows = []
    for number, word in enumerate(words, 1):
        form, tag, head = word.split()
        label = (
            "root" if head == "0" else "_" if head == "_" else "punct" if tag == "PUNCT" else "dep"
        )
        rows.append(
            "\t".join([str(number), form, form, tag, "X", "_", head, label, "_", "Gloss=g"])
        )
    return "\n".join([f"# sent_id = {name}", *rows]) + "\n\n"


SOUND = tree("dogs NOUN 2", "bark VERB 0", ". PUNCT 2", name="sound")
WORDS = (
    "Mae AUX 3",
    "hi PRON 3",
    "oer ADJ 0",
    ", PUNCT 6",
    "ond CCONJ 6",
    "sych ADJ 3",
    ". PUNCT 3",
)


def faulty(**heads: int | str) -> str:
    """The Welsh sentence with other heads, such as w4=4."""
    words = [word.split() for word in WORDS]
    for name, head in heads.items():
        words[int(name[1:]) - 1][2] = str(head)
    return tree(*map(" ".join, words))


CASES = {
    "two roots": (faulty(w6=0), {3, 6}),
    "three roots": (faulty(w6=0, w1=0), {1, 3, 6}),
    "own head": (faulty(w6=6), {6}),
    "own head of a mark": (faulty(w4=4), {4}),
    "a cycle, no root": (faulty(w3=6), {3, 6}),
    "a cycle beside the root": (faulty(w1=2, w2=1), {1, 2}),
    "outside": (faulty(w2=99), {2}),
    "all own heads": (tree(*[f"w{k} NOUN {k}" for k in range(1, 5)]), {1, 2, 3, 4}),
    "several at once": (faulty(w6=0, w4=4, w1=2, w2=1), {1, 2, 3, 4, 6}),
    "partial with two roots": (faulty(w1="_", w6=0), {3, 6}),
    "one word": (tree("Ie INTJ 1"), {1}),
    "only marks": (tree("? PUNCT 2", "! PUNCT 1"), {1, 2}),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(session: Session, number: int, what: str, word: int = 0, value: object = 0) -> list[int]:
    return session.change(number, seen(session.text.of_id(number)), what, word, value)


@pytest.mark.parametrize("given", ["right", "guessed"])
@pytest.mark.parametrize("name", CASES)
def test_arcs_that_no_tree_can_have_are_open_and_all_others_stay(
    folder: Path, name: str, given: Given
) -> None:
    text, opened = CASES[name]
    whole = SOUND + text + SOUND.replace("= sound", "= last")
    written(Path("a.conllu"), whole)
    for _ in range(2):
        session = Session("a.conllu", "anna", given)
        marked = session.sentences[1]
        assert {*marked.opened} == {*marked.open_conflicts} == opened
        assert not session.sentences[0].opened
        rows = [line.split("\t") for line in text.split("\n") if line[:1].isdigit()]
        is_partial = any(row[6] == "_" for row in rows)
        for word, (arc, row) in enumerate(zip(marked.arcs, rows), 1):
            if word in opened or row[6] == "_":
                assert not arc.head_by
                assert arc.head == UNSET or row[3] == "PUNCT"
            elif given == "right" or not is_partial:
                assert (str(arc.head), arc.label, arc.head_by) == (
                    row[6],
                    row[7],
                    "anna" if given == "right" else "",
                )
        problems = [problem for problem in problems_of(marked) if problem.rule == IN_FILE]
        assert {problem.word for problem in problems} == opened
        assert not marked.is_done
        session.close()
        assert Path("a.conllu").read_bytes() == whole.encode()


@pytest.mark.parametrize("given", ["right", "guessed"])
@pytest.mark.parametrize("name", CASES)
def test_a_change_writes_what_is_on_the_screen_and_its_undo_brings_the_faulty_bytes_back(
    folder: Path, name: str, given: Given
) -> None:
    text, opened = CASES[name]
    whole = SOUND + text
    written(Path("a.conllu"), whole)
    session = Session("a.conllu", "anna", given)
    change(session, 0, "label", 1, "nsubj")  # of the other sentence
    session.save()
    assert Path("a.conllu").read_text(encoding="utf-8").endswith(text)
    marked = session.sentences[1]
    change(session, 1, "lemma", 1, "new")
    session.save()
    (after,) = list(reading.read("a.conllu", heads="unchecked"))[1:]
    for word in opened:
        assert after.heads is None or after.heads[word - 1] in (FREE, marked.heads[word - 1])
    assert not tree_faults(after.heads or ())
    session.release()
    session = Session("a.conllu", "anna")
    assert session.sentences[1].state.columns[0].lemma == "new"
    session.back("undo")
    session.back("undo")
    session.close()
    assert Path("a.conllu").read_bytes() == whole.encode()
    session = Session("a.conllu", "anna")
    session.back("redo")
    session.back("redo")
    assert session.sentences[1].state.columns[0].lemma == "new"
    session.close()


def test_an_open_arc_is_learnt_from_only_once_somebody_has_set_it(folder: Path) -> None:
    written(Path("a.conllu"), faulty(w6=0) + SOUND)
    session = Session("a.conllu", "anna", "right")
    marked = session.sentences[0]
    assert marked.confirmed_sentence().heads == (3, 3, FREE, 5, FREE)
    assert Live(session).next_one(None, "document") == 0
    session.put(
        0,
        marked.version,
        Guess((3, 3, 0, 5, 3), ("aux", "nsubj", "root", "cc", "conj"), (0.5,) * 5),
    )
    assert marked.heads == (3, 3, 0, 6, 6, 3, 3)
    assert marked.confirmed_sentence().heads == (3, 3, FREE, 5, FREE)
    assert {problem.word for problem in problems_of(marked) if problem.rule == IN_FILE} == {3, 6}
    change(session, 0, "head", 3, 0)
    assert [(p["word"], p["text"]) for rule in shown_sentence(0, marked)["problems"] for p in rule["places"]
            if rule["rule"] == IN_FILE] == [(6, "2 roots: words 3, 6")]  # fmt: skip
    change(session, 0, "done")
    assert not marked.open_conflicts
    assert marked.is_done
    assert marked.confirmed_sentence().heads == (3, 3, 0, 5, 3)
    session.close()
    (sentence, _) = reading.read("a.conllu", heads="required")
    assert sentence.heads == (3, 3, 0, 6, 6, 3, 3)


def test_sentences_with_open_arcs_are_found_as_problems_though_nobody_has_worked_on_them(
    folder: Path,
) -> None:
    written(Path("a.conllu"), SOUND + faulty(w6=0) + faulty(w1=2, w2=1) + SOUND)
    session = Session("a.conllu", "anna", "guessed")
    hits = search(session.text, "problem", "")["found"]
    assert [(hit["number"], hit["why"]) for hit in hits] == [
        (1, "2 roots: words 3, 6"),
        (2, "cycle of heads through words 1, 2"),
    ]
    assert [hit["number"] for hit in search(session.text, "problem", "cycle")["found"]] == [2]


def test_a_faulty_mark_alone_is_attached_by_rule_and_the_sentence_waits_for_a_look(
    folder: Path,
) -> None:
    written(Path("a.conllu"), faulty(w4=4))
    session = Session("a.conllu", "anna", "right")
    marked = session.sentences[0]
    assert (marked.heads, marked.is_done) == ((3, 3, 0, 6, 6, 3, 3), False)
    change(session, 0, "done")
    assert marked.is_done
    session.close()
    (sentence,) = reading.read("a.conllu", heads="required")
    assert sentence.heads == (3, 3, 0, 6, 6, 3, 3)


def test_what_a_person_has_marked_stays_if_the_rest_can_give_way(folder: Path) -> None:
    lines = faulty(w6=0).replace("0\troot\t_\tGloss=g", "0\troot\t_\tHeadBy=ben", 1)
    written(
        Path("a.conllu"), lines + lines.replace("0\troot\t_\tGloss=g", "0\troot\t_\tHeadBy=eve")
    )
    session = Session("a.conllu", "anna")
    one, two = session.sentences
    assert ({*one.opened}, one.arcs[2].head_by) == ({6}, "ben")
    assert {*two.opened} == {3, 6}
    session.close()
    assert Path("a.conllu").read_text(encoding="utf-8").startswith(lines)


@pytest.mark.parametrize("given", ["right", "guessed"])
@pytest.mark.parametrize("name", CASES)
def test_words_and_sentences_can_be_split_joined_cut_and_glued(
    folder: Path, name: str, given: Given
) -> None:
    text, _ = CASES[name]
    written(Path("a.conllu"), text + SOUND)
    session = Session("a.conllu", "anna", given)
    n_words = len(session.sentences[0])
    tried = [("split", 1, ["a", "b"]), ("glue", 0, 0)]
    tried += [("join", 1, 0), ("cut", 2, 0), ("join", n_words - 1, 0)] if n_words > 1 else []
    for what, word, value in tried:
        change(session, 0, what, word, value)
        session.save()
        for sentence in reading.read("a.conllu", heads="unchecked", tags="known"):
            assert not tree_faults(sentence.heads or ()), what
        session.back("undo")
        session.save()
        assert Path("a.conllu").read_text(encoding="utf-8") == text + SOUND
    session.close()


@pytest.mark.parametrize("is_killed", [False, True])
def test_the_reason_stays_and_counts_words_anew_where_tokens_are_changed(
    folder: Path, is_killed: bool
) -> None:
    written(
        Path("a.conllu"), SOUND + faulty(w6=0) + SOUND.replace("= sound", "= last") + faulty(w2=2)
    )
    session = Session("a.conllu", "anna", "guessed")
    roots = {1: "2 roots: words 3, 6", 2: "2 roots: words 4, 7", 3: "2 roots: words 4, 6"}

    def reasons(number: int) -> dict[int, str]:
        marked = session.text.of_id(number)
        return {
            problem.word: problem.text for problem in problems_of(marked) if problem.rule == IN_FILE
        }

    assert reasons(1) == {3: roots[1], 6: roots[1]}
    change(session, 1, "split", 1, ["a", "b"])
    assert reasons(1) == {4: roots[2], 7: roots[2]}
    change(session, 1, "join", 5)
    assert reasons(1) == {4: roots[3], 6: roots[3]}
    change(session, 2, "glue")
    n_words = len(SOUND.strip().split("\n")) - sum(
        line[0] == "#" for line in SOUND.strip().split("\n")
    )
    word = n_words + 2
    assert reasons(2) == {word: f"word {word} is its own head"}
    if is_killed:
        session.release()
        session = Session("a.conllu", "anna")
        assert reasons(1) == {4: roots[3], 6: roots[3]}
        assert reasons(2) == {word: f"word {word} is its own head"}
    change(session, 1, "head", 4, 0)
    assert reasons(1) == {6: roots[3]}
    for _ in range(4):
        session.back("undo")
    assert reasons(1) == {3: roots[1], 6: roots[1]}
    session.close()


LABELLED = (
    SOUND.replace("= sound", "= one").replace("Gloss=g", "LabelBy=eve"),
    faulty(w1=2, w2=1)
    .replace("Gloss=g", "LabelBy=eve")
    .replace("root\t_\t", "root\t_\tHeadBy=eve|"),
    faulty(w3="_").replace("Gloss=g", "LabelBy=eve"),
)


@pytest.mark.parametrize("number", [1, 2])
def test_a_confirmed_relation_stays_where_its_head_is_open(folder: Path, number: int) -> None:
    before = "".join(LABELLED)
    written(Path("a.conllu"), before)
    session = Session("a.conllu", "anna")
    labels = [(arc.label, arc.label_by) for arc in session.sentences[number].arcs if arc.label_by]
    assert {by for _, by in labels} == {"eve"}
    assert len(labels) >= 4
    session.close()
    assert Path("a.conllu").read_text(encoding="utf-8") == before
    session = Session("a.conllu", "anna")
    change(session, number, "lemma", 1, "x")
    session.release()
    for _ in range(2):  # from the journal, then from file and journal
        session = Session("a.conllu", "anna")
        assert [
            (arc.label, arc.label_by) for arc in session.sentences[number].arcs if arc.label_by
        ] == labels
        session.close()
    Path("a.conllu.journal").unlink()
    session = Session("a.conllu", "anna")  # from the file alone
    assert [
        (arc.label, arc.label_by) for arc in session.sentences[number].arcs if arc.label_by
    ] == labels
    open_words = [
        word for word, arc in enumerate(session.sentences[number].arcs, 1) if arc.head == UNSET
    ]
    change(session, number, "head", open_words[0], 0)
    assert session.sentences[number].arcs[open_words[0] - 1].label == "root"
    session.close()
    after = list(reading.read("a.conllu", heads="unchecked"))[number]
    assert not tree_faults(after.heads or ())


def test_another_programs_faulty_tree_is_taken_over_and_open(folder: Path) -> None:
    written(Path("a.conllu"), SOUND + faulty() + SOUND)
    session = Session("a.conllu", "anna", "right")
    change(session, 0, "label", 1, "nsubj")
    session.close()
    text = Path("a.conllu").read_text(encoding="utf-8").replace(faulty(), faulty(w6=0))
    written(Path("a.conllu"), text)
    for _ in range(2):
        session = Session("a.conllu", "anna")
        assert {*session.sentences[1].open_conflicts} == {3, 6}
        assert session.sentences[1].arcs[0].head_by == "anna"
        session.close()
        assert Path("a.conllu").read_text(encoding="utf-8") == text


def test_heads_that_are_no_numbers_are_refused_as_before(folder: Path) -> None:
    for head in ("x", "-1", "2.1", "01"):
        written(Path("a.conllu"), SOUND + faulty(w2=head))
        with pytest.raises(
            DataError, match=r"a.conllu:8: HEAD .* is not a valid number \(expected 0 .* or 1..7\)"
        ):
            Session("a.conllu", "anna", "guessed")


def test_a_finished_export_has_no_faulty_tree(folder: Path) -> None:
    written(Path("a.conllu"), faulty(w6=0) + SOUND)
    Session("a.conllu", "anna", "right").close()
    one, two = exported_sentences("a.conllu")
    assert (one.is_done, two.is_done) == (False, True)


def planted(blocks: list[str], share: float) -> tuple[list[str], dict[int, str]]:
    """The blocks with a fault in a share of them, and the kind by number."""
    chance, kinds = random.Random(1), {}
    for number in sorted(
        chance.sample(range(len(blocks)), max(len(KINDS), round(share * len(blocks))))
    ):
        lines = blocks[number].split("\n")
        rows = [k for k, line in enumerate(lines) if line.partition("\t")[0].isdigit()]
        heads = [int(lines[k].split("\t")[6]) for k in rows]
        if len(rows) < 3 or 0 not in heads:
            continue
        kind = KINDS[len(kinds) % 3]
        word = chance.choice([k for k, head in enumerate(heads, 1) if head])
        new = {"roots": 0, "own": word, "cycle": word}[kind]
        if kind == "cycle":  # the word's head hangs from the word, or the root does
            above = heads[word - 1]
            lines[rows[above - 1]] = with_head(lines[rows[above - 1]], word)
        else:
            lines[rows[word - 1]] = with_head(lines[rows[word - 1]], new)
        blocks[number], kinds[number] = "\n".join(lines), kind
    return blocks, kinds


def with_head(line: str, head: int) -> str:
    columns = line.split("\t")
    columns[6] = str(head)
    return "\t".join(columns)


def check_planted(path: Path, given: Given) -> None:
    """A file with 2 % of faulty sentences opens; nothing changes, but a changed sentence."""
    blocks, kinds = planted(path.read_text(encoding="utf-8").rstrip("\n").split("\n\n"), 0.02)
    assert {*kinds.values()} == {*KINDS}
    whole = "\n\n".join(blocks) + "\n\n"
    written(Path("a.conllu"), whole)
    with pytest.raises(DataError):
        list(reading.read("a.conllu"))
    Path("a.conllu.journal").unlink(missing_ok=True)
    for _ in range(2):
        session = Session("a.conllu", "anna", given)
        assert {number for number, marked in enumerate(session.sentences) if marked.opened} == {
            *kinds
        }
        assert {
            number for number, marked in enumerate(session.sentences) if marked.open_conflicts
        } == {*kinds}
        assert "".join(map(file_block, session.sentences)) == whole
        for number, kind in kinds.items():
            reason = {"roots": "roots: words", "own": "its own head", "cycle": "cycle of heads"}[
                kind
            ]
            assert all(reason in why for why in session.sentences[number].opened.values())
        session.close()
        assert Path("a.conllu").read_bytes() == whole.encode()
    session = Session("a.conllu", "anna")
    number = min(kinds)
    marked = session.sentences[number]
    session.put(number, marked.version, chain(len(marked.bare_sentence)))
    word = next(word for word in marked.opened)
    try:
        change(session, number, "head", word, 0)
    except ChangeError:  # of given heads, a word below it
        change(session, number, "flag", 0, True)
    session.close()
    after = Path("a.conllu").read_text(encoding="utf-8").split("\n\n")
    assert [k for k, (one, two) in enumerate(zip(after, whole.split("\n\n"))) if one != two] == [
        number
    ]


@pytest.mark.parametrize("given", ["right", "guessed"])
def test_planted_faults_leave_every_other_byte(folder: Path, given: Given) -> None:
    check_planted(DEMO, given)


@pytest.mark.skipif(not DATA.is_dir(), reason="set VDGI_DATA to the folder with the treebanks")
@pytest.mark.parametrize("given", ["right", "guessed"])
@pytest.mark.parametrize(
    "name", ["Welsh-CCG/cy_ccg", "Tamil-TTB/ta_ttb", "Scottish_Gaelic-ARCOSG/gd_arcosg"]
)
def test_planted_faults_in_treebanks_leave_every_other_byte(
    folder: Path, name: str, given: Given
) -> None:
    check_planted(DATA / f"UD_{name}-ud-test.conllu", given)
