"""Relations of parsed sentences: from the model's labeller if it has learnt one, else from its base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dynet_vdgi.data.numbering import Known
from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.rules import Grouped, Table, load_rules
from dynet_vdgi.grammar.statistics import VERB_INITIAL, Text, VerbOrder, levels
from dynet_vdgi.grammar.table import Measure
from dynet_vdgi.grammar.word_order import Statistics
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.labels.labeller import PREFIX, Labeller, LogP, Word, WordKinds
from dynet_vdgi.runs.model_file import ModelFile
from dynet_vdgi.settings.bundled import rules_path
from dynet_vdgi.system.arrays import Codes, Floats, Ints

FEWEST, LOOKED_AT = 20, 500
"""Sentences at the beginning of a text that determine its verb order: at least, at most."""

_VERBS_END = Table(verb_final=Grouped(0.7, (("VERB", "AUX"),)))

Relations = tuple[str, ...]

T = TypeVar("T")


class ModelLabeller:
    """Labels the trees of a model's parser, under a table and the log p of a universal parser, if it is one.

    Raises: ModelError, the arrays of the model's own labeller are damaged.
    """

    def __init__(self, model: ModelFile, table: LabelTable, log_p: LogP | None = None) -> None:
        is_taught = PREFIX + "shape" in model.parameters
        self._labeller = Labeller(table, log_p=log_p)
        if is_taught:
            self._labeller = Labeller.from_arrays(model.parameters, table, log_p)
        self.has_log_p = log_p is not None
        self._ignored = model.settings.data.ignore
        self.columns = ("feats", "lemmas") if is_taught else ("feats",)
        """The columns of sentences that it reads, besides forms and tags."""
        self._tags_are_universal = model.settings.data.tags == "upos"
        self.verb_order = known_verb_order(model)
        """The verb order of the training text; None: not known."""

    def make_ready(self) -> None:
        """Compiles the code that labelling needs, or loads it from disk."""
        self._labeller.make_ready()

    def relations(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[Sequence[int]],
        verb_order: int | None = None,
    ) -> list[Relations | None]:
        """The relations of each sentence under these heads; None for one without universal tags.

        `verb_order`: of this text; None: the one that the model knows, else neither final nor initial.
        """
        found: list[Relations | None] = [None] * len(sentences)
        tagged = [k for k, sentence in enumerate(sentences) if self._has_tags(sentence)]
        rows = self._labeller.relations(
            [sentences[k] for k in tagged],
            [heads[k] for k in tagged],
            verb_order=self.verb_order if verb_order is None else verb_order,
            ignored=self._ignored,
        )
        for k, relations in zip(tagged, rows):
            found[k] = relations
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The possible relations, by number."""
        return self._labeller.names

    @property
    def sees_forms(self) -> bool:
        """If words are also distinguished by form and lemma."""
        return self._labeller.weights is not None

    def labels(
        self,
        source: Known[T],
        word_of: Callable[[T], Word],
        ids: Ints,
        heads: Ints,
        first: Ints,
        verb_order: int | None,
        atoms: Codes | None,
        log_p: Floats,
    ) -> Ints:
        """The relations (N,) by number, see `Labeller.labels`, of words as the model may see them.

        ids (N,): the numbers of their tags and FEATS in the source; atoms (N, c), if forms are seen; log_p
        (K, L), if it has any.
        """
        kinds = self._labeller.kinds_of(source, word_of, with_forms=False)
        if atoms is not None:
            kinds = WordKinds(kinds.is_punctuation[ids], kinds.bits[ids], atoms)
            ids = np.arange(len(ids))
        return self._labeller.labels(
            kinds,
            ids,
            heads,
            first,
            sees_punctuation="punctuation" not in self._ignored,
            verb_order=self.verb_order if verb_order is None else verb_order,
            log_p=(lambda _: log_p) if self.has_log_p else None,
        )

    def _has_tags(self, sentence: Sentence) -> bool:
        universal = sentence.upos or (sentence.tags if self._tags_are_universal else ("_",))
        return "_" not in universal

    def labelled(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[tuple[int, ...]],
        verb_order: int | None = None,
    ) -> list[Sentence]:
        """The sentences with these heads, and with relations if they have universal tags."""
        return with_relations(sentences, heads, self.relations(sentences, heads, verb_order))

    def verb_order_in(self, tagged: Iterable[Sequence[str]]) -> int:
        """The verb order of a text with these tags: the model's, else that of the text's beginning."""
        if self.verb_order is not None:
            return self.verb_order
        bare = [[tag for tag in tags if tag not in UD_PUNCTUATION] for tags in islice(tagged, LOOKED_AT)]
        order = Statistics.measure(bare, _VERBS_END)
        if order.sentences < FEWEST:
            return VerbOrder.OTHER
        views: Any = [_Tags(len(tags), tags) for tags in bare if tags]
        measures = levels(_measures(), views)
        return Text(order, measures).verb_order


def with_relations(
    sentences: Sequence[Sentence],
    heads: Sequence[tuple[int, ...]],
    relations: Sequence[Relations | None],
) -> list[Sentence]:
    """The sentences with these heads and relations; None: no relations."""
    return [
        replace(sentence, heads=tree, deprels=deprels or ())
        for sentence, tree, deprels in zip(sentences, heads, relations)
    ]


class _Tags(NamedTuple):
    """The part of a sentence that measures of verb order read."""

    n: int
    tags: Sequence[str]


@cache
def _measures() -> list[Measure]:
    """The measures by which the table `best` finds whether clauses begin with their verbs."""
    table = load_rules(rules_path("best")).table
    return [measure for measure in table.measures if measure.name == VERB_INITIAL] if table else []


def known_verb_order(model: ModelFile) -> int | None:
    """The verb order of the text that the model was trained on; None: not known.

    Models of several languages do not know the language of a text, and so have no verb order.
    """
    if len(model.provenance.languages) > 1:
        return None
    if PREFIX + "shape" in model.parameters:
        return int(model.parameters[PREFIX + "shape"][-1])
    table = model.rules.table
    if model.symbols is None or table is None or table.verb_final is None:
        return None
    return Text.from_json(model.symbols["text"]).verb_order


def tags_of(lines: Iterable[str]) -> list[str]:
    """Universal tags of a sentence's words, from lines that may be malformed."""
    columns = (line.split("\t", 4) for line in lines)
    return [row[3] for row in columns if len(row) > 4 and row[0].isdigit()]
