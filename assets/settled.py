"""One state of the lake for the checks of a stage: that in which the stage's tables follow from the log.

Another job may append to the log at any time. A check that read the newest of everything would then see rows that the
tables it checks do not know of yet, and fail for no fault of theirs.
Belongs here: finding such a state, and believing a failure only where nothing moved. Does not belong here: checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from assets.stage import CheckOutcome
from lake import Lake, Projection
from lake.ids import Json
from lake.projection import build_record, fingerprint
from lake.reader import Reader
from lake.schema import TABLES

QUIET_S: Final = 1.0
"""A failed check is believed when no table changed for so long."""
_TURNS: Final = 10


class SettledLake(Lake):
    """A lake whose newest state is a chosen one."""

    def __init__(self, lake: Lake, state: Reader) -> None:
        super().__init__(lake.root)
        self.store = lake.store
        self._state = state

    def now(self) -> Reader:
        """The chosen state."""
        return self._state

    def build_record(self, name: str) -> dict[str, Json]:
        """How a table of the chosen state was built."""
        return build_record(self.store, name, self._state.version(name))

    @property
    def versions(self) -> Mapping[str, int]:
        """Delta version of every table of the state."""
        return {name: self._state.version(name) for name in TABLES}


def settled(lake: Lake, projection: Projection) -> SettledLake:
    """A state of the lake in which the projection's tables are up to date; they are built where another job has
    added to the log since. Of a lake that never rests, the last state looked at.
    """
    for _ in range(_TURNS):
        found = SettledLake(lake, lake.now())
        # The tables are looked at before what they follow from: what comes in between shows as a difference.
        records = [found.build_record(name) for name in projection.outputs]
        wanted = fingerprint(lake, projection, found.now())
        if not all(records) or all(record["inputs"] == wanted for record in records):
            break  # up to date; or no build of ours, which is for the checks to find
        lake.build(projection)
    _ = found.versions  # pins every other table too
    return found


def checked(
    lake: Lake,
    projection: Projection,
    check: Callable[[Lake], CheckOutcome],
    *,
    state: SettledLake | None = None,
    quiet_s: float = QUIET_S,
) -> CheckOutcome:
    """The outcome of a check on a settled state. A failure is looked at again as long as other jobs write.

    Args:
        lake: the lake.
        projection: that of the stage.
        check: the check.
        state: a settled state found before, so that many checks share one.
        quiet_s: how long nothing must have changed for a failure to be believed.
    """
    state = state or settled(lake, projection)
    outcome = check(state)
    for _ in range(_TURNS):
        if outcome.passed:
            break
        time.sleep(quiet_s)
        later = settled(lake, projection)
        if later.versions == state.versions:
            break
        state, outcome = later, check(later)
    return outcome
