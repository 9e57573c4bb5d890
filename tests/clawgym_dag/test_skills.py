"""`skills import` and the lists of what tasks are made from."""

from __future__ import annotations

import json
from pathlib import Path

import lake
from tests.clawgym_dag.conftest import Call


def test_a_folder_of_skills_is_taken_in_once(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "my skills"
    for name, text in (("csv-tidy", "---\nname: csv-tidy\ndescription: Tidy a CSV.\n---\nSort it."), ("empty", "")):
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(text)
    root = str(tmp_path / "lake")
    first = call("skills", "import", str(folder), "--lake", root, "--json")
    assert first.code == 0, first.err
    assert json.loads(first.out) == {"imported": 1, "found": 0, "failed": 1}
    again = call("skills", "import", str(folder), "--lake", root, "--json")
    assert json.loads(again.out) == {"imported": 0, "found": 2, "failed": 0}
    rows = {row["skill_id"]: row for row in json.loads(call("skills", "list", "--lake", root, "--json").out)}
    assert rows["csv-tidy"]["source"] == "folder:my skills"
    assert rows["csv-tidy"]["licence"] == "unstated"
    assert rows["empty"]["status"] == "failed" and rows["empty"]["reason"]
    assert lake.open(root).event_counts(["skill.imported"]) == {"skill.imported": 2}


def test_what_holds_no_skill_is_one_line(tmp_path: Path, call: Call) -> None:
    root = str(tmp_path / "lake")
    (tmp_path / "none").mkdir()
    for source, says in (("none", "holds no skill"), ("missing", "is not a folder")):
        called = call("skills", "import", str(tmp_path / source), "--lake", root)
        assert called.code == 2
        assert says in called.err.splitlines()[-1]
