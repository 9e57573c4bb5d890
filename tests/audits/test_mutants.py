"""Mutants: every edit changes what a file says, the same way each time, and only where it makes sense."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace

import pytest
import yaml

from assets.audits.edits import EDITS, bump, change_number_in_text
from assets.audits.mutants import KINDS, mutants, states_order
from tests.audits.bundles import SOUND

TEXTS = {
    "csv": "name,count,day\na,1,2025-01-02\nb,2,2025-01-03\nc,3,2025-01-04\n",
    "tsv": "name\tcount\na\t1\nb\t2\n",
    "json": '{"total": 3, "rows": [{"name": "a"}, {"name": "b"}], "flag": true}',
    "jsonl": '{"n": 1}\n{"n": 2}\n{"n": 3}\n',
    "yaml": "total: 3\nrows:\n- a\n- b\n",
    "toml": '[tool]\nname = "x"\nsize = 3\n',
    "ini": "[tool]\nname = x\nsize = 3\n",
    "md": "# Title\n\n| Name | Count |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n\n- first item: 7\n- second item\n",
    "html": "<table>\n<tr><th>Name</th></tr>\n<tr><td>a 1</td></tr>\n<tr><td>b 2</td></tr>\n</table>\n",
    "text": "alpha 1\nbeta 2\ngamma 3\n",
    "log": "alpha 1\nbeta 2\n",
}


def parsed(name: str, text: str) -> object:
    if name in ("csv", "tsv"):
        return list(csv.reader(text.splitlines(), delimiter="," if name == "csv" else "\t"))
    if name == "json":
        return json.loads(text)
    if name == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    if name == "yaml":
        return yaml.safe_load(text)
    return text.split()


@pytest.mark.parametrize(("kind", "name"), sorted(EDITS))
def test_an_edit_changes_the_meaning_and_repeats(kind: str, name: str) -> None:
    results = {seed: EDITS[(kind, name)](TEXTS[name], random.Random(seed)) for seed in range(8)}
    for seed, changed in results.items():
        assert changed is not None
        assert parsed(name, changed) != parsed(name, TEXTS[name])
        assert changed == EDITS[(kind, name)](TEXTS[name], random.Random(seed))


@pytest.mark.parametrize(("kind", "name"), sorted(EDITS))
def test_a_file_without_room_gives_no_edit(kind: str, name: str) -> None:
    for text in ("", "\n", "{}" if name == "json" else ""):
        try:
            assert EDITS[(kind, name)](text, random.Random(0)) is None
        except ValueError:
            assert name == "json" and not text.strip()


def test_drop_row_drops_one_row_and_reorder_keeps_them_all() -> None:
    rng = random.Random(0)
    before = TEXTS["csv"].splitlines()
    assert len(str(EDITS[("drop_row", "csv")](TEXTS["csv"], rng)).splitlines()) == len(before) - 1
    reordered = str(EDITS[("reorder", "csv")](TEXTS["csv"], rng)).splitlines()
    assert reordered[0] == before[0] and sorted(reordered) == sorted(before)
    assert EDITS[("reorder", "csv")]("name\na\na\n", rng) is None  # equal rows have no other order


@pytest.mark.parametrize(("number", "wrong"), [("3", "4"), ("-1", "0"), ("12.50", "13.50"), ("0.25", "0.35")])
def test_a_wrong_number_looks_like_the_right_one(number: str, wrong: str) -> None:
    assert bump(number) == wrong


def test_dates_ids_and_list_marks_are_no_numbers() -> None:
    assert change_number_in_text("1. on 2025-03-04 at 10:30 see C-1002, v1.2.3 and 1,200\n", random.Random(0)) is None
    assert change_number_in_text("1. total 7\n", random.Random(0)) == "1. total 8\n"


def test_the_mutants_of_a_task_are_named_counted_and_repeatable() -> None:
    made, skipped = mutants(SOUND)
    again, _ = mutants(SOUND)
    assert [(m.probe, m.outputs) for m in made] == [(m.probe, m.outputs) for m in again]
    assert {m.kind for m in made} == set(KINDS)
    oracle = {**SOUND.inputs, **(SOUND.oracle or {})}
    assert all({**SOUND.inputs, **m.outputs} != oracle for m in made)
    assert [str(s) for s in skipped] == ["stale_copy:output/summary.json: no input of its kind"]
    counted = {m.probe for m in made}
    assert "mutant:reorder:output/orders.csv" in counted  # the instruction says how to sort it
    assert "variation:reorder:output/summary.json" in counted  # and says no order for this one


def test_an_edited_input_goes_back_to_its_old_state_when_stale() -> None:
    bundle = replace(SOUND, oracle={"input/old.csv": b"name,count\nz,2\n"}, expected_outputs=("input/old.csv",))
    stale = next(m for m in mutants(bundle)[0] if m.kind == "stale_copy")
    assert stale.outputs["input/old.csv"] == SOUND.inputs["input/old.csv"]


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("Write out.csv.\nSort it by name.", True),
        ("Write out.csv, newest entries first.", True),
        ("Write out.csv.\nThen other.csv, sorted by name.", False),
        ("Write out.csv with three columns.", False),
        ("Keep the original order in out.csv.", True),
    ],
)
def test_an_order_counts_where_it_is_said_of_that_file(text: str, ordered: bool) -> None:
    bundle = replace(SOUND, instruction=text, expected_outputs=("out.csv", "other.csv"))
    assert states_order(bundle, "out.csv") is ordered
