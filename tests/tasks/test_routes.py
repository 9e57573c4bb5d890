"""Both routes with a recorded model: what is proposed, what is set aside and why, and that a kill changes nothing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import lake as lakes
from assets.audits import STAGE as AUDITS
from assets.personas import STAGE as PERSONAS
from assets.profile import LlmRole, LlmSection, PersonasSection, Profile, SkillsSection, SynthesisSection, TasksSection
from assets.skills import STAGE as SKILLS
from assets.stage import Context, run_stage
from assets.tasks import STAGE as TASKS
from assets.tasks.routes import propose_by_models
from assets.workspaces import STAGE as WORKSPACES
from lake import Lake
from lake.errors import StageError
from lake.explain import explain
from tests.llm import recorded
from tests.llm.server import Request, Say, Server, serving

SKILL = (
    "---\nname: logs\ndescription: Counts lines of log files and writes CSV.\n---\nRead the text file, count, write.\n"
)


def profile(root: Path, **changes: Any) -> Profile:
    """Nine persona candidates, one for each category, and three skill candidates."""
    role = LlmRole(model="recorded")
    for name in ("logs", "tables"):
        (root / "skills" / name).mkdir(parents=True, exist_ok=True)
        (root / "skills" / name / "SKILL.md").write_text(SKILL.replace("name: logs", f"name: {name}"))
    return Profile(
        personas=PersonasSection(count=4),
        skills=SkillsSection(sources=(str(root / "skills"),)),
        tasks=TasksSection(families=("expense_claims",), seeds_per_family=1),
        synthesis=SynthesisSection(persona_tasks=9, skill_tasks=3),
        llm=LlmSection(**{"generator": role, "reviewer": role, "concurrency": 4, **changes}),
    )


def prepared(root: Path) -> Lake:
    """A lake with personas and skills."""
    opened = lakes.open(root / "lake")
    for stage in (PERSONAS, SKILLS):
        run_stage(stage, Context(opened, profile(root)))
    return opened


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch, serving(recorded.respond) as running:
        patch.setenv("OPENAI_BASE_URL", running.url)
        yield running


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, server: Server) -> tuple[Context, Mapping[str, int]]:
    """Both routes run once, undisturbed."""
    root = tmp_path_factory.mktemp("routes")
    context = Context(prepared(root), profile(root))
    ran = run_stage(TASKS, context)
    return context, ran.effect


def outcomes(lake: Lake) -> dict[str, tuple[Any, ...]]:
    """What became of each candidate."""
    found: dict[str, tuple[Any, ...]] = {}
    for event in lake.events(stream_kind="candidate"):
        payload = event.payload
        kind = (
            ("made", payload["task_version"])
            if event.type == "candidate.proposed"
            else (payload["step"], payload["kind"])
        )
        found[payload["candidate_id"]] = (payload["scenario_category"], *kind, payload["calls"], payload["rounds"])
    return found


def test_every_candidate_ends_and_says_why(made: tuple[Context, Mapping[str, int]]) -> None:
    context, counts = made
    found = {(item[0], item[1]): item for name, item in outcomes(context.lake).items() if name.startswith("persona")}
    ends = dict(iter(found))
    assert ends.pop("Office and Daily Tasks") != ends.pop("Systems and Infrastructure"), "one of the two is not novel"
    assert ends == {
        "Analysis and Decision Support": "made",
        "Planning and Knowledge Organization": "made",
        "Software Development": "task_review",
        "Information Retrieval and Collection": "task_verifier",
        "Content and External Communication": "task_draft",
        "Automation and Workflows": "task_draft",
        "Messaging and Collaboration": "task_draft",
    }
    kinds = Counter(item[2] for item in found.values() if item[1] == "task_draft")
    assert kinds == {"refused": 1, "too_long": 1, "rejected": 1}
    assert found[("Software Development", "task_review")][2] == "answer_leak"
    assert found[("Analysis and Decision Support", "made")][4] == 3
    rows = context.lake.sql(
        "select count(*), count(*) filter (proposed), sum(calls)::int, count(*) filter (reason is not null),"
        " count(*) filter (len(skill_ids) > 0) from task_candidates"
    ).fetchone()
    calls = sum(len(ids) for item in outcomes(context.lake).values() for ids in item[-2].values())
    assert rows == (12, 4, calls, 8, 3)
    assert counts["written"] == 4 and counts["quarantined"] == 8 and counts["open"] == 0


def test_the_audits_accept_what_was_written(made: tuple[Context, Mapping[str, int]]) -> None:
    context, _ = made
    for check in TASKS.checks:
        outcome = check.run(context.lake)
        assert outcome.passed, outcome.detail
    run_stage(WORKSPACES, context)
    run_stage(AUDITS, context)
    rows = context.lake.sql(
        "select task_id, route, status, reasons, verifier_protocol, rubric is not null as judged,"
        " oracle_manifest is not null as solved"
        " from tasks join task_status using (task_id, task_version) where family is null order by task_id"
    ).fetchall()
    assert [(row[2], row[3]) for row in rows] == [("accepted", [])] * 4, rows
    assert {row[1]: row[4] for row in rows} == {"persona": "grade_floats", "skill": "reward_booleans"}
    assert sum(row[5] for row in rows) == 1 and all(row[6] for row in rows)


def test_a_task_tells_where_it_comes_from(made: tuple[Context, Mapping[str, int]]) -> None:
    context, _ = made
    events = [event for event in context.lake.events("task.proposed") if event.payload["family"] is None]
    for event in events:
        extra = event.payload["extra"]
        assert event.payload["task_id"] == extra["candidate_id"] and extra["models"]["generator"] == "recorded"
        calls = {call for ids in extra["calls"].values() for call in ids}
        assert calls <= context.lake.streams("llm_call", ("llm.answered",))
        assert {"task_draft", "task_inputs", "task_review", "task_solution", "task_verifier"} <= set(extra["calls"])
        types = [node.facts.get("type") for node in explain(context.lake, event.payload["task_id"]).nodes()]
        assert "llm.answered" in types, "from the task to the call that drafted it"
    rubric = next(event.payload["rubric"] for event in events if event.payload["rubric"])
    assert [(rule["name"], rule["weight"]) for rule in rubric] == [("welcoming", 2.0), ("useful", 1.0)]


def test_another_run_asks_nothing(made: tuple[Context, Mapping[str, int]], server: Server) -> None:
    context, _ = made
    before = len(server.requests)
    counts = propose_by_models(context)
    assert counts["known"] == 12 and counts["written"] == counts["paid"] == 0 and len(server.requests) == before


def test_a_budget_ends_it_cleanly_and_a_larger_one_goes_on(
    made: tuple[Context, Mapping[str, int]], tmp_path: Path, server: Server
) -> None:
    opened = prepared(tmp_path)
    small = Context(opened, profile(tmp_path, token_limit=20_000))
    counts = propose_by_models(small)
    assert counts["open"] > 0 and counts["paid"] > 0
    counts = propose_by_models(Context(opened, profile(tmp_path)))
    assert counts["open"] == 0
    assert outcomes(opened) == outcomes(made[0].lake)


@pytest.mark.parametrize("what", ["key", "reviewer"])
def test_what_every_call_would_meet_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    opened = prepared(tmp_path)
    changes = {"reviewer": LlmRole()} if what == "reviewer" else {}
    script = recorded.respond if what == "reviewer" else lambda request, n: Say(status=401, error="bad key")
    with serving(script) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        says = "llm.reviewer.model" if what == "reviewer" else "OPENAI_API_KEY"
        with pytest.raises(StageError, match=says):
            propose_by_models(Context(opened, profile(tmp_path, **changes)))
    if what == "key":
        assert opened.streams("candidate") == set(), "nothing is set aside for what is no fault of its own"


class Killer:
    """A recorded model that kills its client at one of its requests, before or after answering."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.after = -1
        self._lock = threading.Lock()

    def __call__(self, request: Request, number: int) -> Say:
        with self._lock:
            self.after -= 1
            if self.after == 0 and self.process is not None:
                self.process.kill()
        return recorded.respond(request, number)


def run_elsewhere(root: Path, server: Server, *, killer: Killer | None = None, **environment: str) -> int:
    """Both routes in a process of their own; its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tasks.routes_runner", str(root), environment.pop("concurrency", "4")],
        env={**os.environ, "OPENAI_BASE_URL": server.url, **environment},
    )
    if killer is not None:
        killer.process = process
    return process.wait(timeout=120)


def proposals(lake: Lake) -> dict[str, Any]:
    """What was proposed, whole."""
    return {event.stream_id: event.payload for event in lake.events("task.proposed") if event.payload["family"] is None}


@pytest.mark.long
def test_killed_at_random_it_comes_to_the_same_and_pays_each_answer_once(
    made: tuple[Context, Mapping[str, int]], tmp_path: Path
) -> None:
    prepared(tmp_path)
    killer, chance = Killer(), random.Random(7)
    with serving(killer) as server:
        kills = 0
        for _ in range(5):
            killer.after = chance.randint(2, 14)
            kills += run_elsewhere(tmp_path, server, killer=killer) != 0
        killer.after = -1
        assert run_elsewhere(tmp_path, server) == 0
        assert kills >= 3
        opened = lakes.open(tmp_path / "lake")
        assert outcomes(opened) == outcomes(made[0].lake) and proposals(opened) == proposals(made[0].lake)
        answered = opened.streams("llm_call", ("llm.answered",))
        assert {key.split("-")[0] for key in server.bill} == answered
        again = sum(server.bill.values()) - len(server.bill)
        assert again <= 4 * kills, "only what was on its way at a kill is asked again, under the same key"


@pytest.mark.slow
@pytest.mark.parametrize("event", [3, 17])
def test_killed_after_an_event_it_asks_nothing_again(
    made: tuple[Context, Mapping[str, int]], tmp_path: Path, event: int
) -> None:
    prepared(tmp_path)
    with serving(recorded.respond) as server:
        code = run_elsewhere(tmp_path, server, concurrency="1", CLAWGYM_CRASH_AT=f"spool.after_event:{event}")
        assert code == -9
        assert run_elsewhere(tmp_path, server, concurrency="1") == 0
        assert set(server.bill.values()) == {1}
    opened = lakes.open(tmp_path / "lake")
    assert outcomes(opened) == outcomes(made[0].lake) and proposals(opened) == proposals(made[0].lake)
