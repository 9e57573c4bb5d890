"""Stage `trajectories`: raw records to conversations, with every repair, drop and move stated and counted.

Belongs here: the tree, pairing, cleaning rules, secrets, the join with the proxy's log, exports. Does not belong here:
taking logs in (`logs`), judging attempts (`verdicts`).
"""

from __future__ import annotations

from assets.stage import Stage
from assets.trajectories.checks import CHECKS
from assets.trajectories.clean import CleanSession, SourceRef, clean_session
from assets.trajectories.projection import PROJECTION

STAGE = Stage(
    name="trajectories",
    doc="Cleaned conversations with steps, tool calls, diagnostics, a loss ledger, and the requests served.",
    projection=PROJECTION,
    checks=CHECKS,
)

__all__ = ["STAGE", "CleanSession", "SourceRef", "clean_session"]
