"""A sentence as the page gets it: JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dynet_vdgi.annotation.changes import note_of, sentence_note
from dynet_vdgi.annotation.marked import NOTHING, MarkedSentence
from dynet_vdgi.annotation.problems import grouped_problems
from dynet_vdgi.annotation.relations import Relations
from dynet_vdgi.annotation.sentence_layout import has_space_after
from dynet_vdgi.data.tags import UD2_TAGS

Pairs = Sequence[tuple[str, float]]

MOST_LIKELY = 5
TAGS = sorted(UD2_TAGS)


class Choices(NamedTuple):
    """What a tagger would say about the words of a sentence, the most probable first, by word."""

    tags: Sequence[Pairs] = ()
    bundles: Sequence[Pairs] = ()
    likely: Sequence[Pairs] = ()  # relations; () for a word: nothing is known
    xpos: Sequence[Pairs] = ()


def shown_sentence(
    number: int, marked: MarkedSentence, relations: Relations, choices: Choices | None = None
) -> dict[str, Any]:
    """A sentence for the page; `number` is its place in the file, from 0."""
    choices = choices or Choices()
    others = _other_lines(marked)
    columns = marked.columns
    return {
        "id": marked.id,
        "number": number,
        "edits": marked.edits,
        "version": marked.version,
        "done": marked.is_done,
        "comments": list(marked.state.comments),
        "text": marked.comment("text") or " ".join(marked.forms),
        "translation": marked.comment(r"text_\w+"),
        "note": sentence_note(marked),
        "flag": marked.is_flagged,
        "ranges": others.ranges,
        "empty": others.empty,
        "problems": grouped_problems(marked),
        "words": [
            {
                "wid": marked.wids[k],
                "form": marked.forms[k],
                "tag": tag,
                "upos": marked.state.columns[k].upos,
                "xpos": columns[k].xpos,
                "xpos_given": marked.state.columns[k].xpos != NOTHING,
                "feats": columns[k].feats,
                "lemma": columns[k].lemma,
                "misc": [part.partition("=")[::2] for part in columns[k].misc.split("|") if part != NOTHING],
                "tag_by": columns[k].tag_by,
                "feats_by": columns[k].feats_by,
                "lemma_by": columns[k].lemma_by,
                "xpos_by": columns[k].xpos_by,
                "tags": _tags(choices.tags[k]) if choices.tags else [[name, None] for name in TAGS],
                "bundles": _rounded(choices.bundles[k] if choices.bundles else ()),
                "note": note_of(columns[k]),
                "deps": others.deps[k],
                "deps_wrong": _contradicts(others.deps[k], arc.head),
                "after": others.after[k],
                "head": arc.head,
                "label": arc.label,
                "head_by": arc.head_by,
                "label_by": arc.label_by,
                "likely": _rounded(likely_relations(marked, k + 1, relations, choices)),
                "sure": None
                if not marked.sure or marked.sure[k] is None
                else round(marked.sure[k] or 0.0, 3),
            }
            for k, (tag, arc) in enumerate(zip(marked.tags, marked.arcs))
        ],
        "punctuation": [p for p, tag in enumerate(marked.tags, 1) if tag == "PUNCT"],
    }


def likely_relations(
    marked: MarkedSentence, word: int, relations: Relations, choices: Choices | None
) -> Pairs:
    """The labeller's best relations of a word, or else those confirmed between such tags, with shares.

    Those that the labeller holds equally likely are left out: it knows nothing of them.
    """
    said = choices.likely[word - 1] if choices and choices.likely else ()
    shares = [share for _, share in said]
    told_apart = [pair for pair in said if shares.count(pair[1]) == 1]
    return told_apart or relations.likely(marked, word)[:MOST_LIKELY]


def offered_xpos(
    sentences: Iterable[MarkedSentence], marked: MarkedSentence, word: int, choices: Choices | None
) -> list[str]:
    """The tagger's best XPOS of a word, then those of the text: first the usual ones of its form and tag."""
    said = [name for name, _ in choices.xpos[word - 1]] if choices and choices.xpos else []
    own = marked.forms[word - 1], marked.tags[word - 1]
    counts: Counter[tuple[bool, bool, str]] = Counter()
    for each in sentences:
        for form, columns in zip(each.forms, each.state.columns):
            if columns.xpos != NOTHING:
                counts[columns.upos == own[1], form == own[0], columns.xpos] += 1
    ranked = sorted(counts, key=lambda kind: (not kind[0], not kind[1], -counts[kind], kind[2]))
    return list(dict.fromkeys([*said, *(name for _, _, name in ranked)]))


def _rounded(pairs: Pairs) -> list[list[Any]]:
    return [[name, round(p, 3)] for name, p in pairs]


def _tags(pairs: Pairs) -> list[list[Any]]:
    """All tags, first the tags that the tagger knows."""
    known = {name for name, _ in pairs}
    return _rounded(pairs) + [[name, 0.0] for name in TAGS if name not in known]


class _Others(NamedTuple):
    """What stands in the lines of a sentence beside the columns that a person can change."""

    ranges: list[dict[str, Any]]
    empty: list[dict[str, Any]]
    deps: list[str]  # by word; "": none
    after: list[bool]  # by word: whether a space follows it in the text


def _other_lines(marked: MarkedSentence) -> _Others:
    others = _Others([], [], [], [])
    if marked.source is None:
        return others._replace(deps=[""] * len(marked), after=[True] * len(marked))
    ends: dict[int, bool] = {}  # of multiword tokens: whether a space follows
    start, inside = 0, 0
    for line in marked.source.lines:
        if line.startswith("#"):
            continue
        number, form, _, upos, _, _, _, _, deps, misc = line.split("\t")
        if "-" in number:
            start, inside = map(int, number.split("-"))
            others.ranges.append({"from": start, "to": inside, "form": form})
            ends[inside] = has_space_after(misc)
        elif "." in number:
            after = int(number.partition(".")[0])
            others.empty.append({"after": after, "id": number, "form": form, "upos": upos})
        else:
            place = int(number)
            others.deps.append("" if deps == NOTHING else deps)
            is_inside = start <= place < inside
            others.after.append(False if is_inside else ends.get(place, has_space_after(misc)))
    return others


def deps_that_contradict(marked: MarkedSentence) -> list[int]:
    """The words whose enhanced dependencies have heads, but not the basic one."""
    pairs = zip(_other_lines(marked).deps, marked.heads)
    return [place for place, (deps, head) in enumerate(pairs, 1) if _contradicts(deps, head)]


def _contradicts(deps: str, head: int) -> bool:
    """Whether enhanced dependencies have heads, but not the basic one.

    They may differ by UD's rules, if a word depends on an empty node or is in ellipsis.
    """
    heads = [part.partition(":")[0] for part in deps.split("|")] if deps else []
    return bool(heads) and head >= 0 and str(head) not in heads and not any("." in number for number in heads)
