"""Phase and target of tool calls."""

from __future__ import annotations

from typing import Any

import pytest

from assets.trajectories.phases import classify, classify_command


@pytest.mark.parametrize(
    ("command", "phase", "target"),
    [
        ("ls -la", "explore", "ls"),
        ("cd data && find . -name '*.csv' | head", "read", "find"),
        ("cat a.txt", "read", "cat"),
        ("cat > a.txt <<'EOF'\nrm -rf x\nEOF", "write", "cat"),
        ("python3 - <<'PY'\nopen('x', 'w').write('> y')\nPY", "run", "python3"),
        ("wc -l input.txt && sort input.txt > sorted.txt && ls -la", "write", "wc"),
        ("grep -c foo a.txt 2>/dev/null", "read", "grep"),
        ("python build.py > /dev/null 2>&1", "run", "python"),
        ("sed -i 's/a/b/' f", "edit", "sed"),
        ("sed -n 1,5p f", "read", "sed"),
        ("diff a b", "check", "diff"),
        ("python -m pytest -q", "check", "python"),
        ("python3 -m json.tool out.json", "check", "python3"),
        ("FOO=1 env BAR=2 ./run.sh", "run", "run.sh"),
        ("mkdir -p out", "write", "mkdir"),
        ("echo hello", "other", None),
        ("echo 'a > b'", "other", None),
        ("echo hi > f.txt", "write", "echo"),
        ("while read x; do python a.py $x; done < l.txt", "run", "python"),
        ("git status", "explore", "git"),
        ("git commit -m x", "run", "git"),
        ("", "other", None),
        ("for f in *.csv; do wc -l $f; done", "check", "wc"),
    ],
)
def test_commands(command: str, phase: str, target: str | None) -> None:
    assert classify_command(command) == (phase, target)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("read", {"path": "/workspace/a/b.md"}, ("read", "a/b.md")),
        ("read", {"path": "./b.md"}, ("read", "b.md")),
        ("write", {"path": "out.md", "content": "x"}, ("write", "out.md")),
        ("edit", {"path": "out.md", "edits": []}, ("edit", "out.md")),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: src/a.py\n*** End Patch"}, ("edit", "src/a.py")),
        ("exec", {"command": "ls"}, ("explore", "ls")),
        ("exec", {}, ("run", None)),
        ("process", {"action": "poll"}, ("run", None)),
        ("web_search", {"query": "x"}, ("explore", "x")),
        ("whatever", {"a": 1}, ("other", None)),
    ],
)
def test_tools(tool: str, arguments: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert classify(tool, arguments, "/workspace") == expected


def test_a_long_command_is_judged_in_time() -> None:
    assert classify_command("echo '" + "a' > \"b" * 20_000)[0] in ("write", "other", "run")
