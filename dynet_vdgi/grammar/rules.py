"""Universal rules and rule tables, and warnings about tags that they do not know.

Universal rules: the kinds of arcs a tree should hold (paper, section "Posterior Regularization").

A rule file is plain text, one rule a line, meant to be edited by a linguist:

    # a comment
    NOUN = NOUN PROPN          a tag class: in the rules below, NOUN stands for either tag
    ROOT VERB 0.5              head tag, dependent tag, expectation
    VERB NOUN 0.5

A name not declared as a class stands for the tag itself. `ROOT` as head tag is the root arc. Posterior
regularisation takes it as what a rule arc is worth, or as a rate; other learners use only the rule's
presence. Order does not matter, except that it is the order of the parameters lambda.

A rule file with parts is a rule table. It says more about arcs, for `prior.Prior`:

    [rules] (a) the rules of Naseem et al.       a part: name, kind, and whatever else there is to say
    rule strength = 2.5        what a rule of weight 1 is worth
    VERB NOUN 1                head tag, dependent tag, weight
    VERB ADJ  0.5 right        only where the dependent stands to the right of its head (or: left)
    [pronouns] (b)
    NOUN += PRON as dependent  PRON joins the class NOUN where it is a dependent (or: as head; or neither)
    [head first] (d)
    except VERB VERB 0 left    whatever the rules say, the weight is this; may be negative; later lines win
    except VERB VERB 0 right if verb-final          in texts that are verb-final only (or: unless verb-final)

Kinds: (a) one of the 13 published rules, (b) a property of language in general, (c) measured from the text
at hand, (d) a convention of UD's annotation. A part is switched off by taking its lines away, or with
`RuleSet.without`. Settings; NUMBER is in nats; tags stand for themselves, not for classes:

    rule strength = NUMBER           of a rule of weight 1; needed where there are rules
    short arcs = NUMBER              taken from an arc for each word between its ends
    leaf = FACTOR TAG ...            arcs from these tags to others are FACTOR times as probable
    edge statistics = NUMBER TAG ... these tags stand left of their heads if more sentences begin with them
                                     than end with them, otherwise right of them: see `statistics`
    verb-final = SHARE TAG ...       a text is verb-final if more than this share of its sentences with one of
                                     these tags end with one; without this line none is
    reading order = TAG ...          conjunctions; a text of which more sentences end with these than begin is
                                     in mirror image, and so is the table then
    conjunction = TAG ...            tags of words that join conjuncts
    subordinator = TAG ...           tags of words that begin a clause; not those with which more
                                     sentences end than begin
    verb = TAG ...                   tags of words that no pair of conjuncts has between it
    conjunct = NUMBER TAG ... | TAG ...
        Groups of tags that can be joined. A word after a conjunction, with no verb and no word of its group
        between the two, depends on the nearest word of its group before that conjunction, with no verb
        between these two; and so does the conjunction.
    clause barrier = NUMBER TAG ... | TAG ...
        Taken from arcs to a word of these groups from a head further right, with a subordinator between the
        two, or with a conjunction between the two and after it no word of the group before the head.
    name run = NUMBER TAG ...        in a run of equal tags, one of these, the first word is the others' head

Learners that count rules see a table's rules on both sides, without exceptions, with half the weight as
expectation: a weight of 1 gives 0.5, the published expectation.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from dynet_vdgi.data.penn import UPOS as PENN_TAGS
from dynet_vdgi.data.sentence import UD_PUNCTUATION, UD_TAGS, ud_version
from dynet_vdgi.errors import ConfigError, DataError
from dynet_vdgi.grammar.rule_files import LEFT_OUT, Reader, TableReader, content_of, tags_named, without_parts
from dynet_vdgi.grammar.table import ROOT, SIDES, Part, Rule, Table
from dynet_vdgi.system.arrays import Floats, Ints
from dynet_vdgi.system.names import (
    DEFAULTS,
    did_you_mean,
    limit,
    listed,
    nearest,
    of_these,
    read_table,
    to_raise,
)
from dynet_vdgi.system.names import count as count_of

SHOWN = 20
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
        """Rule (T + 1, T) by head tag (row 0: ROOT, row t + 1: tags[t]) and dependent tag; -1: no rule."""
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
            return parse_rules(without_parts(self.text, names), f"<rules without {', '.join(names)}>")
        except ConfigError as error:
            raise ConfigError(f"{error}; another part cannot do without what was left out") from None

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

        A part's needs are met only from their own part on: a conjunct without conjunctions joins nothing.
        """
        for number, part in enumerate(self.parts):
            later = [other.name for other in self.parts[number + 1 :]]
            reader = TableReader("<rules>")
            _read_all(reader, without_parts(self.text, later))
            yield part, RuleSet(tuple(reader.rules), reader.classes, "", reader.as_it_is())


def count(index: Ints, n_rules: int, tags: Sequence[int], heads: Sequence[Sequence[int]]) -> Floats:
    """How often each of K rules holds in each of M trees of one sentence, the root arc included: -phi.

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
        ConfigError: lines are malformed, a rule occurs twice, two rules match one pair of tags on one side,
            there are too many tags, or there is no rule (in a table: no part); the message has a line for
            each fault, with file and line.
    """
    lines = [content_of(line) for line in text.replace("\ufeff", "").split("\n")]
    reader = (TableReader if any(line.startswith("[") for line in lines) else Reader)(path)
    faults = _read_all(reader, text)
    table = reader.as_it_is() if faults else reader.table()
    result = RuleSet(tuple(reader.rules), reader.classes, text, table)
    n_tags = len(result.mentioned_tags())
    if n_tags > max(limit("tags"), DEFAULTS["tags"]):  # learning and parsing use tables by pairs of tags
        raise ConfigError(f"{path}: rules for {n_tags} tags ({to_raise('tags', n_tags)})")
    faults += [(line, f"{path}:{line}: {what}") for line, what in _doubled(result, reader.lines)]
    if faults:
        told = [message for _, message in sorted(faults)]
        more = [f"{path}: {count_of(len(told) - SHOWN, 'more fault')}"] if len(told) > SHOWN else []
        raise ConfigError("\n".join([*told[:SHOWN], *more]))
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


def _doubled(rules: RuleSet, lines: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Lines whose rule matches a pair of tags already matched on that side by another rule, and remedy."""
    owner: dict[tuple[str, str, str], int] = {}
    told = set()
    for line, rule in zip(lines, rules.rules):
        for head, dependent, side in product(rules.heads(rule), rules.dependents(rule), rule.sides):
            first = owner.setdefault((head, dependent, side), line)
            if first == line or (first, line) in told:
                continue
            told.add((first, line))
            exception = f"except {head} {dependent} {rule.weight:g}"
            exception += "" if rule.sides == SIDES else f" {rule.sides[0]}"
            remedy = f"; change line {first}" + (f", or write '{exception}'" if rules.table else "")
            yield line, f"{head}>{dependent} is already matched by the rule in line {first}{remedy}"


def load_rules(path: str | Path) -> RuleSet:
    """Rules from a file. Raises: ConfigError, the file cannot be read, or as in `parse_rules`."""
    return parse_rules(read_table(path, "rule file"), str(path))


# ----------------------------------------------------------------------------------------------------
# Tags without effect, in a text or in a rule table: probably typos, which silently cost accuracy.


logger = logging.getLogger("dynet_vdgi")

MOST_SHOWN = 20
"""Number of tags that a message names, or says of what may have been meant."""

ALIKE = 0.7
"""Required similarity of a tag to the one that may have been meant, from 0 to 1."""

RARE = 0.01
"""A tag similar to a UD tag, and borne by a smaller share of words than this, is taken for a typo."""

NOT_UNIVERSAL = "a universal parser knows no others; train with --preset best, or wsj-strict for Penn tags"
"""What to do about tags that are not UD's."""

TO_A_MODEL = (
    "vdgi info MODEL lists the tags that it knows; vdgi tag words --retag replaces those of a file; "
    "vdgi train --preset best, or wsj-strict for Penn tags, makes a parser of other tags"
)
"""What to do if a model knows none of the tags."""

MOST_ODD = 0.2
"""The largest share of words with tags of its own in a text that a universal parser suits."""


MOST_OF_X = 0.25
"""The largest share of words with the tag X in a text whose expected accuracy is believed. Of 188 files of UD, one
has 49 % (Yupik-SLI, whose words are parts of words), all others at most 7 %. Where 30 % of the tags of Korean are
replaced by X, 52 % of the heads are expected and 36 % are right; French and Gaelic bear 60 %."""

MOST_ALIKE, FEWEST_ALIKE = 0.6, 10
"""The largest share of words with one tag, if there are at least FEWEST_ALIKE, in a text whose tags say something. In
the same files it is at most 50 %. Beyond it, expected shares are no longer right: with X for all words, 52, 57 and
66 % of the heads were expected in French, Gaelic and Korean, and 26, 35 and 6 % were right; with NOUN for all, 42, 56
and 49 %, and 49, 41 and 18 %."""

TO_TAG = "vdgi tag train learns a tagger from fifty tagged sentences, and vdgi tag MODEL FILE --retag replaces the tags"
"""What to do if tags say nothing."""


def _by_words(counts: Mapping[str, int]) -> list[str]:
    """The tags, those of most words first."""
    return sorted(counts, key=lambda tag: (-counts[tag], tag))


def tag_warnings(counts: Mapping[str, int], rules: RuleSet) -> list[str]:
    """The warning about tags of a text that no rule mentions; `counts` are words by tag, without punctuation.

    >>> from dynet_vdgi.grammar.rules import parse_rules
    >>> rules = parse_rules("ROOT VERB 1\\nVERB NOUN 1")
    >>> print(*tag_warnings({"noun": 70, "VERB": 29, "VREB": 1}, rules))
    no rule mentions these tags of the text: noun VREB (71 words, 71.0 %); write NOUN for noun, VERB for VREB?
    """
    known = rules.mentioned_tags() or UD_TAGS
    strange = _by_words({tag: n for tag, n in counts.items() if tag not in known})
    if not strange:
        return []
    total, n_words = sum(counts.values()), sum(counts[tag] for tag in strange)
    few = RARE * total + 2 if 2 * sum(counts[tag] for tag in counts if tag.upper() in UD_TAGS) > total else 0
    meant = []
    for tag in strange[:MOST_SHOWN]:
        near = tag.upper() if tag.upper() in known else ""
        if not near and tag not in UD_TAGS and counts[tag] < few:
            near = nearest(tag, sorted(UD_TAGS | known), ALIKE)
        meant += [f"{near} for {tag}"] if near else []
    hint = f"; write {', '.join(meant)}?" if meant else ""
    share = f"{count_of(n_words, 'word')}, {100 * n_words / total:.1f} %"
    return [f"no rule mentions these tags of the text: {listed(strange, limit('tags'))} ({share}){hint}"]


def unknown_tags(rules: RuleSet, text_tags: Collection[str]) -> list[str]:
    """The warning about tags of a rule table that neither UD, nor the Penn Treebank, nor the text has."""
    near = sorted(UD_TAGS | set(text_tags)) if len(text_tags) <= limit("tags") else sorted(UD_TAGS)
    unknown = sorted(rules.mentioned_tags() - UD_TAGS - set(text_tags) - set(PENN_TAGS))
    if not unknown:
        return []
    lines: dict[str, int] = {}
    for number, line in enumerate(rules.text.split("\n"), 1):
        for tag in tags_named(content_of(line)):
            lines.setdefault(tag, number)
    named = []
    for tag in unknown[:MOST_SHOWN]:
        meant = f"; did you mean '{tag.upper()}'?" if tag.upper() in near else did_you_mean(tag, near)
        named.append(f"{tag} ({f'line {lines[tag]}' if tag in lines else 'a class'}{meant})")
    more = f", and {len(unknown) - MOST_SHOWN:,} more" if len(unknown) > MOST_SHOWN else ""
    return [f"rules: neither tags of UD nor of the text: {', '.join(named)}{more}"]


def unknown_to_model(counts: Mapping[str, int]) -> list[str]:
    """The message about tags that are unknown to a model, given words by tag; none if there are no such tags.

    >>> unknown_to_model({"X": 1})
    ['tag X (1 word) is unknown to the model and was ignored; vdgi info lists the tags that it knows']
    """
    if not counts:
        return []
    tag, are, were = ("tag", "is", "was") if len(counts) == 1 else ("tags", "are", "were")
    named = f"{listed(_by_words(counts), MOST_SHOWN)} ({count_of(sum(counts.values()), 'word')})"
    ignored = f"unknown to the model and {were} ignored; vdgi info lists the tags that it knows"
    return [f"{tag} {named} {are} {ignored}"]


def tell_unknown(counts: Mapping[str, int], told: set[str]) -> None:
    """Warns of tags that are unknown to a model, once of each; adds them to `told`."""
    new = {tag: n for tag, n in counts.items() if tag not in told}
    told.update(new)
    for line in unknown_to_model(new):
        logger.warning("%s", line)


def check_known(counts: Mapping[str, int], known: Collection[str], path: str, hint: str = "") -> None:
    """Checks the tags of a text but PUNCT, given words by tag, against the tags that a model or rules know.

    hint: what to do if none is known, and not because they are in lower case; "": nothing.

    Raises: DataError, none is known, so that the tags would say nothing.
    """
    tags = sorted(set(counts) - UD_PUNCTUATION, key=lambda tag: -counts[tag])
    if not tags or not set(known).isdisjoint(tags):
        return
    if tags[0].upper() in known:
        hint = f"tags are in upper case: write {tags[0].upper()} for {tags[0]}, and so on"
    if hint:
        raise DataError(path, None, f"none of the tags is known, such as {tags[0]}", hint)


def uninformative(counts: Mapping[str, int], known: Collection[str] = ()) -> str:
    """What shows that the tags of a text say next to nothing, given words by tag; "": they say something.

    known: the tags that say something, but X; (): all.

    >>> uninformative({"X": 3, "NOUN": 1, "PUNCT": 2})
    '75.0 % of the words have the tag X'
    >>> uninformative({"NOUN": 30, "VERB": 20})
    ''
    """
    of_words = {tag: n for tag, n in counts.items() if tag not in UD_PUNCTUATION}
    total = sum(of_words.values())
    empty = {tag: n for tag, n in of_words.items() if tag == "X" or (known and tag not in known)}
    if sum(empty.values()) > MOST_ALIKE * total:
        share, first = sum(empty.values()) / total, _by_words(empty)[0]
        tags = f"the tag {first}" if len(empty) == 1 else f"tags such as {first}"
        return f"{100 * share:.1f} % of the words have {tags}"
    first = _by_words(of_words)[0] if of_words else ""
    if total < FEWEST_ALIKE or of_words[first] <= MOST_ALIKE * total:
        return ""
    return f"{100 * of_words[first] / total:.1f} % of the words have the tag {first}"


def uninformative_warnings(counts: Mapping[str, int], known: Collection[str] = ()) -> list[str]:
    """The warning about tags of a text that say next to nothing, or too little; arguments of `uninformative`.

    >>> print(*uninformative_warnings({"X": 3, "NOUN": 7}))
    30.0 % of the words have the tag X, which says nothing: fewer heads will be right than vdgi expect says
    """
    if reason := uninformative(counts, known):
        return [f"the tags say next to nothing: {reason}. Many heads will be wrong; {TO_TAG}"]
    total = sum(n for tag, n in counts.items() if tag not in UD_PUNCTUATION)
    if counts.get("X", 0) <= MOST_OF_X * total:
        return []
    share = f"{100 * counts['X'] / total:.1f} % of the words have the tag X"
    return [f"{share}, which says nothing: fewer heads will be right than vdgi expect says"]


def tell_uninformative(counts: Mapping[str, int], known: Collection[str] = ()) -> None:
    """Warns of tags of a text that say next to nothing; arguments of `uninformative`."""
    for line in uninformative_warnings(counts, known):
        logger.warning("%s", line)


def in_lower_case(counts: Mapping[str, int]) -> str:
    """A warning about UD tags in lower case, which a tagger would learn as other tags; "": there are none.

    >>> in_lower_case({"noun": 3, "VERB": 2, "NN": 1})
    'tags in lower case are other tags than those of UD: noun (3 words); write NOUN for noun, and so on'
    """
    small = _by_words({tag: n for tag, n in counts.items() if tag.islower() and tag.upper() in UD_TAGS})
    if not small:
        return ""
    words = count_of(sum(counts[tag] for tag in small), "word")
    named, meant = f"{listed(small, MOST_SHOWN)} ({words})", f"write {small[0].upper()} for {small[0]}"
    return f"tags in lower case are other tags than those of UD: {named}; {meant}, and so on"


def tell_unsuited(counts: Mapping[str, int]) -> None:
    """Warns of the reasons why a universal parser does not suit a text with these words by universal tag."""
    odd = {tag: n for tag, n in counts.items() if tag not in UD_TAGS}
    share = sum(odd.values()) / max(1, sum(counts.values()))
    if MOST_ODD < share < 1:  # without any known tag, `check_known` refuses the text
        have, such = "of the words have tags that Universal Dependencies do not have", _by_words(odd)[0]
        logger.warning("%.1f %% %s, such as %s: %s", 100 * share, have, such, NOT_UNIVERSAL)
    if ud_version(counts) == "UD 1":
        logger.warning(
            "the tag CONJ is of UD 1, where conjunctions and copulas depend on other words than in the trees "
            "that a universal parser has learnt: train with --preset best"
        )
