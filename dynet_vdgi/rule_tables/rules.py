"""Universal rules: the kinds of arcs a tree should hold (paper, section "Posterior
Regularization").

A rule file is plain text, one rule a line, meant to be edited by a linguist:

    # a comment
    NOUN = NOUN PROPN          a tag class: in the rules below, NOUN stands for either tag
    ROOT VERB 0.5              head tag, dependent tag, expectation
    VERB NOUN 0.5

A name not declared as a class stands for the tag itself. `ROOT` as head tag is the root arc.
Posterior regularisation takes it as what a rule arc is worth, or as a rate; other learners use only
the rule's presence. Order does not matter, except that it is the order of the parameters lambda.

A rule file with parts is a rule table. It says more about arcs, for `prior.Prior`:

    [rules] (a) the rules of Naseem et al.   a part: name, kind, and whatever else there is to say
    rule strength = 2.5        what a rule of weight 1 is worth
    VERB NOUN 1                head tag, dependent tag, weight
    VERB ADJ  0.5 right        only where the dependent stands to the right of its head (or: left)
    [pronouns] (b)
    NOUN += PRON as dependent  PRON joins the class NOUN where it is a dependent
                               (or: as head; or neither)
    [head first] (d)
    except VERB VERB 0 left    whatever the rules say, the weight is this; may be negative;
                               later lines win
    except VERB VERB 0 right if verb-final      in texts that are verb-final only
                                                (or: unless verb-final)

Kinds: (a) one of the 13 published rules, (b) a property of language in general, (c) measured from
the text at hand, (d) a convention of UD's annotation. A part is switched off by taking its lines
away, or with `RuleSet.without`. Settings; NUMBER is in nats; tags stand for themselves, not for
classes:

    rule strength = NUMBER           of a rule of weight 1; needed where there are rules
    short arcs = NUMBER              taken from an arc for each word between its ends
    leaf = FACTOR TAG ...            arcs from these tags to others are FACTOR times as probable
    edge statistics = NUMBER TAG ... these tags stand left of their heads if more sentences begin
                                     than end with them, otherwise right of them: see `statistics`
    verb-final = SHARE TAG ...       a text is verb-final if more than this share of its sentences
                                     with one of these tags end with one; without this line none is
    reading order = TAG ...          conjunctions; a text of which more sentences end with these
                                     than begin is in mirror image, and so is the table then
    conjunction = TAG ...            tags of words that join conjuncts
    subordinator = TAG ...           tags of words that begin a clause; not those with which more
                                     sentences end than begin
    verb = TAG ...                   tags of words that no pair of conjuncts has between it
    conjunct = NUMBER TAG ... | TAG ...
        Groups of tags that can be joined. A word after a conjunction, with no verb and no word of
        its group between the two, depends on the nearest word of its group before that conjunction,
        with no verb between these two; and so does the conjunction.
    clause barrier = NUMBER TAG ... | TAG ...
        Taken from arcs to a word of these groups from a head further right, with a subordinator
        between the two, or with a conjunction between the two and after it no word of the group
        before the head.
    name run = NUMBER TAG ...        in a run of equal tags, one of these, the first word is the
                                     head of the others

Learners that count rules see a table's rules on both sides, without exceptions, with half the
weight as expectation: a weight of 1 gives 0.5, the published expectation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from dynet_vdgi.errors import ConfigError
from dynet_vdgi.rule_tables.rule_files import (
    LEFT_OUT,
    Reader,
    TableReader,
    content_of,
    without_parts,
)
from dynet_vdgi.rule_tables.table import ROOT, SIDES, Part, Rule, Table
from dynet_vdgi.system.array_types import Floats, Ints
from dynet_vdgi.system.limits import DEFAULTS, limit, read_table, to_raise
from dynet_vdgi.system.messages import count as count_of
from dynet_vdgi.system.messages import of_these

MOST_FAULTS_SHOWN = 20
"""Maximum number of faults of a rule file in a message."""


@dataclass(frozen=True)
class RuleSet:
    """K rules and the classes they use; `text` is the file itself, kept for model files."""

    rules: tuple[Rule, ...]
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = ""
    table: Table | None = None  # None: a file without parts

    def __len__(self) -> int:
        return len(self.rules)

    def __hash__(self) -> int:
        return hash(self.text)  # the mappings are not hashable

    @property
    def expectations(self) -> Floats:
        """Expectations (K,); the paper's b is their negative."""
        return np.array([rule.expectation for rule in self.rules])

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a table, in the order of the file."""
        return self.table.parts if self.table else ()

    @property
    def meaning(self) -> tuple[object, ...]:
        """The content of a rule file that has an effect, without comments."""
        return self.rules, self.classes, self.table

    def heads(self, rule: Rule) -> tuple[str, ...]:
        """The tags that the rule's head may have."""
        only = self.table.heads_only.get(rule.head, ()) if self.table else ()
        return (*self.classes.get(rule.head, (rule.head,)), *only)

    def dependents(self, rule: Rule) -> tuple[str, ...]:
        """The tags that the rule's dependent may have."""
        only = self.table.dependents_only.get(rule.dependent, ()) if self.table else ()
        return (*self.classes.get(rule.dependent, (rule.dependent,)), *only)

    def pairs(self) -> dict[tuple[str, str], int]:
        """Index of the matching rule for every (head tag, dependent tag), classes expanded.

        Sides and exceptions of a table are ignored.
        """
        return {
            (head, dependent): k
            for k, rule in enumerate(self.rules)
            for head in self.heads(rule)
            for dependent in self.dependents(rule)
        }

    def index(self, tags: Sequence[str]) -> Ints:
        """Rule (T + 1, T) by head tag (row 0: ROOT, row t + 1: tags[t]) and dependent tag; -1: no
        rule."""
        pairs = self.pairs()
        table = [[pairs.get((head, dependent), -1) for dependent in tags] for head in (ROOT, *tags)]
        return np.array(table, dtype=np.int64).reshape(len(tags) + 1, len(tags))

    def mentioned_tags(self) -> frozenset[str]:
        """Every tag in rules, exceptions and settings, classes expanded, without ROOT."""
        table = self.table or Table()
        tags: set[str] = set().union(*self.classes.values())
        for rule in (*self.rules, *table.exceptions):
            tags.update({rule.head, rule.dependent} - self.classes.keys())
        for only in (table.heads_only, table.dependents_only):
            tags.update(*only.values())
        tags.update(table.leaf, table.edge_statistics, table.name_run)
        tags.update(table.conjunction, table.subordinator, table.verb, table.reading_order)
        for grouped in (table.conjunct, table.clause_barrier, table.verb_final):
            tags.update(*(grouped.groups if grouped else ()))
        return frozenset(tags - {ROOT})

    def unused(self, tags: Sequence[str]) -> list[Rule]:
        """Rules that can never fire because one of their tags is not among `tags`."""
        heads, dependents = {ROOT, *tags}, set(tags)
        pairs = self.pairs().items()
        used = {k for (head, dependent), k in pairs if head in heads and dependent in dependents}
        return [rule for k, rule in enumerate(self.rules) if k not in used]

    def without(self, *names: str) -> RuleSet:
        """The table with these parts switched off.

        Raises: ConfigError, there is no such part, or another part needs one of them.
        """
        parts = [part.name for part in self.parts]
        for name in names:
            if name not in parts:
                raise ConfigError(f"rules: no part '{name}'{of_these(name, parts)}")
        if len(set(names)) == len(parts):
            raise ConfigError("rules: nothing is left of the table without all of its parts")
        try:
            return parse_rules(
                without_parts(self.text, names), f"<rules without {', '.join(names)}>"
            )
        except ConfigError as error:
            raise ConfigError(
                f"{error}; another part cannot do without what was left out"
            ) from None

    @property
    def left_out(self) -> list[str]:
        """The parts that were switched off."""
        lines = self.text.split("\n")
        return [line[len(LEFT_OUT) :].strip() for line in lines if line.startswith(LEFT_OUT)]

    def part_at(self, line: int) -> Part:
        """The part that a line of the file belongs to. Raises: StopIteration before the first."""
        return next(part for part in reversed(self.parts) if part.line <= line)

    def growing(self) -> Iterator[tuple[Part, RuleSet]]:
        """Each part, with the table from the first part to this one.

        A part's needs are met only from their own part on: a conjunct without conjunctions joins
        nothing.
        """
        for number, part in enumerate(self.parts):
            later = [other.name for other in self.parts[number + 1 :]]
            reader = TableReader("<rules>")
            _read_all(reader, without_parts(self.text, later))
            yield part, RuleSet(tuple(reader.rules), reader.classes, "", reader.as_it_is())


def count(index: Ints, n_rules: int, tags: Sequence[int], heads: Sequence[Sequence[int]]) -> Floats:
    """How often each of K rules holds in each of M trees of one sentence, the root arc included:
    -phi.

    Args:
        index: rule index (T + 1, T) of `RuleSet.index`.
        n_rules: K.
        tags: tag ids (n,), all of them below T.
        heads: M trees (M, n).

    Returns:
        Counts (M, K), as floats.
    """
    trees = np.asarray(heads, dtype=np.int64)
    dependents = np.asarray(tags, dtype=np.int64)
    head_rows = np.concatenate([[0], dependents + 1])[trees]  # (M, n)
    rule = index[head_rows, dependents]
    one_hot = rule[:, :, None] == np.arange(n_rules)
    return np.asarray(one_hot.sum(axis=1), dtype=np.float64)


def parse_rules(text: str, path: str = "<rules>") -> RuleSet:
    """Rules from the text of a rule file.

    Raises:
        ConfigError: lines are malformed, a rule occurs twice, two rules match one pair of tags on
        one side,
            there are too many tags, or there is no rule (in a table: no part); the message has a
            line for each fault, with file and line.
    """
    lines = [content_of(line) for line in text.replace("\ufeff", "").split("\n")]
    reader = (TableReader if any(line.startswith("[") for line in lines) else Reader)(path)
    faults = _read_all(reader, text)
    table = reader.as_it_is() if faults else reader.table()
    result = RuleSet(tuple(reader.rules), reader.classes, text, table)
    n_tags = len(result.mentioned_tags())
    # learning and parsing use tables by pairs of tags
    if n_tags > max(limit("tags"), DEFAULTS["tags"]):
        raise ConfigError(f"{path}: rules for {n_tags} tags ({to_raise('tags', n_tags)})")
    faults += [
        (line, f"{path}:{line}: {what}") for line, what in _doubled_rules(result, reader.lines)
    ]
    if faults:
        messages = [message for _, message in sorted(faults)]
        n_more = len(messages) - MOST_FAULTS_SHOWN
        if n_more > 0:
            messages[MOST_FAULTS_SHOWN:] = [f"{path}: {count_of(n_more, 'more fault')}"]
        raise ConfigError("\n".join(messages))
    return result


def _read_all(reader: Reader, text: str) -> list[tuple[int, str]]:
    """Passes every line to the reader; returns the faulty lines, each with its message."""
    faults = []
    for number, line in enumerate(text.replace("\ufeff", "").split("\n"), 1):
        content = content_of(line)
        if content:
            reader.number = number
            try:
                reader.read(content)
            except ConfigError as error:
                faults.append((number, str(error)))
    return faults


def _doubled_rules(rules: RuleSet, lines: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Lines whose rule matches a pair of tags already matched on that side by another rule, and
    remedy."""
    owner: dict[tuple[str, str, str], int] = {}
    reported = set()
    for line, rule in zip(lines, rules.rules):
        for head, dependent, side in product(rules.heads(rule), rules.dependents(rule), rule.sides):
            first = owner.setdefault((head, dependent, side), line)
            if first == line or (first, line) in reported:
                continue
            reported.add((first, line))
            exception = f"except {head} {dependent} {rule.weight:g}"
            exception += "" if rule.sides == SIDES else f" {rule.sides[0]}"
            remedy = f"; change line {first}" + (f", or write '{exception}'" if rules.table else "")
            yield line, f"{head}>{dependent} is already matched by the rule in line {first}{remedy}"


def load_rules(path: str | Path) -> RuleSet:
    """Rules from a file. Raises: ConfigError, the file cannot be read, or as in `parse_rules`."""
    return parse_rules(read_table(path, "rule file"), str(path))
