"""Beliefs about arcs before anything is learnt, as one log-potential for every arc of a sentence.

All consumers use this module. `rules` describes the tables behind it. Potentials are in nats, and
only their differences within a column, the possible heads of one word, have a meaning.

Letters: n words, K tags that a table or the statistics mention.

Two rules, and "dogs bark": the arcs from ROOT to the verb and from the verb to the noun are worth
1 nat.

>>> from dynet_vdgi.rule_tables.rules import parse_rules
>>> prior = Prior(parse_rules("ROOT VERB 1\\nVERB NOUN 1"))
>>> prior.potentials(Sentence(("dogs", "bark"), ("NOUN", "VERB")))[:, 1:]  # by head, ROOT first
array([[0., 1.],
       [0., 0.],
       [1., 0.]])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, get_type_hints

import msgspec
import numpy as np

from dynet_vdgi.conllu.corpus import in_memory
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.errors import ModelError
from dynet_vdgi.rule_tables.facts import with_facts
from dynet_vdgi.rule_tables.measures import TOLD, Text, levels
from dynet_vdgi.rule_tables.part_settings import Setting
from dynet_vdgi.rule_tables.parts import KINDS_BY_NAME
from dynet_vdgi.rule_tables.parts.kinds import Kind
from dynet_vdgi.rule_tables.parts.words import WORDS, split
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.rule_tables.statistics import Statistics
from dynet_vdgi.rule_tables.table import ROOT, SIDES, Grouped, Table
from dynet_vdgi.rule_tables.views import SideBySide, View, last_before
from dynet_vdgi.rule_tables.word_orders import Fact
from dynet_vdgi.system.array_types import Flags, Floats, Ints

SHORT_ARCS = 0.05
"""For rule files without parts: penalty per word skipped by an arc. It is far smaller than a rule,
so it only decides among trees that follow equally many rules."""

LEAST_FACTOR = 0.05
"""Parts with less influence than this in a text are left out."""

KEPT_VIEWS = 20_000
"""Number of views of a text that are kept while it is measured: each takes kilobytes."""

LEFT, RIGHT = range(2)  # side of a dependent, seen from its head: indices into SIDES


class Prior:
    """Log-potentials of arcs from rules, and from measurements of a text where a table asks for
    them.

    A rule file without parts is a table with rule strength 1 and short arcs `short`. Without a
    text, edge statistics and measures have no influence. In a text that is a mirror image, left and
    right are swapped.
    """

    shares = np.ones(1)
    """Of a CRF's base; see `unsupervised.teacher.Base`, which also explains the next ones."""
    learns_shares = False
    log_p = None

    def __init__(
        self, rules: RuleSet, text: Text | Statistics | None = None, short: float = SHORT_ARCS
    ) -> None:
        self.rules = rules
        self.text = Text(text) if isinstance(text, Statistics) else text or Text()
        self.statistics = self.text.order
        self._table = rules.table or Table(rule_strength=1.0, short_arcs=short)
        names = _mentioned_tags(rules, self._table)
        self._ids = {tag: k for k, tag in enumerate(names, start=1)}  # 0: every other tag
        self._root, self._arcs = self._tables(names)
        self._conjunction = self._flags(self._table.conjunction)
        self._subordinator = self._flags(
            tag
            for tag in self._table.subordinator
            if self.statistics.asymmetry(tag) >= 0  # begins clauses
        )
        self._verb = self._flags(self._table.verb)
        self._name_run = self._weights(self._table.name_run)
        self._joined = self._group_flags(self._table.conjunct)
        self._barred = self._group_flags(self._table.clause_barrier)
        # those with an effect, their numbers adapted
        self._settings: list[tuple[Setting, Kind]] = []
        for setting in self._table.settings:
            if not _is_silent(setting, self.text):
                counting = replace(
                    setting, weight=setting.weight * self.text.factor(setting), cache={}
                )
                self._settings.append((counting, KINDS_BY_NAME[setting.name]))

    @classmethod
    def of_text(
        cls, rules: RuleSet, sentences: Iterable[Sentence], facts: Mapping[str, Fact] | None = None
    ) -> Prior:
        """The prior of a text, sentences without punctuation; `facts` are further knowledge of the
        language.

        Raises: ConfigError, there are facts, and the text is read in mirror image.
        """
        sentences, table = list(in_memory(sentences)), rules.table or Table()
        text = Text(
            Statistics.measure([sentence.tags for sentence in sentences], table, facts),
            has_feats=any(sentence.feats for sentence in sentences),
            has_gaps=any(any(sentence.gaps[1:-1]) for sentence in sentences),
            facts=dict(facts or {}),
        )
        if not table.settings:
            return cls(rules, text)
        empty = cls(rules, text)
        views = _Views(empty, [sentence for sentence in sentences if len(sentence)])
        text = replace(text, measures=levels(table.measures, views))
        shown = {
            measure.name: 0 if measure.kind == TOLD else len(views) for measure in table.measures
        }
        text = with_facts(text, text.facts, shown)
        findings: dict[str, Any] = {}
        for setting in table.settings:
            measure = KINDS_BY_NAME[setting.name].measure
            if measure is not None:
                findings[setting.name] = measure(views, setting, text)
        return cls(rules, replace(text, findings=findings))

    @classmethod
    def from_json(cls, rules: RuleSet, data: Any) -> Prior:
        """The prior of a text saved by `Text.to_json`.

        Raises: ModelError, a field is missing or does not have the type that the parts of the table
        find.
        """
        text = Text.from_json(data)
        for name, finding in text.findings.items():
            measure = KINDS_BY_NAME[name].measure if name in KINDS_BY_NAME else None
            if measure is not None:
                try:
                    msgspec.convert(finding, get_type_hints(measure)["return"])
                except msgspec.ValidationError as error:
                    message = f"what the model says of '{name}' in its text is damaged: {error}"
                    raise ModelError(message) from None
        return cls(rules, text)

    def unread(self, sentence: Sentence) -> View:
        """The sentence as it stands, in the word order of the statistics."""
        return View(sentence, self.statistics.is_mirrored, self.text.has_feats)

    def view(self, sentence: Sentence) -> View:
        """The sentence after the table's changes to how words are read."""
        return self.views([sentence])[0]

    def views(self, sentences: Iterable[Sentence], *, symbols: bool = True) -> list[View]:
        """The `view` of each sentence; many at once are several times faster than one by one."""
        views = list(map(self.unread, sentences))
        for _, some in SideBySide.of(views):
            for _ in self.reading(some, symbols=symbols):
                pass
        return views

    def reading(self, views: SideBySide, *, symbols: bool = True) -> Iterator[Setting]:
        """Reads views step by step: yields each setting that may change readings, after it has
        run."""
        for setting, kind in self._settings:
            if kind.read is not None and views.n and (symbols or not kind.only_symbols):
                kind.read(views, setting, self.text)
                yield setting

    def all_parts(self, sentences: Iterable[Sentence]) -> Iterator[Floats]:
        """The `potentials` of each sentence, (1, n + 1, n + 1)."""
        return (potentials[None] for potentials in self.all_potentials(sentences))

    def all_potentials(self, sentences: Iterable[Sentence]) -> list[Floats]:
        """The `potentials` of each sentence."""
        return self.potentials_of(self.views(sentences, symbols=False))

    def arrays(self) -> Mapping[str, Any]:
        """Nothing: rules and `text` are all there is to keep."""
        return {}

    def potentials(self, sentence: Sentence) -> Floats:
        """Log-potentials (n + 1, n + 1) of arcs [head, dependent], ROOT at 0; arcs from ROOT have
        no distance.

        Column 0 and the diagonal have no meaning; all numbers are finite.
        """
        return self.all_potentials([sentence])[0]

    def potentials_of(self, views: Sequence[View]) -> list[Floats]:
        """The log-potentials of `potentials` for views, in the order of the sentence even if
        mirrored."""
        all_potentials = [np.zeros((1, 1))] * len(views)
        for places, some in SideBySide.of(views):
            potentials = self._potentials(some)
            for setting, kind in self._settings:
                if kind.add is not None:
                    kind.add(some, setting, self.text, potentials[:, 0, 1:], potentials[:, 1:, 1:])
            for k, of_sentence in zip(places, potentials):
                all_potentials[k] = self._in_order(of_sentence[: views[k].n + 1, : views[k].n + 1])
        return all_potentials

    def additions(self, view: View) -> Iterator[tuple[Setting, Floats]]:
        """The contribution to `potentials_of` of each part that looks at the whole sentence, in
        order."""
        for setting, kind in self._settings:
            if kind.add is not None and view.n:
                added = np.zeros((1, view.n + 1, view.n + 1))
                kind.add(SideBySide([view]), setting, self.text, added[:, 0, 1:], added[:, 1:, 1:])
                yield setting, self._in_order(added[0])

    def by_tags(self, view: View) -> Floats:
        """`potentials_of` without the contributions of `additions`."""
        return self._in_order(self._potentials(SideBySide([view]))[0])

    def _in_order(self, potentials: Floats) -> Floats:
        """Potentials (n + 1, n + 1) in the order of the sentence; changes them in place."""
        if self.statistics.is_mirrored:
            potentials[:, 1:] = potentials[:, :0:-1].copy()
            potentials[1:] = potentials[:0:-1].copy()
        return potentials

    @property
    def words(self) -> Setting | None:
        """The table's line about words in the last stage of learning, if it has one."""
        return next((setting for setting, kind in self._settings if kind is WORDS), None)

    def split_symbols(self, view: View) -> list[str]:
        """The symbols of `symbols`, distinguished by words where the table asks for it."""
        if self.words is None:
            return self.symbols(view)
        step = -1 if self.statistics.is_mirrored else 1
        return split(view, self.words, self.text)[::step]

    def symbols(self, view: View) -> list[str]:
        """The symbol of each word for the dependency model, in the order of the sentence."""
        return view.symbols[::-1] if self.statistics.is_mirrored else view.symbols

    def _potentials(self, views: SideBySide) -> Floats:
        """Log-potentials (k, n + 1, n + 1) by tags alone; arcs are in the measured order."""
        readings, numbers = views.numbered()
        ids = np.array([self._ids.get(tag, 0) for (tag,) in readings], np.int64)[numbers]
        side, skipped = _geometry(views.n)
        potentials = np.zeros((len(ids), views.n + 1, views.n + 1))
        potentials[:, 0, 1:] = self._root[ids]
        arcs = potentials[:, 1:, 1:]
        arcs[:] = self._arcs[side, ids[:, :, None], ids[:, None]] - self._table.short_arcs * skipped
        if self._name_run.any():
            self._add_names(ids, arcs)
        conjunction = self._conjunction[ids]
        if self._joined and conjunction.any():
            self._add_conjuncts(ids, conjunction, arcs)
        subordinator = self._subordinator[ids]
        if self._barred and (conjunction.any() or subordinator.any()):
            self._add_barriers(ids, conjunction, subordinator, arcs)
        return potentials

    def _add_names(self, ids: Ints, arcs: Floats) -> None:
        """From the first word of a run to the others. Changes arcs (k, n, n) in place, as the next
        two do."""
        weight = self._name_run[ids]
        is_other = np.zeros(ids.shape, bool)
        is_other[:, 1:] = (ids[:, 1:] == ids[:, :-1]) & (weight[:, 1:] > 0)
        first = np.maximum.accumulate(np.where(is_other, 0, np.arange(ids.shape[1])), axis=1)
        s, others = np.nonzero(is_other)
        arcs[s, first[s, others], others] += weight[s, others]

    def _add_conjuncts(self, ids: Ints, conjunction: Flags, arcs: Floats) -> None:
        assert self._table.conjunct is not None
        last_conjunction, last_verb = last_before(conjunction), last_before(self._verb[ids])
        for group in self._joined:
            member = group[ids]
            last_member = last_before(member)
            s, second = np.nonzero(member & (last_conjunction > np.maximum(last_member, last_verb)))
            joint = last_conjunction[s, second]
            first = last_member[s, joint]
            # equal: the first conjunct is that verb
            is_pair = (first >= 0) & (first >= last_verb[s, joint])
            for dependent in (second, joint):
                arcs[s[is_pair], first[is_pair], dependent[is_pair]] += self._table.conjunct.weight

    def _add_barriers(
        self, ids: Ints, conjunction: Flags, subordinator: Flags, arcs: Floats
    ) -> None:
        assert self._table.clause_barrier is not None
        last_conjunction, last_subordinator = last_before(conjunction), last_before(subordinator)
        words = np.arange(ids.shape[1])
        for group in self._barred:
            member = group[ids]
            # To the left of a head there is the dependent, so a conjunction after the last member
            # of the group is a conjunction after the dependent.
            after_conjunction = (last_conjunction > last_before(member))[:, :, None]
            is_barred = after_conjunction | (last_subordinator[:, :, None] > words)
            is_barred &= member[:, None] & (words[:, None] > words)
            arcs -= self._table.clause_barrier.weight * is_barred

    def _tables(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """Log-potentials of root arcs (K + 1,), and of others (2, K + 1, K + 1) by side, head,
        dependent."""
        size = len(names) + 1
        weights = {side: np.zeros((size, size)) for side in SIDES}
        ids = {**self._ids, ROOT: 0}  # no other tag has a rule, so row 0 is free
        holding = (None, self.statistics.is_verb_final)
        exceptions = (rule for rule in self._table.exceptions if rule.verb_final in holding)
        for rule in (*self.rules.rules, *exceptions):
            heads = [ids[tag] for tag in self.rules.heads(rule)]
            dependents = [ids[tag] for tag in self.rules.dependents(rule)]
            for side in rule.sides:
                weights[side][np.ix_(heads, dependents)] = rule.weight
        arcs = self._table.rule_strength * np.stack([weights[side] for side in SIDES])
        root = arcs[LEFT, 0].copy()
        arcs[:, 0] = 0.0
        for tag, factor in self._table.leaf.items():
            arcs[:, ids[tag]] += math.log(factor)
        for tag, weight in self._table.edge_statistics.items():
            arcs[LEFT, :, ids[tag]] += weight * self.statistics.asymmetry(tag)
            arcs[RIGHT, :, ids[tag]] -= weight * self.statistics.asymmetry(tag)
        return root, arcs

    def _flags(self, tags: Iterable[str]) -> Flags:
        """Which tag ids (K + 1,) are among these tags."""
        return self._weights(dict.fromkeys(tags, 1.0)) > 0

    def _weights(self, by_tag: Mapping[str, float]) -> Floats:
        """Weights by tag id (K + 1,)."""
        weights = np.zeros(len(self._ids) + 1)
        for tag, weight in by_tag.items():
            weights[self._ids[tag]] = weight
        return weights

    def _group_flags(self, grouped: Grouped | None) -> list[Flags]:
        return [self._flags(group) for group in grouped.groups] if grouped else []


class _Views(Sequence[View]):
    """The unread views of a text. In a large text they are made again on each access."""

    def __init__(self, prior: Prior, sentences: Sequence[Sentence]) -> None:
        self._make, self._sentences = prior.unread, sentences
        self._views = list(map(prior.unread, sentences)) if len(sentences) <= KEPT_VIEWS else None

    def __getitem__(self, place: Any) -> Any:
        if self._views is not None:
            return self._views[place]
        chosen = self._sentences[place]
        return [*map(self._make, chosen)] if isinstance(place, slice) else self._make(chosen)

    def __iter__(self) -> Iterator[View]:
        return iter(self._views) if self._views is not None else map(self._make, self._sentences)

    def __len__(self) -> int:
        return len(self._sentences)


def _is_silent(setting: Setting, text: Text) -> bool:
    """Whether a setting has no effect in a text."""
    kind = KINDS_BY_NAME[setting.name]
    unmeasured = kind.measure is not None and setting.name not in text.findings
    return (
        text.factor(setting) <= LEAST_FACTOR
        or unmeasured
        or (kind.needs_gaps and not text.has_gaps)
    )


def _mentioned_tags(rules: RuleSet, table: Table) -> list[str]:
    """Every tag that a potential depends on, sorted."""
    every_rule = (*rules.rules, *table.exceptions)
    tags = {tag for rule in every_rule for tag in (*rules.heads(rule), *rules.dependents(rule))}
    tags.update(table.leaf, table.edge_statistics, table.name_run)
    tags.update(table.conjunction, table.subordinator, table.verb)
    for grouped in (table.conjunct, table.clause_barrier):
        if grouped:
            tags.update(tag for group in grouped.groups for tag in group)
    return sorted(tags - {ROOT})


@lru_cache(maxsize=128)
def _geometry(n_words: int) -> tuple[Ints, Floats]:
    """Side of the dependent and number of words between (n, n), by head and dependent."""
    word = np.arange(n_words)
    side = np.where(word > word[:, None], RIGHT, LEFT)
    skipped = np.maximum(np.abs(word[:, None] - word) - 1.0, 0.0)
    return side, skipped
