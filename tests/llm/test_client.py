"""The client against a real server: each answer paid once, each failure named, no key in the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import lake as lakes
from assets.llm.client import Client
from assets.llm.failures import LlmError, OutOfBudget
from assets.llm.question import Question
from assets.profile import LlmRole, LlmSection, Price
from lake import Lake
from lake.errors import SetupError, StageError, UsageError
from tests.llm.server import Request, Say, Server, as_said, serving

KEY = "sk-test-0123456789abcdef"


class Fruit(BaseModel):
    name: str
    count: int


def question(user: str = "one apple", **changes: Any) -> Question[Fruit]:
    made: dict[str, Any] = {
        "role": "generator", "step": "fruit", "version": "1", "system": "Name fruit.", "user": user, "schema": Fruit
    }  # fmt: skip
    return Question(**{**made, **changes})


def settings(**changes: Any) -> LlmSection:
    roles = {"generator": LlmRole(model="m"), "judge": LlmRole(model="j", temperature=0.5, max_tokens=7)}
    return LlmSection.model_validate({**roles, **changes})


class Sleeps:
    """A clock that does not wait."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)


APPLE: dict[str, Any] = {"name": "apple", "count": 1}


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return lakes.open(tmp_path / "lake")


def ask(
    lake: Lake,
    server: Server,
    questions: Sequence[Question[Fruit]],
    monkeypatch: pytest.MonkeyPatch,
    *,
    sleeps: Sleeps | None = None,
    **changes: Any,
) -> list[Any]:
    """The answers, or what was raised, in order."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    async def run() -> list[Any]:
        async with Client(lake, settings(**changes), sleep=sleeps or Sleeps()) as client:
            asked: list[Awaitable[Any]] = [client.ask(item) for item in questions]
            return await asyncio.gather(*asked, return_exceptions=True)

    return [item if isinstance(item, BaseException) else item[0] for item in asyncio.run(run())]


def only(lake: Lake, kind: str) -> dict[str, Any]:
    (event,) = lake.events(kind)
    return dict(event.payload)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_is_recorded_and_never_asked_for_again(
    lake: Lake, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda request, n: Say(json.dumps(APPLE), reasoning="thinking of fruit")) as server:
        for _ in range(3):
            assert ask(lake, server, [question()] * 2, monkeypatch, stream=stream) == [Fruit(**APPLE)] * 2
        assert len(server.requests) == 1
        assert bool(server.requests[0].get("stream")) is stream
        assert server.authorizations == {f"Bearer {KEY}"}
    payload = only(lake, "llm.answered")
    assert payload["completion"]["usage"] == {"prompt": 100, "cached": 0, "completion": 20, "estimated": 0}
    assert payload["completion"]["reasoning"] == "thinking of fruit" and payload["completion"]["latency_s"] > 0
    assert payload["cost"] is None and payload["mode"] == "json_schema"
    prompt = json.loads(lake.blob(payload["prompt_sha256"]))
    assert [message["role"] for message in prompt] == ["system", "user"] and prompt[1]["content"] == "one apple"


def test_the_fingerprint_holds_what_changes_an_answer(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    class Count(BaseModel):
        count: int
        name: str

    variants: list[Question[Any]] = [
        question(), question("two"), question(system="Other."), question(version="2"), question(sample=1),
        question(role="judge"), question(schema=Count), question(step="other"),
    ]  # fmt: skip
    with serving(lambda request, n: as_said(APPLE)) as server:
        ask(lake, server, variants, monkeypatch)
        assert len(server.requests) == len(variants)
        ask(lake, server, [*variants, question(subject="someone else")], monkeypatch)
        assert len(server.requests) == len(variants)
        ask(lake, server, [question()], monkeypatch, generator=LlmRole(model="m", temperature=0.1))
        assert len(server.requests) == len(variants) + 1
        judge = next(request for request in server.requests if request["model"] == "j")
        assert judge["temperature"] == 0.5 and judge["max_tokens"] == 7


def test_passing_trouble_is_tried_again_and_waits_as_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    script = [
        Say(status=429, headers={"retry-after": "17"}), Say(status=500), Say(cut=True), Say(raw=b'{"id": "x", "cho'),
        as_said(APPLE),
    ]  # fmt: skip
    sleeps = Sleeps()
    with serving(lambda request, n: script[n]) as server:
        assert ask(lake, server, [question()], monkeypatch, sleeps=sleeps) == [Fruit(**APPLE)]
        assert len(set(server.keys)) == len(server.keys), "each try has its own key"
    tries = only(lake, "llm.answered")["tries"]
    assert [item["trouble"] for item in tries] == ["busy", "server", "connection", "broken"]
    assert sleeps.waited == [item["wait_s"] for item in tries] and sleeps.waited[0] == 17.0
    assert all(0 < wait <= 60 for wait in sleeps.waited)
    rows = lake.sql(
        "select retry, status, delivered, prompt_tokens, caller, model, purpose from llm_calls order by retry"
    ).fetchall()
    assert [row[1] for row in rows] == [429, 500, None, None, 200]
    assert rows[-1] == (4, 200, True, 100, "generator", "m", "fruit") and rows[0][3] is None


def test_waits_are_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []
    for name in ("a", "b"):
        sleeps = Sleeps()
        with serving(lambda request, n: as_said(APPLE) if n == 3 else Say(status=503)) as server:
            ask(lakes.open(tmp_path / name), server, [question()], monkeypatch, sleeps=sleeps)
        waited.append(sleeps.waited)
    assert waited[0] == waited[1] and len(waited[0]) == 3


def test_a_call_nobody_answers_is_tried_by_the_next_run(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda request, n: Say(status=502) if n < 4 else as_said(APPLE)) as server:
        for _ in range(2):
            (failed,) = ask(lake, server, [question()], monkeypatch, tries=2)
            assert isinstance(failed, LlmError) and failed.kind == "unanswered" and failed.passing
        assert ask(lake, server, [question()], monkeypatch) == [Fruit(**APPLE)]
    assert [(e.type, e.seq) for e in lake.events(stream_kind="llm_call")] == [
        ("llm.unanswered", 0), ("llm.unanswered", 1), ("llm.answered", 2)
    ]  # fmt: skip


def test_an_endpoint_that_is_down_ends_the_stage(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [question(str(n)) for n in range(9)]
    with serving(lambda request, n: Say(status=503)) as server:
        found = ask(lake, server, questions, monkeypatch, tries=2, concurrency=1)
        assert [type(item) for item in found[:3]] == [LlmError, LlmError, StageError]
        assert "3 calls in a row" in str(found[2])


def test_a_request_that_is_never_taken_is_not_sent_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda request, n: Say(status=400, error="the prompt is too long")) as server:
        for _ in range(2):
            (failed,) = ask(lake, server, [question()], monkeypatch)
            assert isinstance(failed, LlmError) and failed.kind == "rejected" and "too long" in failed.detail
        assert len(server.requests) == 1


def test_one_bad_record_holds_up_no_other(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def script(request: Request, n: int) -> Say:
        return Say(refusal="I will not.") if "poison" in request["messages"][1]["content"] else as_said(APPLE)

    with serving(script) as server:
        found = ask(lake, server, [question("poison"), question("a"), question("b")], monkeypatch, concurrency=1)
        assert isinstance(found[0], LlmError) and found[0].kind == "refused" and found[1:] == [Fruit(**APPLE)] * 2
        ask(lake, server, [question("poison")], monkeypatch)
        assert len(server.requests) == 3, "a refusal was paid for: it is an answer"


@pytest.mark.parametrize(
    "text",
    [
        '<think>perhaps {"name": "pear"}</think>```json\n{"name": "apple", "count": 1}\n```',
        'Here it is: {"name": "apple", "count": 1,} Enjoy!',
        '{"name": "apple", "count": "1"}',
    ],
)
def test_untidy_answers_are_read(lake: Lake, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda request, n: Say(text)) as server:
        assert ask(lake, server, [question()], monkeypatch) == [Fruit(**APPLE)]
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("first", "finish", "kind"),
    [('{"name": "app', "length", "too_long"), ('{"name": "apple"}', "stop", "malformed"), ("", "stop", "malformed")],
)
def test_what_does_not_fit_is_sent_back_once(
    lake: Lake, first: str, finish: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda request, n: Say(first, finish=finish) if n != 1 else as_said(APPLE)) as server:
        assert ask(lake, server, [question()], monkeypatch) == [Fruit(**APPLE)]
        repair = server.requests[1]["messages"]
        assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
        assert ("shorter" in repair[3]["content"]) is (finish == "length")
        (failed,) = ask(lake, server, [question("other")], monkeypatch)
        assert isinstance(failed, LlmError) and failed.kind == kind and len(server.requests) == 4


def test_an_endpoint_without_schemas_is_asked_the_next_way(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def script(request: Request, n: int) -> Say:
        if "response_format" in request:
            return Say(status=400, error=f"response_format {request['response_format']['type']} is not supported")
        return as_said(APPLE)

    with serving(script) as server:
        assert ask(lake, server, [question(), question("b")], monkeypatch, concurrency=1) == [Fruit(**APPLE)] * 2
        kinds = [request.get("response_format", {}).get("type") for request in server.requests]
        assert kinds == ["json_schema", "json_object", None, None]
        assert ask(lake, server, [question()], monkeypatch) == [Fruit(**APPLE)]
        assert len(server.requests) == 4, "how an answer was bound is no part of the question"


@pytest.mark.parametrize(("status", "says"), [(401, "OPENAI_API_KEY"), (404, "OPENAI_BASE_URL"), (429, "credit")])
def test_what_every_call_would_meet_stops_the_stage(
    lake: Lake, status: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda request, n: Say(status=status, error=f"insufficient_quota, says {KEY}")) as server:
        (failed,) = ask(lake, server, [question()], monkeypatch)
    assert isinstance(failed, StageError) and says in str(failed) and KEY not in str(failed)


def test_the_budget_ends_the_run_cleanly_and_counts_the_runs_before(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: dict[str, Any] = {"token_limit": 2_000, "generator": LlmRole(model="m", max_tokens=1_000), "concurrency": 1}
    questions = [question(str(n)) for n in range(20)]
    with serving(lambda request, n: as_said(APPLE)) as server:
        found = ask(lake, server, questions, monkeypatch, **limits)
        paid = len(server.requests)
        assert 0 < paid < 20 and found[:paid] == [Fruit(**APPLE)] * paid
        assert all(isinstance(item, OutOfBudget) and "llm.token_limit 2,000" in str(item) for item in found[paid:])
        again = ask(lake, server, questions, monkeypatch, **limits)
        assert again[:paid] == found[:paid] and len(server.requests) == paid
        whole = ask(lake, server, questions, monkeypatch, **{**limits, "token_limit": 100_000})
        assert whole == [Fruit(**APPLE)] * 20 and len(server.requests) == 20


def test_money_needs_prices_and_costs_are_recorded(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = {"m": Price(input=10.0, output=100.0), "j": Price(input=1, output=1)}
    with serving(lambda request, n: as_said(APPLE)) as server:
        with pytest.raises(UsageError, match=r"\[llm.prices"):
            ask(lake, server, [question()], monkeypatch, spend_limit=1.0)
        ask(lake, server, [question()], monkeypatch, spend_limit=1.0, prices=prices)
    assert only(lake, "llm.answered")["cost"] == pytest.approx((100 * 10 + 20 * 100) / 1e6)


def test_no_key_is_written_anywhere(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda request, n: Say(json.dumps({"name": f"key {KEY}", "count": 1}), reasoning=KEY)) as server:
        (found,) = ask(lake, server, [question()], monkeypatch)
    assert found.name == "key [OPENAI_API_KEY]"
    lake.commit()
    text = "".join(json.dumps(event.payload) for event in lake.events())
    blobs = [row["sha256"] for row in lake.rows("blobs")]
    assert KEY not in text and all(KEY.encode() not in lake.blob(sha) for sha in blobs)


def test_long_answers_are_blobs_and_come_back_whole(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "é" * 200_000
    with serving(lambda request, n: as_said({"name": long, "count": 1})) as server:
        for _ in range(2):
            assert ask(lake, server, [question()], monkeypatch) == [Fruit(name=long, count=1)]
        assert len(server.requests) == 1
    assert len(json.dumps(only(lake, "llm.answered"))) < 10_000


def test_without_an_endpoint_or_a_model_it_says_what_to_set(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SetupError, match="OPENAI_BASE_URL"):
        Client(lake, settings())
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    with pytest.raises(SetupError, match="OPENAI_MODEL"):
        Client(lake, settings(generator=LlmRole(model="$OPENAI_MODEL")))
    with serving(lambda request, n: as_said(APPLE)) as server:
        (failed,) = ask(lake, server, [question(role="reviewer")], monkeypatch)
    assert isinstance(failed, StageError) and "llm.reviewer.model" in str(failed)
