"""Protocols: which words and trees count. Figures under different ones cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynet_vdgi.errors import ConfigError, check_kind

UD_PUNCTUATION = frozenset({"PUNCT"})


@dataclass(frozen=True)
class Protocol:
    """The words and trees removed before training and scoring. Length counts the words that are
    left.

    `removed_tags` are the tags of the words to delete; none means that punctuation is kept and
    scored. `projective_only` drops gold trees with crossing arcs, tested after that deletion.
    """

    name: str
    removed_tags: frozenset[str]
    projective_only: bool

    @property
    def description(self) -> str:
        """Every choice of the protocol, for the line that stands above each table."""
        if self.removed_tags:
            words = f"UPOS={'|'.join(sorted(self.removed_tags))} removed, children re-attached"
            tested, length = "after removal", "length counted after removal"
        else:
            words = "punctuation kept and scored"
            tested, length = "with punctuation", "length counted with punctuation"
        trees = (
            f"projective gold trees only (tested {tested})" if self.projective_only else "all trees"
        )
        return f"{words}; {trees}; {length}"


STANDARD = Protocol("standard", UD_PUNCTUATION, projective_only=False)

AS_RELEASED = Protocol("as_released", frozenset(), projective_only=True)

EVERY_WORD = Protocol("every_word", frozenset(), projective_only=False)
"""For scoring only: every word of every tree counts, so DDA is the UAS of the official UD scorer,
udeval."""

PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in (STANDARD, AS_RELEASED)}
"""For training and scoring."""

SCORING_PROTOCOLS: dict[str, Protocol] = {**PROTOCOLS, EVERY_WORD.name: EVERY_WORD}


def protocol_of(protocol: str | Protocol, among: Mapping[str, Protocol] = PROTOCOLS) -> Protocol:
    """The protocol itself, or the one of that name.

    Raises: ConfigError, there is none, naming the choices; UsageError, the argument is neither.
    """
    check_kind("protocol", protocol, (str, Protocol), "a Protocol or the name of one")
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in among:
        raise ConfigError(f"no protocol {protocol!r} (choose from {', '.join(among)})")
    return among[protocol]


def scoring_protocol(protocol: str | Protocol) -> Protocol:
    """`protocol_of` among `SCORING_PROTOCOLS`."""
    return protocol_of(protocol, SCORING_PROTOCOLS)
