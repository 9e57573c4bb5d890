"""Profiles: the files load, and a wrong key says where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawgym_dag.cli.framework import overrides_toml
from clawgym_dag.profiles import available, load_profile
from lake.errors import UsageError


@pytest.mark.parametrize("name", available())
def test_profile_loads_and_is_called_as_its_file(name: str) -> None:
    assert load_profile(name).name == name


def test_there_is_a_demo_and_a_test_profile() -> None:
    assert {"demo", "test"} <= set(available())


def test_overrides_go_over_the_file() -> None:
    assert load_profile("demo", "rollouts.repeats = 3").rollouts.repeats == 3
    assert load_profile("demo", "rollouts.repeats = 3").rollouts.policies == load_profile("demo").rollouts.policies


def test_profile_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine own.toml"
    path.write_text("[personas]\ncount = 2\n")
    profile = load_profile(str(path))
    assert (profile.name, profile.personas.count) == ("mine own", 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[rollouts]\nrepeat = 2\n", "rollouts.repeat: there is no such setting; did you mean rollouts.repeats"),
        ("[nonsense]\n", "nonsense: there is no such setting"),
        ("[rollouts]\nrepeats = 0\n", "rollouts.repeats: Input should be greater than or equal to 1"),
        ("[rollouts\n", "is not TOML"),
    ],
)
def test_wrong_profile_says_where(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says.replace(".", r"\.")):
        load_profile(str(path))


@pytest.mark.parametrize("name", ["nonsense", "no/such.toml", "../profiles/demo"])
def test_unknown_profile_lists_what_there_is(name: str) -> None:
    if name == "../profiles/demo":
        assert load_profile(name).name == "demo"
        return
    with pytest.raises(UsageError, match="there are demo"):
        load_profile(name)


def test_settings_of_the_command_line() -> None:
    text = overrides_toml(["rollouts.repeats=2", "rollouts.batch=second", 'bench.policies=["scripted:strong"]'])
    profile = load_profile("demo", text)
    assert (profile.rollouts.repeats, profile.rollouts.batch) == (2, "second")
    assert profile.bench.policies == ("scripted:strong",)
