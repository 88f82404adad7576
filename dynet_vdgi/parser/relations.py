"""Relations of parsed sentences: from the model's labeller if it has learnt one, else from its
base."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from typing import Any, NamedTuple

from dynet_vdgi.conllu.protocols import UD_PUNCTUATION
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.models.model_file import ModelFile
from dynet_vdgi.models.shipped_table import shipped_table
from dynet_vdgi.parser.engine import Engine, ScoredTree
from dynet_vdgi.relations.label_table import DEFAULT, LabelTable, load
from dynet_vdgi.relations.labeller import PREFIX, TABLE_SHARE, Labeller, LogP
from dynet_vdgi.rule_tables.measures import VERB_INITIAL, Text, VerbOrder, levels
from dynet_vdgi.rule_tables.statistics import Statistics
from dynet_vdgi.rule_tables.table import Grouped, Measure, Table
from dynet_vdgi.universal.model_table import TABLE, rules_of, table_of
from dynet_vdgi.universal.stored import TEXT

FEWEST, LOOKED_AT = 20, 500
"""Sentences at the beginning of a text that determine its verb order: at least, at most."""

_VERBS_END = Table(verb_final=Grouped(0.7, (("VERB", "AUX"),)))

VERB_ORDER = TEXT + "verb_order"
"""The name of the array that holds the verb order of the text that a parser was adapted to."""

Relations = tuple[str, ...]


class ModelLabeller:
    """Labels the trees of a model's parser, under a table and the log p of a universal parser, if
    it is one.

    Raises: ModelError, the arrays of the model's own labeller are damaged.
    """

    def __init__(self, model: ModelFile, table: LabelTable, log_p: LogP | None = None) -> None:
        is_taught = PREFIX + "shape" in model.parameters
        self._labeller = Labeller(table, log_p=log_p)
        if is_taught:
            self._labeller = Labeller.from_arrays(model.parameters, table, log_p)
        self._ignored = model.settings.data.ignore
        self._arrays = model.parameters
        self.columns = ("feats", "lemmas") if is_taught else ("feats",)
        """The columns of sentences that it reads, besides forms and tags."""
        self._tags_are_universal = model.settings.data.tags == "upos"
        self.verb_order = known_verb_order(model)
        """The verb order of the training text; None: not known."""

    def relations(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[Sequence[int]],
        verb_order: int | None = None,
        trees: Sequence[ScoredTree] | None = None,
    ) -> list[Relations | None]:
        """The relations of each sentence under these heads; None for one without universal tags.

        `verb_order`: of this text; None: the one that the model knows, else neither final nor
        initial. `trees`: the parser's, without punctuation, whose log p is used where the heads are
        theirs.
        """
        relations: list[Relations | None] = [None] * len(sentences)
        tagged = [k for k, sentence in enumerate(sentences) if self._has_tags(sentence)]
        rows = self._labeller.relations(
            [sentences[k] for k in tagged],
            [heads[k] for k in tagged],
            verb_order=self.verb_order if verb_order is None else verb_order,
            ignored=self._ignored,
            parsed=[(trees[k].heads, trees[k].log_p) for k in tagged] if trees else None,
        )
        for k, names in zip(tagged, rows):
            relations[k] = names
        return relations

    def _has_tags(self, sentence: Sentence) -> bool:
        universal = sentence.upos or (sentence.tags if self._tags_are_universal else ("_",))
        return "_" not in universal

    def with_relations(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[tuple[int, ...]],
        verb_order: int | None = None,
    ) -> list[Sentence]:
        """The sentences with these heads, and with relations if they have universal tags."""
        relations = self.relations(sentences, heads, verb_order)
        return [
            replace(s, heads=h, deprels=r or ()) for s, h, r in zip(sentences, heads, relations)
        ]

    def verb_order_in(self, tagged: Iterable[Sequence[str]]) -> int:
        """The verb order of a text with these tags: the model's, else that of its beginning."""
        if self.verb_order is not None:
            return self.verb_order
        bare = [
            [tag for tag in tags if tag not in UD_PUNCTUATION] for tags in islice(tagged, LOOKED_AT)
        ]
        order = Statistics.measure(bare, _VERBS_END)
        if order.sentences < FEWEST:
            return VerbOrder.OTHER
        views: Any = [_Tags(len(tags), tags) for tags in bare if tags]
        measures = levels(_measures(self._rule_table), views)
        return Text(order, measures).verb_order

    @cached_property
    def _rule_table(self) -> str:
        """The text of the model's rule table, if it is a universal parser's, else of the shipped
        one's."""
        return table_of(self._arrays) if TABLE in self._arrays else shipped_table()


class _Tags(NamedTuple):
    """The part of a sentence that measures of verb order read."""

    n: int
    tags: Sequence[str]


@cache
def _measures(rule_table: str) -> list[Measure]:
    """The measures by which a rule table finds whether clauses begin with their verbs."""
    table = rules_of(rule_table).table
    return [measure for measure in table.measures if measure.name == VERB_INITIAL] if table else []


def known_verb_order(model: ModelFile) -> int | None:
    """The verb order of the text that the model was trained on, or adapted to; None: not known.

    Models of several languages do not know the language of a text, and so have no verb order.
    """
    if (order := model.parameters.get(VERB_ORDER)) is not None and order.size:  # adapted to a text
        return int(order.flat[0])
    if len(model.provenance.languages) > 1:
        return None
    if PREFIX + "shape" in model.parameters:
        return int(model.parameters[PREFIX + "shape"][-1])
    table = model.rules.table
    if model.text is None or table is None or table.verb_final is None:
        return None
    return Text.from_json(model.text).verb_order


def labeller_of(model: ModelFile, engine: Engine, table: LabelTable | None = None) -> ModelLabeller:
    """The labeller of a model's trees. Another table than the default one replaces what a universal
    parser knows, unless the model has learnt beside that. Raises: ModelError, see
    `ModelLabeller`."""
    default = load(DEFAULT)
    is_asked = TABLE_SHARE in model.parameters or (
        engine.knows_relations and table in (None, default)
    )
    log_p = engine.log_p if is_asked else None
    return ModelLabeller(model, default if table is None else table, log_p)
