"""From the columns of a sentence to what a drawing of it holds; forms and tags lose their control
characters.

Terminals obey control characters, and pictures must not contain them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dynet_vdgi.drawing.layout import DrawnTree, EmptyNode, MultiwordToken
from dynet_vdgi.system.messages import plain

_CONFIDENCE = re.compile(r"[\t|]HeadConf=([01](?:\.\d+)?)(?=\||$)")


def drawn_columns(
    forms: Sequence[str],
    tags: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] = (),
    *,
    lines: Sequence[str] = (),
    rows: Sequence[int] = (),
    faults: Sequence[str] = (),
    caption: str = "",
) -> DrawnTree:
    """The drawing of words.

    heads: NO_ARC where none is drawn. relations: of all words, or none. lines: the sentence's own
    lines, of which `rows` are those of the words; multiword tokens, empty nodes and HeadConf= are
    taken from them.
    """
    relations = ["" if relation == "_" else plain(relation) for relation in relations]
    matches = [_CONFIDENCE.search(lines[row]) for row in rows] if lines else []
    sure = [float(match[1]) if match else None for match in matches] if any(matches) else None
    tokens, empty = tokens_and_empty_nodes(lines)
    return DrawnTree(
        [plain(form) for form in forms],
        [plain(tag) for tag in tags],
        heads,
        caption=plain(caption),
        relations=relations,
        sure=sure,
        tokens=tokens,
        empty=empty,
        faults=faults,
    )


def tokens_and_empty_nodes(lines: Sequence[str]) -> tuple[list[MultiwordToken], list[EmptyNode]]:
    """The multiword tokens and empty nodes in the lines of a sentence."""
    tokens, empty = [], []
    for line in lines:
        number, tab, _ = line.partition("\t")
        if not tab or line.startswith("#"):
            continue
        columns = line.split("\t")
        if "-" in number:
            first, _, last = number.partition("-")
            tokens.append(MultiwordToken(int(first), int(last), plain(columns[1])))
        elif "." in number:
            empty.append(
                EmptyNode(
                    int(number.partition(".")[0]), number, plain(columns[1]), plain(columns[3])
                )
            )
    return tokens, empty
