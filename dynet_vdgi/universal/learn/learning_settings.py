"""Learning the universal parser from treebanks of many languages, and its settings."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dynet_vdgi.universal.learn.invented import FaultSettings


class LearningSettings(FaultSettings, frozen=True):
    """How a universal parser learns from treebanks (`--treebank`): with Adam, its rate falling
    linearly, on batches of equally long sentences, some of which get faults, see
    `universal.learn.learning_settings`."""

    updates: Annotated[
        int,
        Meta(ge=0, description="batches that each network learns from; 0: there are no treebanks"),
    ] = 2600
    batch: Annotated[int, Meta(ge=1, description="words of a batch")] = 600
    words: Annotated[
        int,
        Meta(
            ge=1,
            description="words of a treebank that are learnt from before all others had their turn",
        ),
    ] = 5000
    longest: Annotated[
        int, Meta(ge=2, description="longest sentence that is learnt from, in words")
    ] = 30
    hidden: Annotated[int, Meta(ge=1, le=1024, description="units of an LSTM in one direction")] = (
        128
    )
    rate: Annotated[float, Meta(gt=0, description="highest learning rate of Adam")] = 3e-3
    relations: Annotated[
        float, Meta(ge=0, description="weight of the loss of relations beside that of heads")
    ] = 0.3
    invented: Annotated[
        int,
        Meta(ge=0, le=100, description="treebanks made of each large one, in the orders of others"),
    ] = 1
    members: Annotated[
        int,
        Meta(
            ge=1, le=100, description="networks whose mean another one learns at last; 1: none does"
        ),
    ] = 2
    soft: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="share of that mean in the loss of heads; the rest is the gold heads'",
        ),
    ] = 0.5

    def idle(self, longest: int | None = None) -> dict[str, str]:
        if not self.updates:
            others = (name for name in self.__struct_fields__ if name != "updates")
            return dict.fromkeys(others, "nothing is learnt from treebanks: learning.updates is 0")
        if self.members == 1:
            return {"soft": "there is one network, and no mean to learn: learning.members is 1"}
        return {}
