"""The builder that turns a stage into assets and blocking checks, on two small stages of our own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import lake
from assets.dagster_assets import build_assets
from assets.dagster_checks import outcome_of, table_checks
from assets.profile import Profile
from assets.stage import CheckOutcome, Context, Progress, Stage, StageCheck, StageRun, quiet
from lake import Lake, Projection, View, rows_table


class LakeAt:
    def __init__(self, root: Path) -> None:
        self.root = root

    def open(self) -> Lake:
        return lake.open(self.root)


class Settings:
    profile = Profile()


class Quiet:
    def of(self, stage: str, log: dg.DagsterLogManager) -> Progress:
        return quiet

    def finished(self, stage: str, run: StageRun, seconds: float) -> None:
        pass

    def check_failed(self, table: str, check: str, detail: str) -> None:
        pass


def persona_effect(context: Context) -> Mapping[str, int]:
    if "p1" in context.lake.streams("persona"):
        return {"created": 0, "present": 1}
    spool = context.lake.spool("test", context.run_id)
    spool.stream("persona", "p1").emit("persona.created", {"persona_id": "p1", "name": "Ada"})
    spool.close()
    return {"created": 1, "present": 0}


def build_personas(view: View) -> Mapping[str, pa.Table]:
    rows = [
        {
            "persona_id": e.payload["persona_id"],
            "text": "t",
            "name": e.payload["name"],
            "occupation": "o",
            "domain": "d",
            "origin": "builtin",
            "licence": "CC0",
            "event_id": e.event_id,
        }
        for e in view.events()
    ]
    return {"personas": rows_table("personas", rows)}


def build_workspaces(view: View) -> Mapping[str, pa.Table]:
    assert view.table("personas").num_rows == 1
    return {"workspaces": rows_table("workspaces", [])}


PERSONAS = Stage(
    name="personas",
    doc="People.",
    projection=Projection("personas", 3, ("personas",), ("persona.created",), build_personas),
    effect=persona_effect,
)


def workspaces(check: StageCheck | None = None) -> Stage:
    projection = Projection("workspaces", 1, ("workspaces",), (), build_workspaces, tables=("personas",))
    return Stage("workspaces", "Folders.", projection, checks=(check,) if check else ())


def materialise(root: Path, *stages: Stage, raise_on_error: bool = True) -> dg.ExecuteInProcessResult:
    assets = [asset for stage in stages for asset in build_assets(stage)]
    return dg.materialize(
        assets,
        resources={"lake": LakeAt(root), "profile": Settings(), "progress": Quiet()},
        instance=dg.DagsterInstance.ephemeral(),
        raise_on_error=raise_on_error,
    )


def metadata_of(result: dg.ExecuteInProcessResult, table: str) -> Mapping[str, dg.MetadataValue]:
    for event in result.get_asset_materialization_events():
        if event.asset_key == dg.AssetKey(table):
            return event.materialization.metadata
    raise AssertionError(f"{table} was not materialised")


def test_metadata_says_what_was_built(tmp_path: Path) -> None:
    result = materialise(tmp_path / "lake", PERSONAS, workspaces())
    assert result.success
    metadata = metadata_of(result, "personas")
    assert metadata["dagster/row_count"].value == 1
    assert metadata["effect/created"].value == 1
    assert metadata["skipped"].value is False
    assert metadata["delta_version"].value == 1
    assert metadata["dagster/uri"].value == (tmp_path / "lake/tables/personas").as_uri()
    schema = metadata["dagster/column_schema"].value
    assert isinstance(schema, dg.TableSchema)
    assert schema.columns[0].name == "persona_id"
    assert schema.columns[0].description == "Digest of the persona text and origin"
    lineage = metadata["dagster/column_lineage"].value
    assert isinstance(lineage, dg.TableColumnLineage)
    assert lineage.deps_by_column["event_id"][0] == dg.TableColumnDep(dg.AssetKey("events"), "event_id")


def test_second_run_skips_and_says_so(tmp_path: Path) -> None:
    first = metadata_of(materialise(tmp_path / "lake", PERSONAS), "personas")
    second = metadata_of(materialise(tmp_path / "lake", PERSONAS), "personas")
    assert second["skipped"].value is True
    assert second["effect/created"].value == 0
    assert second["digest"] == first["digest"]
    assert second["delta_version"] == first["delta_version"]


def test_data_version_is_the_digest_and_code_version_the_rule(tmp_path: Path) -> None:
    result = materialise(tmp_path / "lake", PERSONAS)
    (event,) = result.get_asset_materialization_events()
    assert event.materialization.tags is not None
    assert event.materialization.tags["dagster/data_version"] == event.materialization.metadata["digest"].value
    assert event.materialization.tags["dagster/code_version"] == "3"


def test_each_table_has_its_schema_checks(tmp_path: Path) -> None:
    result = materialise(tmp_path / "lake", PERSONAS)
    checks = {c.check_name: c.passed for c in result.get_asset_check_evaluations()}
    assert checks == {"key_unique": True, "no_nulls": True, "rows_as_built": True}


def test_failing_stage_check_blocks_what_follows(tmp_path: Path) -> None:
    never = StageCheck("never", "personas", lambda _: CheckOutcome(False, "1 of 2 wrong", {"wrong": 1}), "Fails.")
    failing = Stage("personas", "People.", PERSONAS.projection, persona_effect, checks=(never,))
    result = materialise(tmp_path / "lake", failing, workspaces(), raise_on_error=False)
    assert not result.success
    assert {e.asset_key for e in result.get_asset_materialization_events()} == {dg.AssetKey("personas")}
    (failed,) = [c for c in result.get_asset_check_evaluations() if not c.passed]
    assert (failed.check_name, failed.blocking, failed.metadata["detail"].value) == ("never", True, "1 of 2 wrong")


def test_schema_checks_see_a_table_that_was_tampered_with(tmp_path: Path) -> None:
    materialise(tmp_path / "lake", PERSONAS)
    opened = lake.open(tmp_path / "lake")
    write_deltalake(opened.store.delta("personas"), opened.table("personas"), mode="append")
    outcomes = {
        check.name: outcome_of(check, opened, PERSONAS.projection) for check in table_checks(PERSONAS, ("personas",))
    }
    assert {name: outcome.passed for name, outcome in outcomes.items()} == {
        "key_unique": False,
        "no_nulls": True,
        "rows_as_built": False,
    }
    assert outcomes["key_unique"].detail == "2 rows, 1 keys"


def test_tampered_table_is_rebuilt_by_the_next_run(tmp_path: Path) -> None:
    first = metadata_of(materialise(tmp_path / "lake", PERSONAS), "personas")
    opened = lake.open(tmp_path / "lake")
    write_deltalake(opened.store.delta("personas"), opened.table("personas"), mode="append")
    second = metadata_of(materialise(tmp_path / "lake", PERSONAS), "personas")
    assert (second["skipped"].value, second["digest"]) == (False, first["digest"])


def test_check_that_raises_one_of_our_errors_is_a_failed_check(tmp_path: Path) -> None:
    def broken(opened: Lake) -> CheckOutcome:
        opened.blob("0" * 64)
        return CheckOutcome(True, "")

    stage = workspaces(StageCheck("broken", "workspaces", broken, "Raises."))
    result = materialise(tmp_path / "lake", PERSONAS, stage, raise_on_error=False)
    (failed,) = [c for c in result.get_asset_check_evaluations() if not c.passed]
    assert "is not in" in str(failed.metadata["detail"].value)


@pytest.mark.parametrize("name", ["personas", "workspaces"])
def test_group_and_kinds(name: str) -> None:
    stage = PERSONAS if name == "personas" else workspaces()
    (asset,) = [a for a in build_assets(stage) if isinstance(a, dg.AssetsDefinition) and a.keys]
    spec = next(iter(asset.specs))
    assert (spec.group_name, spec.key) == (name, dg.AssetKey(name))
    assert {"deltalake", "python"} <= set(spec.kinds)
