"""The numbers of the DMV, apart from its code, because every model of the default recipe names them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dynet_vdgi.settings.config import TeacherSettings


class DmvSettings(TeacherSettings, frozen=True, tag_field="kind", tag="dmv"):
    """The dependency model with valence, learnt by EM, see `teachers.dmv`."""

    max_len: Annotated[int, Meta(ge=0, description="longest sentence it learns from, in words; 0: any")] = 15
    iterations: Annotated[int, Meta(ge=0, description="iterations of EM, stage one")] = 20
    valence_iterations: Annotated[int, Meta(ge=0, description="iterations of EM, stage two")] = 10
    smoothing: Annotated[float, Meta(gt=0, description="pseudo-count added to every parameter")] = 0.1
    backoff: Annotated[float, Meta(gt=0, description="pseudo-counts that stage two takes from stage one")] = (
        100.0
    )

    def idle(self, longest: int | None = None) -> dict[str, str]:
        found = super().idle(longest)
        if not self.valence_iterations:
            found["backoff"] = "there is no second stage: valence_iterations is 0"
            if not self.iterations:
                found["smoothing"] = "there are no iterations of EM"
        return found
