"""Each page on the small lake: the numbers on it, not only that it opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import lake as lakes
from lake import Lake, rows_table
from tests.dashboards.conftest import Open
from tests.sql import minilake
from tests.sql.miniruns import HOSTILE

PAGES = ("overview", "trajectories", "tasks", "bench", "query")


def captions(app: AppTest) -> str:
    return "\n".join(element.value.replace("\\", "") for element in app.caption)


def codes(app: AppTest) -> list[str]:
    return [element.value for element in app.code]


def frames(app: AppTest) -> list[Any]:
    return [element.value for element in app.dataframe]


def one(lake: Lake, query: str, **parameters: str) -> tuple[str, ...]:
    row = lake.sql(query, parameters or None).fetchone()
    assert row is not None
    return tuple(row)


@pytest.mark.parametrize("page", PAGES)
def test_a_missing_lake_is_one_friendly_line(open_page: Open, tmp_path: Path, page: str) -> None:
    app = open_page(tmp_path / "none", page)
    assert ["make demo" in info.value for info in app.info] == [True]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("page", [page for page in PAGES if page != "query"])
def test_an_empty_lake_says_what_to_do(open_page: Open, empty: Lake, page: str) -> None:
    app = open_page(empty.root, page)
    assert ["make demo" in info.value for info in app.info] == [True]


def test_a_foreign_folder_is_one_line(open_page: Open, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a lake")
    app = open_page(tmp_path)
    assert "not a lake" in app.info[0].value


def test_overview_has_the_funnel(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root)
    shown = {metric.label: metric.value for metric in app.metric}
    for label, n in mini.sql("select label, n from funnel").fetchall():
        assert shown[label[:1].upper() + label[1:]] == f"{n:,}"


def test_overview_puts_our_statistics_beside_the_papers(open_page: Open, mini: Lake) -> None:
    table = next(frame for frame in frames(open_page(mini.root)) if "paper's mean" in frame)
    kept = table[(table["measure"] == "Assistant turns") & (table["population"] == "kept for training")].iloc[0]
    n, mean = one(mini, "select count(*), round(avg(turns), 2) from sft_examples")
    assert (kept["n"], kept["paper's mean"]) == (n, 13.0)
    assert kept["our mean (95 % interval)"].startswith(f"{float(mean):.2f} (")
    assert sorted(set(table["paper's mean"])) == [3.25, 13.0, 15.82, 18670.0]


def test_overview_gives_every_rate_its_denominator(open_page: Open, mini: Lake) -> None:
    table = next(frame for frame in frames(open_page(mini.root)) if "recovered" in frame)
    row = table[table["policy"] == "scripted:weak@1"].iloc[0]
    errors, answered = one(mini, "select errors, answered from behaviour where policy = 'scripted:weak@1'")
    assert row["failed calls"] == f"{100 * int(errors) / int(answered):.0f} % of {answered}"


def test_trajectories_are_listed_filtered_and_sorted(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "trajectories")
    (total,) = one(mini, "select count(*) from trajectories")
    assert f"1 to {total} of n = {total} trajectories" in captions(app)
    app.multiselect(key="t_policy").select("scripted:weak@1")
    app.selectbox(key="t_sort").select("most tool errors").run()
    (weak,) = one(mini, "select count(*) from trajectories where policy = 'scripted:weak@1'")
    assert f"n = {weak} trajectories" in captions(app)
    errors = list(frames(app)[0]["tool_errors"])
    assert errors == sorted(errors, reverse=True)
    assert set(frames(app)[0]["policy"]) == {"scripted:weak@1"}
    app.text_input(key="t_text").input("nothing is called so").run()
    assert "n = 0 trajectories" in captions(app)


def test_a_score_range_leaves_out_what_has_no_score(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "trajectories")
    app.slider(key="t_score").set_range(0.0, 0.95).run()
    (low,) = one(mini, "select count(*) from trajectory_overview where score_code <= 0.95")
    assert f"n = {low} trajectories" in captions(app)


def test_own_logs_are_recognised_in_the_list(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "trajectories")
    assert not [element.value for element in app.markdown], "a bare string of the script is shown"
    app.multiselect(key="t_policy").select("external log").run()
    labels = [
        label for (label,) in mini.sql("select label from trajectory_overview where attempt_id is null").fetchall()
    ]
    assert sorted(frames(app)[0]["label"]) == sorted(labels)
    shown = list(app.dataframe[0].proto.column_order)
    assert shown[:3] == ["label", "model", "class"]
    assert not {"policy", "ending", "score_code", "checks"} & set(shown)
    (model,) = one(mini, "select any_value(model) from trajectories where attempt_id is null")
    app.multiselect(key="t_model").select(model).run()
    assert set(frames(app)[0]["model"]) == {model}


@pytest.fixture(scope="session")
def own(mini: Lake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of external logs only."""
    lake = lakes.open(tmp_path_factory.mktemp("own") / "lake")
    ids = {row["trajectory_id"] for row in mini.rows("trajectories") if row["attempt_id"] is None}
    for table in ("trajectories", "steps", "tool_calls"):
        rows = [row for row in mini.rows(table) if row["trajectory_id"] in ids]
        lake.store.overwrite(table, rows_table(table, rows), {"clawgym.rows": str(len(rows))})
    return lake


def test_the_overview_of_own_logs_leads_with_them(open_page: Open, own: Lake) -> None:
    app = open_page(own.root)
    sessions, models, errors = one(
        own, "select count(distinct session_id), count(distinct model), sum(tool_errors) from trajectories"
    )
    shown = {metric.label: metric.value for metric in app.metric}
    assert list(shown)[:2] == ["Sessions", "Models"]
    assert (shown["Sessions"], shown["Models"], shown["Tool errors"]) == (str(sessions), str(models), str(errors))
    assert {label for label, value in shown.items() if value == "0"} <= {"Tool calls", "Tool errors"}
    assert "Trajectories cleaned" in shown
    titles = [element.value for element in (*app.header, *app.subheader)]
    assert not {"Scores of counted attempts", "Endings of attempts", "Training loss"} & set(titles)


def trajectory_with(mini: Lake, condition: str) -> str:
    return one(mini, f"select trajectory_id from trajectory_overview where {condition} order by 1 limit 1")[0]


def test_a_run_opens_by_any_of_its_ids(open_page: Open, mini: Lake) -> None:
    ids = one(
        mini,
        "select trajectory_id, attempt_id, session_id, example_id, verdict_id"
        " from trajectory_overview join sft_examples using (trajectory_id, attempt_id, verdict_id) order by 1 limit 1",
    )
    for identity in ids:
        app = open_page(mini.root, "trajectories", id=identity)
        assert f"trajectory {ids[0]} · attempt {ids[1]}" in captions(app)
    app = open_page(mini.root, "trajectories", id="no such id")
    assert "no such id" in app.warning[0].value


def test_messages_show_calls_results_errors_and_timing(open_page: Open, mini: Lake) -> None:
    identity = trajectory_with(mini, "tool_errors > 0 and turns < 12")
    app = open_page(mini.root, "trajectories", id=identity)
    (turns, calls, errors) = one(
        mini, "select turns, tool_calls, tool_errors from trajectories where trajectory_id = $id", id=identity
    )
    figures = {metric.label: metric.value for metric in app.metric}
    assert (figures["Turns"], figures["Tool calls"]) == (str(turns), str(calls))
    lines = [element.value for element in app.markdown]
    assert sum("badge[failed: " in line for line in lines) == int(errors)
    assert sum("badge[failed: " in line or "badge[ok]" in line for line in lines) == int(calls)
    assert any("tokens in" in line and "+" in line for line in lines)
    texts = mini.sql("select text from steps where trajectory_id = $id and text <> ''", {"id": identity}).fetchall()
    assert {text.strip() for (text,) in texts} <= set(codes(app))


def test_what_an_agent_wrote_is_shown_as_text(open_page: Open, mini: Lake) -> None:
    identity = trajectory_with(mini, "session_id = 'session-000003-0'")
    app = open_page(mini.root, "trajectories", id=identity)
    assert HOSTILE in codes(app)
    assert not [element for element in app.markdown if element.allow_html or "<script" in element.value]


def panel(app: AppTest, name: str, key: str = "panel") -> AppTest:
    app.segmented_control(key=key).set_value(name).run()
    assert not app.exception, [error.value for error in app.exception]
    return app


def test_files_show_what_changed(open_page: Open, mini: Lake) -> None:
    app = panel(
        open_page(mini.root, "trajectories", id=trajectory_with(mini, "session_id = 'session-000003-0'")), "Files"
    )
    table = frames(app)[0].set_index("path")
    assert table.loc["input/notes.md", "change"] == "modified"
    assert table.loc["input/records.csv", "change"] == "removed"
    assert table.loc["output/summary.json", "change"] == "added"
    app.selectbox(key="file").select_index(list(table.index).index("input/notes.md")).run()
    (difference,) = [code for code in codes(app) if code.startswith("--- before")]
    assert "+<img src=x onerror=alert(1)>" in difference
    assert "-Amounts are in euro. Closed records were settled in October." in difference


def test_verdict_shows_checks_and_history(open_page: Open, mini: Lake) -> None:
    (attempt,) = one(mini, "select attempt_id from verdicts group by 1 having count(*) > 1 order by 1 limit 1")
    app = panel(open_page(mini.root, "trajectories", id=attempt), "Verdict")
    checks = frames(app)[0]
    expected = mini.sql(
        "select check_name, value from checks where attempt_id = $id and is_latest", {"id": attempt}
    ).fetchall()
    assert dict(zip(checks["check"], checks["value"], strict=True)) == dict(expected)
    assert len(frames(app)[1]) == 2


def test_cleaning_accounts_for_every_raw_record(open_page: Open, mini: Lake) -> None:
    identity = trajectory_with(mini, "secrets_masked > 0")
    app = panel(open_page(mini.root, "trajectories", id=identity), "Cleaning")
    (attempt,) = one(mini, "select attempt_id from trajectories where trajectory_id = $id", id=identity)
    (records,) = one(mini, "select count(*) from raw_records where attempt_id = $id", id=attempt)
    assert frames(app)[1]["records"].sum() == records
    assert "mask_secret" in list(frames(app)[0]["rule"])


def test_origins_walk_to_the_bytes(open_page: Open, mini: Lake) -> None:
    example, trajectory = one(mini, "select example_id, trajectory_id from sft_examples order by 1 limit 1")
    app = panel(open_page(mini.root, "trajectories", id=trajectory), "Origins")
    assert f"clawgym explain {example}" in codes(app)
    assert any("raw_records" in code and trajectory in code for code in codes(app))


def test_model_calls_are_listed(open_page: Open, mini: Lake) -> None:
    identity = trajectory_with(mini, "turns > 5")
    app = panel(open_page(mini.root, "trajectories", id=identity), "Model calls")
    assert len(frames(app)[0]) == int(
        one(mini, "select turns from trajectories where trajectory_id = $id", id=identity)[0]
    )


def test_a_log_of_others_opens_without_attempt(open_page: Open, mini: Lake) -> None:
    for name in ("Messages", "Files", "Verdict", "Cleaning", "Model calls", "Origins"):
        app = open_page(mini.root, "trajectories", id="foreign-0")
        if name != "Messages":
            panel(app, name)
    assert "foreign" in captions(app)


def test_tasks_are_listed_and_filtered(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "tasks")
    (total,) = one(mini, "select count(*) from tasks")
    assert f"n = {total} task versions" in captions(app)
    app.multiselect(key="k_statuses").select("rejected").run()
    (rejected,) = one(mini, "select count(*) from task_status where status = 'rejected'")
    assert len(frames(app)[0]) == int(rejected)


def test_a_task_shows_instruction_inputs_verifier_audit_and_attempts(open_page: Open, mini: Lake) -> None:
    task, version, instruction = one(
        mini, "select task_id, task_version, instruction from task_overview where attempts > 1 order by 1 limit 1"
    )
    app = open_page(mini.root, "tasks", id=task, version=version)
    assert instruction in codes(app)
    app.selectbox(key="input_file").select_index(1).run()
    assert any(code.startswith("id,date,status,amount") for code in codes(app))
    assert any("def grade(" in code for code in codes(panel(app, "Verifier", "task_panel")))
    probes = frames(panel(app, "Audit", "task_panel"))[0]
    assert len(probes) == int(one(mini, "select count(*) from audits where task_version = $v", v=version)[0])
    attempts = frames(panel(app, "Attempts", "task_panel"))[0]
    assert len(attempts) == int(one(mini, "select count(*) from attempts where task_id = $t", t=task)[0])


def test_a_review_is_an_event_of_the_log(open_page: Open, tmp_path: Path) -> None:
    own = minilake.build(tmp_path / "lake", n=4)
    task, version = one(own, "select task_id, task_version from tasks order by 1 desc limit 1")
    app = panel(open_page(own.root, "tasks", id=task, version=version), "Reviews", "task_panel")
    app.radio[0].set_value("reject")
    app.text_area[0].input("The **total** is [ambiguous](http://example.invalid).")
    app.button[-1].click().run()
    assert "author" in app.error[0].value
    app.radio[0].set_value("reject")
    app.text_input[-1].input("Ada")
    app.text_area[0].input("The **total** is ambiguous.")
    app.button[-1].click().run()
    found = lakes.open(own.root).sql(
        "select decision, reviewer, note, subject_id from reviews where reviewer = 'person:Ada'"
    )
    assert found.fetchall() == [("reject", "person:Ada", "The **total** is ambiguous.", f"{task}@{version}")]
    assert "n = 1 reviews" in captions(app)


def test_bench_keeps_teachers_and_models_apart(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "bench")
    models, teachers = frames(app)[:2]
    assert set(models["policy"]) == {minilake.CHECKPOINT}
    assert set(teachers["policy"]) == {"scripted:strong@1", "scripted:weak@1"}
    row = one(
        mini, "select n, tasks, mean, low, high from bench_scores where scope = 'suite' and policy like '%strong%'"
    )
    strong = teachers[teachers["policy"] == "scripted:strong@1"].iloc[0]
    assert (strong["n"], strong["tasks"]) == row[:2]
    assert strong["mean (95 % interval)"] == "{:.3f} ({:.3f} to {:.3f})".format(*map(float, row[2:]))


def test_bench_compares_two_runs_of_one_kind(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "bench")
    pairs = [element for element in app.selectbox if str(element.key).startswith("b_pair_")]
    assert [element.key for element in pairs] == ["b_pair_Scripted teachers"], "one model has nobody to compare with"
    low, mean, high, lost = one(mini, "select low, difference, high, len(lost) from bench_comparisons")
    shown = {element.label: element.value for element in app.metric}
    assert shown["Second minus first"] == f"{float(mean):+.3f}"
    assert shown["95 % interval"] == f"{float(low):+.3f} to {float(high):+.3f}"
    assert shown["Gained · lost"].endswith(f"· {lost}")
    flips = next(frame for frame in frames(app) if "change" in frame)
    assert len(flips) == int(lost) > 0
    assert set(flips["change"]) == {"lost"}
    assert (flips["first_mean"] > flips["second_mean"]).all()
    assert "n = 0 pairs" in captions(app)
    assert set(frames(app)[0]["of"]) == {"score_code"}


def test_sql_runs_an_example_and_own_queries(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "query")
    assert len(frames(app)[0]) == 10
    app.selectbox(key="example").select("examples/04_error_rate_per_tool").run()
    assert list(frames(app)[0].columns) == ["tool", "n", "errors", "error_rate", "low_95", "high_95"]
    app.text_area(key="query").input("select count(*) as c from steps")
    app.button[0].click().run()
    assert frames(app)[0]["c"].tolist() == [int(one(mini, "select count(*) from steps")[0])]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("drop view funnel", "only queries are allowed"),
        ("copy tasks to '/tmp/tasks.csv'", "only queries are allowed"),
        ("select 1; select 2", ""),
        ("select * from read_text('/etc/passwd')", "not allowed here"),
        ("select nothing from tasks", "nothing"),
        ("", "no SQL"),
    ],
)
def test_sql_refuses_what_is_no_query_in_one_line(open_page: Open, mini: Lake, query: str, words: str) -> None:
    app = open_page(mini.root, "query")
    app.text_area(key="query").input(query)
    app.button[0].click().run()
    assert not app.exception
    said = " ".join([*(e.value.replace("\\", "") for e in app.error), *codes(app)])
    assert words in said
    assert app.error or not words


def test_sql_shows_raw_bytes_as_their_size_and_cuts_long_answers(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "query")
    app.text_area(key="query").input("select raw from raw_records where raw is not null limit 3")
    app.button[0].click().run()
    assert all(str(value).endswith(" bytes") for value in frames(app)[0]["raw"])
    app.text_area(key="query").input("select i from range(5000) as r (i)")
    app.button[0].click().run()
    assert len(frames(app)[0]) == 1000
    assert "first 1,000 rows of more" in captions(app)


def test_as_of_a_snapshot_is_what_the_lake_knew(open_page: Open, tmp_path: Path) -> None:
    own = minilake.build(tmp_path / "lake", n=4)
    own.store.overwrite("personas", own.table("personas").slice(0, 2), {"clawgym.rows": "2"})
    app = open_page(own.root)
    assert app.metric[0].value == "2"
    app.selectbox(key="state").select_index(1).run()
    assert app.metric[0].value == "6"


def test_a_page_follows_the_lake(open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dashboards import connection

    own = minilake.build(tmp_path / "lake", n=4)
    app = open_page(own.root)
    assert app.metric[0].value == "6"
    own.store.overwrite("personas", own.table("personas").slice(0, 3), {"clawgym.rows": "3"})
    connection.forget()
    app.run()
    assert app.metric[0].value == "3"


def test_a_token_is_asked_for_on_every_page(open_page: Open, mini: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWGYM_DASHBOARD_TOKEN", "a-long-enough-token")
    for page in PAGES:
        app = open_page(mini.root, page)
        assert not app.metric and not app.dataframe and not app.title
        app.text_input[0].input("wrong").run()
        assert "not the token" in app.error[0].value
        app.text_input[0].input("a-long-enough-token").run()
        assert app.title


def test_sql_masks_texts(open_page: Open, mini: Lake) -> None:
    app = open_page(mini.root, "query")
    ask(app, f"select 'key sk-{'a1' * 20}' as text, 'x'::blob as bytes, null as nothing")
    (row,) = frames(app)[0].to_dict("records")
    assert row["text"].startswith("key [masked:openai_key:")
    assert row["bytes"] == "1 bytes"


def test_sql_stops_what_takes_too_long(open_page: Open, mini: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboards.connection.QUERY_SECONDS", 0.3)
    app = open_page(mini.root, "query")
    ask(app, "select sum(a.range * b.range % 7) from range(10000000) a, range(10000000) b")
    (told,) = [element.value.replace("\\", "") for element in app.error]
    assert "the query was stopped after 0.3 s" in told
    monkeypatch.undo()
    ask(open_page(mini.root, "query"), "select 1 as one")


def ask(app: AppTest, query: str) -> None:
    app.text_area(key="query").set_value(query).run()
    app.button[0].click().run()
    assert not app.exception


def test_contents_of_files_are_masked(open_page: Open, tmp_path: Path) -> None:
    """Inputs of a task and final files of a run, with what they were before."""
    secret = "sk-" + "b7" * 20
    opened = minilake.build(tmp_path / "lake", n=14)
    (sha,) = opened.put_blobs([f"token {secret}\nfor ada.lovelace@corp.io\n".encode()])
    tasks = opened.rows("tasks")
    for task in tasks:
        manifest = json.loads(task["input_manifest"])
        task["input_manifest"] = json.dumps([{**entry, "sha256": sha} for entry in manifest])
    opened.store.overwrite("tasks", rows_table("tasks", tasks), {})
    files = [{**row, "sha256": None if row["sha256"] is None else sha} for row in opened.rows("final_files")]
    opened.store.overwrite("final_files", rows_table("final_files", files), {})
    (run,) = one(opened, "select trajectory_id from trajectories semi join final_files using (attempt_id) limit 1")
    pages = [open_page(opened.root, "tasks", id=tasks[0]["task_id"])]
    pages.append(panel(open_page(opened.root, "trajectories", id=run), "Files"))
    for app in pages:
        shown = "\n".join(codes(app))
        assert secret not in shown and "ada.lovelace" not in shown
        assert "[masked:openai_key:" in shown and "[masked:email:1]" in shown
        assert "n = 2 secrets masked here" in captions(app)
