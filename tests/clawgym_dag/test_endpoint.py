"""A real model by the command line: `.env`, `--dry-run`, and one run through Dagster that leaves no key anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import lake
from assets.rollouts.teacher import CHARACTERS, teacher_policy
from assets.tasks.plan import Plan
from clawgym_dag.profiles import load_profile
from tests.clawgym_dag.conftest import Call
from tests.rollouts.endpoint import Reply, endpoint
from tests.rollouts.secrets import files_holding

CLAWGYM = str(Path(sys.executable).parent / "clawgym")
KEY = "sk-planted-0123456789abcdef"
PROFILE = """
[personas]
count = 3

[tasks]
families = ["expense_claims"]
seeds_per_family = 1

[rollouts]
policies = ["openai:$OPENAI_MODEL"]

[endpoint]
spend_limit = 5.0
prices.replayed = { input = 1.0, output = 4.0 }
"""


def test_the_profile_is_capped_and_names_families_that_exist() -> None:
    profile = load_profile("endpoint")
    assert profile.endpoint.token_limit is not None
    assert set(profile.rollouts.families) == set(profile.tasks.families) != set()
    families = Path(__file__).resolve().parents[2] / "assets/tasks/families"
    assert all((families / name).is_dir() for name in profile.tasks.families)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with nothing in it, and no endpoint."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    monkeypatch.setenv("CLAWGYM_LAKE", str(lake.open(tmp_path / "lake").root))
    return tmp_path / "lake"


def test_a_dry_run_without_tasks_says_how_to_get_some(call: Call, empty: Path) -> None:
    called = call("rollouts", "run", "--dry-run", "--set", 'rollouts.policies=["openai:m"]')
    assert called.code == 0, called.err
    assert "no accepted task to run on: `clawgym tasks generate`" in called.out
    assert "caps of this lake: none" in called.out
    assert list(lake.open(empty).events()) == []


def test_a_missing_model_says_where_to_name_it(call: Call, empty: Path) -> None:
    called = call("rollouts", "run", "--dry-run", "--profile", "endpoint")
    assert called.code == 3 and called.err.count("\n") == 1 and "set it in .env" in called.err


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A user's folder: a profile, a `.env` for a local server that replays each task's plan."""
    with ExitStack() as stack:
        root = tmp_path / "lake"

        def answer(number: int, body: dict[str, Any]) -> Reply:
            text = json.dumps(body["messages"])
            for row in lake.open(root).rows("tasks"):
                if json.dumps(row["instruction"])[1:60] in text:
                    plan = Plan.from_json(json.loads(row["plan"]))
                    policy = teacher_policy(plan, CHARACTERS["strong@1"], seed=1, repeat=0, task="t")
                    return Reply(body=b"".join(policy(body, f"c{number}")))
            return Reply(400, b"{}")

        up = stack.enter_context(endpoint(answer))
        (tmp_path / "small.toml").write_text(PROFILE)
        (tmp_path / ".env").write_text(
            f"OPENAI_BASE_URL={up.base_url}\nOPENAI_API_KEY={KEY}\nOPENAI_MODEL=replayed\nCLAWGYM_LAKE={root}\n"
        )
        yield tmp_path


@pytest.mark.slow
@pytest.mark.openclaw
def test_from_env_file_to_scores_without_a_key_in_the_lake(folder: Path) -> None:
    hidden = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "CLAWGYM_LAKE", "CLAWGYM_ENV_FILE")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    said = ""

    def clawgym(*arguments: str) -> str:
        nonlocal said
        done = subprocess.run(
            [CLAWGYM, *arguments, "--profile", "small.toml"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        said += done.stdout + done.stderr
        assert done.returncode == 0, done.stderr
        return done.stdout

    clawgym("tasks", "generate")
    clawgym("tasks", "audit")
    before = json.loads(clawgym("rollouts", "run", "--dry-run", "--json"))
    (one,) = before["predictions"]
    assert (one["policy"], one["attempts"], one["basis"], before["spent"]) == ("openai:replayed", 1, "paper", [])
    assert one["tokens"] == 130_690 and 0 < one["cost_low"] < one["cost_high"]
    unpriced = clawgym("rollouts", "run", "--dry-run", "--set", 'rollouts.policies=["openai:other"]')
    assert "cost unknown (no price for the model; lower bound unknown)" in unpriced
    assert "caps of this lake: 5 USD" in unpriced
    opened = lake.open(folder / "lake")
    assert list(opened.events(stream_kind="attempt")) == [], "a dry run plans nothing"
    clawgym("rollouts", "run")
    (row,) = opened.sql("select policy, ending, score_code from attempt_overview").fetchall()
    assert row == ("openai:replayed", "finished", 1.0)
    after = json.loads(clawgym("rollouts", "run", "--dry-run", "--json"))
    (paid,) = after["spent"]
    stated = opened.sql("select sum(prompt_tokens)::int, sum(completion_tokens)::int from llm_calls").fetchone()
    assert (paid["prompt"], paid["completion"], paid["estimated"]) == (*(stated or ()), 0)
    assert paid["cost"] == pytest.approx((paid["prompt"] + 4 * paid["completion"]) / 1e6)
    assert after["done"] == 1 and after["predictions"] == []
    assert KEY not in said and files_holding(folder / "lake", KEY) == []


def test_dagster_reads_the_file_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_MODEL=from-the-file\n")
    environment = {k: v for k, v in os.environ.items() if k not in ("OPENAI_MODEL", "CLAWGYM_ENV_FILE")}
    code = "import os, clawgym_dag.definitions; print(os.environ['OPENAI_MODEL'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "from-the-file\n", done.stderr
