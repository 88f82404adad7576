"""Relations of parsed sentences: by the model's labeller if it has one, else by the table of labels alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.rules import Grouped, Table
from dynet_vdgi.grammar.word_order import Statistics
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.labels.labeller import PREFIX, Labeller
from dynet_vdgi.model_file import ModelFile

FEWEST = 20
"""Sentences of two words or more that show whether verbs end a text's sentences."""

_VERBS_END = Table(verb_final=Grouped(0.7, (("VERB", "AUX"),)))

Relations = tuple[str, ...]


def labeller_of(model: ModelFile, table: LabelTable) -> Labeller:
    """The labeller of a model, under this table. Raises: ModelError, its arrays are damaged."""
    if PREFIX + "shape" in model.parameters:
        return Labeller.from_arrays(model.parameters, table)
    return Labeller(table)


def known_verb_final(model: ModelFile) -> bool | None:
    """Whether verbs end the sentences of the text that the model has learnt from; None: it does not know.

    A model of several languages does not, as nothing says which one a text is in.
    """
    if len(model.provenance.languages) > 1:
        return None
    if PREFIX + "shape" in model.parameters:
        return bool(model.parameters[PREFIX + "shape"][-1])
    table = model.rules.table
    if model.symbols is None or table is None or table.verb_final is None:
        return None
    return bool(model.symbols["text"]["order"]["is_verb_final"])


def measured_verb_final(lines: Iterable[Sequence[str]]) -> bool:
    """Whether verbs end the sentences of a text of these lines, sentence by sentence.

    Lines may be malformed. A few sentences show nothing.
    """
    return _are_verb_final(map(_tags, lines))


def _are_verb_final(tagged: Iterable[Sequence[str]]) -> bool:
    order = Statistics.measure(tagged, _VERBS_END)
    return order.is_verb_final and order.sentences >= FEWEST


def _tags(lines: Sequence[str]) -> list[str]:
    columns = (line.split("\t", 4) for line in lines)
    words = [row for row in columns if len(row) > 4 and row[0].isdigit()]
    return [row[3] for row in words if row[3] not in UD_PUNCTUATION]


def relations_of(
    labeller: Labeller,
    sentences: Sequence[Sentence],
    heads: Sequence[Sequence[int]],
    verb_final: bool | None = None,
) -> list[Relations | None]:
    """The relations of each sentence; None of one that lacks universal tags."""
    tagged = [k for k, sentence in enumerate(sentences) if "_" not in (sentence.upos or sentence.tags)]
    found: list[Relations | None] = [None] * len(sentences)
    labelled = labeller.relations(
        [sentences[k] for k in tagged], [heads[k] for k in tagged], verb_final=verb_final
    )
    for k, relations in zip(tagged, labelled):
        found[k] = relations
    return found


def labelled(
    model: ModelFile, table: LabelTable, sentences: Sequence[Sentence], heads: Sequence[tuple[int, ...]]
) -> list[Sentence]:
    """All sentences of a text with these heads and their relations; none where universal tags are lacking."""
    verb_final = known_verb_final(model)
    if verb_final is None:
        universal = (s.upos or s.tags for s in sentences)
        verb_final = _are_verb_final([tag for tag in tags if tag not in UD_PUNCTUATION] for tags in universal)
    found = relations_of(labeller_of(model, table), sentences, heads, verb_final)
    return [
        replace(sentence, heads=tree, deprels=relations or ())
        for sentence, tree, relations in zip(sentences, heads, found)
    ]
