"""Words as symbols of the model's last stage.

words = ADP PRON DET AUX | NOUN PROPN ; most 8 ; least 15 ; iterations 10 ; backoff 100

Words of the first group are distinguished by form, words of the second by the form of their
adposition; but only by the `most` frequent forms. Forms seen fewer than `least` times are not
distinguished. A third group, if any, is distinguished by the last two letters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from dynet_vdgi.rule_tables.measures import Text
from dynet_vdgi.rule_tables.part_settings import Setting, Syntax
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.views import NO_VALUE, View

BETWEEN = frozenset({"DET", "ADJ", "NUM", "ADV", "PRON", "PART"})

OTHER = "*"

NUMBERS = {"most": "number", "least": "number", "iterations": "number", "backoff": "number"}


def _adposition(view: View, word: int, text: Text) -> str:
    """The form of the adposition beside a nominal; "" for none."""
    tags = view.tags
    if text.order.asymmetry("ADP") < 0 and word + 1 < view.n and tags[word + 1] == "ADP":
        return view.forms[word + 1]
    place = word - 1
    while place >= 0 and tags[place] in BETWEEN:
        place -= 1
    return view.forms[place] if place >= 0 and tags[place] == "ADP" else ""


def _key(view: View, word: int, setting: Setting, text: Text) -> tuple[str, str]:
    """The key that may distinguish a word, with its class of keys; "" for none."""
    tag, form = view.tags[word], view.forms[word]
    if form == NO_VALUE:
        return "", ""
    if setting.groups[0].has(tag):
        return tag, form
    if len(setting.groups) > 1 and setting.groups[1].has(tag):
        adposition = _adposition(view, word, text)
        if adposition:
            return "ADP", adposition
    if len(setting.groups) > 2 and setting.groups[2].has(tag):
        return "-" + tag, "-" + form[-2:]
    return "", ""


def _measure(views: Sequence[View], setting: Setting, text: Text) -> dict[str, list[str]]:
    times: dict[str, Counter[str]] = defaultdict(Counter)
    for view in views:
        for word in range(view.n):
            if setting.groups[0].has(view.tags[word]) or (
                len(setting.groups) > 2 and setting.groups[2].has(view.tags[word])
            ):
                kind, key = _key(view, word, setting, text)
                if kind:
                    times[kind][key] += 1
    most = int(setting.number("most", 8))
    return {
        kind: sorted(key for key, _ in counts.most_common(most))
        for kind, counts in sorted(times.items())
    }


def split(view: View, setting: Setting, text: Text) -> list[str]:
    """The symbols (n,) of a sentence, each with its distinguishing key appended."""
    frequent = text.findings[setting.name]
    finer = []
    for word, symbol in enumerate(view.symbols):
        kind, key = _key(view, word, setting, text)
        finer.append(
            f"{symbol}={key if key in frequent.get(kind, ()) else OTHER}" if kind else symbol
        )
    return finer


WORDS = Kind("words", Syntax(("by form",), NUMBERS, weighed=False, more=True), _measure)

WORDS_KINDS = (WORDS,)
