"""Names for kinds of words, used by the parts that look at phrases and clauses.

    called = NN NNS ; as noun common
    called = * ; forms friday today ; as day

The name applies to words of the group or, with `forms`, to those among them with one of these lower-case
forms; several lines add up. A kind without a line has no words, and parts that need it do nothing. In a text
without forms, lines with `forms` name no words.
"""

from __future__ import annotations

from dynet_vdgi.grammar.parts.kinds import Kind
from dynet_vdgi.grammar.settings import Setting, Syntax
from dynet_vdgi.grammar.statistics import Text
from dynet_vdgi.grammar.views import View

_KINDS_OF_WORDS = """
noun common plural name pronoun personal adjective number currency possessive determiner predeterminer
finite modal infinitive perfect gerund adverb
preposition to wh relative conjunction other-object
complementizer far-complementizer only-preposition bound speech negation quantity day span near-span
after-span
"""
NAMES = tuple(_KINDS_OF_WORDS.split())
"""Of nominals, of verbs, of what joins clauses, and of words with certain forms."""


def _read(view: View, setting: Setting, text: Text) -> None:
    forms = frozenset(setting.names("forms"))
    here = [
        is_meant and (not forms or view.form(word) in forms)
        for word, is_meant in enumerate(view.flags(setting.groups[0]).tolist())
    ]
    if True in here:
        for name in setting.names("as"):
            before = view.called.get(name)
            view.called[name] = [a or b for a, b in zip(here, before)] if before else here


def are(view: View, *names: str) -> list[bool]:
    """Which words (n,) are called by one of these names."""
    found = [view.called[name] for name in names if name in view.called]
    if len(found) == 1:
        return found[0]
    return [any(flags) for flags in zip(*found)] if found else [False] * view.n


def verbs(view: View) -> list[bool]:
    """Which words (n,) are verbs of any form."""
    return are(view, "finite", "infinitive", "perfect", "gerund")


KINDS = (
    Kind(
        "called",
        Syntax(
            ("words",),
            {"forms": "names", "as": "names"},
            repeatable=True,
            weighed=False,
            choices={"as": NAMES},
        ),
        read=_read,
    ),
)
