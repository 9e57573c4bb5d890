"""Explain walks from a training row to the bytes it came from, and says what it cannot find."""

from __future__ import annotations

import json
from typing import Final

import pytest

import lake
from lake import Lake, rows_table
from lake.errors import UsageError
from lake.explain import Explanation, Node, explain
from lake.ids import Json, event_id, record_key
from lake.lineage import DECLARED, FACTS, IDENTITIES, SUMMARIES, edges_of
from lake.schema import TABLES
from tests.lake.workload import SOURCE, WHEN, raw_rows

TASK: Final[dict[str, Json]] = {"task_id": "sum-s0001", "task_version": "v1"}


def filled_row(table: str, **given: Json) -> dict[str, Json]:
    """A row with something of the right type in every column that must have a value."""
    samples: dict[str, Json] = {"string": "x", "large_string": "x", "bool": True, "timestamp[us, tz=UTC]": WHEN}
    row: dict[str, Json] = {}
    for column in TABLES[table].columns:
        if not column.nullable:
            row[column.name] = samples.get(str(column.type), [] if str(column.type).startswith("list") else 0)
    return {**row, **given}


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One training example with everything it came from."""
    opened = lake.open(tmp_path_factory.mktemp("explain") / "lake")
    key = record_key(SOURCE, 0, 100)
    with opened.spool("tests") as spool:
        verifier = spool.put_blob(b"def grade(): ...", "text/x-python")
        cause = spool.stream("persona", "ada").emit("persona.created", {}, occurred_at=WHEN)
        proposed = spool.stream("task", "sum-s0001@v1").emit("task.proposed", {}, caused_by=cause, occurred_at=WHEN)
        decided = spool.stream("decision", "sum-s0001@v1").emit("task.accepted", {}, occurred_at=WHEN)
        probed = spool.stream("audit", "sum-s0001@v1/oracle").emit("audit.probed", {}, occurred_at=WHEN)
        ended = spool.stream("attempt", "att1").emit("attempt.ended", {}, occurred_at=WHEN)
        graded = spool.stream("verdict", "ver1").emit("verdict.recorded", {}, occurred_at=WHEN)
    opened.commit()
    opened.append_raw(SOURCE, 0, [{**row, "attempt_id": "att1", "session_id": "ses1"} for row in raw_rows(0)])
    attempt = {"attempt_id": "att1", **TASK}
    step = filled_row("steps", trajectory_id="tra1", role="assistant", text="", call_count=1)
    rows: dict[str, list[dict[str, Json]]] = {
        "personas": [filled_row("personas", persona_id="ada", name="Ada", event_id=cause)],
        "tasks": [
            filled_row(
                "tasks", **TASK, persona_id="ada", verifier_sha256=verifier, verifier_version="gr1",
                skill_ids=["gone"], event_id=proposed, origin="family:sum",
            )
        ],
        "task_status": [filled_row("task_status", **TASK, status="accepted", split="train", event_id=decided)],
        "audits": [filled_row("audits", **TASK, probe="oracle", passed=True, event_id=probed)],
        "attempts": [
            filled_row("attempts", **attempt, initial_workspace_id="ws0", final_workspace_id="ws1", event_id=ended)
        ],
        "workspaces": [
            filled_row("workspaces", **TASK, workspace_id="ws0", path=path, kind="file", size=5, event_id=proposed)
            for path in ("a.csv", "b.csv")
        ],
        "trajectories": [
            filled_row("trajectories", trajectory_id="tra1", source_id=SOURCE, attempt_id="att1", session_id="ses1")
        ],
        "steps": [{**step, "step": i, "record_key": key} for i in range(3)],
        "diagnostics": [
            filled_row("diagnostics", source_id=SOURCE, position=100, rule="torn_tail", trajectory_id="tra1",
                       record_key=key, ordinal=i)
            for i in range(25)
        ],
        "verdicts": [filled_row("verdicts", verdict_id="ver1", verifier_version="gr1", **attempt, event_id=graded)],
        "sft_examples": [
            filled_row("sft_examples", example_id="exa1", trajectory_id="tra1", verdict_id="ver1", **attempt)
        ],
        "sft_decisions": [filled_row("sft_decisions", trajectory_id="tra1", decision="kept", reason="kept")],
    }  # fmt: skip
    for name, values in rows.items():
        opened.store.overwrite(name, rows_table(name, values), {})
    return opened


def find(explanation: Explanation, table: str) -> list[Node]:
    return [node for node in explanation.nodes() if node.table == table]


def test_training_row_is_explained_down_to_the_bytes(chain: Lake) -> None:
    found = explain(chain, "exa1")
    tables = {node.table for node in found.nodes() if node.found}
    assert tables >= {
        "sft_examples", "sft_decisions", "trajectories", "diagnostics", "steps", "attempts", "raw_records", "tasks",
        "task_status", "audits", "personas", "events", "verdicts", "workspaces", "blobs",
    }  # fmt: skip
    types = {node.facts["type"] for node in find(found, "events") if node.facts}
    assert types >= {"task.proposed", "persona.created", "task.accepted", "audit.probed", "verdict.recorded"}
    group = next(node for node in find(found, "raw_records") if node.note == "4 rows")
    assert group.key == {"source_id": SOURCE, "version": 0}
    assert (group.facts["source_path"], group.facts["first_position"]) == ("session.jsonl", 0)
    one = next(node for node in find(found, "raw_records") if "position" in node.key)
    assert one.note == f"{one.facts['raw_size']} bytes at 100 of session.jsonl"
    (workspace,) = find(found, "workspaces")
    assert workspace.facts == {"files": 2, "bytes": 10}
    (verifier,) = [node for node in find(found, "blobs") if node.label == "verifier_sha256"]
    assert verifier.facts["size"] == 16


def test_what_cannot_be_found_is_said_and_stops_nothing(chain: Lake) -> None:
    found = explain(chain, "exa1")
    assert [(node.table, node.key) for node in found.missing] == [("skills", {"skill_id": "gone"})]
    assert not found.to_json()["complete"]
    assert "1 of the things pointed at cannot be found" in found.to_text()


def test_long_relations_are_cut_and_said_so(chain: Lake) -> None:
    findings = [node for node in find(explain(chain, "tra1"), "diagnostics") if node.label == "finding"]
    assert len(findings) == 21
    assert findings[-1].note == "more rows of diagnostics; only the first 20 are shown"


@pytest.mark.parametrize(
    ("id_", "table"),
    [
        ("exa1", "sft_examples"), ("tra1", "trajectories"), ("att1", "attempts"), ("ver1", "verdicts"),
        ("sum-s0001", "tasks"), ("sum-s0001@v1", "tasks"), ("v1", "tasks"), ("ada", "personas"),
        ("ses1", "trajectories"),
        ("ws0", "workspaces"), (SOURCE, "raw_records"), (record_key(SOURCE, 0, 100), "raw_records"),
        (event_id("attempt", "att1", 0), "events"), ("sum-s0001@v1/oracle", "events"),
    ],
)  # fmt: skip
def test_any_id_can_be_asked_for(chain: Lake, id_: str, table: str) -> None:
    found = explain(chain, id_)
    assert {root.table for root in found.roots} == {table}


def test_nothing_is_walked_twice(chain: Lake) -> None:
    found = explain(chain, "exa1")
    expanded = [(node.table, tuple(node.key.values())) for node in found.nodes() if node.children]
    assert len(expanded) == len(set(expanded))
    assert any(node.note == "shown above" for node in found.nodes())


def test_text_and_json_tell_the_same_tree(chain: Lake) -> None:
    found = explain(chain, "att1")
    lines = found.to_text(full=True).splitlines()
    assert lines[0].startswith("attempts att1")
    assert any(line.startswith("├─ task_id: tasks sum-s0001 v1") for line in lines)
    assert len(lines) == len(list(found.nodes())) + (1 if found.missing else 0)
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["roots"][0]["table"] == "attempts"


def test_many_alike_are_one_line_unless_one_lacks_something() -> None:
    probes = [Node("probe", "audits", {"probe": f"p{i}"}) for i in range(9)]
    root = Node("", "tasks", {"task_id": "t"}, children=[*probes, Node("skill", "skills", {"skill_id": "s"})])
    found = Explanation("t", (root,))
    assert found.to_text().splitlines() == [
        "tasks t", "├─ probe: audits p0", "├─ probe: … and 8 more like it (--full)", "└─ skill: skills s",
    ]  # fmt: skip
    assert len(found.to_text(full=True).splitlines()) == 11
    probes[5].children = [Node("event_id", "events", {"seq": 1}, note="not found", found=False)]
    assert "├─ probe: audits p5" in found.to_text().splitlines()


def test_no_text_of_a_record_or_payload_is_shown(chain: Lake) -> None:
    assert '"batch"' not in explain(chain, "exa1").to_text(), "raw bytes may hold secrets"


@pytest.mark.parametrize("id_", ["", "nobody", "'; drop table events; --", "x@y"])
def test_unknown_id_says_so(chain: Lake, id_: str) -> None:
    with pytest.raises(UsageError, match="nothing in the lake is called"):
        explain(chain, id_)


def test_explains_the_past(empty: Lake) -> None:
    before = empty.snapshot("before")
    with empty.spool("tests") as spool:
        spool.stream("persona", "ada").emit("persona.created", {})
    empty.commit()
    assert explain(empty, "ada").roots
    with pytest.raises(UsageError):
        explain(empty.at(before), "ada")


def test_declared_edges_are_of_the_schema() -> None:
    for edge in DECLARED:
        for source, target in edge.on:
            TABLES[edge.source].column(source)
            TABLES[edge.target].column(target)
    for name, column in IDENTITIES:
        TABLES[name].column(column)
    for name, (key, _) in SUMMARIES.items():
        assert set(key) <= set(TABLES[name].arrow.names)
    for name, columns in FACTS.items():
        assert set(columns) <= set(TABLES[name].arrow.names), name


def test_every_reference_of_the_schema_is_an_edge_or_left_out_on_purpose() -> None:
    left_out = 0
    for name, spec in TABLES.items():
        walked = {edge.on[0][0] for edge in edges_of(name)}
        left_out += sum(column.references is not None and column.name not in walked for column in spec.columns)
    assert left_out <= 5
