"""Blocking checks of the stage `trajectories`, over what is in the lake."""

from __future__ import annotations

from assets.stage import CheckOutcome, StageCheck
from lake import Lake
from lake.engine import SQL_ROOT


def _figures(lake: Lake, name: str) -> dict[str, int]:
    relation = lake.sql((SQL_ROOT / "trajectories" / f"{name}.sql").read_text())
    row = relation.fetchone()
    return dict(zip(relation.columns, row or (), strict=True))


def _ledger_adds_up(lake: Lake) -> CheckOutcome:
    found = _figures(lake, "ledger_adds_up")
    return CheckOutcome(
        found["sources_that_differ"] == 0 and found["unplaced"] == 0,
        f"{found['raw_records']} raw records = {found['kept']} kept + {found['dropped']} dropped + "
        f"{found['quarantined']} quarantined; {found['sources_that_differ']} sources differ, "
        f"{found['unplaced']} unplaced",
        found,
    )


def _rules_known(lake: Lake) -> CheckOutcome:
    found = _figures(lake, "findings_without_rule")
    return CheckOutcome(
        found["without_rule"] == 0,
        f"{found['findings']} findings and ledger lines, {found['without_rule']} name no rule of this version",
        found,
    )


def _counted_attempts(lake: Lake) -> CheckOutcome:
    found = _figures(lake, "counted_attempts")
    return CheckOutcome(
        found["wrong"] == 0,
        f"{found['counted']} counted attempts whose logs are in, {found['wrong']} without exactly one main trajectory",
        found,
    )


CHECKS = (
    StageCheck(
        "ledger_adds_up",
        "ledger",
        _ledger_adds_up,
        "Per source version: raw records = kept + dropped + quarantined, and none fell through every rule.",
    ),
    StageCheck("rules_known", "diagnostics", _rules_known, "Every finding and every loss names a rule there is."),
    StageCheck(
        "counted_attempts_have_one",
        "trajectories",
        _counted_attempts,
        "Each counted attempt has exactly one trajectory on which its session ended.",
    ),
)
