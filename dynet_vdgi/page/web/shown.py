"""What the page shows of a sentence: its words with what was said of them, its comments, and its
problems."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from dynet_vdgi.page.text.annotated_text import AnnotatedText
from dynet_vdgi.page.text.marked import MarkedSentence
from dynet_vdgi.page.text.notes import note_of, sentence_note
from dynet_vdgi.page.text.sentence_layout import Range, has_space_after
from dynet_vdgi.page.text.sentence_state import NO_VALUE, MarkedColumns
from dynet_vdgi.page.text.word_columns import COLUMNS
from dynet_vdgi.page.web.offers import Choices, Pairs
from dynet_vdgi.page.web.problems import layout_of, old_deps, problems_of

NEAR = 50
"""Sentences before and after one in which the name of its translation is looked for."""

_TRANSLATION = re.compile(r"#\s*(text_\w+|text\[\w+\])\s*=\s*(.*?)\s*")

_TAGS = "NOUN VERB PRON ADP ADV ADJ AUX DET PROPN PART CCONJ SCONJ NUM X INTJ SYM PUNCT"

TAGS = _TAGS.split()
"""By their mean share in 102 treebanks, but PUNCT, which is seen by the form."""


def shown_sentence(
    number: int,
    marked: MarkedSentence,
    choices: Choices | None = None,
    listed: Collection[str] = (),
) -> dict[str, Any]:
    """A sentence for the page; `number` is its place in the file, from 0; `listed`: see
    `problems_of`."""
    layout = layout_of(marked)
    place = {word: k for k, word in enumerate(layout.words, 1)}
    space_after = dict.fromkeys(layout.words, False)
    for token in layout.tokens():
        space_after[token.last if isinstance(token, Range) else token] = has_space_after(
            token.columns[9]
        )
    problems: dict[str, list[dict[str, Any]]] = {}
    for problem in problems_of(marked, listed):
        problems.setdefault(problem.rule, []).append({"word": problem.word, "text": problem.text})
    words = [_word(marked, k, choices or Choices()) for k in range(1, len(marked) + 1)]
    wrong_deps = old_deps(marked, layout)
    for word, shown in zip(layout.words, words):
        deps = "" if word.columns[8] == NO_VALUE else word.columns[8]
        shown |= {"after": space_after[word], "deps": deps, "deps_wrong": place[word] in wrong_deps}
    empty = []
    for node in layout.empties:
        after = place[node.after] if node.after else 0
        number_of_node, form, upos = node.columns[0], node.columns[1], node.columns[3]
        empty.append({"after": after, "id": number_of_node, "form": form, "upos": upos})
    return {
        "id": marked.id,
        "number": number,
        "edits": marked.edits,
        "version": marked.version,
        "done": marked.is_done,
        "comments": list(marked.state.comments),
        "text": marked.comment("text") or " ".join(marked.forms),
        "translation": _translation(marked)[1],
        "note": sentence_note(marked),
        "flag": marked.is_flagged,
        "ranges": [
            {"from": place[span.first], "to": place[span.last], "form": span.columns[1]}
            for span in layout.ranges
        ],
        "empty": empty,
        "problems": [{"rule": rule, "places": places} for rule, places in problems.items()],
        "words": words,
        "punctuation": [p for p, tag in enumerate(marked.tags, 1) if tag == "PUNCT"],
    }


def _translation(marked: MarkedSentence) -> tuple[str, str]:
    """The name and the text of the first comment with a translation, such as `text_en` or
    `text[eng]`."""
    for comment in marked.state.comments:
        if match := _TRANSLATION.fullmatch(comment):
            return match[1], match[2]
    return "", ""


def translation_key(text: AnnotatedText, number: int) -> str:
    """The name of a sentence's translation or, without one, of the nearest before it,
    or after it."""
    before = text.sentences[max(0, number - NEAR) : number + 1]
    near = [*before[::-1], *text.sentences[number + 1 : number + 1 + NEAR]]
    for marked in near:
        name, _ = _translation(marked)
        if name:
            return name
    return "text_en"


def _word(marked: MarkedSentence, place: int, choices: Choices) -> dict[str, Any]:
    """A word for the page; `more` are columns that the page does not know."""
    k = place - 1
    arc, present, shown = marked.arcs[k], marked.state.columns[k], marked.columns[k]
    sure = marked.sure[k] if marked.sure else None
    more = []
    for what, column in COLUMNS.items():
        if column.key not in MarkedColumns._fields:
            more.append({"what": what, "title": column.title, "value": column.of(present)})
    more.append({"what": "form", "title": "form", "value": marked.forms[k]})
    return {
        "wid": marked.wids[k],
        "form": marked.forms[k],
        "tag": shown.upos,
        "upos": present.upos,
        "xpos": shown.xpos,
        "xpos_given": present.xpos != NO_VALUE,
        "feats": shown.feats,
        "lemma": shown.lemma,
        "misc": [part.partition("=")[::2] for part in shown.misc.split("|") if part != NO_VALUE],
        "more": more,
        "tag_by": present.tag_by,
        "feats_by": present.feats_by,
        "lemma_by": present.lemma_by,
        "xpos_by": present.xpos_by,
        "tags": _tags(choices.tags[k]) if choices.tags else [[name, None] for name in TAGS],
        "note": note_of(present),
        **arc._asdict(),
        "sure": None if sure is None else round(sure, 3),
    }


def _tags(pairs: Pairs) -> list[list[Any]]:
    """All tags, first the tags that the tagger knows."""
    of_tagger = {name for name, _ in pairs}
    return [[name, round(p, 3)] for name, p in pairs] + [
        [name, 0.0] for name in TAGS if name not in of_tagger
    ]
