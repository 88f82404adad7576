"""What the page shows of a sentence and finds in a text: words, doubts, notes, faults of form."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple

from dynet_vdgi.conllu import queries
from dynet_vdgi.errors import UsageError
from dynet_vdgi.page.learn.analogy import Analogies, Described
from dynet_vdgi.page.text.annotated_text import AnnotatedText
from dynet_vdgi.page.text.changes import COLUMNS, note_of, sentence_note
from dynet_vdgi.page.text.marked import GUESSED, NOTHING, UNSET, ChangeError, MarkedColumns, MarkedSentence, block
from dynet_vdgi.page.text.offered_relations import Relations, tags_of
from dynet_vdgi.page.text.tokens import Range, SentenceLayout, has_space_after
from dynet_vdgi.settings.bundled import resources
from dynet_vdgi.system.messages import count
from dynet_vdgi.validation.levels import UdProblem, problems_in

MOST_FOUND = 50

DOUBTFUL = 0.6
"""Arcs and tags that are less probable are doubtful."""

LONGEST = 120

NEAR = 50
"""Sentences before and after one in which the name of its translation is looked for."""

_TRANSLATION = re.compile(r"#\s*(text_\w+|text\[\w+\])\s*=\s*(.*?)\s*")

BUNDLES = resources() / "tagging" / "feature_bundles.txt"

Hit = tuple[MarkedSentence, int, str]
"""A sentence that is found or, unless it is 0, a word of it, and why."""


def found(text: AnnotatedText, kind: str, query: str) -> dict[str, Any]:
    """What is found of a kind: all places, and the first `MOST_FOUND` in words; `seen`: see `seen_of`.

    Raises: ChangeError, there is no such kind, or what is wrong with the query.
    """
    hits, number = hits_of(text, kind, query), {marked.id: k for k, marked in enumerate(text.sentences)}
    shown = [
        {"number": number[marked.id], "text": (marked.comment("text") or " ".join(marked.forms))[:LONGEST], "why": why}
        for marked, _, why in hits[:MOST_FOUND]
    ]
    places = [(marked.id, word) for marked, word, _ in hits]
    why = "" if hits or kind != "columns" else queries.hint(queries.conditions(query), map(_rows, text.sentences))
    return {"found": shown, "places": places, "seen": seen_of(hits), **({"hint": why} if why else {})}


def hits_of(text: AnnotatedText, kind: str, query: str) -> list[Hit]:
    """The sentences of a kind, or the words that a query of `conllu.queries` or a list finds. Raises: as `found`."""
    if kind == "list":
        of_list = ((text.by_id[number], word, why) for number, word, why in text.listed if number in text.by_id)
        return [hit for hit in of_list if hit[1] <= len(hit[0]) and query in hit[2]]
    if kind == "columns":
        try:
            wanted = queries.conditions(query)
            pairs = ((marked, word) for marked in text.sentences for word in queries.words_of(wanted, _rows(marked)))
            return [(marked, word, f"{word} {marked.forms[word - 1]}") for marked, word in pairs]
        except UsageError as error:
            raise ChangeError(str(error)) from None
    if kind not in KINDS:
        raise ChangeError(f"nothing is found by {kind[:20]!r} (but by: columns, list, {', '.join(KINDS)})")
    listed = text.relations.project
    why_found = KINDS[kind] if kind != "problem" else partial(_problem, listed=listed)
    reasons = ((marked, why_found(marked, query.casefold())) for marked in text.sentences)
    return [(marked, 0, why) for marked, why in reasons if why is not None]


def seen_of(hits: Iterable[Hit]) -> int:
    """A number that is another one as soon as other words, or words of changed sentences, are found."""
    return zlib.crc32(repr([(m.id, m.edits, m.version, word) for m, word, _ in hits]).encode())


def _rows(marked: MarkedSentence) -> list[tuple[str, ...]]:
    """The ten columns of each word as they are shown, guesses too."""
    deps = [marked.source.lines[row].split("\t")[8] for row in marked.source.rows]
    words = enumerate(zip(marked.forms, marked.columns, marked.arcs, deps), 1)
    return [
        (str(k), form, w.lemma, w.upos, w.xpos, w.feats, str(arc.head), arc.label, dep, w.misc)
        for k, (form, w, arc, dep) in words
    ]


def _words(marked: MarkedSentence, query: str) -> str | None:
    if query in " ".join(marked.forms).casefold():
        return ""
    return _first(marked.state.comments, query)


def _first(texts: Iterable[str], query: str) -> str | None:
    return next((text for text in texts if text and query in text.casefold()), None)


def _doubtful(marked: MarkedSentence, query: str) -> str | None:
    if marked.is_done:
        return None
    arcs = sum(s is not None and s < DOUBTFUL and not f for s, f in zip(marked.sure, marked.fixed))
    pairs = zip(marked.state.columns, marked.guessed_tags.chances)
    tags = sum(word.upos == NOTHING and chance < DOUBTFUL for word, chance in pairs)
    return ", ".join(count(n, what) for n, what in ((arcs, "arc"), (tags, "tag")) if n) or None


def _problem(marked: MarkedSentence, query: str, listed: Collection[str] = ()) -> str | None:
    """Where nobody has worked, only what is wrong with the file's tree: the rest is the parser's."""
    found = problems_of(marked, listed) if marked.is_touched else _of_opened(marked)
    return _first((problem.text for problem in found), query)


KINDS: dict[str, Callable[[MarkedSentence, str], str | None]] = {
    "words": _words,
    "doubtful": _doubtful,
    "done": lambda marked, query: "" if marked.is_done else None,
    "flagged": lambda marked, query: sentence_note(marked) if marked.is_flagged else None,
    "note": lambda marked, query: _first([sentence_note(marked), *map(note_of, marked.state.columns)], query),
    "problem": _problem,
}
"""For each kind, why a sentence is found; None: it is not."""

NOT_DONE_YET = ("upos", "head", "root", "deprel")
"""Rules about what is missing while words have no tag or head."""

IN_FILE = "tree in the file"
"""The rule of problems of arcs that the file has, and no tree can have."""


def problems_of(marked: MarkedSentence, listed: Collection[str] = ()) -> list[UdProblem]:
    """The problems of the present tags and tree, guessed or not.

    No tag or head is none, but a head that was opened is.
    `listed`: a project's relations, which are no problem.
    """
    found = problems_in(block(marked, form="page").rstrip("\n").split("\n"), listed)
    is_complete = UNSET not in marked.heads and NOTHING not in marked.tags
    found = [one for one in found if is_complete or one.rule not in NOT_DONE_YET]
    return [*_of_opened(marked), *found]


def _of_opened(marked: MarkedSentence) -> list[UdProblem]:
    rows, reasons = marked.source.rows, marked.open_conflicts.items()
    return [UdProblem(word, IN_FILE, why, rows[word - 1]) for word, why in reasons]


Pairs = Sequence[tuple[str, float]]

_TAGS = "NOUN VERB PRON ADP ADV ADJ AUX DET PROPN PART CCONJ SCONJ NUM X INTJ SYM PUNCT"

TAGS = _TAGS.split()
"""By their mean share in 102 treebanks, but PUNCT, which is seen by the form."""


class Choices(NamedTuple):
    """What a tagger would say about the words of a sentence, the most probable first, by word."""

    tags: Sequence[Pairs] = ()
    bundles: Sequence[Pairs] = ()
    likely: Sequence[Pairs] = ()  # relations; () for a word: nothing is known
    xpos: Sequence[Pairs] = ()


def shown_sentence(
    number: int, marked: MarkedSentence, choices: Choices | None = None, listed: Collection[str] = ()
) -> dict[str, Any]:
    """A sentence for the page; `number` is its place in the file, from 0; `listed`: see `problems_of`."""
    layout = _layout(marked)
    place = {word: k for k, word in enumerate(layout.words, 1)}
    space_after = dict.fromkeys(layout.words, False)
    for token in layout.tokens():
        space_after[token.last if isinstance(token, Range) else token] = has_space_after(token.columns[9])
    problems: dict[str, list[dict[str, Any]]] = {}
    for problem in problems_of(marked, listed):
        problems.setdefault(problem.rule, []).append({"word": problem.word, "text": problem.text})
    words = [_word(marked, k, choices or Choices()) for k in range(1, len(marked) + 1)]
    old_deps = _old_deps(marked, layout)
    for word, shown in zip(layout.words, words):
        deps = "" if word.columns[8] == NOTHING else word.columns[8]
        shown |= {"after": space_after[word], "deps": deps, "deps_wrong": place[word] in old_deps}
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
            {"from": place[span.first], "to": place[span.last], "form": span.columns[1]} for span in layout.ranges
        ],
        "empty": [
            {
                "after": place[one.after] if one.after else 0,
                "id": one.columns[0],
                "form": one.columns[1],
                "upos": one.columns[3],
            }
            for one in layout.empties
        ],
        "problems": [{"rule": rule, "places": places} for rule, places in problems.items()],
        "words": words,
        "punctuation": [p for p, tag in enumerate(marked.tags, 1) if tag == "PUNCT"],
    }


def _translation(marked: MarkedSentence) -> tuple[str, str]:
    """The name and the text of the first comment with a translation, such as `text_en` or `text[eng]`."""
    found = filter(None, map(_TRANSLATION.fullmatch, marked.state.comments))
    return next(((match[1], match[2]) for match in found), ("", ""))


def translation_key(text: AnnotatedText, number: int) -> str:
    """The name of a sentence's translation or, without one, of the nearest before it, or after it."""
    before = text.sentences[max(0, number - NEAR) : number + 1]
    near = [*before[::-1], *text.sentences[number + 1 : number + 1 + NEAR]]
    return next(filter(None, (_translation(marked)[0] for marked in near)), "text_en")


def _word(marked: MarkedSentence, place: int, choices: Choices) -> dict[str, Any]:
    """A word for the page; `more` are columns that the page does not know."""
    k = place - 1
    arc, said, shown = marked.arcs[k], marked.state.columns[k], marked.columns[k]
    sure = marked.sure[k] if marked.sure else None
    others = [(what, column) for what, column in COLUMNS.items() if column.key not in MarkedColumns._fields]
    more = [{"what": what, "title": column.title, "value": column.of(said)} for what, column in others]
    return {
        "wid": marked.wids[k],
        "form": marked.forms[k],
        "tag": shown.upos,
        "upos": said.upos,
        "xpos": shown.xpos,
        "xpos_given": said.xpos != NOTHING,
        "feats": shown.feats,
        "lemma": shown.lemma,
        "misc": [part.partition("=")[::2] for part in shown.misc.split("|") if part != NOTHING],
        "more": [*more, {"what": "form", "title": "form", "value": marked.forms[k]}],
        "tag_by": said.tag_by,
        "feats_by": said.feats_by,
        "lemma_by": said.lemma_by,
        "xpos_by": said.xpos_by,
        "tags": _tags(choices.tags[k]) if choices.tags else [[name, None] for name in TAGS],
        "note": note_of(said),
        **arc._asdict(),
        "sure": None if sure is None else round(sure, 3),
    }


def offered_relations(marked: MarkedSentence, word: int, relations: Relations, choices: Choices | None) -> list[str]:
    """The relations to offer for a word, the likeliest first: the labeller's best, then those confirmed most often.

    Relations that the labeller holds equally likely come with the others: it knows nothing of them.
    """
    said = choices.likely[word - 1] if choices and choices.likely else ()
    shares = [share for _, share in said]
    told_apart = [relation for relation, share in said if shares.count(share) == 1]
    return list(dict.fromkeys([*told_apart, *relations.offered(*tags_of(marked, word))]))


def offered(marked: MarkedSentence, word: int, what: str, analogies: Analogies, choices: Choices | None) -> list[str]:
    """The values to offer for a word's column, one of `GUESSED`: by words of the same ending, and by the tagger.

    Features are also those of other languages.

    Raises: ChangeError, it is another column.
    """
    if what not in GUESSED:
        raise ChangeError(f"nothing is offered for {what[:20]!r} (but for: {', '.join(GUESSED)})")
    form, shown = marked.forms[word - 1], marked.columns[word - 1]
    if what == "lemma":
        return list(dict.fromkeys(analogies.lemmas(form, shown.upos, shown.feats)))[:MOST_FOUND]
    by_ending = analogies.ranked(form, shown.upos, what, shown.feats if what == "xpos" else "")
    its = () if choices is None else choices.bundles if what == "feats" else choices.xpos
    said = [value for value, _ in its[word - 1]] if its else []
    usual = usual_bundles().get(shown.upos, []) if what == "feats" else []
    ranked = chain(by_ending[:2], said[:2], by_ending, said, usual, analogies.others(shown.upos, what))
    return list(dict.fromkeys(value for value in ranked if what == "feats" or value != NOTHING))


@cache
def usual_bundles() -> dict[str, list[str]]:
    """By tag: the features that its words have most often in other languages (experiments/feature_bundles.py)."""
    found: dict[str, list[str]] = {}
    for line in BUNDLES.read_text(encoding="utf-8").splitlines()[1:]:
        tag, bundle = line.split()
        found.setdefault(tag, []).append(bundle)
    return found


def put_guesses(text: AnnotatedText, marked: MarkedSentence, choices: Choices | None = None) -> None:
    """Guesses what is missing of words of which a person has set something, by words of the same ending.

    Where none tells, it is what the tagger would choose; a guess that is shown stays.
    """
    new = {}
    for k, form in enumerate(marked.forms):
        if not marked.is_to_be_guessed(k) or (key := marked.key(k)) in marked.guessed:
            continue
        own = marked.state.columns[k]
        found = text.analogies.guess(form, own._replace(upos=marked.columns[k].upos))
        if choices is not None:
            best = [its[k][0][0] if its and its[k] else "" for its in (choices.xpos, choices.bundles)]
            found = Described(found.xpos or best[0], found.feats or best[1], found.lemma)
        if any(found):
            new[key] = found
    marked.put_guesses(new)


def _tags(pairs: Pairs) -> list[list[Any]]:
    """All tags, first the tags that the tagger knows."""
    known = {name for name, _ in pairs}
    return [[name, round(p, 3)] for name, p in pairs] + [[name, 0.0] for name in TAGS if name not in known]


def _layout(marked: MarkedSentence) -> SentenceLayout:
    """The lines of a sentence as they are in the file, with what a person cannot change."""
    return SentenceLayout.of("\n".join(marked.source.lines), marked.wids)


def deps_to_look_at(marked: MarkedSentence) -> list[int]:
    """The words whose enhanced dependencies have heads, but not the basic one, or were made for another head."""
    return _old_deps(marked, _layout(marked))


def _old_deps(marked: MarkedSentence, layout: SentenceLayout) -> list[int]:
    found = []
    for place, (word, was, head) in enumerate(zip(layout.words, marked.first.arcs, marked.heads), 1):
        is_changed = word.columns[8] != NOTHING and was.head not in (UNSET, head)
        found += [place] * (is_changed or _contradicts(word.columns[8], head))
    return found


def _contradicts(deps: str, head: int) -> bool:
    """Whether enhanced dependencies have heads, but not the basic one.

    They may differ by UD's rules, if a word depends on an empty node or is in ellipsis.
    """
    heads = [part.partition(":")[0] for part in deps.split("|")] if deps not in ("", NOTHING) else []
    return bool(heads) and head >= 0 and str(head) not in heads and not any("." in number for number in heads)
