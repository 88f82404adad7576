"""The layers of the universal parser's network, and the shapes of its weights; needs no DyNet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dynet_vdgi.universal.arc_flags import N_FLAGS, ROWS_OF_PAIRS
from dynet_vdgi.universal.encoding import BANDS, N_TAGS, RELATIONS
from dynet_vdgi.universal.typology import PAIR_NUMBERS


@dataclass(frozen=True)
class LayerSizes:
    """Units of the network's layers."""

    n_features: int
    n_numbers: int
    tag: int = 32
    features: int = 32
    gaps: int = 8
    band: int = 8
    typology: int = 24
    hidden: int = 64
    arc: int = 96
    relation: int = 64

    @property
    def word(self) -> int:
        return self.tag + self.features + self.gaps + self.band + self.typology

    @property
    def joint(self) -> int:
        return 2 * self.hidden + self.word

    @classmethod
    def of(cls, weights: Mapping[str, Any]) -> LayerSizes:
        """The sizes of a network with these arrays. Raises: KeyError, IndexError, one is missing or
        flat."""
        return cls(
            n_features=weights["features"].shape[1],
            n_numbers=weights["typology"].shape[1],
            tag=weights["tag"].shape[1],
            features=weights["features"].shape[0],
            gaps=weights["gaps"].shape[1],
            band=weights["band"].shape[1],
            typology=weights["typology"].shape[0],
            hidden=weights["lstm0.forward.h"].shape[1],
            arc=weights["arc.head"].shape[0],
            relation=weights["relation.head"].shape[0],
        )


def shapes(sizes: LayerSizes) -> dict[str, tuple[int, ...]]:
    """The shape of every array of weights."""
    hidden, joint = sizes.hidden, sizes.joint
    result: dict[str, tuple[int, ...]] = {
        "tag": (N_TAGS, sizes.tag),
        "features": (sizes.features, sizes.n_features),
        "gaps": (16, sizes.gaps),
        "band": (BANDS, sizes.band),
        "typology": (sizes.typology, sizes.n_numbers),
        "typology.bias": (sizes.typology,),
        "root": (joint,),
    }
    for layer, width in enumerate((sizes.word, 2 * hidden)):
        for direction in ("forward", "backward"):
            result[f"lstm{layer}.{direction}.x"] = (4 * hidden, width)
            result[f"lstm{layer}.{direction}.h"] = (4 * hidden, hidden)
            result[f"lstm{layer}.{direction}.bias"] = (4 * hidden,)
    for name, width, out in (("arc", sizes.arc, 1), ("relation", sizes.relation, len(RELATIONS))):
        result[f"{name}.head"], result[f"{name}.dependent"] = (width, joint), (width, joint)
        result[f"{name}.flags"], result[f"{name}.numbers"] = (width, N_FLAGS), (width, PAIR_NUMBERS)
        result[f"{name}.bias"] = (width,)
        result[f"{name}.out"] = (out, width)
    straight = {"straight.flags": (1, N_FLAGS), "straight.numbers": (1, PAIR_NUMBERS)}
    return result | straight | {"straight.pairs": (ROWS_OF_PAIRS, 1)}
