"""`checkpoints serve`: a real process, a real request, and no way to listen in the open without a token."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import openai
import pytest
from openai import OpenAI

from lake import Lake
from tests.checkpoints.test_checkpoints import RUNS, go
from tests.clawgym_dag.conftest import Call
from tests.sft.rows import fill

pytestmark = pytest.mark.slow

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    opened = fill(tmp_path_factory.mktemp("serve") / "lake", RUNS)
    go(opened, steps=1)
    return opened


@pytest.fixture
def process(trained: Lake) -> Iterator[subprocess.Popen[str]]:
    arguments = ["checkpoints", "serve", "latest", "--lake", str(trained.root), "--token-env", "POLICY_TOKEN", "--json"]
    started = subprocess.Popen(
        [sys.executable, "-c", "import sys; from clawgym_dag.cli import main; sys.exit(main())", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "POLICY_TOKEN": TOKEN},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def test_answers_an_openai_client_until_interrupted(process: subprocess.Popen[str], trained: Lake) -> None:
    assert process.stdout is not None
    text = ""
    while "}" not in text:
        line = process.stdout.readline()
        assert line, "it ended before it served"
        text += line
    said = json.loads(text)
    assert said["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
    assert TOKEN not in text, "a token from the environment is never printed"
    client = OpenAI(base_url=said["OPENAI_BASE_URL"], api_key=TOKEN, max_retries=0, timeout=60)
    assert [model.id for model in client.models.list()] == [said["model"]]
    assert said["model"] in {row["checkpoint_id"] for row in trained.rows("checkpoints") if row["method"] == "sft"}
    answer = client.chat.completions.create(
        model=said["model"], messages=[{"role": "user", "content": "hello"}], max_tokens=5
    )
    assert answer.usage is not None and answer.usage.completion_tokens > 0
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="another").models.list()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("more", "token", "code", "says"),
    [
        (["--host", "0.0.0.0"], None, 2, "can be reached from other machines"),
        (["--host", "0.0.0.0", "--token-env", "POLICY_TOKEN"], "short", 2, "at least 16 characters"),
        (["--token-env", "POLICY_TOKEN"], None, 2, "POLICY_TOKEN is empty or not set"),
        (["--port", "70000"], None, 2, "70000"),
    ],
)
def test_refuses_to_be_open(
    more: list[str], token: str | None, code: int, says: str, trained: Lake, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLICY_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("POLICY_TOKEN", token)
    called = call("checkpoints", "serve", "--lake", str(trained.root), *more)
    assert (called.code, called.err.count("\n")) == (code, 1)
    assert says in called.err


def test_says_which_checkpoint_is_not_there(trained: Lake, call: Call) -> None:
    called = call("checkpoints", "serve", "zzz", "--lake", str(trained.root))
    assert called.code == 2
    assert "no checkpoint is called 'zzz'" in called.err
