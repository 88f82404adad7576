"""Drawings of sentences: in the terminal when printed, as a picture in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dynet_vdgi.conllu.corpus import Sentences, sentences_of
from dynet_vdgi.conllu.deprels import are_labels
from dynet_vdgi.conllu.protocols import STANDARD, Protocol, scoring_protocol
from dynet_vdgi.conllu.reading import HeadPolicy
from dynet_vdgi.conllu.sentence import Sentence, drawn
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.drawing.layout import DrawnTree
from dynet_vdgi.drawing.svg import svg_document
from dynet_vdgi.drawing.terminal import text
from dynet_vdgi.errors import DataError
from dynet_vdgi.evaluation.attachment import score_sentence
from dynet_vdgi.evaluation.pairing import Predicted, matched, scored_pair
from dynet_vdgi.relations.ud_relations import relation_of
from dynet_vdgi.system.files import atomic_writer
from dynet_vdgi.system.messages import plain

TEXT_WIDTH = 80

OneOrMore = Sentence | Sentences
"""A sentence, several of them, or a file."""


class Drawing:
    """Trees one below the other; printing them draws them with characters."""

    def __init__(self, trees: Sequence[DrawnTree]) -> None:
        self.trees = tuple(trees)

    def text(self, width: int = TEXT_WIDTH, *, colour: bool = False) -> str:
        """The trees in characters, each under its caption, in lines of at most `width` columns."""
        return "\n\n".join(tree_text(tree, width, colour=colour) for tree in self.trees)

    def svg(self) -> str:
        """As an SVG file."""
        return svg_document(self.trees)

    def save(self, path: str | Path) -> None:
        """Writes a picture if the path ends in .svg, text otherwise."""
        with atomic_writer(str(path)) as handle:
            handle.write(self.svg() if Path(path).suffix.lower() == ".svg" else self.text() + "\n")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_svg_(self) -> str:
        return self.svg()


def draw(
    sentences: OneOrMore, gold: OneOrMore | None = None, *, protocol: str | Protocol = STANDARD
) -> Drawing:
    """Draws the tree of a sentence, of several, or of a file; with gold trees, marks every arc.

    The note below a tree counts the heads that `evaluate` counts under the protocol. Without gold
    trees, heads may be missing and need not be a tree: what is wrong stands below it.

    Raises: DataError if no sentence has heads, if one of a file that is compared has no tree, or
    differs from the gold one.
    """
    several = _several(sentences, "unchecked" if gold is None else "required")
    if gold is None:
        has_heads = any(sentence.heads is not None for sentence in several)
        return Drawing(
            [tree_of(with_heads(sentence) if has_heads else sentence) for sentence in several]
        )
    right = [sentence for sentence, _ in matched(_several(gold, "required"), several)]
    return Drawing([tree_of(*both, protocol=protocol) for both in zip(several, right)])


def tree_of(
    sentence: Sentence,
    gold: Sentence | None = None,
    *,
    protocol: str | Protocol = STANDARD,
    caption: str = "",
) -> DrawnTree:
    """The drawing of a sentence, compared with gold if given. Raises: DataError without heads."""
    if sentence.heads is None:
        path, line = (
            (sentence.source.path, sentence.source.line)
            if sentence.source
            else ("<sentence>", None)
        )
        raise DataError(path, line, "the sentence has no heads", "only trees can be drawn")
    tree = drawn(sentence, caption)
    if gold is None:
        return tree
    relations: Sequence[str] = tree.relations
    note = _note(gold, sentence, scoring_protocol(protocol))
    # `obj/nsubj`: only the relation is wrong, as LAS counts
    if relations and are_labels([gold.deprels]):
        arcs = zip(relations, gold.deprels, sentence.heads, gold.heads or ())
        relations = [
            f"{relation}/{plain(right)}"
            if head == gold_head and relation_of(relation) != relation_of(right)
            else relation
            for relation, right, head, gold_head in arcs
        ]
    return tree._replace(gold=gold.heads, note=note, relations=relations, sure=None)


def tree_text(tree: DrawnTree, width: int = TEXT_WIDTH, *, colour: bool = False) -> str:
    """One tree drawn with characters, under its caption. Raises: ValueError as
    `drawing.terminal.text`."""
    drawn = text(tree, width, colour=colour)
    return f"{tree.caption}\n{drawn}" if tree.caption else drawn


def with_heads(sentence: Sentence) -> Sentence:
    """The sentence; without heads, with FREE ones."""
    return replace(sentence, heads=(FREE,) * len(sentence)) if sentence.heads is None else sentence


def _several(sentences: OneOrMore, heads: HeadPolicy) -> list[Sentence]:
    if isinstance(sentences, Sentence):
        return [sentences]
    return list(sentences_of(sentences, heads=heads))


def _note(gold: Sentence, sentence: Sentence, protocol: Protocol) -> str:
    """Number of right heads and, if it differs, of those with the right relation, as `evaluate`
    counts."""
    scored = scored_pair(protocol, gold, Predicted(tuple(sentence.heads or ()), sentence.deprels))
    if scored is None:
        return f"not scored under protocol {protocol.name}"
    has_relations = are_labels([gold.deprels]) and are_labels([sentence.deprels])
    tally = score_sentence(
        scored[0], scored[1].heads, scored[1].relations if has_relations else None
    )
    differ = tally.labelled not in (None, tally.directed)
    labelled = f", {tally.labelled} with their relations" if differ else ""
    removed = ", without punctuation" if protocol.removed_tags else ""
    heads = f"{tally.directed} of {tally.words} heads right"
    return f"{heads}{labelled} (protocol {protocol.name}{removed})"
