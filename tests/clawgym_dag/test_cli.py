"""The command line as a whole: help, exit codes, errors of one line, interruption."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from clawgym_dag.cli.framework import EXIT_CODES, Command
from clawgym_dag.cli.main import one_line, root
from clawgym_dag.cli.progress import TerminalProgress
from tests.clawgym_dag.conftest import Call


def commands(
    group: click.Group = root, prefix: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        path = (*prefix, name)
        if isinstance(command, click.Group):
            yield from commands(command, path)
        else:
            yield path, command


ALL = dict(commands())


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_has_examples_and_exit_codes(path: tuple[str, ...], call: Call) -> None:
    called = call(*path, "--help")
    assert called.code == 0
    examples = called.out.split("Examples:")[1].split("Exit codes:")[0]
    assert f"clawgym {' '.join(path)}" in examples
    codes = [int(code) for code in re.findall(r"^  (\d+) ", called.out.split("Exit codes:")[1], re.M)]
    assert {0, 2, 4, 130} <= set(codes) <= set(EXIT_CODES)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_examples_parse(path: tuple[str, ...]) -> None:
    """Every example names options that exist; those that only read are run in test_cli_read."""
    command = ALL[path]
    assert isinstance(command, Command)
    for example in command.examples:
        words = shlex.split(example.split("   (")[0].split(" | ")[-1])
        assert words[: len(path) + 1] == ["clawgym", *path]
        with click.Context(command) as context:
            command.parse_args(context, words[len(path) + 1 :])


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_takes_json_and_a_lake(path: tuple[str, ...]) -> None:
    options = {option for parameter in ALL[path].params for option in parameter.opts}
    assert {"--json", "--lake"} <= options


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["tasks", "list", "--nonsense"], 2, "See `clawgym tasks list --help`."),
        (["tasks", "list", "--limit", "0"], 2, "limit"),
        (["sql", "select 1", "--json", "--csv"], 2, "not both"),
        (["tasks", "list"], 4, "there is no lake in"),
        (["demo", "--profile", "nonsense"], 2, "no profile 'nonsense'; there are demo"),
        (["demo", "--set", "rollouts.nonsense=1"], 2, "rollouts.nonsense"),
        (["demo", "--set", "rollouts.repeats=0"], 2, "rollouts.repeats"),
        (["demo", "--set", "nonsense"], 2, "KEY=VALUE"),
    ],
)
def test_an_error_is_one_line_and_a_documented_code(
    arguments: list[str], code: int, says: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWGYM_LAKE", str(tmp_path / "none"))
    called = call(*arguments)
    assert called.code == code
    assert called.err.startswith("clawgym: ")
    assert called.err.count("\n") == 1
    assert says in called.err
    assert called.out == ""


def test_foreign_folder_is_refused_and_not_touched(call: Call, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"x")
    called = call("demo", "--lake", str(tmp_path))
    assert called.code == 4
    assert "not empty and not a lake" in called.err
    assert called.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def test_corrupt_marker_is_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text("{")
    called = call("tasks", "list", "--lake", str(tmp_path))
    assert (called.code, called.err.count("\n")) == (4, 1)
    assert "lake.json cannot be read" in called.err


def test_newer_format_is_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text('{"lake_format": 99}')
    called = call("tasks", "list", "--lake", str(tmp_path))
    assert (called.code, called.err.count("\n")) == (4, 1)
    assert "upgrade clawgym" in called.err


def test_interruption_says_that_nothing_is_lost(call: Call, mini: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lake.open", interrupted)
    called = call("tasks", "list", "--limit", "3")
    assert called.code == 130
    assert (
        called.err.lstrip("\n")
        == "clawgym: interrupted; nothing is lost, run `clawgym tasks list --limit 3` to go on\n"
    )


def test_one_line() -> None:
    assert one_line("a\n  b\tc") == "a b c"


def test_without_a_terminal_a_stage_says_now_and_then_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 31.0, 40.0, 62.0])
    monkeypatch.setattr("clawgym_dag.cli.progress.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    say = TerminalProgress(stream).line("rollouts")
    for done in (1, 2, 3):
        say("finished", done, 24)
    assert stream.getvalue().splitlines() == ["rollouts      finished 1/24", "rollouts      finished 3/24"]
