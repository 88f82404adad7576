"""The text of parsed sentences: their own lines with a tree, its relations and its probabilities."""

from __future__ import annotations

import re
from dataclasses import replace

from dynet_vdgi.data import guesses
from dynet_vdgi.data.conllu_writing import render, root_and_dep, with_notes
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.parsing.parser import How, Parse
from dynet_vdgi.parsing.relations import Relations

_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*\S")
_OF_THE_TEXT = re.compile(r"#\s*(new(doc|par)\b|(choice|guess)\s*=)")
"""Comments about more than the sentence: beginnings of documents, its place in an earlier choice."""


def with_tree(sentence: Sentence, parse: Parse, how: How, relations: Relations | None) -> str:
    """The sentence's block with its tree and confidences; kept heads keep their relations.

    `relations` (n,) are those of the tree; None: `root` and `dep`. Notes about earlier heads are dropped.
    """
    deprels = relations or root_and_dep(parse.heads)
    if how.keep_heads and sentence.heads and sentence.deprels:
        given = zip(sentence.heads, sentence.deprels, deprels)
        deprels = tuple([old if head != FREE and old != "_" else new for head, old, new in given])
    sentence = guesses.without_stale(sentence, parse.heads, deprels)
    if parse.confidence is not None:
        notes = ["" if sure is None else f"HeadConf={sure:.4f}" for sure in parse.confidence]
        sentence = with_notes(sentence, (), notes)
    block = render(sentence, parse.heads, deprels)
    return block if how.keep_heads else guesses.renewed(block)


def one_of_several(
    sentence: Sentence, parse: Parse, place: tuple[int, int] | None, relations: Relations | None
) -> str:
    """The sentence's block with this tree and its probabilities.

    `place` is the tree's rank and the number of trees, if several were requested.
    """
    assert parse.head_probs is not None
    comments = []
    if place is not None:
        rank, n_trees = place
        comments = [f"# tree = {rank} of {n_trees}", f"# tree_prob = {parse.tree_prob:.3f}"]
        if rank > 1:
            sentence = on_its_own(sentence, f"-tree{rank}")
    misc = ["" if share is None else f"HeadProb={share:.2f}" for share in parse.head_probs]
    sentence = guesses.without_stale(sentence, parse.heads, relations or root_and_dep(parse.heads))
    return guesses.renewed(render(with_notes(sentence, comments, misc), parse.heads, relations))


def on_its_own(sentence: Sentence, ending: str = "") -> Sentence:
    """The sentence without comments about its place in the text, and with an ending to its `sent_id`."""
    if sentence.source is None:
        return sentence
    lines: list[str] = []
    rows: list[int] = []
    words = set(sentence.source.rows)
    for row, line in enumerate(sentence.source.lines):
        if _OF_THE_TEXT.match(line):
            continue
        if row in words:
            rows.append(len(lines))
        lines.append(f"{line.rstrip()}{ending}" if _SENT_ID.match(line) else line)
    return replace(sentence, source=replace(sentence.source, lines=tuple(lines), rows=tuple(rows)))
