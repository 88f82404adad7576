"""Brown clusters: `paths` files, word classes, induction against brute force, and the verb."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import ROOT, names_in
from wording import Wording

from dynet_vdgi.errors import DataError
from dynet_vdgi.lexicon import brown_clusters
from dynet_vdgi.lexicon.brown_clusters import Agglomeration, Clusters
from dynet_vdgi.system.files import atomic_writer

DEMO = ROOT / "resources" / "demo"


def information(stream: Sequence[str], cluster: Mapping[str, str]) -> float:
    """Mutual information of bigrams, in nats, by its definition; bigrams without two clusters add
    nothing."""
    n = len(stream) - 1
    left = Counter(cluster[word] for word in stream[:-1] if word in cluster)
    right = Counter(cluster[word] for word in stream[1:] if word in cluster)
    pairs = Counter(
        (cluster[a], cluster[b]) for a, b in zip(stream, stream[1:]) if {a, b} <= cluster.keys()
    )
    return math.fsum(
        count / n * math.log((count / n) / (left[a] / n * right[b] / n))
        for (a, b), count in pairs.items()
    )


def merged(cluster: Mapping[str, str], kept: str, gone: str) -> dict[str, str]:
    """The clusters after a merge."""
    return {word: kept if name == gone else name for word, name in cluster.items()}


def least_loss(
    stream: Sequence[str], cluster: Mapping[str, str], order: Sequence[str]
) -> tuple[str, str]:
    """The merge that loses least; a cluster is named after its first word in `order`."""
    names = sorted(set(cluster.values()), key=order.index)
    before = information(stream, cluster)
    losses = {
        pair: before - information(stream, merged(cluster, *pair))
        for pair in combinations(names, 2)
    }
    least = min(losses.values())
    return next(pair for pair, loss in losses.items() if loss <= least + 1e-9)


def slow_induce(stream: Sequence[str], n_clusters: int) -> dict[str, str]:
    """Brown clustering, every loss from scratch."""
    frequency = Counter(stream)
    order = sorted(frequency, key=lambda word: (-frequency[word], word))
    cluster: dict[str, str] = {}
    for k, word in enumerate(order):
        cluster[word] = word
        if k >= n_clusters:
            cluster = merged(cluster, *least_loss(stream, cluster, order))
    leaves, bits = cluster, dict.fromkeys(cluster.values(), "")
    while len(set(cluster.values())) > 1:
        kept, gone = least_loss(stream, cluster, order)
        for leaf in bits:
            side = {kept: "0", gone: "1"}.get(cluster[leaf], "")
            bits[leaf] = side + bits[leaf]
        cluster = merged(cluster, kept, gone)
    return {word: bits[leaf] or "0" for word, leaf in leaves.items()}


streams = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40)


@given(
    streams | st.lists(st.sampled_from("aabbcdefghij"), min_size=10, max_size=60), st.integers(1, 8)
)
def test_induction_equals_brute_force(stream, n_clusters):
    # sentences follow each other in one stream
    clusters = brown_clusters.induce([stream[:3], stream[3:]], n_clusters)
    assert clusters.paths == slow_induce(stream, n_clusters)
    assert clusters.counts == Counter(stream)
    assert clusters.n_clusters == min(n_clusters, len(set(stream)))


@pytest.mark.parametrize(("stream", "n_clusters"), [("abcab", 1), ("aaa", 3), ("a", 1)])
def test_no_bit_string_is_empty(stream: str, n_clusters: int) -> None:
    assert {*brown_clusters.induce([stream], n_clusters).paths.values()} == {"0"}


@pytest.mark.parametrize("seed", range(8))
def test_every_loss_is_that_from_scratch(seed):
    """After every step, also after merges that nobody would choose; and the best merge is the best
    one."""
    rng = random.Random(seed)
    stream = rng.choices("aabbcdefgh", k=rng.randrange(2, 50))
    n_clusters = rng.randrange(1, 6)
    words = sorted(set(stream))
    state = Agglomeration([words.index(word) for word in stream], n_clusters)

    def check() -> None:
        cluster = {word: str(slot) for word, slot in zip(words, state.slots.tolist()) if slot >= 0}
        losses, before = state.losses(), information(stream, cluster)
        live = sorted({int(name) for name in cluster.values()})
        for a, b in combinations(live, 2):
            loss = before - information(stream, merged(cluster, str(a), str(b)))
            for found in (losses[a, b], losses[b, a]):
                assert found / max(state.n_bigrams, 1) == pytest.approx(loss, abs=1e-12)
        finite = np.isfinite(losses)
        assert finite.sum() == len(live) * (len(live) - 1)
        counts = Counter((cluster.get(a), cluster.get(b)) for a, b in zip(stream, stream[1:]))
        for a in live:
            for b in range(n_clusters + 1):
                assert state.counts[a, 0, b] == state.counts[b, 1, a] == counts[str(a), str(b)]

        if len(live) > 1:
            named = {
                word: min(w for w in cluster if cluster[w] == cluster[word]) for word in cluster
            }
            best = least_loss(stream, named, words)
            assert state.best_pair() == tuple(int(cluster[name]) for name in best)

    for k in range(len(words)):
        state.add(k)
        check()
        if k >= n_clusters:
            state.merge(*rng.sample(sorted(set(state.slots[: k + 1].tolist())), 2))
            check()
    while len(live := sorted(set(state.slots.tolist()))) > 1:
        state.merge(*rng.sample(live, 2))
        check()


words = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=5)
entries = st.dictionaries(
    words, st.tuples(st.text("01", min_size=1, max_size=4), st.integers(0, 99)), min_size=1
)


def write(path: Path, clusters: Clusters) -> None:
    with atomic_writer(path) as handle:
        handle.writelines(brown_clusters.lines(clusters))


@given(entries)
def test_written_clusters_are_read_back(tmp_path_factory, entries):
    clusters = Clusters(
        {w: bits for w, (bits, _) in entries.items()}, {w: n for w, (_, n) in entries.items()}
    )
    path = tmp_path_factory.mktemp("clusters") / "paths.gz"
    write(path, clusters)
    assert brown_clusters.read(path) == clusters


def test_how_files_look(tmp_path):
    path = tmp_path / "paths"
    paths = {"d": "1", "c": "01", "b": "01", "a": "01", "e": "00"}
    write(path, Clusters(paths, {"a": 1, "b": 1, "c": 2, "d": 9, "e": 1}))
    assert path.read_bytes() == b"00\te\t1\n01\tc\t2\n01\ta\t1\n01\tb\t1\n1\td\t9\n"
    for content, expected in (
        ("\ta\t2\n\tb\t1\n", {"a": ("", 2), "b": ("", 1)}),  # a single cluster
        ("0\ta\t1\r\n1\tb c\t2", {"a": ("0", 1), "b c": ("1", 2)}),
        ("\ufeff\n0\ta\t1\n\n1\tb\t2\n\n", {"a": ("0", 1), "b": ("1", 2)}),
    ):
        path.write_bytes(content.encode())
        found = brown_clusters.read(path)
        assert {word: (bits, found.counts[word]) for word, bits in found.paths.items()} == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": no word clusters (the file is empty: was it downloaded in full?)"),
        (
            "0\ta\n",
            ":1: no cluster of a word: '0\\ta' (expected: a string of 0 and 1, a word and a whole number",
        ),
        ("0\ta\t1\n0\tb\t1\tx\n", ":2: no cluster of a word: '0\\tb\\t1\\tx' ("),
        ("0 a 1\n", ":1: no cluster of a word: '0 a 1' ("),
        ("0\ta\t1\n\ufeff0\tb\t1\n", ":2: no cluster of a word: '\\ufeff0\\tb\\t1' ("),
        *(
            (f"{line}\n", ":1: no cluster of a word: ")
            for line in ("012\ta\t1", "-1\ta\t1", "0\t\t1", "0\ta\tone")
        ),
        *(
            (f"0\ta\t{count}\n", ":1: no cluster of a word: ")
            for count in ("1.5", "-1", "", 19 * "9")
        ),
        ("0\ta\t1\n1\tb\t1\n1\ta\t1\n", ":3: the word 'a' is here a second time"),
        (
            "0\ta\t1\n\tb\t1\n\tc\t1\n",
            ": the bit string of 'b' is empty (only a single cluster has none)",
        ),
    ],
)
def test_malformed_files(folder, content, message):
    Path("paths").write_text(content, encoding="utf-8", newline="")
    with pytest.raises(DataError) as caught:
        brown_clusters.read("paths")
    assert str(caught.value).startswith("paths" + message)


@given(entries, st.lists(words, unique=True))
def test_classes_are_clusters_and_the_rest(entries, others):
    clusters = Clusters({word: bits for word, (bits, _) in entries.items()}, {})
    vocabulary = sorted({*entries, *others})
    numbers = brown_clusters.classes(clusters, vocabulary)
    assert sorted(set(numbers)) == list(range(max(numbers) + 1))
    names = [None, *map(clusters.paths.get, vocabulary)]
    assert len({*zip(names, numbers)}) == len(set(names)) == len(set(numbers))
    assert numbers[0] == max(numbers)
    ordered = sorted({(number, name) for number, name in zip(numbers, names) if name is not None})
    assert [name for _, name in ordered] == sorted(name for _, name in ordered)


TEXT = "The dog sees a cat\n\nthe cow hears The dog\na dog bites the cat\n"


def test_the_verb_writes_clusters(vdgi, folder, wording: Wording):
    Path("a.txt").write_text(TEXT, encoding="utf-8")
    result = vdgi.good("clusters", "a.txt", "-c", "3", "-o", "a.paths")
    assert result.out == ""
    sentences = [line.lower().split() for line in TEXT.splitlines()]
    clusters = brown_clusters.read("a.paths")
    assert clusters == brown_clusters.induce(sentences, 3)
    wording.check(result.err)
    assert vdgi.good("-q", "clusters", "a.txt", "-c", "3", "-o", "-") == (
        0,
        "".join(brown_clusters.lines(clusters)),
        "",
    )
    vdgi.good("clusters", "a.txt", "-c", "3", "--keep-case", "-o", "b.paths.gz")
    assert brown_clusters.read("b.paths.gz").counts["The"] == 2


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["a.txt", "-c", "0", "-o", "out"], 2),
        (["a.txt"], 2),
        (["empty.txt", "-o", "out"], 3),
        (
            ["empty.txt", "blank.txt", "-o", "a.txt"],
            3,
        ),
        (["latin.txt", "-o", "a.txt"], 3),
        (["a.txt", "bad.conllu", "-o", "b.txt"], 3),
    ],
)
def test_what_the_verb_refuses(vdgi, folder, arguments, status, wording: Wording):
    for name, content in (
        ("a.txt", TEXT),
        ("empty.txt", ""),
        ("blank.txt", " \n\n"),
        ("bad.conllu", "1\n\n"),
    ):
        Path(name).write_text(content, encoding="utf-8")
    Path("latin.txt").write_bytes("é".encode("latin-1"))
    before = names_in(folder)
    result = vdgi("clusters", *arguments)
    assert (result.status, result.out) == (status, "")
    wording.check(result.err)
    assert names_in(folder) == before
    assert Path("a.txt").read_text(encoding="utf-8") == TEXT
