"""The contents of a CoNLL-U file, for somebody who wants to train on it or parse it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from dynet_vdgi.data import conllu
from dynet_vdgi.data.conllu_blocks import OnFault
from dynet_vdgi.data.corpus import SHORTEST, Filter
from dynet_vdgi.data.files import AnyPath
from dynet_vdgi.data.protocols import UD_TAGS, Protocol, ud_version
from dynet_vdgi.data.punctuation import is_projective, without_punctuation
from dynet_vdgi.data.sentence import FREE, Sentence
from dynet_vdgi.grammar.rules import RuleSet
from dynet_vdgi.grammar.tag_warnings import tag_warnings, unknown_tags
from dynet_vdgi.system import progress
from dynet_vdgi.system.names import aligned, count, limit, listed

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
    kept_tags: Counter[str] = field(default_factory=Counter)  # without punctuation, as all fields below
    lengths: Counter[int] = field(default_factory=Counter)
    arcs: int = 0
    rule_arcs: int = 0
    unnormalised: int = 0  # lines
    first_unnormalised: str = ""  # its place

    def __post_init__(self) -> None:
        self._pairs = self.rules.pairs()
        self._keep = Filter(self.protocol, self.max_len, SHORTEST)

    def add(self, sentence: Sentence) -> None:
        self.sentences += 1
        self.words += len(sentence)
        self.tags.update(sentence.tags)
        self._look_at_lines(sentence)
        self.words_of_protocol += len(without_punctuation(sentence, self.protocol.removed_tags)[0])
        for trained in self._keep([sentence]):
            self.trained_sentences += 1
            self.trained_words += len(trained)
        kept, _ = without_punctuation(sentence)
        self.lengths[len(kept)] += 1
        self.kept_tags.update(kept.tags)
        if sentence.heads is None or kept.heads is None:
            return
        if FREE in sentence.heads:
            self.in_part += 1
            self.heads_given += len(sentence) - sentence.heads.count(FREE)
            return
        self.with_trees += 1
        self.projective += is_projective(sentence.heads)
        self.arcs += len(kept)
        tags = ("ROOT", *kept.tags)
        self.rule_arcs += sum((tags[head], tag) in self._pairs for tag, head in zip(kept.tags, kept.heads))

    def _look_at_lines(self, sentence: Sentence) -> None:
        """Counts tokens that are no words, and lines that are not in the form NFC, which UD requires."""
        source = sentence.source
        for row, line in enumerate(source.lines if source else ()):
            if line[0] != "#":
                token = line.partition("\t")[0]
                self.multiword_tokens += "-" in token
                self.empty_nodes += "." in token
            if source and not line.isascii() and not unicodedata.is_normalized("NFC", line):
                self.unnormalised += 1
                self.first_unnormalised = self.first_unnormalised or f"{source.path}:{source.line + row}"

    def lines(self, with_unused: bool = True) -> list[str]:
        """What is in the file, for people; `with_unused`: also rules whose tags it lacks."""
        if not self.sentences:
            return ["  no sound sentence: nothing to describe"]
        others = f"{count(self.multiword_tokens, 'multiword token')}, {count(self.empty_nodes, 'empty node')}"
        facts = [
            ("sentences", f"{self.sentences:,}"),
            ("words", f"{self.words:,}" + f" ({others})" * bool(self.multiword_tokens or self.empty_nodes)),
            ("tags", listed([f"{tag} {n}" for tag, n in self.tags.most_common()], limit("tags"))),
            ("tag set", self._tag_set()),
            ("lengths", f"{', '.join(self._bands())} (without punctuation)"),
            ("training", self._training()),
        ]
        partial = f"{count(self.in_part, 'tree')} in part ({count(self.heads_given, 'head')})"
        if self.with_trees:
            share = 100 * self.projective / self.with_trees
            whole = f"{count(self.with_trees, 'sentence')}, {share:.1f} % projective"
            facts.append(("trees", f"{whole}; {partial} besides" if self.in_part else whole))
            if self.rules.text:  # universal models have no rules
                covered = 100 * self.rule_arcs / max(self.arcs, 1)
                facts.append(("rules", f"hold for {covered:.1f} % of the arcs (without punctuation)"))
        else:
            none = "none (not needed for training or parsing)"
            facts.append(("trees", f"{partial}, none whole" if self.in_part else none))
        result = [f"  {line}" for line in aligned(facts, left=2).splitlines()]
        if self.unnormalised:
            found = f"{count(self.unnormalised, 'line')}, first {self.first_unnormalised}"
            result.append(f"  not in Unicode's form NFC ({found}): letters that look the same may differ")
        unused = self.rules.unused(sorted(self.tags))
        if unused and with_unused:
            rules = " ".join(map(str, unused))
            result.append(f"  rules that cannot apply (tag absent from this file): {rules}")
        warnings = (*tag_warnings(self.kept_tags, self.rules), *unknown_tags(self.rules, set(self.tags)))
        return [*result, *(f"  {warning}" for warning in warnings)]

    def _tag_set(self) -> str:
        universal = sum(n for tag, n in self.tags.items() if tag in UD_TAGS)
        if 2 * universal < self.words:
            return "not UD's"
        if {"CONJ", "CCONJ"} <= set(self.tags):
            return "UD 1 and UD 2 mixed: CONJ and CCONJ are the same tag in these"
        return ud_version(self.tags) or "UD (1 and 2 differ in CONJ and CCONJ, which are not here)"

    def _bands(self) -> list[str]:
        cells, previous = [], 0
        for band in (*BANDS, None):
            last = band or max(self.lengths)
            inside = sum(n for length, n in self.lengths.items() if previous < length <= last)
            cells.append(f"{previous + 1}-{band}: {inside:,}" if band else f">{previous}: {inside:,}")
            previous = band or previous
        return cells

    def _training(self) -> str:
        limit = f"{SHORTEST} to {self.max_len} words"
        if self.protocol.removed_tags:
            limit += " without punctuation"
        if self.protocol.projective_only:
            limit += ", projective"
        sentences = _share(self.trained_sentences, self.sentences, "sentence")
        words = _share(self.trained_words, self.words_of_protocol, "word")
        return f"uses {sentences}, {words}: those with {limit}"


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

    Some heads may be missing; the others are checked. `protocol` and `max_len` are the settings for training.

    Raises: `DataError` for the first fault, without `on_fault`.
    """
    summary = Summary(rules, protocol, max_len)
    with progress.Bar("sentences") as bar:
        for sentence in conllu.read(path, heads="partial", tags=tags, on_error=on_fault):
            summary.add(sentence)
            bar.update(1)
    return summary
