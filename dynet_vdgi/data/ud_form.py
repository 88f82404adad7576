"""What UD's validator requires of FEATS and of `# text`."""

from __future__ import annotations

from collections.abc import Iterable


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
