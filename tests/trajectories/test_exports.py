"""Exports: each format read back by those it is for, the same bytes twice, nothing secret, nothing overwritten."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import atif
import click
import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_attempts, ingest_paths
from assets.rollouts import STAGE as ROLLOUTS
from assets.stage import Context
from assets.trajectories import STAGE
from assets.trajectories.exports import FORMATS, Filters, export
from assets.trajectories.exports.atif import VERSIONS
from assets.trajectories.exports.hf import SCHEMA
from assets.trajectories.exports.item import read_json, to_json
from assets.trajectories.exports.shards import Shards
from assets.trajectories.exports.target import REPORT, report_path
from benchmarks.conformance.peers import Peer, PeerUnavailableError, interpreter
from clawgym_dag.cli.trajectories import export as command
from lake import Lake
from lake.errors import UsageError
from tests.trajectories.attempts import FIXTURES, context, make_attempt
from tests.trajectories.sessions import Session, exec_call
from tests.trajectories.test_lineage import CHILD, MAIN, Home
from tests.trajectories.test_secrets import CANARIES, planted
from training.chat import Conversation
from training.tokenizer import train_tokenizer

SCOUT = Peer("inspect_scout", "inspect-scout", "0.6.1", (3, 10))
NAMES = {"trl": "trl.jsonl", "sharegpt": "sharegpt.jsonl", "atif": "atif", "hf": "hf", "scout": "scout"}


def build(lake: Lake) -> None:
    for stage in (ROLLOUTS, LOGS, STAGE):
        lake.build(stage.projection)


def secrets() -> Session:
    """Every kind of secret in every place a format shows."""
    s = Session("canaries")
    for kind in CANARIES:
        s.user(f"use this: {planted(kind)}")
        answer = [{"type": "thinking", "thinking": planted(kind)}, {"type": "text", "text": planted(kind)}]
        call = {"type": "toolCall", "id": f"c_{kind}", "name": "exec", "arguments": {"command": planted(kind)}}
        s.message({"role": "assistant", "content": [*answer, call], "model": "some-model", "usage": None})
        s.result(f"c_{kind}", json.dumps({"out": planted(kind)}), isError=True)
    return s


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """A lake with three recorded attempts, logs of others, a fork, a session with a sub-agent, and secrets."""
    root = tmp_path_factory.mktemp("exports")
    made = context(root)
    for number, case in enumerate(("toolerr", "reasoning", "compaction_overflow")):
        make_attempt(made.lake, case, f"{number:020d}")
    first = Session("first")
    first.user("go")
    first.assistant("one", exec_call("a"), responseId="r1")
    first.result("a")
    first.assistant("two", responseId="r2")
    fork = first.forked("fork", minute=30)
    fork.user("further")
    fork.assistant("three", responseId="r3")
    (root / "logs").mkdir()
    for name, session in (("a", first), ("b", fork), ("c", secrets())):
        (root / "logs" / f"{name}.jsonl").write_bytes(b"\n".join(session.lines()) + b"\n")
    home = Home(root)
    home.session("lead", 0, 20, spawned=CHILD)
    home.session("kid", 5, 10)
    home.index(main={"sessionId": "lead"}, child={"sessionId": "kid", "spawnedBy": MAIN})
    ingest_attempts(made)
    ingest_paths(made, [FIXTURES / "handmade", FIXTURES / "shape", root / "logs", home.root])
    build(made.lake)
    yield made


@pytest.fixture(scope="module")
def exported(built: Context, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an export in each format, and ATIF as lines."""
    folder = tmp_path_factory.mktemp("exported")
    for name, file in NAMES.items():
        export(built.lake, folder / file, format=name)
    export(built.lake, folder / "atif.jsonl", format="atif", atif_version="1.8")
    return folder


def report(folder: Path, name: str) -> dict[str, Any]:
    return dict(json.loads(report_path(folder / name).read_text()))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def count(made: Context, query: str) -> int:
    (found,) = made.lake.sql(query).fetchone() or (0,)
    return int(found)


def tree(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


# --- what holds for every format ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_same_lake_gives_the_same_bytes(name: str, built: Context, exported: Path, tmp_path: Path) -> None:
    again = tmp_path / NAMES[name]
    export(built.lake, again, format=name)
    assert tree(again) == tree(exported / NAMES[name])
    assert report(tmp_path, NAMES[name]) == report(exported, NAMES[name])
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", [*NAMES.values(), "atif.jsonl"])
def test_no_secret_is_in_an_export(name: str, exported: Path) -> None:
    content = b"".join(tree(exported / name).values())
    if name in ("hf", "scout"):
        tables = [pq.read_table(path) for path in sorted((exported / name).rglob("*.parquet"))]
        content += json.dumps([table.to_pylist() for table in tables]).encode()
    assert b"[masked:" in content
    told = [json.dumps(secret)[1:-1] for secret in CANARIES.values()]
    assert [secret for secret in (*CANARIES.values(), *told) if secret.encode() in content] == []


@pytest.mark.parametrize("name", NAMES.values())
def test_the_report_adds_up_and_names_its_files(name: str, built: Context, exported: Path) -> None:
    import hashlib

    stated = report(exported, name)
    assert stated["trajectories"] == count(built, "select count(*) from trajectories")
    left_out = stated["not_held"].get("without_answer", 0) + stated["not_held"].get("without_steps", 0)
    assert stated["exported"] == stated["trajectories"] - left_out > 0
    in_it = {row["trajectory_id"] for row in built.lake.rows("trajectories")}
    if name != "scout":
        in_it = (
            set(documents(exported / name))
            if name == "atif"
            else {r["trajectory_id"] for r in lines(exported / "trl.jsonl")}
        )
    partial = sum(not step["in_messages"] and step["trajectory_id"] in in_it for step in built.lake.rows("steps"))
    files = {n: data for n, data in tree(exported / name).items() if n != REPORT}
    if (exported / name).is_file():
        files = {name: files["."]}
    assert stated["files"] == {n: hashlib.sha256(data).hexdigest() for n, data in files.items()}
    assert stated["not_held"]["images"] > 0
    assert stated["not_held"]["steps_not_in_messages"] == partial
    snapshots = {row["snapshot_id"] for row in built.lake.rows("snapshots")}
    assert stated["snapshot_id"] in snapshots and stated["filters"] == {}


def test_an_export_takes_no_file_of_others(built: Context, tmp_path: Path) -> None:
    theirs = [tmp_path / ".x.jsonl.part", tmp_path / ".x.jsonl.replaced"]
    for folder in theirs:
        folder.mkdir()
        (folder / "letter.txt").write_text("dear")
    (tmp_path / "y.jsonl.report.json").write_text('{"theirs": 1}')
    for force in (False, True):
        with pytest.raises(UsageError, match=r"y\.jsonl\.report\.json is no report"):
            export(built.lake, tmp_path / "y.jsonl", force=force)
    assert (tmp_path / "y.jsonl.report.json").read_text() == '{"theirs": 1}' and not (tmp_path / "y.jsonl").exists()
    export(built.lake, tmp_path / "x.jsonl")
    export(built.lake, tmp_path / "x.jsonl", force=True)
    assert all((folder / "letter.txt").read_text() == "dear" for folder in theirs)
    names = {".x.jsonl.part", ".x.jsonl.replaced", "x.jsonl", "x.jsonl.report.json", "y.jsonl.report.json"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_an_export_is_never_written_over_anything_else(built: Context, tmp_path: Path) -> None:
    for name in ("trl.jsonl", "atif"):
        target = tmp_path / name
        export(built.lake, target, format=name.split(".")[0])
        with pytest.raises(UsageError, match="--force"):
            export(built.lake, target, format=name.split(".")[0])
        before = tree(target)
        export(built.lake, target, format=name.split(".")[0], filters=Filters(class_="failed"), force=True)
        assert tree(target) != before and report(tmp_path, name)["filters"] == {"class": "failed"}
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match=r"letter\.txt.*no export wrote"):
        export(built.lake, home, format="hf", force=True)
    (tmp_path / "atif" / "mine.json").write_text("{}")
    with pytest.raises(UsageError, match=r"mine\.json"):
        export(built.lake, tmp_path / "atif", format="atif", force=True)
    assert (home / "letter.txt").read_text() == "dear"
    with pytest.raises(UsageError, match="cannot be written"):
        export(built.lake, tmp_path / "no" / "folder.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["atif", "home", "trl.jsonl", "trl.jsonl.report.json"]


def test_a_failure_leaves_the_earlier_export(built: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(built.lake, tmp_path / "atif", format="atif")
    before = tree(tmp_path / "atif")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("assets.trajectories.exports.target.fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        export(built.lake, tmp_path / "atif", format="atif", filters=Filters(class_="normal"), force=True)
    assert tree(tmp_path / "atif") == before and [path.name for path in tmp_path.iterdir()] == ["atif"]


def test_filters_choose(built: Context, tmp_path: Path) -> None:
    def ids(**filters: Any) -> set[str]:
        target = tmp_path / "out.jsonl"
        export(built.lake, target, format="atif", filters=Filters(**filters), force=True)
        return {line["trajectory_id"] for line in lines(target)}

    rows = built.lake.rows("trajectories")
    assert ids(class_="failed") == {row["trajectory_id"] for row in rows if row["class"] == "failed"} != set()
    ours = {row["trajectory_id"] for row in rows if row["attempt_id"] is not None}
    assert ids(policy="strong") == ids(task="task-1") == ids(counted=True) == ours != set()
    assert ids(policy="weak") == ids(min_score=0.0) == set()  # none of these was graded


def test_a_snapshot_is_exported_as_it_was(tmp_path: Path) -> None:
    made = context(tmp_path)
    ingest_paths(made, [FIXTURES / "handmade" / "baseline.jsonl"])
    build(made.lake)
    first = export(made.lake, tmp_path / "one.jsonl")
    ingest_paths(made, [FIXTURES / "handmade" / "crlf.jsonl"])
    build(made.lake)
    export(made.lake, tmp_path / "then.jsonl", as_of=first["snapshot_id"])
    now = export(made.lake, tmp_path / "now.jsonl")
    assert (tmp_path / "then.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert now["trajectories"] > first["trajectories"] and now["snapshot_id"] != first["snapshot_id"]
    with pytest.raises(UsageError, match="snapshot"):
        export(made.lake, tmp_path / "never.jsonl", as_of="2001-01-01")


def test_what_a_killed_export_left_does_not_stand_in_the_way(built: Context, exported: Path, tmp_path: Path) -> None:
    for part in (".atif.part", ".atif.replaced"):
        (tmp_path / part / "trajectories").mkdir(parents=True)
        (tmp_path / part / "trajectories" / "old.json").write_text("{")
    (tmp_path / ".trl.jsonl.part").write_text("{")
    for name in ("atif", "trl"):
        export(built.lake, tmp_path / NAMES[name], format=name)
        assert tree(tmp_path / NAMES[name]) == tree(exported / NAMES[name])
    left = {".atif.part", ".atif.replaced", ".trl.jsonl.part"}  # nobody can tell whose they are: they stay
    assert {path.name for path in tmp_path.iterdir()} == left | {"atif", "trl.jsonl", "trl.jsonl.report.json"}


def test_the_command_line_knows_every_format_and_version() -> None:
    kinds = {parameter.name: parameter.type for parameter in command.params}
    choices = {name: kind.choices for name, kind in kinds.items() if isinstance(kind, click.Choice)}
    assert choices["format_"] == tuple(FORMATS) and choices["atif_version"] == VERSIONS


def test_an_empty_choice_is_an_empty_export(built: Context, tmp_path: Path) -> None:
    for name, file in NAMES.items():
        found = export(built.lake, tmp_path / file, format=name, filters=Filters(task="no such task"))
        assert (found["trajectories"], found["exported"]) == (0, 0) and (tmp_path / file).exists()
        assert not any(found["not_held"].values())


def test_numbers_no_json_holds_and_halves_of_characters_are_written() -> None:
    value = read_json('{"a": NaN, "b": 1e999, "c": -Infinity, "d": 1.5, "e": "\\ud83e"}')
    assert value == {"a": "NaN", "b": "1e999", "c": "-Infinity", "d": 1.5, "e": "\ud83e"}
    assert json.loads(to_json(value).encode()) == {**value, "e": "\ufffd"}


def test_a_record_is_one_line_to_every_reader(exported: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x1cf"
    assert to_json(text).splitlines() == [to_json(text)] and json.loads(to_json(text)) == text
    for name in ("trl.jsonl", "sharegpt.jsonl", "atif.jsonl"):
        content = (exported / name).read_text(encoding="utf-8")
        assert len(content.splitlines()) == content.count("\n") == report(exported, name)["exported"]
    assert "\\u2028" in (exported / "atif.jsonl").read_text(encoding="utf-8")


# --- TRL ----------------------------------------------------------------------------------------------------------


def test_trl_lines_are_messages_and_tools(built: Context, exported: Path, tmp_path: Path) -> None:
    rows = lines(exported / "trl.jsonl")
    assert {row["trajectory_id"]: row["messages"] for row in rows}.items() <= {
        row["trajectory_id"]: json.loads(row["messages"]) for row in built.lake.rows("trajectories")
    }.items()
    stated = report(exported, "trl.jsonl")["not_held"]
    assert stated["thinking_texts"] > 0 and stated["error_flags"] > 0 and stated["without_answer"] > 0
    export(built.lake, tmp_path / "objects.jsonl", arguments="object")
    for strings, objects in zip(rows, lines(tmp_path / "objects.jsonl"), strict=True):
        pairs = zip(_calls(strings["messages"]), _calls(objects["messages"]), strict=True)
        assert all(json.loads(one["arguments"]) == two["arguments"] for one, two in pairs)


def _calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call["function"] for message in messages for call in message.get("tool_calls") or ()]


# --- ShareGPT -----------------------------------------------------------------------------------------------------


def test_sharegpt_says_the_same_in_the_same_order(exported: Path) -> None:
    for row, trl in zip(lines(exported / "sharegpt.jsonl"), lines(exported / "trl.jsonl"), strict=True):
        assert row["trajectory_id"] == trl["trajectory_id"] and json.loads(row["tools"]) == trl["tools"]
        said = [(entry["from"], entry["value"]) for entry in row["conversations"]]
        expected: list[tuple[str, Any]] = []
        for message in trl["messages"]:
            calls = [{**call, "arguments": json.loads(call["arguments"])} for call in _calls([message])]
            who = {"user": "human", "assistant": "gpt", "tool": "observation", "system": "system"}[message["role"]]
            if message["content"] or not calls:
                expected.append((who, message["content"]))
            if calls:
                expected.append(("function_call", calls[0] if len(calls) == 1 else calls))
        system = expected.pop(0)[1] if expected[0][0] == "system" else ""
        assert row["system"] == system
        assert [(who, json.loads(v) if who == "function_call" else v) for who, v in said] == expected


def test_an_answer_that_is_only_context_stays_marked(exported: Path) -> None:
    marked = {row["session_id"] for row in lines(exported / "sharegpt.jsonl") if "weight" in str(row["conversations"])}
    assert "fork" in marked and "first" not in marked
    assert report(exported, "sharegpt.jsonl")["not_held"]["answers_marked_as_context"] >= 2


# --- ATIF ---------------------------------------------------------------------------------------------------------


def documents(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((folder / "trajectories").iterdir())}


def test_every_atif_document_is_valid(exported: Path) -> None:
    for document in [*documents(exported / "atif").values(), *lines(exported / "atif.jsonl")]:
        parsed = atif.Trajectory.model_validate(document)
        # ATIF's own writer gives the same back: nothing was taken for something else.
        assert parsed.to_json_dict() == document
    assert {d["schema_version"] for d in documents(exported / "atif").values()} == {"ATIF-v1.7"}
    assert {d["schema_version"] for d in lines(exported / "atif.jsonl")} == {"ATIF-v1.8"}


def test_atif_of_an_attempt_holds_what_the_tables_know(built: Context, exported: Path) -> None:
    (row,) = [row for row in built.lake.rows("trajectories") if row["attempt_id"] == "0" * 20]
    document = documents(exported / "atif")[row["trajectory_id"]]
    assert document["agent"]["name"] == "openclaw" and document["agent"]["version"].startswith("2026.")
    assert document["agent"]["tool_definitions"] == json.loads(row["tools"])
    assert (document["session_id"], document["extra"]["class"], document["extra"]["task_id"]) == (
        row["session_id"], "normal", "task-1",
    )  # fmt: skip
    turns = [step for step in document["steps"] if step["source"] == "agent"]
    assert len(turns) == row["turns"] and all(turn["llm_call_count"] == 1 for turn in turns)
    calls = [(turn, call) for turn in turns for call in turn.get("tool_calls", ())]
    results = {r["source_call_id"]: r for turn in turns for r in turn.get("observation", {}).get("results", ())}
    assert len(calls) == row["tool_calls"] == len(results)
    assert sum(result["extra"]["is_error"] for result in results.values()) == row["tool_errors"] > 0
    assert document["final_metrics"]["total_prompt_tokens"] == row["input_tokens"]
    assert document["final_metrics"]["total_completion_tokens"] == row["output_tokens"]
    keys = {step["extra"]["record_key"] for step in turns}
    assert keys <= {record["record_key"] for record in built.lake.table("raw_records").to_pylist()}


def test_atif_says_what_was_copied_what_was_thought_and_never_that_unknown_is_free(exported: Path) -> None:
    found = documents(exported / "atif").values()
    (fork,) = [document for document in found if document["session_id"] == "fork"]
    assert [step.get("is_copied_context", False) for step in fork["steps"]] == [False, True, True, False, False]
    steps = [step for document in found for step in document["steps"]]
    assert any("reasoning_content" in step for step in steps)
    metrics = [step["metrics"] for step in steps if "metrics" in step]
    assert any(one.get("cached_tokens") for one in metrics) and any(one.get("cost_usd") for one in metrics)
    assert all(one.get("cost_usd") != 0 for one in metrics)
    assert any(one["extra"]["usage"].get("cost", {}).get("total") == 0 for one in metrics)
    assert all(one.get("cached_tokens", 0) <= one.get("prompt_tokens", 0) for one in metrics)


def test_atif_names_the_sub_agent_where_it_was_started(exported: Path) -> None:
    found = documents(exported / "atif")
    (lead,) = [document for document in found.values() if document["session_id"] == "lead"]
    (kid,) = [document for document in found.values() if document["session_id"] == "kid"]
    (result,) = lead["steps"][1]["observation"]["results"]
    (reference,) = result["subagent_trajectory_ref"]
    assert (exported / "atif" / "trajectories" / reference["trajectory_path"]).exists()
    assert found[reference["trajectory_path"].removesuffix(".json")] == kid
    assert kid["extra"]["parent_session_id"] == "lead" and reference["extra"] == {"known_by": "spawn_result"}
    assert report(exported, "atif")["not_held"]["subagent_references"] == 0
    assert report(exported, "atif.jsonl")["not_held"]["subagent_references"] == 1


def test_atif_taken_in_again_is_the_same_conversation(built: Context, exported: Path, tmp_path: Path) -> None:
    again = context(tmp_path)
    ingest_paths(again, [exported / "atif" / "trajectories"])
    build(again.lake)
    # Arguments cut at 200 levels are a few levels deeper in the document, so they are cut once more.
    deep = {row["trajectory_id"] for row in again.lake.rows("diagnostics") if row["rule"] == "deep_nesting"}
    cut = {row["session_id"] for row in again.lake.rows("trajectories") if row["trajectory_id"] in deep}
    assert cut == {"00000000-0000-4000-8000-000000000014"}
    before, after = ([found for found in conversations(one.lake) if found[0] not in cut] for one in (built, again))
    assert len(before) > 80 and after == before


def conversations(lake: Lake) -> list[Any]:
    """What was said, called and answered in each trajectory that has anything, by session and content."""
    found: list[Any] = []
    for row in lake.rows("trajectories"):
        steps = lake.sql(
            "select role, text, coalesce(thinking, ''), coalesce(is_error, false), input_tokens, output_tokens,"
            " coalesce(copied_context, false) from steps where trajectory_id = $id and in_messages order by step",
            {"id": row["trajectory_id"]},
        ).fetchall()
        calls = lake.sql(
            "select tool_calls.tool_call_id, tool, arguments, coalesce(tool_calls.is_error, false), exit_code"
            " from tool_calls join steps using (trajectory_id, step) where trajectory_id = $id and in_messages"
            " order by step, call_index",
            {"id": row["trajectory_id"]},
        ).fetchall()
        if steps:
            tools = None if row["tools"] is None else json.loads(row["tools"])
            found.append((row["session_id"], steps, calls, json.dumps(tools, sort_keys=True)))
    return sorted(found, key=repr)


# --- Hugging Face -------------------------------------------------------------------------------------------------


def test_hf_loads_offline_with_one_shape_and_the_same_messages(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    loaded = datasets.load_dataset(str(exported / "hf"), cache_dir=str(tmp_path))
    assert set(loaded) == {"unassigned"}  # no task of this lake was given a split
    rows = {row["trajectory_id"]: row for row in loaded["unassigned"]}
    expected = {row["trajectory_id"]: row for row in lines(exported / "trl.jsonl")}
    assert set(rows) == set(expected)
    for name, row in rows.items():
        messages = [{k: v for k, v in message.items() if v is not None} for message in row["messages"]]
        assert messages == expected[name]["messages"]
        assert json.loads(row["tools"]) == expected[name]["tools"]
    for path in (exported / "hf").rglob("*.parquet"):
        assert pq.read_schema(path).equals(SCHEMA)


def test_a_chat_template_renders_loaded_rows_as_the_messages_they_were(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As TRL does it: tools as JSON text, messages with nulls for the keys that other messages have."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    expected = {row["trajectory_id"]: row for row in lines(exported / "trl.jsonl")}
    samples = [Conversation(row["messages"], row["tools"]) for row in expected.values()]
    tokenizer = train_tokenizer(samples[:3], vocab_size=300)
    for row in datasets.load_dataset(str(exported / "hf"), cache_dir=str(tmp_path), split="unassigned"):
        line = expected[row["trajectory_id"]]
        loaded = tokenizer.apply_chat_template(row["messages"], tools=json.loads(row["tools"]), tokenize=False)
        assert loaded == tokenizer.apply_chat_template(line["messages"], tools=line["tools"], tokenize=False)


def test_the_card_says_what_is_in_it(built: Context, exported: Path) -> None:
    card = (exported / "hf" / "README.md").read_text()
    stated = report(exported, "hf")
    assert card.startswith("---\nlicense: other\n") and stated["snapshot_id"] in card
    assert f"{stated['exported']} trajectories" in card and "is no model" in card
    for what, lost in stated["not_held"].items():
        assert f"| `{what}` | {lost} |" in card
    for name in SCHEMA.names:
        assert f"| `{name}` |" in card


def test_shards_hold_rows_in_groups_and_files(tmp_path: Path) -> None:
    schema = pa.schema([("text", pa.string())])
    with Shards(tmp_path, "x-", schema, group_rows=2, file_bytes=50) as shards:
        for number in range(12):
            shards.add({"text": f"{number:02d}"}, 10)
    files = [pq.ParquetFile(path) for path in shards.paths]
    assert [path.name for path in shards.paths] == ["x-00000.parquet", "x-00001.parquet", "x-00002.parquet"]
    groups = [[f.metadata.row_group(n).num_rows for n in range(f.metadata.num_row_groups)] for f in files]
    assert groups == [[2, 2, 1], [2, 2, 1], [2]]
    assert [row["text"] for f in files for row in f.read().to_pylist()] == [f"{n:02d}" for n in range(12)]


# --- inspect_scout ------------------------------------------------------------------------------------------------


def test_scout_rows_have_one_type_a_column_and_small_row_groups(built: Context, exported: Path) -> None:
    paths = sorted((exported / "scout").glob("*.parquet"))
    files = [pq.ParquetFile(path) for path in paths]
    groups = [f.metadata.row_group(n).num_rows for f in files for n in range(f.metadata.num_row_groups)]
    assert max(groups) <= 25 and sum(groups) == count(built, "select count(*) from trajectories")
    assert len({str(f.schema_arrow) for f in files}) == 1
    (row,) = [row for row in files[0].read().to_pylist() if row["attempt_id"] == "0" * 20]
    assert row["agent"].startswith("openclaw@2026.") and row["task_id"] == "task-1" and row["trust_content"] is False
    assert row["score"] is None is row["success"]  # it was not graded
    messages = json.loads(row["messages"])
    assert row["message_count"] == len(messages) and len({message["id"] for message in messages}) == len(messages)
    assert sum("error" in message for message in messages) == row["tool_errors"] > 0


READ = """
import asyncio, json, sys
from inspect_ai.model import ChatMessage
from inspect_scout import transcripts_from
from pydantic import TypeAdapter
import pyarrow.parquet as pq
from pathlib import Path

folder = sys.argv[1]
adapter = TypeAdapter(list[ChatMessage])
parsed = 0
for path in sorted(Path(folder).glob("*.parquet")):
    for row in pq.read_table(path, columns=["messages"]).to_pylist():
        parsed += len(adapter.validate_json(row["messages"]))


async def chosen(transcripts):
    async with transcripts.reader() as reader:
        return [info async for info in reader.index()]


infos = asyncio.run(chosen(transcripts_from(folder)))
print(json.dumps({"parsed": parsed, "ids": [info.transcript_id for info in infos]}))
"""


@pytest.mark.long
def test_scouts_own_validator_and_reader_take_it(built: Context, exported: Path) -> None:
    try:
        python = interpreter(SCOUT)
    except PeerUnavailableError as error:
        pytest.skip(f"inspect_scout cannot be installed here: {error}")
    copy = exported / "for_scout"
    shutil.copytree(exported / "scout", copy)
    said = subprocess.run(
        [python.parent / "scout", "db", "validate", str(copy)], capture_output=True, text=True, check=False, timeout=300
    )
    assert said.returncode == 0 and "passed" in said.stdout, said.stdout + said.stderr
    read = subprocess.run(
        [python, "-P", "-c", READ, str(copy)], capture_output=True, text=True, check=False, timeout=300
    )
    assert read.returncode == 0, read.stderr[-2000:]
    found = json.loads(read.stdout.splitlines()[-1])
    rows = built.lake.rows("trajectories")
    assert sorted(found["ids"]) == sorted(row["trajectory_id"] for row in rows)
    spoken = count(built, "select count(*) from steps where in_messages is not false")
    assert found["parsed"] >= spoken > 0
