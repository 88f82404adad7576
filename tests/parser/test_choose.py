"""Which sentences to correct next."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
import tiny
from few import trees
from hypothesis import given
from hypothesis import strategies as st
from wording import Wording

import dynet_vdgi as vdgi
from dynet_vdgi import cli
from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.parser.choosing import choose, pairs_of, to_correct

TAGS = ("NOUN", "VERB", "ADJ")


def random_pool(seed, count=12):
    rng = np.random.default_rng(seed)
    tagged = [tuple(rng.choice(TAGS, size=rng.integers(2, 8)).tolist()) for _ in range(count)]
    return [Sentence(tags, tags) for tags in tagged]


def slowly(pool, count, confidences, corrected):
    """What `choose` must give, by looking at every sentence each time."""
    frequency = Counter(pair for s in pool for pair in pairs_of(s))
    seen = Counter(pair for s in corrected for pair in pairs_of(s))
    left, chosen = list(range(len(pool))), []
    while left and len(chosen) < count:
        worth = {
            k: sum(
                (1 - c) * frequency[b] / (1 + seen[b])
                for c, b in zip(confidences[k], pairs_of(pool[k]))
            )
            / len(pool[k])
            for k in left
        }
        chosen.append(max(left, key=worth.get))
        left.remove(chosen[-1])
        seen.update(pairs_of(pool[chosen[-1]]))
    return chosen


@given(st.integers(0, 1000), st.integers(1, 14))
def test_each_is_the_best_of_what_is_left(seed, count):
    pool, rng = random_pool(seed), np.random.default_rng(seed)
    confidences = [rng.random(len(s)) for s in pool]
    found = choose(pool, count, confidences=confidences, corrected=trees(2), shortest=1)
    assert found == slowly(pool, count, confidences, trees(2))


def test_doubtful_sentences_come_first():
    pool = [Sentence(("a",) * 4, ("NOUN", "VERB", "ADV", "ADJ"))] * 3
    assert choose(pool, 1, confidences=[[0.9] * 4, [0.2] * 4, [0.5] * 4]) == [1]


def test_what_was_corrected_is_worth_less():
    one, other = (Sentence(("a",) * 4, tags) for tags in (("NOUN",) * 4, ("VERB",) * 4))
    assert choose([one, other], 1) == [0]
    assert choose([one, other], 1, corrected=[one]) == [1]


def test_lengths():
    pool = [Sentence(("a",) * n, ("NOUN",) * n) for n in (1, 3, 4, 25, 26)]
    assert sorted(choose(pool, 9)) == [2, 3]
    assert sorted(choose(pool, 9, shortest=1, longest=99)) == [0, 1, 2, 3, 4]
    assert choose([], 3) == choose(pool, 0) == []


def test_only_some_may_be_chosen_and_all_tell_what_is_frequent():
    pool = random_pool(4)
    assert choose(pool, 1, shortest=1, among=[7]) == [7]
    assert sorted(choose(pool, 12, shortest=1, among=[2, 9])) == [2, 9]
    assert choose(pool, 12, shortest=1, among=range(12)) == choose(pool, 12, shortest=1)
    assert choose(pool, 12, shortest=1, among=[]) == []


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A model that says how sure it is, and the text it has learnt from."""
    folder = tmp_path_factory.mktemp("choose")
    (folder / "text.conllu").write_text(tiny.treebank(60, heads=False), encoding="utf-8")
    small = {"parser": {"log2_buckets": 10}, "teacher": {"iterations": 2}}
    vdgi.train(folder / "text.conllu", "best", settings=small, out=folder / "run")
    return folder


def chosen(folder, *options):
    """What the command writes, as sentences."""
    output = folder / "chosen.conllu"
    arguments = [
        "choose",
        str(folder / "run"),
        str(folder / "text.conllu"),
        "-o",
        str(output),
        "--overwrite",
        *options,
    ]
    assert cli.main(["-q", *arguments]) == 0
    return list(reading.read(output, heads="required"))


def comments(sentence):
    return [line for line in sentence.source.lines if line.startswith("#")]


def test_the_command_writes_trees_relations_and_confidence(run_folder):
    first = chosen(run_folder, "-n", "4")
    assert [comments(one)[0] for one in first] == [f"# choice = {k}" for k in (1, 2, 3, 4)]
    assert all(comments(one)[1].startswith("# guess = ") for one in first)
    assert all(comments(one)[2].startswith("# sent_id = ") for one in first)
    assert len({one.forms for one in first}) == 4
    text = list(reading.read(run_folder / "text.conllu"))
    parsed = dict(zip((one.forms for one in text), vdgi.load(run_folder / "run").pipe(text)))
    for one in first:
        assert (one.heads, one.deprels) == (parsed[one.forms].heads, parsed[one.forms].deprels)
        misc = [one.source.lines[row].split("\t")[9] for row in one.source.rows]
        assert [tag == "PUNCT" for tag in one.tags] == [note == "_" for note in misc]
        assert all(0 <= float(note.removeprefix("HeadConf=")) <= 1 for note in misc if note != "_")


def test_what_is_covered_is_not_chosen_again(run_folder):
    first = chosen(run_folder, "-n", "3")
    covered = run_folder / "covered.conllu"
    (run_folder / "chosen.conllu").replace(covered)
    second = chosen(run_folder, "-n", "3", "--covered", str(covered), "--labels", "none")
    assert not {one.forms for one in first} & {one.forms for one in second}
    assert {relation for one in second for relation in one.deprels} == {"root", "dep"}
    # As all six at once, but for what confidence is estimated from: the same model.
    assert [one.forms for one in chosen(run_folder, "-n", "6")] == [
        one.forms for one in [*first, *second]
    ]
    again = chosen(run_folder, "-n", "3", str(covered))  # an earlier choice as part of the text
    for key in ("choice", "guess"):
        assert [len([line for line in comments(one) if key in line]) for one in again] == [1, 1, 1]


def test_a_model_without_confidence_chooses_by_tags(tmp_path, run_folder, caplog, wording: Wording):
    parser = vdgi.load(run_folder / "run")
    for name in [name for name in parser.model.parameters if name.startswith("confidence/")]:
        del parser.model.parameters[name]
    text = list(reading.read(run_folder / "text.conllu"))
    with caplog.at_level(logging.WARNING, "dynet_vdgi"):
        blocks = list(to_correct(parser, text, 2))
    wording.check(caplog.messages)

    assert len(blocks) == 2
    assert "HeadConf" not in "".join(blocks)
