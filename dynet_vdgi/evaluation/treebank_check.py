"""The contents of a CoNLL-U file, for somebody who wants to train on it or parse it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from dynet_vdgi.conllu import reading
from dynet_vdgi.conllu.blocks import OnFault
from dynet_vdgi.conllu.filtering import SHORTEST, Filter
from dynet_vdgi.conllu.protocols import Protocol
from dynet_vdgi.conllu.punctuation import is_projective, without_punctuation
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.conllu.tag_sets import UD_TAGS, ud_version
from dynet_vdgi.conllu.tree_faults import FREE
from dynet_vdgi.rule_tables.rules import RuleSet
from dynet_vdgi.rule_tables.tag_warnings import tag_warnings, uninformative_warnings, unknown_tags
from dynet_vdgi.system import progress
from dynet_vdgi.system.files import AnyPath
from dynet_vdgi.system.limits import limit
from dynet_vdgi.system.messages import count, listed
from dynet_vdgi.system.text_tables import aligned

BANDS = (5, 10, 15, 20, 30, 40)


@dataclass
class Summary:
    """The contents of one file, collected sentence by sentence."""

    rules: RuleSet
    protocol: Protocol
    max_len: int
    sentences: int = 0
    words: int = 0
    multiword_tokens: int = 0
    empty_nodes: int = 0
    with_trees: int = 0
    in_part: int = 0  # sentences with only some of their heads
    heads_given: int = 0  # heads in these sentences
    projective: int = 0
    words_of_protocol: int = 0  # without the words that the protocol removes
    trained_sentences: int = 0
    trained_words: int = 0
    tags: Counter[str] = field(default_factory=Counter)
    # without punctuation, as all fields below
    kept_tags: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    arcs: int = 0
    rule_arcs: int = 0
    names: set[str] = field(default_factory=set)  # the values of sent_id
    repeated: int = 0  # sentences whose sent_id an earlier one has
    first_repeated: str = ""  # the first of these, with its place

    def __post_init__(self) -> None:
        self._pairs = self.rules.pairs()
        self._keep = Filter(self.protocol, self.max_len, SHORTEST)

    def add(self, sentence: Sentence) -> None:
        self.sentences += 1
        self.words += len(sentence)
        self.tags.update(sentence.tags)
        source = sentence.source
        if source and (name := source.sent_id):
            if name in self.names:
                self.repeated += 1
                self.first_repeated = self.first_repeated or f"{name} in line {source.line}"
            self.names.add(name)
        for line in source.lines if source else ():
            if line[0] != "#":  # tokens that are no words
                token = line.partition("\t")[0]
                self.multiword_tokens += "-" in token
                self.empty_nodes += "." in token
        self.words_of_protocol += len(without_punctuation(sentence, self.protocol.removed_tags)[0])
        for trained in self._keep([sentence]):
            self.trained_sentences += 1
            self.trained_words += len(trained)
        without_marks, _ = without_punctuation(sentence)
        self.lengths[len(without_marks)] += 1
        self.kept_tags.update(without_marks.tags)
        if sentence.heads is None or without_marks.heads is None:
            return
        if FREE in sentence.heads:
            self.in_part += 1
            self.heads_given += len(sentence) - sentence.heads.count(FREE)
            return
        self.with_trees += 1
        self.projective += is_projective(sentence.heads)
        self.arcs += len(without_marks)
        tags = ("ROOT", *without_marks.tags)
        self.rule_arcs += sum(
            (tags[head], tag) in self._pairs
            for tag, head in zip(without_marks.tags, without_marks.heads)
        )

    def lines(self, with_unused: bool = True) -> list[str]:
        """What is in the file, for people; `with_unused`: also rules whose tags it lacks."""
        if not self.sentences:
            return ["  no sound sentence: nothing to describe"]
        multiword_tokens = count(self.multiword_tokens, "multiword token")
        others = f"{multiword_tokens}, {count(self.empty_nodes, 'empty node')}"
        tag_set = (
            ud_version(self.tags) or "UD (1 and 2 differ in CONJ and CCONJ, which are not here)"
        )
        if {"CONJ", "CCONJ"} <= set(self.tags):
            tag_set = "UD 1 and UD 2 mixed: CONJ and CCONJ are the same tag in these"
        if 2 * sum(n for tag, n in self.tags.items() if tag in UD_TAGS) < self.words:
            tag_set = "not UD's"
        used = _share(self.trained_sentences, self.sentences, "sentence")
        used += f", {_share(self.trained_words, self.words_of_protocol, 'word')}"
        limits = f"{SHORTEST} to {self.max_len} words"
        limits += " without punctuation" if self.protocol.removed_tags else ""
        limits += ", projective" if self.protocol.projective_only else ""
        bands, previous = [], 0
        for band in (*BANDS, max(*self.lengths, BANDS[-1] + 1)):
            inside = sum(n for length, n in self.lengths.items() if previous < length <= band)
            name = f"{previous + 1}-{band}" if band in BANDS else f">{previous}"
            bands.append(f"{name}: {inside:,}")
            previous = band
        facts = [
            ("sentences", f"{self.sentences:,}"),
            (
                "words",
                f"{self.words:,}"
                + f" ({others})" * bool(self.multiword_tokens or self.empty_nodes),
            ),
            ("tags", listed([f"{tag} {n}" for tag, n in self.tags.most_common()], limit("tags"))),
            ("tag set", tag_set),
            ("lengths", f"{', '.join(bands)} (without punctuation)"),
            ("training", f"uses {used}: those with {limits}"),
        ]
        partial = f"{count(self.in_part, 'tree')} in part ({count(self.heads_given, 'head')})"
        if self.with_trees:
            share = 100 * self.projective / self.with_trees
            whole = f"{count(self.with_trees, 'sentence')}, {share:.1f} % projective"
            facts.append(("trees", f"{whole}; {partial} besides" if self.in_part else whole))
            if self.rules.text:  # universal models have no rules
                covered = 100 * self.rule_arcs / max(self.arcs, 1)
                facts.append(
                    ("rules", f"hold for {covered:.1f} % of the arcs (without punctuation)")
                )
        else:
            none = "none (not needed for training or parsing)"
            facts.append(("trees", f"{partial}, none whole" if self.in_part else none))
        result = [f"  {line}" for line in aligned(facts, left=2).splitlines()]
        unused = self.rules.unused(sorted(self.tags))
        if unused and with_unused:
            rules = " ".join(map(str, unused))
            result.append(f"  rules that cannot apply (tag absent from this file): {rules}")
        of_rules = (
            *tag_warnings(self.kept_tags, self.rules),
            *unknown_tags(self.rules, set(self.tags)),
        )
        if self.repeated:
            result.append(f"  {_note_of_repeated_ids(self.repeated, self.first_repeated)}")
        warnings = (*uninformative_warnings(self.kept_tags), *of_rules)
        return [*result, *(f"  {warning}" for warning in warnings)]


def _note_of_repeated_ids(n_sentences: int, first: str) -> str:
    """The note about sentences with the same sent_id, which this program can use, but UD
    forbids."""
    which = f"1 sentence has the sent_id of an earlier one: {first}"
    if n_sentences > 1:
        which = (
            f"{count(n_sentences, 'sentence')} have the sent_id of an earlier one, such as {first}"
        )
    return f"{which} (UD forbids that; vdgi release renames them)"


def _share(part: int, whole: int, what: str) -> str:
    return f"{part:,} of {count(whole, what)} ({100 * part / max(whole, 1):.1f} %)"


def check(
    path: AnyPath,
    rules: RuleSet,
    protocol: Protocol,
    max_len: int,
    *,
    tags: str = "upos",
    on_fault: OnFault | None = None,
) -> Summary:
    """The contents of a file; calls `on_fault` with each fault and skips the faulty sentence.

    Some heads may be missing; the others are checked. `protocol` and `max_len` are the settings for
    training.

    Raises: `DataError` for the first fault, without `on_fault`.
    """
    summary = Summary(rules, protocol, max_len)
    with progress.Bar("sentences") as bar:
        for sentence in reading.read(path, heads="partial", tags=tags, on_error=on_fault):
            summary.add(sentence)
            bar.update(1)
    return summary
