"""Which verbs head others, in languages whose sentences end with the main verb, preceded by other
clauses.

    main verb = 2 VERB ; aux AUX ; arcs 0.5

Verb forms that occur alone in their sentences are main verbs there; forms that occur only beside
other verbs depend on them. A form consists of the FEATS or last morph of a verb, and the last two
letters of the verb or of the last auxiliary behind it. Its score is the log of how often it is the
only verb of a sentence, relative to how often verbs in general are, from -1.5 to 1.5: the mean over
the form's known parts. The score times the weight is added to root arcs, and `arcs` times the
difference of two verbs' scores to the arcs between them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.patterns import features_of
from dynet_vdgi.rule_tables.views import SideBySide, View
from dynet_vdgi.system.array_types import Floats

MOST_EVIDENCE = 1.5

HALF_WEIGHT_CASES = 3.0  # this many cases get half of full weight

ENDING_LETTERS = 2

SHOWN_BY = ("VerbForm", "Mood", "Aspect", "Tense", "Case", "Morph")


def forms_of(view: View, verb: int, setting: Setting) -> list[str]:
    """The features that make up a verb's form."""
    auxiliaries = setting.group("aux").tags
    end = verb
    while end + 1 < view.n and view.tags[end + 1] in auxiliaries and not view.gaps[end + 1]:
        end += 1
    last = view.forms[end]
    forms = [
        ("v" if end == verb else "a")
        + (last if len(last) <= ENDING_LETTERS else "-" + last[-ENDING_LETTERS:])
    ]
    shown = _features_of_form(view.feats[verb])
    return [*forms, shown] if shown else forms


@lru_cache(maxsize=1 << 14)
def _features_of_form(column: str) -> str:
    feats = features_of(column)
    return "|".join(
        [f"{name}={','.join(sorted(feats[name]))}" for name in SHOWN_BY if name in feats]
    )


def _verbs(view: View, setting: Setting) -> list[int]:
    verbs = setting.groups[0].tags
    return [word for word, tag in enumerate(view.tags) if tag in verbs]


def _measure(views: Sequence[View], setting: Setting, text: Text) -> dict[str, float]:
    alone: Counter[str] = Counter()
    every: Counter[str] = Counter()
    n_alone = n_verbs = 0
    for view in views:
        verbs = _verbs(view, setting)
        n_verbs += len(verbs)
        n_alone += len(verbs) == 1
        for verb in verbs:
            forms = forms_of(view, verb, setting)
            every.update(forms)
            if len(verbs) == 1:
                alone.update(forms)
    if not n_alone or n_alone == n_verbs:
        return {}
    average = n_alone / n_verbs
    scores = {}
    for form, count in sorted(every.items()):
        if count > 1:
            share = (alone[form] + HALF_WEIGHT_CASES * average) / (count + HALF_WEIGHT_CASES)
            scores[form] = round(math.log(share / average), 4)
    return scores


def _add(views: SideBySide, setting: Setting, text: Text, roots: Floats, arcs: Floats) -> None:
    form_scores = text.findings[setting.name]
    are_verbs, scores = np.zeros(roots.shape, bool), np.zeros(roots.shape)
    for s, view in enumerate(views.views):
        verbs = _verbs(view, setting)
        for verb in verbs if len(verbs) > 1 else ():
            evidence = [
                form_scores[form] for form in forms_of(view, verb, setting) if form in form_scores
            ]
            if evidence:
                mean = sum(evidence) / len(evidence)
                scores[s, verb] = setting.weight * max(-MOST_EVIDENCE, min(MOST_EVIDENCE, mean))
            are_verbs[s, verb] = True
    roots += scores
    both = are_verbs[:, :, None] & are_verbs[:, None]
    arcs += setting.number("arcs", 1.0) * (scores[:, :, None] - scores[:, None]) * both


MAIN_VERBS_KINDS = (
    Kind("main verb", Syntax(("verbs",), {"aux": "tags", "arcs": "number"}), _measure, add=_add),
)
