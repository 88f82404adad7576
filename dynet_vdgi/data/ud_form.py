"""Further requirements of UD's validator for sound sentences: sent_id, text, order of FEATS, relations.

Such lines are read unchanged, so they are no faults for `conllu.read`; `vdgi check` warns of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dynet_vdgi.system.names import count

_SENT_ID = re.compile(r"^# sent_id = *(.*?) *$", re.MULTILINE)
_FEATS = re.compile(r"^[^#\t\n]*\t(?:[^\t\n]*\t){4}([^\t\n]*=[^\t\n]*)", re.MULTILINE)
_NO_RELATION = re.compile(r"^\d+\t(?:[^\t\n]*\t){5}\d+\t_\t", re.MULTILINE)
_TEXT = "# text ="

REMEDIES = {
    "sent_id of an earlier sentence": "give each its own",
    "# text does not fit the words": "mend it, or SpaceAfter=No in MISC",
    "FEATS out of order": "sort them by name, each once",
    "DEPREL is missing beside a head": "write the relation",
}
"""Possible findings, with their remedies."""


@dataclass
class UdForm:
    """Counts the findings in sentences added one after the other; `found`: number and first place."""

    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    _sent_ids: set[str] = field(default_factory=set)
    _is_sorted: dict[str, bool] = field(default_factory=dict)

    def add(self, path: str, line: int, text: str) -> None:
        """Adds sound sentences, separated by empty lines; `line`: number of their first line."""
        unrelated = (match.start() for match in _NO_RELATION.finditer(text))
        places = (self._doubled(text), self._other_texts(text), self._unsorted(text), unrelated)
        for what, found in zip(REMEDIES, places):
            for place in found:
                number, first = self.found.get(what, (0, ""))
                first = first or f"{path}:{line + text.count(chr(10), 0, place)}"
                self.found[what] = (number + 1, first)

    def lines(self) -> list[str]:
        """The findings, a line each."""
        return [
            f"{what} ({count(self.found[what][0], 'line')}, first {self.found[what][1]}): {remedy}"
            for what, remedy in REMEDIES.items()
            if what in self.found
        ]

    def _doubled(self, text: str) -> Iterator[int]:
        for match in _SENT_ID.finditer(text):
            if match[1] in self._sent_ids:
                yield match.start()
            self._sent_ids.add(match[1])

    def _unsorted(self, text: str) -> Iterator[int]:
        for match in _FEATS.finditer(text):
            feats = match[1]
            if feats not in self._is_sorted:
                self._is_sorted[feats] = are_in_order([part.partition("=")[0] for part in feats.split("|")])
            if not self._is_sorted[feats]:
                yield match.start()

    @staticmethod
    def _other_texts(text: str) -> Iterator[int]:
        if _TEXT not in text:
            return
        place = 0
        for block in text.split("\n\n"):
            for line in block.split("\n"):
                if line.startswith(_TEXT):
                    if line[len(_TEXT) :].split() != text_of(block.split("\n")).split():
                        yield place + block.index(line)
                    break
            place += len(block) + 2


def are_in_order(names: list[str]) -> bool:
    """Whether names are sorted without regard to capitals, each once."""
    small = [name.lower() for name in names]
    return small == sorted(set(small))


def text_of(lines: Iterable[str]) -> str:
    """The text that the words of a sentence make up: forms, with spaces except after SpaceAfter=No."""
    pieces, inside = [], 0
    for line in lines:
        if line[:1] in ("", "#"):
            continue
        token, form, *_, misc = line.split("\t")
        first, hyphen, last = token.partition("-")
        if "." in first or (not hyphen and int(first) <= inside):
            continue
        if hyphen:
            inside = int(last)
        pieces.append(form if "SpaceAfter=No" in misc.split("|") else f"{form} ")
    return "".join(pieces)
