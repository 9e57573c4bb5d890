"""Jobs started by Dagster's own commands, on a lake and a profile named by the environment.

Which tables a job selects is tested in `test_definitions.py`; the stages that need the agent run in
`test_whole_graph.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lake
from clawgym_dag.instance import SETTINGS
from lake import Lake

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
ROOT = SETTINGS.parent
COMMANDS = {
    "dagster": (str(BIN / "dagster"), "job", "execute", "-m", "clawgym_dag", "-j"),
    "dg": (str(BIN / "dg"), "launch", "--job"),
}
TINY = """
[personas]
count = 1
[tasks]
families = ["expense_claims"]
seeds_per_family = 1
"""


def start(job: str, by: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "CLAWGYM_LAKE": str(folder / "lake"),
        "CLAWGYM_PROFILE": str(folder / "tiny.toml"),
        "DAGSTER_HOME": str(folder / "home"),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    return subprocess.run(
        [*COMMANDS[by], job], env=env, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "home").mkdir()
    shutil.copyfile(SETTINGS, tmp_path / "home" / "dagster.yaml")
    return tmp_path


def digests(opened: Lake) -> dict[str, object]:
    return {table: opened.build_record(table).get("digest") for table in ("tasks", "audits", "task_status")}


@pytest.mark.parametrize("by", COMMANDS)
def test_synthesise_then_rebuild(by: str, folder: Path) -> None:
    """The profile is that of the environment; a rebuild from the log gives the same tables and adds no event."""
    made = start("synthesise_tasks", by, folder)
    assert made.returncode == 0, made.stderr[-3000:]
    opened = lake.open(folder / "lake")
    assert opened.sql("select family, seed from tasks").fetchall() == [("expense_claims", 0)]
    assert opened.sql("select count(*) from personas").fetchall() == [(1,)]
    assert opened.sql("select count(*) from attempts").fetchall() == [(0,)]
    before, version = digests(opened), opened.store.version("tasks")
    events = opened.sql("select count(*) from events").fetchall()

    rebuilt = start("rebuild_lake", by, folder)
    assert rebuilt.returncode == 0, rebuilt.stderr[-3000:]
    again = lake.open(folder / "lake")
    assert again.store.version("tasks") > version, "nothing was rebuilt"
    assert digests(again) == before
    assert None not in before.values()
    assert again.sql("select count(*) from events").fetchall() == events


def test_unknown_profile_in_the_environment_fails_the_run_and_says_which(folder: Path) -> None:
    (folder / "tiny.toml").unlink()
    failed = start("synthesise_tasks", "dagster", folder)
    assert failed.returncode != 0
    assert "tiny.toml" in failed.stderr
