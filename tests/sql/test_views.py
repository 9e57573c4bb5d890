"""The figures of the views, computed a second time in plain Python from the tables."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections import Counter, defaultdict
from typing import Any

import pytest

from lake import Lake

Row = dict[str, Any]


def rows(lake: Lake, view: str) -> list[Row]:
    found: list[Row] = lake.sql(f"from {view}").to_arrow_table().to_pylist()
    return found


def calls_by_trajectory(lake: Lake) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for call in sorted(lake.rows("tool_calls"), key=lambda c: (c["trajectory_id"], c["step"], c["call_index"])):
        found[call["trajectory_id"]].append(call)
    return found


def policy_of(lake: Lake) -> dict[str, str]:
    return {row["trajectory_id"]: row["policy"] or f"external log: {row['model']}" for row in lake.rows("trajectories")}


def test_a_label_is_the_task_or_the_first_words_of_the_user(mini: Lake) -> None:
    said: dict[str, str] = {}
    for step in sorted(mini.rows("steps"), key=lambda s: (s["trajectory_id"], s["step"])):
        if step["role"] == "user":
            said.setdefault(step["trajectory_id"], " ".join(step["text"].split())[:60])
    found = {row["trajectory_id"]: row for row in rows(mini, "trajectory_overview")}
    external = [row for row in mini.rows("trajectories") if row["attempt_id"] is None]
    assert external
    for row in mini.rows("trajectories"):
        label = row["task_id"] or said.get(row["trajectory_id"]) or row["session_id"]
        assert (found[row["trajectory_id"]]["label"], found[row["trajectory_id"]]["model"]) == (label, row["model"])
    assert {found[row["trajectory_id"]]["policy"] for row in external} == {"external log"}


def test_external_logs_are_grouped_by_model(mini: Lake) -> None:
    models = {f"external log: {row['model']}" for row in mini.rows("trajectories") if row["policy"] is None}
    assert models
    assert {row["policy"] for row in rows(mini, "behaviour") if row["policy"].startswith("external log")} == models
    policy, called = policy_of(mini), calls_by_trajectory(mini)
    assert {row["policy"] for row in rows(mini, "phase_mix")} == {policy[trajectory] for trajectory in called}


def test_statistics_have_n_interval_and_the_papers_figures(mini: Lake) -> None:
    found = {(row["population"], row["measure"]): row for row in rows(mini, "trajectory_statistics")}
    kept_ids = {row["trajectory_id"] for row in mini.rows("sft_examples")}
    trajectories = mini.rows("trajectories")
    for population, chosen in (
        ("kept for training", [t for t in trajectories if t["trajectory_id"] in kept_ids]),
        ("all trajectories", trajectories),
    ):
        for measure, paper in (("turns", 13.0), ("text_tokens", 18670.0), ("tool_calls", 15.82), ("tool_types", 3.25)):
            row = found[population, measure]
            figures = [t[measure] for t in chosen]
            margin = 1.96 * statistics.stdev(figures) / math.sqrt(len(figures))
            assert row["n"] == len(figures)
            assert row["mean"] == pytest.approx(statistics.mean(figures))
            assert row["low"] == pytest.approx(statistics.mean(figures) - margin)
            assert row["high"] == pytest.approx(statistics.mean(figures) + margin)
            assert row["median"] == pytest.approx(statistics.median(figures))
            assert row["paper_mean"] == paper
            assert "not ours" in row["paper_source"]
    assert len(found) == 8


def test_tool_error_rates_and_wilson_interval(mini: Lake) -> None:
    for row in rows(mini, "tool_statistics"):
        mine = [call for call in mini.rows("tool_calls") if call["tool"] == row["tool"]]
        answered = [call for call in mine if call["is_error"] is not None]
        k, n, z = sum(call["is_error"] for call in answered), len(answered), 1.96
        assert (row["calls"], row["answered"], row["errors"]) == (len(mine), n, k)
        p = k / n
        centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        assert row["error_low"] == pytest.approx(0.0 if k == 0 else (centre - half) / (1 + z * z / n), abs=1e-6)
        assert row["error_high"] == pytest.approx(1.0 if k == n else (centre + half) / (1 + z * z / n), abs=1e-6)


def test_recovery_is_a_later_success_on_the_same_target(mini: Lake) -> None:
    expected: dict[tuple[str, int, int], int | None] = {}
    for trajectory, calls in calls_by_trajectory(mini).items():
        for at, call in enumerate(calls):
            if call["is_error"]:
                later = [c["step"] for c in calls[at + 1 :] if c["target"] == call["target"] and c["is_error"] is False]
                expected[trajectory, call["step"], call["call_index"]] = min(later) - call["step"] if later else None
    found = {(r["trajectory_id"], r["step"], r["call_index"]): r for r in rows(mini, "tool_failures")}
    assert {key: row["steps_to_recover"] for key, row in found.items()} == expected
    assert {key: row["recovered"] for key, row in found.items()} == {k: v is not None for k, v in expected.items()}
    assert set(map(bool, expected.values())) == {True, False}
    for trajectory, calls in calls_by_trajectory(mini).items():
        for at, call in enumerate(calls):
            if call["is_error"]:
                going_on = any(c["tool"] == call["tool"] and c["is_error"] is False for c in calls[at + 1 :])
                assert found[trajectory, call["step"], call["call_index"]]["went_on"] == going_on


def test_a_written_file_is_verified_by_a_later_look(mini: Lake) -> None:
    expected: dict[tuple[str, str], int | None] = {}
    for trajectory, calls in calls_by_trajectory(mini).items():
        written = [c for c in calls if c["phase"] in ("write", "edit") and not c["is_error"]]
        for path in {c["target"] for c in written}:
            last = max(c["step"] for c in written if c["target"] == path)
            looks = [
                c["step"]
                for c in calls
                if c["step"] > last
                and c["is_error"] is False
                and ((c["phase"] == "read" and c["target"] == path) or (c["tool"] == "exec" and path in c["arguments"]))
            ]
            expected[trajectory, path] = min(looks, default=None)
    found = {(r["trajectory_id"], r["path"]): r for r in rows(mini, "written_files")}
    assert {key: row["verified_at"] for key, row in found.items()} == expected
    assert {row["verified"] for row in found.values()} == {True, False}


def test_behaviour_adds_up(mini: Lake) -> None:
    policy = policy_of(mini)
    repeated: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for trajectory, calls in calls_by_trajectory(mini).items():
        total[policy[trajectory]] += len(calls)
        for before, call in itertools.pairwise(calls):
            repeated[policy[trajectory]] += (before["tool"], before["arguments"]) == (call["tool"], call["arguments"])
    found = {row["policy"]: row for row in rows(mini, "behaviour")}
    assert set(found) == set(policy.values())
    for name, row in found.items():
        assert (row["calls"], row["repeated"]) == (total[name], repeated[name])
        for rate, part, whole in (
            ("error_rate", "errors", "answered"),
            ("recovery_rate", "recovered", "failures_with_target"),
            ("went_on_rate", "went_on", "errors"),
            ("verify_rate", "verified", "written"),
            ("repeat_rate", "repeated", "calls"),
        ):
            assert row[rate] == (pytest.approx(row[part] / row[whole]) if row[whole] else None)
    assert found["scripted:weak@1"]["error_rate"] > found["scripted:strong@1"]["error_rate"]


def test_phase_shares_sum_to_one(mini: Lake) -> None:
    shares: dict[str, float] = defaultdict(float)
    for row in rows(mini, "phase_mix"):
        shares[row["policy"]] += row["share"]
    assert shares and all(share == pytest.approx(1.0) for share in shares.values())


def test_funnel_counts_the_tables(mini: Lake) -> None:
    found = {row["stage"]: row["n"] for row in rows(mini, "funnel")}
    assert found == {
        "personas": len(mini.rows("personas")),
        "skills": len(mini.rows("skills")),
        "tasks": len(mini.rows("tasks")),
        "accepted": sum(row["status"] == "accepted" for row in mini.rows("task_status")),
        "attempts": len(mini.rows("attempts")),
        "trajectories": len(mini.rows("trajectories")),
        "verdicts": sum(row["is_latest"] and row["status"] == "scored" for row in mini.rows("verdicts")),
        "sft": len(mini.rows("sft_examples")),
        "checkpoints": len(mini.rows("checkpoints")),
        "bench": len({row["bench_run_id"] for row in mini.rows("bench_scores")}),
    }
    assert [row["position"] for row in rows(mini, "funnel")] == list(range(1, 11))


def test_funnel_of_an_empty_lake_is_zeros(empty: Lake) -> None:
    assert [row["n"] for row in rows(empty, "funnel")] == [0] * 10


def test_overviews_lose_and_add_no_row(mini: Lake) -> None:
    for view, table in (
        ("attempt_overview", "attempts"),
        ("trajectory_overview", "trajectories"),
        ("task_overview", "tasks"),
        ("audit_overview", "task_status"),
    ):
        assert len(rows(mini, view)) == len(mini.rows(table)), view


def test_attempt_overview_takes_the_latest_verdict(mini: Lake) -> None:
    latest = {row["attempt_id"]: row for row in mini.rows("verdicts") if row["is_latest"]}
    for row in rows(mini, "attempt_overview"):
        verdict = latest.get(row["attempt_id"], {})
        assert row["verdict_id"] == verdict.get("verdict_id")
        assert row["score_code"] == verdict.get("score_code")


def test_task_overview_keeps_teachers_and_models_apart(mini: Lake) -> None:
    overview = rows(mini, "task_overview")
    attempts = [row for row in rows(mini, "attempt_overview") if row["counted"] and row["score_code"] is not None]
    kinds = Counter("scripted" if row["policy_kind"] == "scripted" else "model" for row in attempts)
    assert sum(row["scripted_n"] for row in overview) == kinds["scripted"] > 0
    assert sum(row["model_n"] for row in overview) == kinds["model"] > 0


def test_checks_are_every_check_of_every_verdict(mini: Lake) -> None:
    expected = {
        (row["verdict_id"], name): value
        for row in mini.rows("verdicts")
        for name, value in json.loads(row["checks"]).items()
    }
    assert {(row["verdict_id"], row["check_name"]): row["value"] for row in rows(mini, "checks")} == expected


def test_llm_calls_are_the_proxys_records(mini: Lake) -> None:
    found = rows(mini, "llm_calls")
    assert len(found) == sum(row["source_kind"] == "proxy.call" for row in mini.rows("raw_records"))
    assert all(row["status"] == 200 and row["prompt_tokens"] > 0 and row["trajectory_id"] for row in found)


def test_llm_calls_of_damaged_records_are_rows_with_nulls(tmp_path_factory: pytest.TempPathFactory) -> None:
    import lake as lakes
    from lake.projection import rows_table
    from tests.sql.minilake import EPOCH

    damaged = lakes.open(tmp_path_factory.mktemp("damaged") / "lake")
    common = {
        "source_id": "s", "version": 0, "source_kind": "proxy.call", "source_path": "proxy.jsonl", "raw_size": 3,
        "raw_sha256": "0", "encoding": "identity", "ingested_at": EPOCH,
    }  # fmt: skip
    records = [
        {**common, "record_key": "a", "position": 0, "raw": b"\xff\xfe{", "parse_status": "bad_utf8"},
        {**common, "record_key": "b", "position": 1, "raw": b"{no", "parse_status": "bad_json"},
        {**common, "record_key": "c", "position": 2, "raw": None, "raw_blob": "0", "parse_status": "ok"},
    ]
    damaged.store.append("raw_records", rows_table("raw_records", records), {"damaged": 0})
    found = rows(damaged, "llm_calls")
    assert [row["parse_status"] for row in found] == ["bad_utf8", "bad_json", "ok"]
    assert all(row["status"] is None and row["call"] is None for row in found)


def test_reviews_are_read_from_the_log(mini: Lake) -> None:
    assert sorted(row["decision"] for row in rows(mini, "reviews")) == ["accept", "revise"]


def test_audit_overview_counts_mutants_and_failed_probes(mini: Lake) -> None:
    for row in rows(mini, "audit_overview"):
        mine = [a for a in mini.rows("audits") if a["task_version"] == row["task_version"]]
        assert row["probes"] == len(mine)
        assert row["failed_probes"] == sorted(a["probe"] for a in mine if not a["passed"])
        assert row["mutants"] == sum(a["probe"].startswith("mutant:") for a in mine) == 4
        assert row["oracle_score"] == 1.0
    assert {row["status"] for row in rows(mini, "audit_overview")} == {"accepted", "rejected"}
