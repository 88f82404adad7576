"""Marked sentences: trees that are mended around what is confirmed, changes, reading and writing of
marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from annotating import ROWS, chain, written
from brute_force import is_tree
from hypothesis import given
from hypothesis import strategies as st

from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.page.text.changes import new_state
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.offered_relations import USUAL, Relations
from dynet_vdgi.page.text.sentence_blocks import read_marked, read_text, write_marked
from dynet_vdgi.page.text.sentence_state import ChangeError
from dynet_vdgi.page.text.tree_mending import CircleError, mended_tree
from dynet_vdgi.relations.ud_relations import LABELS


def of_tags(tags: str) -> MarkedSentence:
    """A sentence with the guess `chain`."""
    rows = [
        f"{k}\t{tag}\t_\t{tag}{chr(9)}{chr(9).join('______')}"
        for k, tag in enumerate(tags.split(), 1)
    ]
    (marked,) = read_text("\n".join(rows) + "\n\n", "tags")
    marked.put(chain(len(marked.bare_sentence)))
    return marked


def change(
    marked: MarkedSentence, what: str, word: int = 0, value: int | str = 0
) -> MarkedSentence:
    """The sentence after a change."""
    marked.state = new_state(marked, what, word, value, "anna")
    return marked


@given(st.data())
def test_mended_heads_are_a_tree_with_all_that_is_fixed(data: st.DataObject) -> None:
    n_words = data.draw(st.integers(1, 8))
    heads = [
        data.draw(st.sampled_from([h for h in range(n_words + 1) if h != d]))
        for d in range(1, n_words + 1)
    ]
    fixed = data.draw(st.lists(st.booleans(), min_size=n_words, max_size=n_words))
    if sum(h == 0 and f for h, f in zip(heads, fixed)) > 1:
        with pytest.raises(ValueError, match="are fixed as roots"):
            mended_tree(heads, fixed)
        return
    try:
        found = mended_tree(heads, fixed)
    except CircleError as error:
        circle = error.words
    else:
        assert is_tree(found)
        assert all(a == b for a, b, f in zip(heads, found, fixed) if f)
        assert found == tuple(heads) or not is_tree(heads)
        return
    assert all(fixed[word - 1] and heads[word - 1] in circle for word in circle)


@given(st.data())
def test_punctuation_follows_and_what_is_fixed_stays(data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(["NOUN", "VERB", "PUNCT"]), min_size=1, max_size=8))
    marked = of_tags(" ".join(tags))
    word = data.draw(st.integers(1, len(tags)))
    head = data.draw(st.integers(0, len(tags)).filter(lambda h: h != word))
    change(marked, "head", word, head)
    assert is_tree(marked.heads)
    assert marked.heads[word - 1] == head
    marked.put(chain(len(marked.bare_sentence)))
    assert is_tree(marked.heads)
    assert marked.heads[word - 1] == head
    assert all((arc.label == "root") == (arc.head == 0) for arc in marked.arcs)


def test_the_new_head_takes_the_words_place_where_it_hung_below_it() -> None:
    marked = of_tags("DET NOUN VERB ADV")  # 1 -> 2 -> 3 -> 4 -> ROOT
    assert change(marked, "head", 3, 1).heads == (2, 4, 1, 0)
    assert [bool(arc.head_by) for arc in marked.arcs] == [False, False, True, False]
    assert change(marked, "head", 4, 3).heads == (2, 0, 1, 3)
    # a new root, even if the old one was confirmed
    marked = change(of_tags("NOUN VERB"), "head", 2, 0)
    assert marked.arcs[1] == (0, "root", "anna", "anna")
    change(marked, "head", 1, 0)
    assert marked.arcs == ((0, "root", "anna", "anna"), (1, "dep", "", ""))


def test_circles_of_confirmed_arcs_are_refused() -> None:
    marked = change(of_tags("NOUN VERB ADV"), "head", 1, 2)
    change(marked, "head", 2, 3)
    before = marked.arcs
    with pytest.raises(
        ChangeError, match="words 1 NOUN, 2 VERB, 3 ADV would form a circle .* press x"
    ):
        change(marked, "head", 3, 1)
    assert marked.arcs == before


def test_impossible_changes_are_refused_and_what_conllu_can_hold_is_a_relation() -> None:
    impossible: list[tuple[str, int, int | str, str]] = [
        ("head", 1, 1, "its own head"),
        *(("head", 1, value, "is no word") for value in (9, -1, "2")),
        *(("head", word, 1, f"no word {word}") for word in (9, 0)),
        *(("label", 1, value, "is no relation")
          for value in ("", "_", "a b", "a\u2028b", "a|b", "a\tb", "x" * 61)),
        ("label", 1, "root", "change the head first"),
        ("label", 3, "obj", "change the head first"),
    ]  # fmt: skip
    for what, word, value, message in impossible:
        with pytest.raises(ChangeError, match=message):
            change(of_tags("NOUN VERB ADV"), what, word, value)
    for relation in ("comp@x", "मुख्य", "ن", "conj>nsubj", "obl:x_y:z"):
        assert change(of_tags("NOUN VERB"), "label", 1, relation).arcs[0].label == relation


def test_known_relations_are_offered_by_how_often_a_pair_of_tags_has_them() -> None:
    one, two = of_tags("NOUN VERB"), of_tags("DET VERB")
    relations = Relations([one, two])
    offered = relations.ranked_relations("NOUN", "VERB")
    assert set(LABELS) == set(offered[: len(LABELS)])
    assert offered[len(LABELS) :] == USUAL
    assert relations.fault("nmod:poss") == ""
    for marked, label in ((one, "comp:obj"), (two, "mod@x")):
        relations.enter(marked, -1)
        change(marked, "label", 1, label)
        relations.enter(marked)
    assert relations.ranked_relations("NOUN", "VERB")[:3] == ["comp:obj", "mod@x", "nsubj"]
    assert relations.ranked_relations("DET", "VERB")[:2] == ["mod@x", "comp:obj"]
    assert relations.fault("comp:obj") == ""
    assert relations.fault("nsbuj") == (
        "'nsbuj' is no relation of UD or of this file; did you mean 'nsubj'?"
    )
    assert (
        relations.fault("fixed:zzz")
        == "'fixed:zzz' is a subtype of fixed that this file does not have"
    )
    assert relations.fault("comp:obk").endswith("did you mean 'comp:obj'?")
    assert "no relation of UD" in relations.fault("nmod:")
    assert "no relation of UD" in relations.fault("nmud:poss")
    relations.project = frozenset(["nmod"])
    assert "no relation of the project's list" in relations.fault("nmod:poss")
    relations.project = frozenset()
    relations.enter(one, -1)
    change(one, "label", 1, "obj")
    relations.enter(one)
    assert "comp:obj" not in relations.ranked_relations("NOUN", "VERB")
    assert "comp:obj" in Relations([change(one, "label", 1, "comp:obj")]).ranked_relations("X", "Y")


def test_a_sentence_is_done_when_all_its_words_are_confirmed() -> None:
    marked = of_tags("NOUN VERB PUNCT")
    change(marked, "right", 1)
    assert not marked.is_done
    change(marked, "label", 1, "nsubj:pass")
    assert marked.arcs[0].label == "nsubj:pass"
    change(marked, "done")
    assert marked.is_done
    assert marked.arcs[2] == (2, "punct", "", "")
    change(marked, "open", 2)
    assert not marked.is_done
    (empty,) = read_text(f"1\ta\t_\tX{chr(9)}{chr(9).join('______')}\n\n", "a")
    with pytest.raises(ChangeError, match="word 1 has no head and relation yet"):
        change(empty, "done")


def test_what_is_confirmed_is_learnt_from_and_never_changed_by_a_guess() -> None:
    marked = change(of_tags("NOUN PUNCT VERB ADV"), "head", 1, 4)
    assert marked.confirmed_sentence().heads == (3, FREE, FREE)
    assert marked.confirmed_sentence().deprels == ("_", "_", "_")
    change(marked, "label", 1, "obl")
    version = marked.version
    marked.put(chain(3))
    assert marked.arcs[0] == (4, "obl", "anna", "anna")
    assert marked.heads == (4, 1, 4, 0)
    assert marked.confirmed_sentence().deprels == ("obl", "_", "_")
    assert marked.version == version
    marked.put(chain(3)._replace(heads=(2, 0, 2)))
    assert marked.heads == (4, 1, 0, 3)
    assert marked.version == version + 1


def test_everything_but_heads_relations_and_marks_is_kept_byte_for_byte(folder: Path) -> None:
    sentences = read_marked(written(Path("a.conllu")))
    write_marked(sentences, "same.conllu")
    assert Path("same.conllu").read_bytes() == ROWS.encode()
    for marked in sentences:
        marked.put(chain(len(marked.bare_sentence)))
    change(sentences[0], "head", 2, 4)
    write_marked(sentences, "b.conllu")
    lines = Path("b.conllu").read_text(encoding="utf-8").splitlines()
    assert lines[3] == "2\tdogs\tdog\tNOUN\t_\t_\t4\tdep\t_\tGloss=a b|HeadBy=anna"
    for old, new in zip(ROWS.splitlines(), lines):
        kept = [
            old.split("\t")[:6] + old.split("\t")[8:9],
            new.split("\t")[:6] + new.split("\t")[8:9],
        ]
        assert kept[0] == kept[1]
    assert read_marked("b.conllu")[0].arcs == sentences[0].arcs
    assert "\n".join(lines).endswith(ROWS[ROWS.index("# sent_id = two") :].rstrip("\n") + "\n")
