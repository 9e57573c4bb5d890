"""Stage `logs`: bytes others wrote, taken into `raw_records` whole, once, with their identity.

Belongs here: readers of source kinds, ingest, the catalogue of sources. Does not belong here: what the records mean
(`trajectories`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assets.logs.attempts import ingest_attempts
from assets.logs.checks import CHECKS
from assets.logs.paths import ingest_paths
from assets.logs.projection import PROJECTION
from assets.stage import Context, Stage


def _effect(context: Context) -> Mapping[str, int]:
    counts = Counter(ingest_attempts(context))
    if context.profile.logs.paths:
        counts.update(ingest_paths(context, context.profile.logs.paths))
    return dict(counts)


STAGE = Stage(
    name="logs",
    doc="Logs of agents: every record kept whole, exactly once, with the source it came from.",
    projection=PROJECTION,
    effect=_effect,
    deps=("attempts",),
    checks=CHECKS,
)

__all__ = ["STAGE", "ingest_attempts", "ingest_paths"]
