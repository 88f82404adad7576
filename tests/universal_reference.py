"""The universal parser's network once more, a sentence at a time and arc by arc, batched by DyNet
itself.

It shares nothing with `universal.learn.arc_network` but the parameters; flags of arcs are found in
plain Python.
"""

from __future__ import annotations

from typing import Any

import dynet as dy
import numpy as np

from dynet_vdgi.universal.encoding import TAGS, CodedText
from dynet_vdgi.universal.learn.batches import FaultyExample


def flags(head: int, dependent: int, example: FaultyExample, agreeing: Any) -> list[int]:
    """The flags of an arc, straight from their description in `universal.encoding`."""
    n = len(example.tags)
    if head == 0:
        return [38, *([39] if dependent == 1 else []), *([40] if dependent == n else [])]
    low, high = sorted((head, dependent))
    bins = [1, 2, 3, 4, 6, 9, 15, n + 1]
    place = next(k for k, most in enumerate(bins) if high - low <= most)
    found = [8 * (dependent > head) + place]
    gaps = [int(gap) for gap in example.gaps[low:high]]
    found += [16] if any(gaps) else []
    found += [17] if sum(gap > 0 for gap in gaps) > 1 else []
    found += [18] if any(gap > 1 for gap in gaps) else []
    between = [TAGS[tag] for tag in example.tags[low : high - 1]]
    groups = [["VERB"], ["NOUN", "PROPN", "PRON"], ["ADP"], ["CCONJ"], ["SCONJ"], ["AUX"], ["PART"]]
    found += [19 + k for k, group in enumerate(groups) if any(tag in group for tag in between)]
    for k, word in enumerate((head, dependent)):
        same = between.count(TAGS[example.tags[word - 1]])
        found += [26 + 2 * k + i for i in range(2) if same > i]
    for k in range(4):
        a, b = (int(agreeing[example.bundle[word - 1], k]) for word in (head, dependent))
        found += [30 + 2 * k + (a != b)] if a and b else []
    return found


def lstm(p: Any, layer: int, xs: list[Any], hidden: int) -> list[Any]:
    """Outputs of both directions, concatenated."""
    outputs = []
    for direction, order in (("forward", 1), ("backward", -1)):
        weights = [p[f"lstm{layer}.{direction}.{part}"] for part in ("x", "h", "bias")]
        h = c = dy.zeros((hidden,))
        states = []
        for x in xs[::order]:
            gates = dy.vanilla_lstm_gates(x, h, *weights)
            c = dy.vanilla_lstm_c(c, gates)
            h = dy.vanilla_lstm_h(c, gates)
            states.append(h)
        outputs.append(states[::order])
    return [dy.concatenate([f, b]) for f, b in zip(*outputs)]


def scores(network: Any, text: CodedText, example: FaultyExample) -> list[Any]:
    """Scores (n + 1,) of the heads of each word."""
    p, n = network.parameters, len(example.tags)
    numbers = dy.inputTensor(example.profile.numbers)
    language = dy.tanh(dy.affine_transform([p["typology.bias"], p["typology"], numbers]))
    xs = []
    for i in range(n):
        features = dy.inputTensor(text.features[example.bundle[i]])
        gap = int(example.gaps[i]) * 4 + int(example.gaps[i + 1])
        tag, band = int(example.tags[i]), int(example.band[i])
        parts = [p["tag"][tag], p["features"] * features, p["gaps"][gap], p["band"][band], language]
        xs.append(dy.concatenate(parts))
    hidden = network.sizes.hidden
    ys = lstm(p, 1, lstm(p, 0, xs, hidden), hidden)
    z = [dy.concatenate([y, x]) for y, x in zip(ys, xs)]
    result = []
    for dependent in range(1, n + 1):
        of_dependent = dy.affine_transform([p["arc.bias"], p["arc.dependent"], z[dependent - 1]])
        row = []
        for head in range(n + 1):
            if head == dependent:
                row.append(dy.scalarInput(-1e9))
                continue
            of_head = p["arc.head"] * (z[head - 1] if head else p["root"])
            bits = np.zeros(p["arc.flags"].shape()[1])
            bits[flags(head, dependent, example, text.agreeing)] = 1.0
            of_tags = 16 if head == 0 else int(example.tags[head - 1])
            tag, side = int(example.tags[dependent - 1]), int(dependent > head)
            values = dy.inputTensor(example.profile.pairs[of_tags, tag, side])
            seen = dy.inputTensor(bits)
            units = dy.rectify(
                of_head + of_dependent + p["arc.flags"] * seen + p["arc.numbers"] * values
            )
            place = int(np.flatnonzero(bits)[0]) % 8 if head else 0
            straight = p["straight.flags"] * seen + p["straight.numbers"] * values
            row.append(
                p["arc.out"] * units
                + straight
                + p["straight.pairs"][((of_tags * 16 + tag) * 2 + side) * 8 + place]
            )
        result.append(dy.concatenate(row))
    return result
