"""Configuration, fingerprint, policies' names, and what is said when something is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assets.rollouts.openclaw import config
from assets.rollouts.openclaw.install import locate, pinned_version
from assets.rollouts.policies import Part, resolve, served_at, upstream
from lake.errors import SetupError, UsageError

PART = Part("t", "v", None, 1, 0)


def test_the_lean_profile_denies_the_process_tool() -> None:
    model = config.ModelSettings("m")
    lean, full = config.template("lean", model)["tools"], config.template("process", model)["tools"]
    assert lean["deny"] == ["process"] and "process" not in lean["allow"]
    assert "deny" not in full and "process" in full["allow"]


def test_the_fingerprint_is_of_the_configuration_not_of_the_policy() -> None:
    def of(tools: config.ToolProfile, cage: str = "c", **settings: object) -> str:
        model = config.ModelSettings(**{"model": "m", **settings})  # type: ignore[arg-type]
        return config.fingerprint(config.template(tools, model), cage=cage)

    assert of("lean") == of("lean", model="other")
    assert len({of("lean"), of("process"), of("lean", cage="d"), of("lean", max_tokens=1)}) == 4


def test_addresses_are_filled_in_last() -> None:
    template = config.template("lean", config.ModelSettings("m"))
    before = json.dumps(template)
    rendered = config.render(template, base_url="http://127.0.0.1:1/v1", api_key="k")
    assert "${" not in json.dumps(rendered)
    assert json.dumps(template) == before


def test_names_of_policies() -> None:
    assert resolve("scripted:strong").name == resolve("scripted:strong@1").name == "scripted:strong@1"
    assert resolve("openai:org/model-1").kind == "endpoint"
    assert resolve("checkpoint:abc").kind == "checkpoint"
    for wrong in ("scripted:best", "strong", "openai:", "checkpoint", "checkpoint:"):
        with pytest.raises(UsageError, match="scripted"):
            resolve(wrong)


def test_a_policy_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SetupError, match="OPENAI_BASE_URL"):
        upstream(resolve("openai:m"), PART)
    with pytest.raises(UsageError, match="no plan"):
        upstream(resolve("scripted:weak"), PART)


def test_a_checkpoint_answers_only_while_it_is_served() -> None:
    policy = resolve("checkpoint:abc")
    with served_at("checkpoint:abc", "http://127.0.0.1:1/v1", {"temperature": 0}):
        assert dict(upstream(policy, PART).added) == {"seed": 1000, "temperature": 0}
        assert upstream(policy, PART).name == "http://127.0.0.1:1/v1"
    with pytest.raises(SetupError, match="not being served"):
        upstream(policy, PART)


def test_missing_and_wrong_openclaw_are_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAWGYM_OPENCLAW", str(tmp_path))
    with pytest.raises(SetupError, match="make setup"):
        locate()
    package = tmp_path / "node_modules" / "openclaw" / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text('{"version": "2025.1.1"}')
    with pytest.raises(SetupError, match=f"2025.1.1.*{pinned_version()}"):
        locate()


def test_the_lock_file_names_no_download_address() -> None:
    lock = Path(config.__file__).with_name("package-lock.json")
    packages = json.loads(lock.read_text())["packages"]
    assert packages["node_modules/openclaw"]["version"] == pinned_version()
    assert not [name for name, package in packages.items() if "resolved" in package]
    assert all("integrity" in package or package.get("inBundle") for name, package in packages.items() if name)
