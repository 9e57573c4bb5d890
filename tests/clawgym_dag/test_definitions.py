"""The definitions: they load, every table is an asset, every stage is a group, every job is there."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.dagster_metadata import LOG_GROUP
from assets.stage import Stage
from clawgym_dag.definitions import build_defs
from clawgym_dag.jobs import STAGES_OF_JOB
from clawgym_dag.resources import LakeResource
from clawgym_dag.run import selection
from clawgym_dag.stages import STAGES
from lake.schema import TABLES
from tests.clawgym_dag import golden

DEFS = build_defs()
GRAPH = DEFS.resolve_asset_graph()


def test_every_table_is_an_asset_of_its_stage() -> None:
    groups = {node.key.to_user_string(): node.group_name for node in GRAPH.asset_nodes}
    assert groups == {name: table.stage for name, table in TABLES.items()}


def test_asset_graph_is_the_one_reviewed() -> None:
    """Keys, groups, what each reads, its checks. `python -m tests.clawgym_dag.golden` writes it anew."""
    assert golden.render() == golden.GRAPH.read_text()


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: str(stage.name))
def test_every_table_of_a_stage_has_blocking_checks_and_a_described_schema(stage: Stage) -> None:
    nodes = [node for node in GRAPH.asset_nodes if node.group_name == stage.name]
    assert nodes
    for node in nodes:
        assert {"key_unique", "no_nulls"} <= {key.name for key in node.check_keys}
        assert all(GRAPH.get_check_spec(key).blocking for key in node.check_keys)
        schema = node.metadata["dagster/column_schema"]
        assert isinstance(schema.value, dg.TableSchema)
        assert all(column.description for column in schema.value.columns)
        assert node.description


def test_stages_read_earlier_stages_only() -> None:
    order = [LOG_GROUP, *(stage.name for stage in STAGES)]
    for node in GRAPH.asset_nodes:
        if node.group_name == LOG_GROUP:
            continue
        for parent in node.parent_keys:
            assert order.index(GRAPH.get(parent).group_name) < order.index(node.group_name), (node.key, parent)


def test_jobs() -> None:
    wanted = {*STAGES_OF_JOB, "rebuild_lake"}
    assert set(STAGES_OF_JOB) == {
        "demo",
        "ingest_logs",
        "synthesise_tasks",
        "collect_rollouts",
        "collect_batches",
        "train_sft",
        "run_bench",
    }
    for name in wanted:
        job = DEFS.resolve_job_def(name)
        assert job.description
        if name in STAGES_OF_JOB:
            keys = {key.to_user_string() for key in job.asset_layer.executable_asset_keys}
            tables = {table for table, spec in TABLES.items() if spec.stage in STAGES_OF_JOB[name]}
            assert tables | {"snapshots"} == keys


def test_overrides_replace_resources(tmp_path: Path) -> None:
    defs = build_defs(overrides={"lake": LakeResource(root=str(tmp_path / "other"))})
    assert defs.resources is not None
    lake = defs.resources["lake"]
    assert isinstance(lake, LakeResource)
    assert lake.open().root == tmp_path / "other"


def test_selection_of_stages() -> None:
    assert selection(()) is None
    assert [key.to_user_string() for key in selection(["personas"]) or []] == ["personas", "snapshots"]
