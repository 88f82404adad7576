"""Levels 1 and 2: lines, comments, columns, the basic tree, and the form of enhanced graphs.

See https://universaldependencies.org/format.html.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from dynet_vdgi.data.conllu_blocks import Block
from dynet_vdgi.data.conllu_faults import NUMBER, quoted
from dynet_vdgi.data.punctuation import cycle
from dynet_vdgi.data.raw_text import token_block
from dynet_vdgi.data.tags import UD2_TAGS
from dynet_vdgi.data.ud_form import are_in_order, text_of
from dynet_vdgi.errors import DataError
from dynet_vdgi.labels.label_table import LABELS, relation_of
from dynet_vdgi.validation.word_lines import WordLines

NO_HEADS = "no word has a head"
"""The problem of a sentence without a tree."""

FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(1, 10)

_COMMENT = re.compile(r"#\s*(sent_id|text)\s*=\s?(.*)")
_FEATURE = re.compile(
    r"([A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)"
)
_RELATION = re.compile(r"[a-z]+(:[a-z]+)?")
_NODE = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.[1-9][0-9]{0,8})?")


def sent_id_in(line: str) -> str:
    """The name that a comment of UD's form gives to its sentence; "" for other lines."""
    found = _COMMENT.fullmatch(line)
    return found[2] if found and found[1] == "sent_id" else ""


def read(lines: list[str]) -> WordLines:
    """The sentence of these lines, with the problems of level 1; without words if they cannot be read."""
    words = WordLines(lines)
    try:
        tokens = token_block(Block("", 1, lines))
    except DataError as error:
        text = f"{error.message} ({error.hint})" if error.hint else error.message
        words.say(0, 1, "format", text, (error.line or 1) - 1)
        return words
    for row, line in enumerate(lines):
        if not line.isascii() and not unicodedata.is_normalized("NFC", line):
            words.say(0, 1, "unicode", "not in Unicode's form NFC", row)
        if "\ufffd" in line:
            words.say(0, 1, "unicode", "U+FFFD, which stands for a letter that was lost", row)
        if line[0] == "#":
            continue
        number, *_ = columns = line.split("\t")
        if number == str(len(words.words) + 1):
            words.words.append(columns)
            words.rows.append(row)
        elif "-" in number:
            first, _, last = number.partition("-")
            words.ranges.append((int(first), int(last), row))
        else:
            words.empty[number] = row
    assert len(words.words) == sum(len(own) for _, own in tokens.tokens)
    return words


def check(words: WordLines) -> bool:
    """Adds the problems of level 2; returns whether the words have a tree."""
    _check_comments(words)
    for number, columns in enumerate(words.words, 1):
        if columns[UPOS] not in UD2_TAGS:
            missing = (
                "UPOS is missing" if columns[UPOS] == "_" else f"{quoted(columns[UPOS])} is no tag of UD"
            )
            words.say(number, 2, "upos", missing)
        if fault := _feats_fault(columns[FEATS]):
            words.say(number, 2, "feats", fault)
        if columns[MISC] != "_" and (fault := _misc_fault(columns[MISC])):
            words.say(number, 2, "misc", fault)
        if columns[DEPS] != "_" and (fault := _deps_fault(columns[DEPS], number, words)):
            words.say(number, 2, "deps", fault)
    _check_other_lines(words)
    if words.empty or any(columns[DEPS] != "_" for columns in words.words):
        _check_reached(words)
    return _check_tree(words)


# ------------------------------------------------------------------------------------------- comments
def _check_comments(words: WordLines) -> None:
    known: dict[str, list[tuple[int, str]]] = {"sent_id": [], "text": []}
    for row, line in enumerate(words.lines):
        if line[0] != "#":
            break
        if found := _COMMENT.fullmatch(line):
            known[found[1]].append((row, found[2]))
    for name, lines in known.items():
        if not lines:
            words.say(0, 2, name, f"there is no comment # {name} = ...")
        elif len(lines) > 1:
            words.say(0, 2, name, f"a second comment # {name}", lines[1][0])
    for row, name in known["sent_id"][:1]:
        if not name or any(character.isspace() for character in name):
            words.say(0, 2, "sent_id", f"sent_id {quoted(name)} is empty or has spaces", row)
    for row, text in known["text"][:1]:
        expected = text_of(words.lines)
        if text.split() != expected.split():
            words.say(0, 2, "text", _text_fault(text, expected), row)
        elif text != text.rstrip():
            words.say(0, 2, "text", "# text ends with a space", row)


def _text_fault(text: str, expected: str) -> str:
    """Where `# text` and the text of the words begin to differ."""
    n = next((n for n, (a, b) in enumerate(zip(text, expected)) if a != b), min(len(text), len(expected)))
    here, there = (
        quoted(text[n : n + 20]) if n < len(text) else "its end",
        quoted(expected[n : n + 20].rstrip()),
    )
    return f"# text has {here} where the words have {there} (mend it, or SpaceAfter=No in MISC)"


# ------------------------------------------------------------------------------------------- columns
@lru_cache(maxsize=1 << 14)
def _feats_fault(feats: str) -> str:
    """What is wrong with FEATS; "" if nothing is."""
    if feats == "_":
        return ""
    for feature in feats.split("|"):
        found = _FEATURE.fullmatch(feature)
        if not found:
            return f"{quoted(feature)} is no feature: expected Name=Value with capital letters"
        values = found[2].split(",")
        if len(values) > 1 and not are_in_order(values):
            return f"the values of {quoted(feature)} must be sorted, each once"
    if not are_in_order([feature.partition("=")[0] for feature in feats.split("|")]):
        return "FEATS must be sorted by name, each name once"
    return ""


@lru_cache(maxsize=1 << 14)
def _misc_fault(misc: str) -> str:
    for entry in misc.split("|"):
        key, _, value = entry.partition("=")
        if not key:
            return "MISC has an entry without a name"
        if entry != entry.strip() or key != key.strip():
            return f"{quoted(entry)} in MISC begins or ends with a space"
        if key == "SpaceAfter" and value != "No":
            return "SpaceAfter can be No only; leave it out otherwise"
    return ""


def _deps_fault(deps: str, number: int | str, words: WordLines) -> str:
    """What is wrong with DEPS of a word or an empty node; "" if nothing is."""
    seen: list[tuple[tuple[int, int], str]] = []
    for entry in deps.split("|"):
        head, colon, relation = entry.partition(":")
        if not colon or not _NODE.fullmatch(head) or not _is_enhanced(relation):
            return f"{quoted(entry)} is no enhanced relation: expected head:relation"
        if head == str(number):
            return f"{quoted(entry)} leads from the node to itself"
        if head not in words.empty and not ("." not in head and int(head) <= len(words.words)):
            return f"{quoted(entry)} has a head that is not in the sentence"
        whole, _, part = head.partition(".")
        seen.append(((int(whole), int(part or 0)), relation))
    return "" if seen == sorted(set(seen)) else "DEPS must be sorted by head, each relation once"


def _check_reached(words: WordLines) -> None:
    """That every node of the enhanced graph can be reached from its root."""
    heads = {str(number): columns[DEPS] for number, columns in enumerate(words.words, 1)}
    heads |= {token: words.lines[row].split("\t")[DEPS] for token, row in words.empty.items()}
    below: dict[str, list[str]] = {}
    for node, deps in heads.items():
        for entry in deps.split("|"):
            below.setdefault(entry.partition(":")[0], []).append(node)
    waiting, reached = ["0"], {"0"}
    while waiting:
        new = set(below.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    if lost := [node for node in heads if node not in reached]:
        words.say(
            int(lost[0].partition(".")[0]), 2, "deps", f"DEPS: no path leads from the root to {lost[0]}"
        )


@lru_cache(maxsize=1 << 12)
def _is_enhanced(relation: str) -> bool:
    """Whether it is a relation as in DEPREL, perhaps with a marker's lemma and a case after it."""
    first, *further = relation.split(":")
    small = ("Ll", "Lm", "Lo", "Mn", "Mc", "Me")
    return re.fullmatch("[a-z]+", first) is not None and all(
        word and all(unicodedata.category(character) in small for character in word)
        for part in further
        for word in part.split("_")
    )


def _check_other_lines(words: WordLines) -> None:
    """The lines of empty nodes and multiword tokens, and words inside these."""
    for token, row in words.empty.items():
        columns, before = words.lines[row].split("\t"), int(token.partition(".")[0])
        if columns[UPOS] not in UD2_TAGS and columns[UPOS] != "_":
            words.say(before, 2, "upos", f"{quoted(columns[UPOS])} is no tag of UD", row)
        fault = _feats_fault(columns[FEATS])
        if columns[DEPS] != "_":
            fault = fault or _deps_fault(columns[DEPS], token, words)
        if fault:
            words.say(before, 2, "empty-node", f"empty node {token}: {fault}", row)
        if "SpaceAfter=" in columns[MISC]:
            words.say(before, 2, "misc", f"empty node {token} cannot have SpaceAfter", row)
    for first, last, row in words.ranges:
        if fault := _misc_fault(words.lines[row].rpartition("\t")[2]):
            words.say(first, 2, "misc", fault, row)
        for number in range(first, last + 1):
            if "SpaceAfter=" in words.words[number - 1][MISC]:
                words.say(number, 2, "misc", "SpaceAfter belongs to the multiword token, not to its words")


# ------------------------------------------------------------------------------------------- tree
def _check_tree(words: WordLines) -> bool:
    n, texts = len(words.words), [columns[HEAD] for columns in words.words]
    if texts.count("_") == n:
        words.say(0, 2, "head", NO_HEADS)
        return False
    before = len(words.found)
    for number, text in enumerate(texts, 1):
        head = int(text) if NUMBER.fullmatch(text) else -1
        words.heads.append(head if head <= n else -1)
        if text == "_":
            words.say(number, 2, "head", "HEAD is missing")
        elif not 0 <= head <= n:
            words.say(number, 2, "head", f"HEAD {quoted(text)} is no word of the sentence, nor 0")
        elif head == number:
            words.say(number, 2, "head", "the word is its own head")
    roots = [number for number, head in enumerate(words.heads, 1) if head == 0]
    for number in roots[1:]:
        words.say(number, 2, "root", f"a second root, beside word {roots[0]}")
    if len(words.found) == before and not roots:
        words.say(0, 2, "root", "no word is the root (HEAD 0)")
    if len(words.found) == before and (circle := cycle(words.heads)):
        numbers = ", ".join(map(str, circle))
        words.say(circle[0], 2, "cycle", f"the words {numbers} form a circle of heads")
    is_tree = len(words.found) == before
    for number, (columns, head) in enumerate(zip(words.words, words.heads), 1):
        _check_relation(words, number, columns[DEPREL], head)
    return is_tree


def _check_relation(words: WordLines, number: int, deprel: str, head: int) -> None:
    if deprel == "_":
        if head >= 0:
            words.say(number, 2, "deprel", "DEPREL is missing")
    elif not _RELATION.fullmatch(deprel):
        hint = "expected such as nsubj or nsubj:pass, in small letters"
        words.say(number, 2, "deprel", f"DEPREL {quoted(deprel)} has not the form of a relation ({hint})")
    elif relation_of(deprel) not in _UNIVERSAL:
        words.say(number, 2, "deprel", f"DEPREL {quoted(deprel)} is no relation of UD")


_UNIVERSAL = frozenset(LABELS)
