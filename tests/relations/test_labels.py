"""The table of labels, what is wrong in one, and the classifier that starts as the table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from by_numba import ByNumba
from few import trees

from dynet_vdgi.conllu.punctuation import without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ConfigError, ModelError
from dynet_vdgi.relations import label_regression
from dynet_vdgi.relations.inventory import Inventory
from dynet_vdgi.relations.label_regression import Examples, GroupArrays, LearningRoom
from dynet_vdgi.relations.label_table import LabelTable, load
from dynet_vdgi.relations.labeller import LEAST_LOG_P, Labeller
from dynet_vdgi.relations.ud_relations import LABELS, relation_of
from dynet_vdgi.rule_tables.measures import VerbOrder

regression = ByNumba(label_regression)

UD2 = load()


def labels_of(rules, sentence, *, verb_order=VerbOrder.OTHER):
    labeller = Labeller(LabelTable.of_text(rules)).fit([], verb_order=verb_order)
    return labeller.predict([sentence])[0].deprels


def sentence(tags, heads, feats=(), gaps=()):
    words = tuple(tags.split())
    return Sentence(words, words, heads, feats=feats, gaps=gaps)


def test_the_first_rule_that_holds_counts():
    rules = "root ROOT *\nnsubj VERB NOUN left\nobj VERB NOUN"
    assert labels_of(rules, sentence("NOUN VERB NOUN X", (2, 0, 2, 2))) == (
        "nsubj",
        "root",
        "obj",
        "dep",
    )


# Words: 1 NOUN with an adposition (3), 2 VERB, the root, 4 NOUN, 5 VERB.
EXAMPLE = sentence(
    "NOUN VERB ADP NOUN VERB",
    (2, 0, 1, 2, 2),
    ("Case=Dat|Number=Sing", "VerbForm=Fin|Number[erg]=Plur", "_", "Case=Acc", "VerbForm=Inf"),
    ("", "", "", ",", "", "."),
)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("left", {1}),
        ("right", {3, 4, 5}),
        ("next", {1}),
        ("comma", {4, 5}),
        ("Case=Acc", {4}),
        ("Case=Acc|Dat", {1, 4}),
        ("not Case=Acc|Dat", {3, 5}),
        ("head:VerbForm=Fin", {1, 4, 5}),
        ("head:VerbForm=Fin Case=Acc", {4}),
        ("headkey:Number[erg]", {1, 4, 5}),
        ("headkey:Number", {3}),
        ("child:ADP|DET", {1}),
        ("headchild:ADP", set()),  # the ADP's own head has no other
        ("headchild:NOUN", {1, 4, 5}),
        ("childfeat:Number", set()),
        ("headchildfeat:VerbForm", {1, 4}),
        ("headchildfeat:Number", {4, 5}),
        ("outer", set()),
        ("inner", {5}),
        ("across", {1}),
        ("verb-final", set()),
        ("verb-initial", set()),
        ("not verb-final not left", {3, 4, 5}),
    ],
)
def test_conditions(condition, words):
    found = labels_of(f"root ROOT *\nobl * * {condition}", EXAMPLE)
    assert {d for d, label in enumerate(found, 1) if label == "obl"} == words


def test_outer_is_a_noun_without_adposition_farther_out_on_the_same_side():
    rules = "obj VERB NOUN outer"
    assert labels_of(rules, sentence("NOUN NOUN VERB NOUN", (3, 3, 0, 3))) == (
        "dep",
        "obj",
        "dep",
        "dep",
    )
    assert labels_of(rules, sentence("ADP NOUN NOUN VERB", (2, 4, 4, 0))) == ("dep",) * 4
    assert labels_of(rules, sentence("VERB NOUN PRON", (0, 1, 1))) == ("dep", "obj", "dep")


def test_inner_and_across_are_about_nouns_without_adposition_of_the_same_head():
    inner, across = "obj VERB NOUN inner", "obj VERB NOUN across"
    assert labels_of(inner, sentence("NOUN NOUN VERB NOUN", (3, 3, 0, 3))) == (
        "obj",
        "dep",
        "dep",
        "dep",
    )
    assert labels_of(inner, sentence("VERB ADP NOUN NOUN", (0, 3, 1, 1))) == ("dep",) * 4
    assert labels_of(across, sentence("NOUN NOUN VERB NOUN", (3, 2, 0, 3))) == (
        "obj",
        "dep",
        "dep",
        "obj",
    )
    assert labels_of(across, sentence("NOUN VERB", (2, 0))) == ("dep", "dep")


@pytest.mark.parametrize(
    ("condition", "order"), [("verb-final", VerbOrder.FINAL), ("verb-initial", VerbOrder.INITIAL)]
)
def test_where_verbs_stand_is_a_property_of_the_text(condition, order):
    rules = f"obj VERB NOUN {condition}"
    for other in VerbOrder:
        found = labels_of(rules, sentence("NOUN VERB", (2, 0)), verb_order=other)
        assert found == ("obj" if other == order else "dep", "dep")


def test_heads_that_are_not_known_have_no_label_and_are_nobodys_dependents():
    rules = "obl * * headchild:ADP\nobj * *"
    assert labels_of(rules, sentence("NOUN ADP VERB", (3, -1, 0))) == ("obj", "_", "obj")
    with pytest.raises(ValueError, match="has no heads"):
        labels_of(rules, sentence("NOUN", None))


def test_the_table_of_ud_2():
    plain = sentence("DET ADJ NOUN AUX VERB ADP DET NOUN", (3, 3, 5, 5, 0, 8, 8, 5))
    found = Labeller(UD2).predict([plain])
    assert found[0].deprels == ("det", "amod", "nsubj", "aux", "root", "case", "det", "obl")
    assert len(UD2.rules) > 70
    assert relation_of("nsubj:pass") == "nsubj"
    assert all(rule.label in LABELS for rule in UD2.rules)


def random_tree(rng, n_words, share_of_punctuation):
    """Any tree, also one where punctuation has dependents or is the root."""
    order = rng.permutation(n_words) + 1
    heads = {int(order[0]): 0}
    for k in range(1, n_words):
        heads[int(order[k])] = int(order[rng.integers(k)])
    tags = [str(rng.choice(["NOUN", "VERB", "ADP", "AUX", "ADJ", "CCONJ"])) for _ in range(n_words)]
    tags = [tag if rng.random() > share_of_punctuation else "PUNCT" for tag in tags]
    words = tuple(f"w{k % 3}" for k in range(n_words))
    feats = tuple(str(rng.choice(["_", "Case=Acc", "Case=Nom"])) for _ in range(n_words))
    return Sentence(words, tuple(tags), tuple(heads[k] for k in range(1, n_words + 1)), feats=feats)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_whole_sentences_are_labelled_as_they_are_without_punctuation(share):
    rng = np.random.default_rng(5)
    whole = [random_tree(rng, int(rng.integers(1, 12)), share) for _ in range(200)]
    gold = [other_labels(one) for one in trees(36)]
    labellers = Labeller(UD2), Labeller(UD2, log2_buckets=10), Labeller(UD2, log_p=of_forms)
    for labeller in (labellers[0], *(one.fit(gold) for one in labellers[1:])):
        found = labeller.relations(whole, [one.heads for one in whole])
        bare = [without_punctuation(one) for one in whole]
        expected = labeller.predict([one for one, _ in bare])
        for one, relations, (_, kept), labelled in zip(whole, found, bare, expected):
            assert len(relations) == len(one)
            assert [r == "root" for r in relations] == [head == 0 for head in one.heads]
            root_tag = one.tags[one.heads.index(0)]
            for word, relation in zip(kept, labelled.deprels) if root_tag != "PUNCT" else ():
                assert relations[word - 1] == relation
            removed = [
                word for word in range(1, len(one) + 1) if word not in kept and one.heads[word - 1]
            ]
            assert {relations[word - 1] for word in removed} <= {"punct"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "a\x07b VERB NOUN",
            "t:2: the label 'a\\x07b' has a character that CoNLL-U does not allow",
        ),
        ("_ VERB NOUN", "t:2: the label '_' is none"),
        (f"{'x' * 201} VERB NOUN", "is longer than 200 characters"),
        ("nsubj VERB", "t:2: expected label, head tags, dependent tags and conditions"),
        ("nsubj VERB NOUNN", "t:2: 'NOUNN' is no universal tag and no class; did you mean 'NOUN'"),
        ("nsubj VERB|QQ NOUN", "t:2: 'QQ' is no universal tag and no class"),
        ("nsubj VERB NOUN lefft", "t:2: no condition 'lefft'; did you mean 'left'"),
        ("nsubj VERB NOUN chidl:ADP", "t:2: no condition 'chidl:ADP'; did you mean 'child'"),
        (
            "nsubj VERB NOUN child:ADPP",
            "t:2: 'ADPP' is no universal tag and no class; did you mean 'ADP'",
        ),
        ("nsubj VERB NOUN head:Inf", "t:2: expected a feature, such as Case=Acc|Gen; found: Inf"),
        ("nsubj VERB NOUN Case=", "t:2: expected a feature, such as Case=Acc|Gen; found: Case="),
        ("nsubj VERB NOUN Case=Acc||Gen", "t:2: expected a feature"),
        ("nsubj VERB NOUN headkey:", "t:2: 'headkey:' needs the name of a feature"),
        ("nsubj VERB NOUN not", "t:2: 'not' needs a condition after it"),
        ("nsubj VERB NOUN not not left", "t:2: 'not' is there twice"),
        ("nsubj VERB ROOT", "t:2: ROOT cannot be a dependent"),
        ("NOUN = PROPN", "t:2: NOUN is a tag or a class already"),
        ("N =", "t:2: expected the tags of a class"),
        ("N = NOUN QQ", "t:2: 'QQ' is no universal tag"),
    ],
)
def test_a_wrong_line_is_named_with_a_remedy(line, message):
    with pytest.raises(ConfigError) as caught:
        LabelTable.of_text(f"root ROOT *  # fine\n{line}\n", "t")
    assert message in str(caught.value)


def of_forms(sentences, heads):
    """log p of relations as another parser might have it: by a word's form and its head."""
    words = [form for one in sentences for form in one.forms]
    seeds = [[*form.encode(), max(0, head)] for form, head in zip(words, heads.tolist())]
    odds = np.array([np.random.default_rng(seed).normal(0, 3, len(LABELS)) for seed in seeds])
    odds = odds.reshape(-1, len(LABELS))
    odds[:, [LABELS.index("root"), LABELS.index("punct")]] = -np.inf
    return odds - np.log(np.exp(odds).sum(axis=1, keepdims=True))


def test_without_labelled_trees_it_is_the_other_parser_and_a_share_of_the_table():
    gold, table = trees(12), Labeller(UD2).predict(trees(12))
    for share in (0.0, 1.5, 100.0):
        labeller = Labeller(UD2, log_p=of_forms, share=share)
        labeller.single_groups[:] = 0  # else a word has one subject at most
        found = labeller.predict(gold)
        for one, of_table, labelled in zip(gold, table, found):
            log_p = np.maximum(of_forms([one], np.array(one.heads)), LEAST_LOG_P)
            log_p[range(len(one)), [LABELS.index(r) for r in of_table.deprels]] += share
            best = [LABELS[k] if head else "root" for k, head in zip(log_p.argmax(1), one.heads)]
            assert labelled.deprels == tuple(best)
    assert [one.deprels for one in found] == [one.deprels for one in table]


def test_a_word_has_one_subject_and_one_object_and_the_surest_stays():
    best = {
        "a": ("nsubj", 4.0, "obl"),
        "b": ("csubj", 3.0, "obj"),
        "c": ("obj", 2.0, "iobj"),
        "d": ("obj", 1.0, "obl"),
    }

    def log_p(sentences, heads):
        odds = np.full((len(heads), len(LABELS)), -7.0)
        for word, form in enumerate(form for one in sentences for form in one.forms):
            first, margin, second = best.get(form, ("root", 0.0, "root"))
            odds[word, [LABELS.index(first), LABELS.index(second)]] = -1.0, -1.0 - margin
        return odds

    def relations(forms, heads):
        one = Sentence(tuple(forms), ("X",) * len(forms), heads)
        return Labeller(UD2, log_p=log_p, share=0.0).predict([one])[0].deprels

    # b is no subject beside a, so it is an object, and more surely than c and d.
    assert relations("vabcd", (0, 1, 1, 1, 1)) == ("root", "nsubj", "obj", "iobj", "obl")
    assert relations("dcbav", (5, 5, 5, 5, 0)) == ("obl", "iobj", "obj", "nsubj", "root")
    assert relations("vabcd", (0, 1, 2, 2, 3)) == ("root", "nsubj", "csubj", "obj", "obj")


def test_trees_with_several_subjects_of_a_word_teach_that():
    gold = trees(36)  # nouns after a verb are its subjects here, too
    labeller = Labeller(UD2, log2_buckets=14).fit(gold)
    assert [one.deprels for one in labeller.predict(gold)] == [one.deprels for one in gold]
    renamed = [
        replace(
            one,
            deprels=tuple(
                "obj" if h and h < d and r == "nsubj" else r
                for d, (h, r) in enumerate(zip(one.heads, one.deprels), 1)
            ),
        )
        for one in gold
    ]
    for some, groups in ((gold, {2}), (renamed, {1, 2})):
        taught = Labeller(UD2, log2_buckets=14).fit(some)
        assert set(taught.single_groups.tolist()) - {0} == groups
        assert np.array_equal(
            Labeller.from_arrays(taught.arrays(), UD2).single_groups, taught.single_groups
        )
    old = {name: array for name, array in taught.arrays().items() if name != "labels/alone"}
    assert not Labeller.from_arrays(old, UD2).single_groups.any()
    with pytest.raises(ModelError, match="labels/alone are no groups of relations"):
        Labeller.from_arrays({**old, "labels/alone": np.array([5])}, UD2)


@pytest.mark.parametrize("rename", [str, str.upper])
def test_trees_correct_the_other_parser_whatever_their_relations_are_called(rename):
    gold = [replace(one, deprels=tuple(map(rename, one.deprels))) for one in trees(36)]
    labeller = Labeller(UD2, log_p=of_forms, log2_buckets=14).fit(gold)
    assert [one.deprels for one in labeller.predict(gold)] == [one.deprels for one in gold]
    unlike = Labeller(UD2, log2_buckets=14).fit(gold)
    assert not np.array_equal(unlike.weights, labeller.weights)
    again = Labeller.from_arrays(labeller.arrays(), UD2, of_forms)
    assert again.share == labeller.share
    for tree in trees(48, 12):
        assert again.predict([tree]) == labeller.predict([tree])
        assert again.likely_relations(tree) == labeller.likely_relations(tree)
    for arrays, log_p in ((labeller.arrays(), None), (unlike.arrays(), of_forms)):
        with pytest.raises(ModelError, match="labels/share does not fit the parser"):
            Labeller.from_arrays(arrays, UD2, log_p)


def other_labels(one):
    """The tree with its subjects labelled by a subtype, as in another convention."""
    return replace(one, deprels=tuple("obl:x" if r == "nsubj" else r for r in one.deprels))


RENAMED = {
    "upper case": str.upper,
    "another script": lambda name: "".join(
        chr(0x915 + ord(c) - ord("a")) if c.isalpha() else c for c in name
    ),
    "several parts in one": lambda name: (
        f"comp:{name}@x" if name in ("nsubj", "obj", "obl") else f"my.{name}"
    ),
}


def renamed(one, new):
    return replace(one, deprels=tuple(map(new, one.deprels)))


@pytest.mark.parametrize("names", RENAMED)
def test_relations_with_other_names_are_learnt_as_well(names):
    new, (test, gold) = RENAMED[names], (trees(60)[40:], trees(12))
    ours = Labeller(UD2, log2_buckets=14).fit(gold).predict(test)
    others = [renamed(one, new) for one in gold]
    theirs = Labeller(UD2, log2_buckets=14).fit(others).predict([renamed(one, new) for one in test])
    seen = {relation for one in gold for relation in one.deprels}
    pairs = [
        pair for a, b in zip(ours, theirs) for pair in zip(a.deprels, b.deprels) if pair[0] in seen
    ]
    assert sum(new(a) != b for a, b in pairs) <= len(pairs) // 50
    assert {b for _, b in pairs} <= {new(relation) for relation in seen}


def test_roots_and_punctuation_are_called_what_the_trees_call_them():
    gold = [renamed(one, str.upper) for one in trees(36)]
    labeller = Labeller(UD2, log2_buckets=14).fit(gold, punctuation="P")
    whole = sentence("NOUN VERB PUNCT", (2, 0, 2))
    assert labeller.relations([whole], [whole.heads])[0][1:] == ("ROOT", "P")
    assert Labeller(UD2).relations([whole], [whole.heads])[0][1:] == ("root", "punct")


def damaged(**changes):
    stored = {
        "names": [*LABELS, "Subj", "Subj:x"],
        "starts": list(range(len(LABELS))),
        "closed": [],
    }
    return np.frombuffer(json.dumps({**stored, **changes}).encode(), np.uint8)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, np.float32),
        np.frombuffer(b"{", np.uint8),
        np.frombuffer(b"\xff", np.uint8),
        damaged(names=["a"]),
        damaged(names=[*LABELS, "Subj:x"]),
        damaged(names=[*LABELS, "Subj\n", "Subj:x"]),
        damaged(names=[*LABELS, "\x1b[31m", "Subj:x"]),
        damaged(names=[*LABELS, "S" * 1000, "Subj:x"]),
        damaged(names=[*LABELS, *(f"s{k}" for k in range(501))]),
        damaged(starts=[0]),
        damaged(starts=[99] * len(LABELS)),
        damaged(closed=[-1]),
        damaged(closed=[39]),
    ],
)
def test_damaged_relations_of_a_model_are_refused(array):
    with pytest.raises(ModelError, match="no labeller: its relations"):
        Inventory.from_array(array)
    assert Inventory.from_array(damaged()).names[-1] == "Subj:x"


def test_arrays_bring_the_labeller_back():
    gold = [other_labels(one) for one in trees(36)]
    for labeller in (
        Labeller(UD2, log2_buckets=14).fit(gold, verb_order=VerbOrder.INITIAL),
        Labeller(UD2).fit([], verb_order=VerbOrder.INITIAL),
    ):
        again = Labeller.from_arrays({**labeller.arrays(), "other": np.zeros(1)}, UD2)
        assert again.verb_order == VerbOrder.INITIAL
        assert again.predict(gold) == labeller.predict(gold)
    with pytest.raises(ModelError, match="no labeller: missing labels/shape"):
        Labeller.from_arrays({}, UD2)


@pytest.mark.parametrize("gold_label", ["case", "nsubj:pass", "nsubj"])
def test_learning_raises_the_likelihood_by_its_gradients(gold_label):
    inventory = Inventory.of_trees(["nsubj:pass", "nsubj", "case"], [0, 0, 0], [False] * 3, "punct")
    n_relations, number, groups = len(inventory.names), inventory.numbers, inventory.groups
    rng = np.random.default_rng(0)
    rows, first, offsets = np.array([1, 2, 3]), np.array([0, 3]), rng.normal(size=(1, n_relations))
    gold = np.array([number[gold_label]])
    weights, step = rng.normal(size=(4, n_relations)), 1e-6
    examples = Examples(rows, first, offsets, gold, inventory.part_of_relation[gold])
    arrays = GroupArrays(groups.group, groups.may_stand_alone, groups.n_subtypes)

    def learn(rate, weights, squares):
        room = LearningRoom(np.zeros(n_relations), np.zeros(n_relations))
        return regression.learn(examples, arrays, np.array([0]), rate, weights, squares, room)

    def likelihood(changed):
        return learn(0.0, changed.copy(), np.ones_like(changed))

    after, squares = weights.copy(), np.zeros_like(weights)
    learn(1.0, after, squares)
    for label in (0, 4, number["case"], number["nsubj"], number["nsubj:pass"]):
        up, down = weights.copy(), weights.copy()
        up[2, label] += step
        down[2, label] -= step
        slope = (likelihood(up) - likelihood(down)) / (2 * step)
        assert squares[2, label] == pytest.approx(slope**2, rel=1e-3, abs=1e-12)
        assert np.sign(after[2, label] - weights[2, label]) == np.sign(round(slope, 9))
    assert not squares[0].any()
