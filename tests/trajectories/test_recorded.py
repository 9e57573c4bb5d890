"""Logs recorded from the real OpenClaw, two versions, against what the model is known to have said.

The facts come from the scripted endpoint (`tests/fixtures/record`), not from any reader of ours.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_paths
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from lake import Lake
from tests.trajectories.attempts import context

RECORDED = Path(__file__).resolve().parents[1] / "fixtures" / "recorded"
CASES = sorted((path.parent.parent.name, path.parent.name) for path in RECORDED.glob("*/*/facts.json"))
CLASSES = {"killed": "unanswered", "refused": "failed", "length": "truncated"}
"""Class of the session's trajectory where it is not `normal`."""
ABORTED = {"2026.7.1": "aborted", "2026.9.6": "unanswered"}
"""Only the older version writes down that a signal ended the turn."""
LOST = {("2026.7.1", "errors"): 1, ("2026.9.6", "errors"): 1, ("2026.9.6", "malformed"): 1}
"""Answers that OpenClaw left out of its own transcript: a turn with an unknown tool, a call cut in its arguments."""


def facts(case: tuple[str, str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((RECORDED.joinpath(*case) / "facts.json").read_text())
    return value


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One lake with every recording, read back from the two versions' own files."""
    made: Context = context(tmp_path_factory.mktemp("recorded"))
    ingest_paths(made, [RECORDED])
    for stage in (ROLLOUTS, LOGS, STAGE):
        made.lake.build(stage.projection)
    return made.lake


def steps(lake: Lake, case: tuple[str, str]) -> list[dict[str, Any]]:
    """Steps of a recording's own turns, by trajectory and position."""
    found: list[dict[str, Any]] = (
        lake.sql(
            "select t.trajectory_id, t.class, t.branch, t.parent_session, s.* exclude (trajectory_id) from steps s"
            " join trajectories t using (trajectory_id) join sources o using (source_id)"
            " where o.path like ? and not coalesce(s.copied_context, false)"
            " order by t.started_at, t.trajectory_id, s.step",
            [f"%/recorded/{case[0]}/{case[1]}/%"],
        )
        .to_arrow_table()
        .to_pylist()
    )
    return found


def test_both_versions_are_recorded() -> None:
    assert {version for version, _ in CASES} == {"2026.7.1", "2026.9.6"}
    assert {"errors", "aborted", "killed", "compaction", "image", "background", "subagent"} <= {
        name for _, name in CASES
    }


def test_every_record_is_accounted_for(recorded: Lake) -> None:
    assert [check.name for check in STAGE.checks if not check.run(recorded).passed] == []
    assert not recorded.sql("select * from ledger where rule in ('unplaced', 'unknown_record_type')").fetchall()


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_every_answer_of_the_model_is_one_step_with_its_words_and_calls(recorded: Lake, case: tuple[str, str]) -> None:
    said = [a for a in facts(case)["answers"] if a["status"] == 200 and a["tools_offered"]]
    found = [step for step in steps(recorded, case) if step["role"] == "assistant"]
    by_id = {step["response_id"]: step for step in found if step["response_id"]}
    assert len(by_id) == len([step for step in found if step["response_id"]]), "an answer stands twice"
    missing = [answer["id"] for answer in said if answer["id"] not in by_id and not answer["cut"]]
    assert len(missing) <= LOST.get(case, 0), missing
    for answer in said:
        step = by_id.get(answer["id"])
        if step is None:
            continue
        assert step["text"].strip() == answer["text"].strip()
        made = recorded.sql(
            "select tool, arguments from tool_calls where trajectory_id = ? and step = ? order by call_index",
            [step["trajectory_id"], step["step"]],
        ).fetchall()
        wanted = [(call["name"], call["arguments"]) for call in answer["calls"]]
        assert [name for name, _ in made] == [name for name, _ in wanted]
        if answer["calls"] and isinstance(wanted[0][1], dict):
            assert [json.loads(arguments) for _, arguments in made] == [arguments for _, arguments in wanted]


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_what_the_user_said_is_there_without_openclaws_frame(recorded: Lake, case: tuple[str, str]) -> None:
    texts = [step["text"] for step in steps(recorded, case) if step["role"] == "user"]
    for prompt in facts(case)["prompts"]:
        assert prompt in texts


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_class_says_how_it_ended(recorded: Lake, case: tuple[str, str]) -> None:
    found = {step["class"] for step in steps(recorded, case) if step["branch"] == 0}
    wanted = ABORTED[case[0]] if case[1] == "aborted" else CLASSES.get(case[1], "normal")
    assert found == {wanted}


@pytest.mark.parametrize("version", sorted({version for version, _ in CASES}))
def test_errors_of_tools_are_errors_whatever_channel_says_so(recorded: Lake, version: str) -> None:
    found = (
        recorded.sql(
            "select c.tool, c.is_error, c.error_source, c.exit_code from tool_calls c join trajectories t using"
            " (trajectory_id) join sources o using (source_id) where o.path like ? order by c.step, c.call_index",
            [f"%/recorded/{version}/errors/%"],
        )
        .to_arrow_table()
        .to_pylist()
    )
    by_code = {row["exit_code"]: row for row in found if row["exit_code"] not in (None, 0)}
    source = "is_error" if version == "2026.7.1" else "exit_code"  # the newer one says false there
    assert by_code[3]["is_error"] and by_code[3]["error_source"] == source
    fine = [row for row in found if not row["is_error"]]
    # the older version has another name for the time limit of a command, and so let it run to its end
    assert [(row["tool"], row["exit_code"]) for row in fine] == ([("exec", 0)] if version == "2026.7.1" else [])
    assert len(found) >= 6


@pytest.mark.parametrize("version", sorted({version for version, _ in CASES}))
def test_a_compaction_starts_a_window_of_its_own(recorded: Lake, version: str) -> None:
    rules = Counter(
        rule
        for (rule,) in recorded.sql(
            "select d.rule from diagnostics d join sources o using (source_id, version) where o.path like ?",
            [f"%/recorded/{version}/compaction/%"],
        ).fetchall()
    )
    assert rules["compaction"] >= 1
    windows = {step["trajectory_id"] for step in steps(recorded, (version, "compaction"))}
    assert len(windows) == 1 + rules["compaction"]


@pytest.mark.parametrize("version", sorted({version for version, _ in CASES}))
def test_a_sub_agent_is_a_session_of_its_own(recorded: Lake, version: str) -> None:
    rows = steps(recorded, (version, "subagent"))
    assert len({row["trajectory_id"] for row in rows}) == 2


@pytest.mark.parametrize("version", sorted({version for version, _ in CASES}))
def test_an_image_is_its_digest(recorded: Lake, version: str) -> None:
    texts = [step["text"] for step in steps(recorded, (version, "image")) if step["role"] == "tool"]
    assert any("image/png" in text for text in texts) and not any("iVBOR" in text for text in texts)
