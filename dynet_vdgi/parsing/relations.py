"""Relations of parsed sentences: by the model's labeller if it has one, else by the table of labels alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from dynet_vdgi.data.numbering import Known
from dynet_vdgi.data.protocols import UD_PUNCTUATION
from dynet_vdgi.data.sentence import Sentence
from dynet_vdgi.grammar.rules import Grouped, Table
from dynet_vdgi.grammar.word_order import Statistics
from dynet_vdgi.labels.label_table import LabelTable
from dynet_vdgi.labels.labeller import PREFIX, Ints, Labeller, Word
from dynet_vdgi.model_file import ModelFile

FEWEST, LOOKED_AT = 20, 500
"""Sentences at the beginning of a text that can show whether verbs end its sentences: at least, at most."""

_VERBS_END = Table(verb_final=Grouped(0.7, (("VERB", "AUX"),)))

Relations = tuple[str, ...]

T = TypeVar("T")


class ModelLabeller:
    """What labels the trees of a model's parser, under a table.

    Raises:
        ModelError: the arrays of the model's own labeller are damaged.
    """

    def __init__(self, model: ModelFile, table: LabelTable) -> None:
        is_taught = PREFIX + "shape" in model.parameters
        self._labeller = Labeller.from_arrays(model.parameters, table) if is_taught else Labeller(table)
        self._ignored = model.settings.data.ignore
        self.columns = ("feats", "lemmas") if is_taught else ("feats",)
        """What it looks at of sentences, besides forms and tags."""
        self._tags_are_universal = model.settings.data.tags == "upos"
        self.verb_final = known_verb_final(model)
        """Whether verbs end the sentences of the text that was learnt from; None: it is not known."""

    def make_ready(self) -> None:
        """Compiles what labelling needs, or loads it."""
        self._labeller.make_ready()

    def relations(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[Sequence[int]],
        verb_final: bool | None = None,
    ) -> list[Relations | None]:
        """The relations of each sentence under these heads; None of one that lacks universal tags.

        `verb_final`: whether verbs end this text's sentences; None: as the model knows it, else not.
        """
        found: list[Relations | None] = [None] * len(sentences)
        tagged = [k for k, sentence in enumerate(sentences) if self._has_tags(sentence)]
        rows = self._labeller.relations(
            [sentences[k].ignoring(self._ignored) for k in tagged],
            [heads[k] for k in tagged],
            sees_punctuation="punctuation" not in self._ignored,
            verb_final=self.verb_final if verb_final is None else verb_final,
        )
        for k, relations in zip(tagged, rows):
            found[k] = relations
        return found

    @property
    def sees_forms(self) -> bool:
        """If words are told apart by form and lemma, too."""
        return self._labeller.weights is not None

    def labels(
        self,
        source: Known[T],
        word_of: Callable[[T], Word],
        ids: Ints,
        heads: Ints,
        first: Ints,
        verb_final: bool | None,
    ) -> Ints:
        """As `Labeller.labels`, of words as the model may see them, by their numbers in a source."""
        kinds = self._labeller.kinds_of(source, word_of, self.sees_forms)
        return self._labeller.labels(
            *(kinds, ids, heads, first),
            sees_punctuation="punctuation" not in self._ignored,
            verb_final=self.verb_final if verb_final is None else verb_final,
        )

    def _has_tags(self, sentence: Sentence) -> bool:
        universal = sentence.upos or (sentence.tags if self._tags_are_universal else ("_",))
        return "_" not in universal

    def labelled(
        self,
        sentences: Sequence[Sentence],
        heads: Sequence[tuple[int, ...]],
        verb_final: bool | None = None,
    ) -> list[Sentence]:
        """The sentences with these heads and their relations, if they have universal tags."""
        found = self.relations(sentences, heads, verb_final)
        return [
            replace(sentence, heads=tree, deprels=relations or ())
            for sentence, tree, relations in zip(sentences, heads, found)
        ]

    def verb_final_in(self, tagged: Iterable[Sequence[str]]) -> bool:
        """Whether verbs end sentences in a text of these tags: as the model knows, else as it begins."""
        if self.verb_final is not None:
            return self.verb_final
        bare = ([tag for tag in tags if tag not in UD_PUNCTUATION] for tags in islice(tagged, LOOKED_AT))
        order = Statistics.measure(bare, _VERBS_END)
        return order.is_verb_final and order.sentences >= FEWEST


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


def tags_of(lines: Iterable[str]) -> list[str]:
    """Universal tags of a sentence's words, of lines that may be malformed."""
    columns = (line.split("\t", 4) for line in lines)
    return [row[3] for row in columns if len(row) > 4 and row[0].isdigit()]
