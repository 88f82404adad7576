"""XML as a tree of nodes that know their lines; what makes XML dangerous is refused before it is
read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from dynet_vdgi.converters.sources import ForeignFile
from dynet_vdgi.errors import DataError
from dynet_vdgi.system.limits import limit, to_raise

DEEPEST = 200
"""Elements inside each other; FLEx and ELAN need a dozen."""


@dataclass(slots=True)
class Node:
    """An element: its name and attributes without namespaces, its text without that of its
    children."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Node] = field(default_factory=list)

    def get(self, name: str) -> str:
        """An attribute; "" without one."""
        return self.attributes.get(name, "")

    def named(self, tag: str) -> list[Node]:
        """The children with this name."""
        return [child for child in self.children if child.tag == tag]

    def below(self, tag: str) -> Iterator[Node]:
        """The nodes with this name below this one, in their order; nothing inside one of them."""
        for child in self.children:
            if child.tag == tag:
                yield child
            else:
                yield from child.below(tag)


class _NodeBuilder:
    """What the parser calls."""

    def __init__(self, name: str, parser: expat.XMLParserType) -> None:
        self.name, self.parser, self.most = name, parser, limit("elements")
        self.root = Node("", {}, 0)
        self.open = [self.root]
        self.pieces: list[list[str]] = [[]]
        self.n_elements = 0

    def fault(self, message: str, hint: str) -> DataError:
        return DataError(self.name, self.parser.CurrentLineNumber, message, hint)

    def doctype(self, *_: Any) -> None:
        """Entities multiply, and read other files; neither FLEx nor ELAN writes a document type."""
        raise self.fault(
            "a document type (DTD), which could hold entities", "remove <!DOCTYPE ...>"
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.n_elements += 1
        if self.n_elements > self.most:
            raise self.fault(f"more than {self.most:,} elements", to_raise("elements"))
        if len(self.open) > DEEPEST:
            raise self.fault(
                f"more than {DEEPEST} elements inside each other", "is this the file that you mean?"
            )
        plain = {name.rpartition(":")[2]: value for name, value in attributes.items()}
        node = Node(tag.rpartition(":")[2], plain, self.parser.CurrentLineNumber)
        self.open[-1].children.append(node)
        self.open.append(node)
        self.pieces.append([])

    def end(self, _: str) -> None:
        self.open.pop().text = "".join(self.pieces.pop()).strip()

    def characters(self, data: str) -> None:
        self.pieces[-1].append(data)


def parse(source: ForeignFile) -> Node:
    """The root element of an XML file.

    Raises: DataError, with the line: it is no XML, has a document type, or is too large or too
    deep.
    """
    if source.tree is None:
        source.tree = _root(source)
    root: Node = source.tree
    return root


def _root(source: ForeignFile) -> Node:
    try:
        parser = expat.ParserCreate(source.encoding or None)
    except ValueError:
        raise DataError(
            source.name, None, "no XML in that encoding", "leave --encoding out"
        ) from None
    builder = _NodeBuilder(source.name, parser)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = builder.doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    try:
        parser.Parse(source.data, True)
    except (expat.ExpatError, LookupError, UnicodeError) as error:
        code, line = getattr(error, "code", 0), getattr(error, "lineno", parser.CurrentLineNumber)
        reason = expat.errors.messages.get(code) or str(error)
        hint = "the file is damaged or was cut off? export it again"
        raise DataError(source.name, line, f"this is no sound XML: {reason}", hint) from None
    return builder.root.children[0]
