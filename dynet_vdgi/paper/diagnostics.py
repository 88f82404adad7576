"""Figures of the sentences since the last evaluation, which the log shows as means.

>>> diagnostics = Diagnostics()
>>> diagnostics.add(Encoded(tags=(1, 2), words=(0, 0)), entropy=1.0, elbo_per_word=-4.0)
>>> longer = Encoded(tags=(1, 2, 1, 2), words=(0, 0, 0, 0))
>>> diagnostics.add(longer, entropy=3.0, elbo_per_word=-14.0)
>>> diagnostics.averages()
{'entropy': 2.0, 'elbo_per_word': -3.0}
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dynet_vdgi.conllu.vocabulary import Encoded


@dataclass
class Diagnostics:
    """Sums over the sentences since the last evaluation; `averages` gives the logged figures."""

    sentences: int = 0
    words: int = 0
    sums: dict[str, float] = field(default_factory=dict)

    def add(self, sentence: Encoded, **figures: float) -> None:
        """Takes in the figures of one sentence."""
        self.sentences += 1
        self.words += len(sentence)
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def averages(self) -> dict[str, float]:
        """Means by name: over words where it ends in `_per_word`, otherwise over sentences."""
        return {
            name: total / (self.words if name.endswith("_per_word") else self.sentences)
            for name, total in self.sums.items()
        }
