"""`personas import`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clawgym_dag.conftest import Call


def test_a_file_of_personas_is_taken_in_once(tmp_path: Path, call: Call) -> None:
    path = tmp_path / 'a "pool".jsonl'
    path.write_text(json.dumps({"persona": "A tram driver who paints"}) + "\nnonsense\n")
    root = str(tmp_path / "lake")
    options = ("--licence", "CC-BY-4.0", "--lake", root, "--json", "--profile", "test")
    first = call("personas", "import", str(path), *options)
    assert first.code == 0, first.err
    assert json.loads(first.out) == {"imported": 1, "known": 0, "unusable": 1}
    assert json.loads(call("personas", "import", str(path), *options).out)["known"] == 1
    rows = json.loads(call("personas", "list", "--lake", root, "--json").out)
    (row,) = [row for row in rows if row["origin"] != "builtin"]
    assert (row["licence"], row["occupation"], row["text"]) == ("CC-BY-4.0", "tram driver", "A tram driver who paints")


def test_a_missing_file_or_licence_is_one_line(tmp_path: Path, call: Call) -> None:
    root = str(tmp_path / "lake")
    assert call("personas", "import", "no.jsonl", "--lake", root).code == 2
    called = call("personas", "import", "no.jsonl", "--licence", "x", "--lake", root)
    assert called.code == 2 and "cannot be read" in called.err.splitlines()[-1]
