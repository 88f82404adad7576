"""UD's levels 1 and 2 of one sentence, for the page, and UD's own validator as a program.

See https://universaldependencies.org/format.html. What only several sentences show is left to the
validator: ids given twice, DEPS in some sentences only, a paragraph that begins after
SpaceAfter=No.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from dynet_vdgi.conllu.blocks import Block
from dynet_vdgi.conllu.extra_columns import extra_in
from dynet_vdgi.conllu.faults import NUMBER, quoted
from dynet_vdgi.conllu.raw_documents import token_block
from dynet_vdgi.conllu.tag_sets import UD2_TAGS
from dynet_vdgi.conllu.tree_faults import cycle
from dynet_vdgi.errors import DataError
from dynet_vdgi.relations.ud_relations import LABELS, relation_of

NO_HEADS = "no word has a head"
"""The problem of a sentence without a tree."""

FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(1, 10)

_COMMENTS = {
    "sent_id": (r"\s*=\s*\S+", "a name without spaces"),
    "text": (r"\s*=\s*(.*)", ""),
    "newdoc": (r"(\s+\S+)?", ""),
    "newpar": (r"(\s+\S+)?", ""),
    "parallel_id": (
        r"\s*=\s*[a-z]+/[-0-9a-z]+(/(alt[1-9][0-9]*(part[1-9][0-9]*)?|part[1-9][0-9]*))?",
        "corpus/sentence, perhaps with /alt1 or /part1 after it",
    ),
}
"""What follows a comment's name, and its form in words where a faulty one is an error."""

_FEATURE = re.compile(
    r"([A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)"
)

_RELATION = re.compile(r"[a-z]+(:[a-z]+)?")

_ENHANCED = re.compile(r"[a-z]+(:[a-z]+)?(:[a-z~]+(_[a-z~]+)*)?(:[a-z]+)?")

_NODE = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.[1-9][0-9]{0,8})?")

_ONCE_IN_MISC = ("SpaceAfter", "Lang", "Translit", "LTranslit", "Gloss", "LId", "LDeriv", "Ref")


class UdProblem(NamedTuple):
    """What is wrong with a word; word 0: with the sentence, or with a line that is no word's."""

    word: int  # for an empty node the word before it, for a multiword token its first word
    rule: str  # a name for counting
    text: str  # what is wrong, with the remedy where it is plain
    row: int  # of its line in the sentence, from 0


class _TokenLine(NamedTuple):
    """A line of a word, a multiword token or an empty node."""

    word: int  # as in `UdProblem`
    row: int
    columns: list[str]

    @property
    def is_range(self) -> bool:
        return "-" in self.columns[0]

    @property
    def is_empty(self) -> bool:
        return "." in self.columns[0]

    def problem(self, rule: str, text: str) -> UdProblem:
        if self.is_range or self.is_empty:
            text = (
                f"{'multiword token' if self.is_range else 'empty node'} {self.columns[0]}: {text}"
            )
        return UdProblem(self.word, rule, text, self.row)


def problems_in(lines: Sequence[str], listed: Collection[str] = ()) -> list[UdProblem]:
    """The problems of the lines of one sentence, in their order; of lines that cannot be read, the
    first.

    `listed`: relations that a project has, besides those of UD.
    """
    project = frozenset(listed)
    try:
        token_block(Block("", 1, list(lines), None, extra_in(lines, (), are_named=False)))
    except DataError as error:
        text = f"{error.message} ({error.hint})" if error.hint else error.message
        return [UdProblem(0, "format", text, (error.line or 1) - 1)]
    tokens: list[_TokenLine] = []
    n_words = 0
    for row, line in enumerate(lines):
        if line[0] == "#":
            continue
        columns = line.split("\t")
        n_words += columns[0] == str(n_words + 1)
        tokens.append(_TokenLine(n_words + ("-" in columns[0]), row, columns))
    words = [line for line in tokens if not line.is_range and not line.is_empty]
    nodes = [line for line in tokens if not line.is_range]
    problems = [*_comment_problems(lines, tokens), *_misc_problems(tokens)]
    for row, line in enumerate(lines):
        if not line.isascii() and not unicodedata.is_normalized("NFC", line):
            problems.append(UdProblem(0, "unicode", "not in Unicode's form NFC", row))
        if "\ufffd" in line:
            problems.append(
                UdProblem(0, "unicode", "U+FFFD, which stands for a letter that was lost", row)
            )
        if line[0] != "#" and re.search(r"[^\S\t]{2}", line):
            problems.append(UdProblem(0, "spaces", "two white spaces in a row", row))
    numbers = {node.columns[0] for node in nodes}
    for node in nodes:
        tag = node.columns[UPOS]
        if tag not in UD2_TAGS and not (node.is_empty and tag == "_"):
            text = "UPOS is missing" if tag == "_" else f"{quoted(tag)} is no tag of UD"
            problems.append(node.problem("upos", text))
        if fault := _feats_fault(node.columns[FEATS]):
            problems.append(node.problem("feats", fault))
        if fault := _deps_fault(node.columns, numbers, project):
            problems.append(node.problem("deps", fault))
    if any(node.is_empty or node.columns[DEPS] != "_" for node in nodes):
        problems += _graph_problems(nodes)
    problems += _tree_problems(words, project)
    return sorted(set(problems), key=lambda problem: (problem.row, problem.text))


def _comment_problems(lines: Sequence[str], tokens: list[_TokenLine]) -> Iterator[UdProblem]:
    for name, (pattern, expected) in _COMMENTS.items():
        places = []
        for row, line in enumerate(lines[: tokens[0].row]):
            if match := re.fullmatch(rf"#\s*{name}{pattern}", line):
                places.append((row, match))
            elif expected and line.startswith((f"# {name}", f"#{name}")):
                yield UdProblem(0, name, f"{quoted(line)}: expected # {name} = {expected}", row)
        if len(places) > 1:
            yield UdProblem(0, name, f"a second comment # {name}", places[1][0])
        elif not places and name in ("sent_id", "text"):
            yield UdProblem(0, name, f"there is no comment # {name} = ...", 0)
        elif name == "text":
            ((row, match),) = places
            if fault := _text_fault(match[1], tokens):
                yield UdProblem(0, name, fault, row)
        elif name == "sent_id" and places[0][1][0].count("/") > 1:
            yield UdProblem(0, name, "a second / in sent_id, where it is reserved", places[0][0])


def _text_fault(text: str, tokens: list[_TokenLine]) -> str:
    """Where `# text` and the forms begin to differ; "" if they do not."""
    if not text or text[-1].isspace():
        return "# text ends with a space" if text else "# text is empty"
    rest, inside = text, 0
    for line in tokens:
        if line.is_empty or (line.word <= inside and not line.is_range):
            continue
        if line.is_range:
            inside = int(line.columns[0].partition("-")[2])
        form, is_joined = line.columns[FORM], "SpaceAfter=No" in line.columns[MISC].split("|")
        if not rest.startswith(form):
            return _difference(rest, form)
        rest = rest[len(form) :]
        if not is_joined and rest:
            if not rest[0].isspace():
                return _difference(rest, " ")
            rest = rest.lstrip()
    return _difference(rest, "") if rest else ""


def _difference(rest: str, expected: str) -> str:
    here, there = (quoted(text[:20]) if text else "its end" for text in (rest, expected))
    return f"# text has {here} where the words have {there} (mend it, or SpaceAfter=No in MISC)"


def _misc_problems(tokens: list[_TokenLine]) -> Iterator[UdProblem]:
    inside = 0
    for line in tokens:
        misc = line.columns[MISC]
        if line.is_range:
            inside = int(line.columns[0].partition("-")[2])
            if re.search(r"\s", line.columns[FORM]):
                yield line.problem(
                    "spaces", f"{quoted(line.columns[FORM])} has a space; split it instead"
                )
        elif "SpaceAfter=No" in misc and (line.is_empty or line.word <= inside):
            where = "leave it out" if line.is_empty else "it belongs to the multiword token"
            yield line.problem("misc", f"SpaceAfter=No: {where}")
        entries = misc.split("|")
        keys = [entry.partition("=")[0] for entry in entries]
        for key in _ONCE_IN_MISC:
            if keys.count(key) > 1:
                yield line.problem("misc", f"{key} stands twice in MISC")
        if any(entry.startswith("SpaceAfter=") and entry != "SpaceAfter=No" for entry in entries):
            yield line.problem("misc", "SpaceAfter can be No only; leave it out otherwise")
        if "NoSpaceAfter=Yes" in misc:
            yield line.problem("misc", "write SpaceAfter=No for NoSpaceAfter=Yes")


@lru_cache(maxsize=1 << 14)
def _feats_fault(feats: str) -> str:
    """What is wrong with FEATS; "" if nothing is."""
    if feats == "_":
        return ""
    names = []
    for feature in feats.split("|"):
        match = _FEATURE.fullmatch(feature)
        if not match:
            return f"{quoted(feature)} is no feature: expected Name=Value with capital letters"
        names.append(match[1])
        values = match[2].split(",")
        if values != sorted(dict.fromkeys(values), key=str.lower):
            return f"the values of {quoted(feature)} must be sorted, each once"
    features = feats.split("|")
    if features != sorted(features, key=str.lower) or len(set(names)) < len(names):
        return "FEATS must be sorted by name, each name once"
    return ""


def _deps_fault(columns: list[str], nodes: set[str], project: frozenset[str]) -> str:
    """What is wrong with DEPS; "" if nothing is."""
    if columns[DEPS] == "_":
        return ""
    seen: list[tuple[tuple[int, int], str]] = []
    for entry in columns[DEPS].split("|"):
        head, colon, relation = entry.partition(":")
        if (
            not colon
            or not _NODE.fullmatch(head)
            or not (_is_enhanced(relation) or _is_listed(relation, project))
        ):
            return f"{quoted(entry)} is no enhanced relation: expected head:relation"
        if head == columns[0]:
            return f"{quoted(entry)} leads from the node to itself"
        if head != "0" and head not in nodes:
            return f"{quoted(entry)} has a head that is not in the sentence"
        whole, _, part = head.partition(".")
        seen.append(((int(whole), int(part or 0)), relation))
    return "" if seen == sorted(set(seen)) else "DEPS must be sorted by head, each relation once"


@lru_cache(maxsize=1 << 12)
def _is_enhanced(relation: str) -> bool:
    """Whether it is a relation as in DEPREL, perhaps with a marker's lemma and a case after it."""
    small = ("Ll", "Lm", "Lo", "Mn", "Mc", "Me")
    pattern = ""
    for letter in relation.replace("~", "!"):
        is_small = not letter.isascii() and unicodedata.category(letter) in small
        pattern += "~" if is_small else letter
    return _ENHANCED.fullmatch(pattern) is not None and relation_of(relation) in {*LABELS, "ref"}


def _is_listed(relation: str, project: frozenset[str]) -> bool:
    """Whether an enhanced relation is one of a project's list, perhaps with a marker's lemma or a
    case after it."""
    parts = relation.split(":")
    return any(":".join(parts[:k]) in project for k in range(len(parts), 0, -1))


def _graph_problems(nodes: list[_TokenLine]) -> Iterator[UdProblem]:
    """Whether every node of the enhanced graph can be reached from its root."""
    below: dict[str, list[str]] = {}
    for node in nodes:
        for entry in node.columns[DEPS].split("|"):
            below.setdefault(entry.partition(":")[0], []).append(node.columns[0])
    waiting, reached = ["0"], {"0"}
    while waiting:
        new = set(below.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    if lost := [node for node in nodes if node.columns[0] not in reached]:
        yield lost[0].problem("deps", "no path of DEPS leads to it from the root")


def _tree_problems(words: list[_TokenLine], project: frozenset[str]) -> Iterator[UdProblem]:
    n, texts = len(words), [line.columns[HEAD] for line in words]
    if texts.count("_") == n:
        yield UdProblem(0, "head", NO_HEADS, 0)
        return
    heads = [int(text) if NUMBER.fullmatch(text) else -1 for text in texts]
    is_sound = True
    for line, head in zip(words, heads):
        if 0 <= head <= n and head != line.word:
            continue
        is_sound = False
        text = f"HEAD {quoted(line.columns[HEAD])} is no word of the sentence, nor 0"
        if head == line.word:
            text = "the word is its own head"
        yield line.problem("head", "HEAD is missing" if line.columns[HEAD] == "_" else text)
    roots = [number for number, head in enumerate(heads, 1) if head == 0]
    for number in roots[1:]:
        yield words[number - 1].problem("root", f"a second root, beside word {roots[0]}")
    if is_sound and not roots:
        yield UdProblem(0, "root", "no word is the root (HEAD 0)", 0)
    elif is_sound and (circle := cycle(heads)):
        numbers = ", ".join(map(str, circle))
        yield words[circle[0] - 1].problem("cycle", f"the words {numbers} form a circle of heads")
    for line in words:
        deprel = line.columns[DEPREL]
        if deprel == "_":
            if line.columns[HEAD] != "_":  # without a head, that is told
                yield line.problem("deprel", "DEPREL is missing")
        elif deprel in project:
            continue
        elif not _RELATION.fullmatch(deprel):
            hint = "expected such as nsubj or nsubj:pass, in small letters"
            text = f"DEPREL {quoted(deprel)} has not the form of a relation ({hint})"
            yield line.problem("deprel", text)
        elif relation_of(deprel) not in LABELS:
            yield line.problem("deprel", f"DEPREL {quoted(deprel)} is no relation of UD")
