"""Which verbs are heads of sentences: forms that stand alone in theirs are, forms that need another verb are not."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence

import numpy as np

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.patterns import features_of
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import Floats, View

FEW = float(os.environ.get("MVFEW", "3"))
MOST = float(os.environ.get("MVMOST", "1.5"))
BY = ("VerbForm", "Mood", "Aspect", "Tense", "Case", "Morph")


def keys_of(view: View, verb: int, aux: frozenset[str]) -> list[str]:
    end = verb
    while end + 1 < view.n and view.tags[end + 1] in aux and not view.gaps[end + 1]:
        end += 1
    feats = features_of(view.feats[verb])
    keys = []
    f = "|".join(n + "=" + ",".join(sorted(feats[n])) for n in BY if n in feats)
    if f:
        keys.append("F:" + f)
    mode = os.environ.get("MVK", "2")
    for k in map(int, mode):
        form = view.forms[end]
        keys.append(f"{k}{'a' if end > verb else 'v'}:" + (form if len(form) <= k else "-" + form[-k:]))
    return keys


def _verbs(view: View, setting: Setting) -> list[int]:
    return [w for w in range(view.n) if view.tags[w] in setting.groups[0].tags]


def _measure(views: Sequence[View], setting: Setting, text: Text) -> dict[str, float]:
    alone: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    aux = setting.group("aux").tags
    a = b = 0
    for view in views:
        verbs = _verbs(view, setting)
        counts = alone if len(verbs) == 1 else beside
        for verb in verbs:
            counts.update(keys_of(view, verb, aux))
        if len(verbs) == 1:
            a += 1
        else:
            b += len(verbs)
    if not a or not b:
        return {}
    average = a / (a + b)
    result = {}
    for key in sorted({*alone, *beside}):
        n = alone[key] + beside[key]
        if n > 1:
            p = (alone[key] + FEW * average) / (n + FEW)
            result[key] = round(math.log(p / average), 4)
    return result


def scores_of(view: View, setting: Setting, text: Text) -> dict[int, float]:
    found = text.found[setting.name]
    result = {}
    aux = setting.group("aux").tags
    for verb in _verbs(view, setting):
        known = [found[k] for k in keys_of(view, verb, aux) if k in found]
        result[verb] = max(-MOST, min(MOST, sum(known) / len(known))) if known else 0.0
    return result


def _add(view: View, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    scores = scores_of(view, setting, text)
    if len(scores) < 2:
        return
    verbs = np.array(list(scores))
    values = setting.weight * np.array(list(scores.values()))
    roots[verbs] += values
    arcs[np.ix_(verbs, verbs)] += setting.number("arcs", 1.0) * (values[:, None] - values)


KINDS = (Kind("main verb", Syntax(("verbs",), {"aux": "tags", "arcs": "number"}), _measure, add=_add),)
