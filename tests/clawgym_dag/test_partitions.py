"""Daily batches: what a partition changes, and that two make two batches of real runs, each once."""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as objects.

from pathlib import Path

import dagster as dg
import pytest

import lake
from assets.profile import Profile
from clawgym_dag.definitions import build_defs
from clawgym_dag.partitions import JOB, TAG, of_day
from clawgym_dag.resources import LakeResource, ProfileResource
from lake import Lake
from lake.errors import UsageError

TINY = """
[personas]
count = 1
[tasks]
families = ["expense_claims"]
seeds_per_family = 1
[rollouts]
policies = ["scripted:weak"]
concurrency = 1
"""
DAYS = ("2026-03-01", "2026-03-02")


def test_day_is_the_batch_and_its_seed_and_nothing_else() -> None:
    test = ProfileResource(name="test").profile
    day = of_day(test, "2026-03-01")
    assert (day.rollouts.batch, day.rollouts.seed) == ("2026-03-01", 20260301)
    same = day.rollouts.model_copy(update={"batch": test.rollouts.batch, "seed": test.rollouts.seed})
    assert day.model_copy(update={"rollouts": same}) == test


def test_what_is_no_day_is_refused() -> None:
    with pytest.raises(UsageError, match="partition 'tuesday' is no day; give one as in 2026-01-01"):
        of_day(ProfileResource(name="test").profile, "tuesday")


@pytest.mark.parametrize(("tags", "batch"), [({TAG: "2026-03-01"}, "2026-03-01"), ({}, "test")])
def test_run_knows_its_day_by_its_tag_and_keeps_its_profile(tags: dict[str, str], batch: str) -> None:
    """However it is started: commands set the tag, and none of them configuration."""
    seen: list[Profile] = []

    @dg.op(required_resource_keys={"profile"})
    def look(context: dg.OpExecutionContext) -> None:
        seen.append(context.resources.profile.profile)

    @dg.job(resource_defs={"profile": ProfileResource(name="test", overrides="rollouts.turn_limit = 7")})
    def looking() -> None:
        look()

    with dg.DagsterInstance.ephemeral() as instance:
        looking.execute_in_process(instance=instance, tags=tags)
    (profile,) = seen
    assert (profile.rollouts.batch, profile.rollouts.turn_limit) == (batch, 7)


def test_job_is_partitioned_by_day_and_the_others_are_not() -> None:
    defs = build_defs()
    partitions = defs.resolve_job_def(JOB).partitions_def
    assert isinstance(partitions, dg.DailyPartitionsDefinition)
    assert partitions.has_partition_key("2026-01-01")
    assert not partitions.has_partition_key("2025-12-31")
    assert defs.resolve_job_def("demo").partitions_def is None
    assert defs.resolve_job_def("collect_rollouts").partitions_def is None


def tasks_only(root: Path, profile: Path) -> None:
    """A lake with one accepted task."""
    resources = {"lake": LakeResource(root=str(root)), "profile": ProfileResource(name=str(profile))}
    with dg.DagsterInstance.ephemeral() as instance:
        job = build_defs(overrides=resources).resolve_job_def("synthesise_tasks")
        assert job.execute_in_process(instance=instance).success


def collect(root: Path, profile: Path, day: str, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    resources = {"lake": LakeResource(root=str(root)), "profile": ProfileResource(name=str(profile))}
    job = build_defs(overrides=resources).resolve_job_def(JOB)
    done = job.execute_in_process(instance=instance, partition_key=day)
    assert done.success
    return done


def batches(opened: Lake) -> list[tuple[object, ...]]:
    return opened.sql(
        "select batch, seed, count(*), count(distinct rollout_id), count(verdict_id) from attempts"
        " left join verdicts using (attempt_id) where counted group by all order by batch"
    ).fetchall()


def effects(done: dg.ExecuteInProcessResult, table: str) -> dict[str, object]:
    (event,) = [e for e in done.get_asset_materialization_events() if e.asset_key == dg.AssetKey(table)]
    found = event.materialization.metadata
    return {name: value.value for name, value in found.items() if name.startswith("effect/") or name == "skipped"}


@pytest.mark.slow
@pytest.mark.openclaw
def test_two_days_are_two_batches_and_a_day_again_does_nothing_twice(tmp_path: Path) -> None:
    root, profile = tmp_path / "lake", tmp_path / "tiny.toml"
    profile.write_text(TINY)
    tasks_only(root, profile)
    with dg.DagsterInstance.ephemeral() as instance:
        for day in DAYS:
            collect(root, profile, day, instance)
        opened = lake.open(root)
        assert batches(opened) == [("2026-03-01", 20260301, 1, 1, 1), ("2026-03-02", 20260302, 1, 1, 1)]
        (events,) = opened.sql("select count(*) from events").fetchone() or (0,)
        again = collect(root, profile, DAYS[0], instance)
        assert effects(again, "attempts")["skipped"] is True
        assert batches(lake.open(root)) == batches(opened)
        assert lake.open(root).sql("select count(*) from events").fetchall() == [(events,)]
        keys = [run.tags["dagster/partition"] for run in instance.get_runs()]
        assert sorted(keys) == [DAYS[0], DAYS[0], DAYS[1]]
