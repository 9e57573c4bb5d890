"""Tasks by models from the command line: the profile, Dagster, a server that speaks the protocol, the audits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lake
from tests.clawgym_dag.conftest import Call
from tests.llm import recorded
from tests.llm.server import Request, Say, serving
from tests.skills.test_annotator import MILD

KEY = "sk-test-0123456789abcdef"


def script(request: Request, number: int) -> Say:
    wanted = request["response_format"]["json_schema"]["name"]
    return Say(json.dumps(MILD)) if wanted == "SkillAnnotation" else recorded.respond(request, number)


@pytest.mark.long
def test_generate_and_audit_with_the_profile(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skills" / "logs").mkdir(parents=True)
    (tmp_path / "skills" / "logs" / "SKILL.md").write_text("---\nname: logs\ndescription: Counts lines.\n---\nCount.\n")
    root = str(tmp_path / "lake")
    settings = [f"skills.sources={json.dumps([str(tmp_path / 'skills')])}", 'tasks.families=["expense_claims"]']
    options = ["--profile", "synthesis", "--lake", root, *(part for one in settings for part in ("--set", one))]
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_MODEL", "recorded")
    with serving(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        made = call("tasks", "generate", *options, "--json")
        assert made.code == 0, made.err
        effect = json.loads(made.out)["tasks"]["effect"]
        assert (effect["written"], effect["quarantined"], effect["open"]) == (4, 11, 0)
        asked = len(server.requests)
        assert call("tasks", "generate", *options).code == 0 and len(server.requests) == asked
    audited = call("tasks", "audit", *options, "--json")
    assert json.loads(audited.out)["audits"]["effect"]["accepted"] == 5, audited.err
    opened = lake.open(root)
    assert {row["annotator"] for row in opened.rows("skills")} == {"model:recorded:1"}
    written = b"".join(path.read_bytes() for path in Path(root).rglob("*") if path.is_file())
    assert KEY.encode() not in written and KEY not in "".join(json.dumps(e.payload) for e in opened.events())
