"""Spending: what a call used, the account that holds requests back, forecasts from the log. No agent runs here."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.llm.account import Account
from assets.llm.usage import Usage
from assets.profile import EndpointSection, Price, Profile
from assets.rollouts import forecast, plan_batch, preview_batch
from assets.rollouts.plan import PlannedAttempt
from assets.rollouts.policies import resolve
from assets.rollouts.proxy import gate as gate_module
from assets.rollouts.proxy.gate import Caps, Gate
from assets.rollouts.proxy.record import Call, Encoder
from assets.rollouts.proxy.server import ProxyServer
from assets.rollouts.proxy.upstream import MASK, HttpUpstream, masked
from assets.rollouts.proxy.usage import usage_of
from assets.rollouts.spend import spent
from assets.stage import Context
from lake.errors import SetupError, UsageError
from lake.ids import canonical
from tests.rollouts.conftest import MakeContext
from tests.rollouts.endpoint import Endpoint, Reply, completion, endpoint
from tests.rollouts.handmade import bundle, state_tasks
from tests.rollouts.test_projection import end

KEY = "sk-planted-0123456789abcdef"
BODY = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "x" * 352}]}).encode()
PRICE = Price(input=2.0, cached=0.5, output=8.0)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "WAITS_S", (0.01, 0.01))


def silent(text: str) -> bytes:
    """A streamed completion without usage."""
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"


@pytest.mark.parametrize(
    ("stated", "status", "error", "response", "used"),
    [
        ({"prompt_tokens": 90, "completion_tokens": 10}, 200, None, b"", Usage(90, 0, 10)),
        (
            {"prompt_tokens": 90, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 64}},
            200, None, b"", Usage(90, 64, 10),
        ),
        (None, 200, None, silent("y" * 40), Usage(100, 0, 10, 110)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, 200, None, silent("y" * 40), Usage(100, 0, 10, 110)),
        (None, 200, "RemoteProtocolError", silent("y" * 40)[:-8], Usage(100, 0, 10, 110)),
        (None, 429, "HTTP 429", b"{}", Usage()),
        (None, None, "ConnectError from http://x", b"", Usage()),
        (None, None, "over; the request was not sent", b"", Usage()),
        (None, None, "abandoned: the agent closed the connection", b"", Usage(100, 0, 0, 100)),
    ],
)  # fmt: skip
def test_what_a_try_used(stated: Any, status: int | None, error: str | None, response: bytes, used: Usage) -> None:
    assert usage_of(stated, status=status, error=error, request_bytes=400, response=response) == used


def test_costs_and_what_has_no_price() -> None:
    assert Usage(1_000_000, 400_000, 100_000).cost(PRICE) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8)
    assert Usage(10, 10, 0).cost(Price(input=1.0, output=1.0)) == pytest.approx(10 / 1e6)
    assert Usage(10, 0, 0).cost(None) is None


def test_an_account_reserves_before_it_pays() -> None:
    account = Account(EndpointSection(token_limit=250), {"m": Usage(20, 0, 0)}, ("m",))
    prompt = -(-len(BODY) // 4)
    assert account.admit("1", "m", BODY) is None
    account.charge("1", "m", Usage(50, 0, 10))
    assert account.admit("2", "m", BODY) is None, f"80 + {prompt} of 250"
    why = account.admit("3", "m", BODY)
    assert why is not None and "80 tokens spent of endpoint.token_limit 250" in why
    account.charge("2", "m", Usage(1, 0, 0))
    assert account.admit("4", "m", BODY) == why, "closed once, closed for good: a batch does not trickle on"


def test_the_longest_answer_counts_and_so_does_money() -> None:
    longest = BODY[:-1] + b', "max_completion_tokens": 1000}'
    prices = {"m": PRICE}
    assert Account(EndpointSection(token_limit=1000), {}).admit("1", "m", longest) is not None
    assert Account(EndpointSection(token_limit=1000), {}).admit("1", "m", BODY) is None
    assert Account(EndpointSection(spend_limit=0.01, prices=prices), {}).admit("1", "m", longest) is None
    poor = Account(EndpointSection(spend_limit=0.008, prices=prices), {})
    assert "of endpoint.spend_limit 0.008" in str(poor.admit("1", "m", longest))


def test_a_cap_that_was_reached_before_closes_at_once_and_money_needs_prices() -> None:
    assert Account(EndpointSection(token_limit=100), {"m": Usage(100, 0, 0)}).closed is not None
    assert Account(EndpointSection(token_limit=101), {"m": Usage(100, 0, 0)}).closed is None
    with pytest.raises(UsageError, match=r"cannot be kept without a price for n; set \[endpoint.prices.\"n\"\]"):
        Account(EndpointSection(spend_limit=1.0, prices={"m": PRICE}), {"m": Usage(1, 0, 0)}, ("m", "n"))


def ask(up: Endpoint, folder: Path, account: Account, times: int, key: str = KEY) -> tuple[Gate, list[int]]:
    """Ask through a gate until it holds a request back."""
    statuses = []
    with ProxyServer() as server:
        upstream = HttpUpstream(up.base_url, key)
        records = folder / "proxy.jsonl"
        gate = Gate(
            "a", policy="openai:m", model="m", upstream=upstream, caps=Caps(99), records=records, account=account
        )
        door = server.open(gate, folder / "s", loopback=False)
        transport = httpx.HTTPTransport(uds=str(folder / "s"))
        try:
            with httpx.Client(transport=transport, base_url="http://proxy", timeout=0.6) as client:
                for _ in range(times):
                    try:
                        statuses.append(client.post("/v1/chat/completions", content=BODY).status_code)
                    except httpx.ReadTimeout:
                        statuses.append(0)
        finally:
            server.close_door(door)
    return gate, statuses


def test_the_cap_holds_requests_back_and_ends_the_attempt(tmp_path: Path) -> None:
    account = Account(EndpointSection(token_limit=460), {}, ("m",))
    with endpoint(lambda n, body: Reply(body=completion(tokens=180))) as up:
        gate, statuses = ask(up, tmp_path, account, 3)
    assert statuses == [200, 200, 0] and len(up.bodies) == 2 and gate.calls == 2
    assert gate.stop is not None and gate.stop.reason == "spend_cap" and "360 tokens spent" in gate.stop.detail


def test_tokens_that_nobody_counted_are_estimated_against_the_cap(tmp_path: Path) -> None:
    account = Account(EndpointSection(token_limit=300), {}, ("m",))
    with endpoint(lambda n, body: Reply(body=silent("y" * 400))) as up:
        _, statuses = ask(up, tmp_path, account, 3)
    assert statuses == [200, 0, 0] and len(up.bodies) == 1


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_refusal_of_everything_is_heard_and_an_echoed_key_masked(tmp_path: Path, status: int) -> None:
    account = Account(EndpointSection(), {}, ("m",))
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    with endpoint(lambda n, request: Reply(status, body, content_type="application/json")) as up:
        ask(up, tmp_path, account, 1)
        assert up.authorizations == [f"Bearer {KEY}"]
    assert account.refused is not None and f"HTTP {status}" in account.refused and MASK in account.refused
    written = (tmp_path / "proxy.jsonl").read_text()
    assert KEY not in written + account.refused and MASK in written


@given(st.lists(st.binary(max_size=9), max_size=8), st.integers(0, 40), st.integers(1, 7))
def test_masking_is_the_same_however_the_bytes_are_cut(parts: list[bytes], at: int, size: int) -> None:
    import asyncio

    whole = b"".join(parts)
    whole = whole[:at] + KEY.encode() + whole[at:] + KEY.encode()[:5]

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(whole), size):
            yield whole[start : start + size]

    async def collect() -> list[bytes]:
        return [piece async for piece in masked(pieces(), KEY.encode())]

    got = asyncio.run(collect())
    assert b"".join(got) == whole.replace(KEY.encode(), MASK.encode()) and b"" not in got


def test_a_key_or_address_that_cannot_be_used_is_said_without_saying_it() -> None:
    for bad in ("sk-secret\x00more-of-it", "sk-sécret-and-more"):
        with pytest.raises(SetupError, match="no header can carry") as caught:
            HttpUpstream("http://h/v1", bad)
        assert bad not in str(caught.value)
    with pytest.raises(SetupError, match="is no http address") as caught:
        HttpUpstream("user:hidden-password@host/v1", None)
    assert "hidden" not in str(caught.value)
    assert "hidden" not in HttpUpstream("http://user:hidden@host/v1", None).name


def test_the_model_may_be_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_MODEL", "some/model")
    assert resolve("openai:$OPENAI_MODEL").name == "openai:some/model"
    monkeypatch.delenv("OPENAI_MODEL")
    with pytest.raises(SetupError, match=r"needs OPENAI_MODEL; set it in \.env"):
        resolve("openai:$OPENAI_MODEL")


def planned(context: Context, *task_ids: str) -> list[PlannedAttempt]:
    rows = state_tasks(context, [bundle(task_id=task_id) for task_id in task_ids])
    policies = ("openai:m", "scripted:strong")
    return plan_batch(context, purpose="collect", batch="b", tasks=rows, policies=policies, repeats=1, seed=1)


def record(context: Context, attempt: PlannedAttempt, *usages: dict[str, Any] | None) -> None:
    """What the proxy would have written of an attempt."""
    folder = context.lake.root / "attempts" / attempt.attempt_id
    folder.mkdir(parents=True)
    encoder = Encoder()
    lines = [
        canonical(
            encoder.encode(
                Call(f"{attempt.attempt_id}/{n:04d}.0", attempt.attempt_id, n, 0, attempt.policy, "http://h/v1", BODY,
                     status=200, response=silent("y" * 40), usage=usage)
            )
        )
        for n, usage in enumerate(usages)
    ]  # fmt: skip
    (folder / "proxy.jsonl").write_text("\n".join(lines) + '\n{"torn')


def usage(prompt: int, out: int) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": out, "total_tokens": prompt + out}


def priced(context: Context, **settings: Any) -> Context:
    return Context(context.lake, Profile(endpoint=EndpointSection(**settings)))


def test_a_forecast_without_a_past_is_the_papers_and_without_a_price_unknown(make_context: MakeContext) -> None:
    context = make_context()
    attempts = planned(context, "one", "two")
    found = forecast(context, attempts)
    (one,) = found.predictions
    assert (found.rollouts, found.done, found.free) == (4, 0, 2)
    assert (one.attempts, one.basis, one.basis_n, one.cost_low, one.cost_high) == (2, "paper", 0, None, None)
    assert one.high.tokens == one.low.tokens == 2 * (18_670 * 12 // 2 + 18_670)
    text = "\n".join(found.lines())
    assert "lower bound unknown" in text and "the paper's mean conversation of 18.67K tokens in 13 turns" in text
    (bounded,) = forecast(priced(context, prices={"m": PRICE}), attempts).predictions
    assert bounded.cost_low is not None and bounded.cost_high is not None and 0 < bounded.cost_low < bounded.cost_high
    (stated,) = forecast(priced(context, expected_tokens=1000), attempts).predictions
    assert (stated.basis, stated.high.tokens) == ("profile", 2000)


def test_a_forecast_from_the_log_counts_what_was_spent(make_context: MakeContext) -> None:
    context = priced(make_context(), prices={"m": PRICE})
    first, second, *_ = attempts = planned(context, "one", "two")
    record(context, first, usage(1000, 100), usage(1200, 200))
    end(context, first, "finished", "agent")
    record(context, second, None)
    end(context, second, "spend_cap", "infrastructure")
    found = forecast(context, attempts)
    (one,) = found.predictions
    assert (one.attempts, one.basis, one.basis_n, one.high) == (1, "own attempts", 1, Usage(2200, 0, 300))
    assert one.cost_low == one.cost_high == pytest.approx((2200 * 2 + 300 * 8) / 1e6)
    paid = found.spent["openai:m"]
    assert paid.calls == 3 and paid.usage.estimated == paid.attempts[second.attempt_id].tokens > 0
    assert json.loads(json.dumps(found.json()))["spent"][0]["cost"] == paid.usage.cost(PRICE)
    assert any("of them estimated" in line for line in found.lines())


def test_what_was_spent_is_the_same_once_the_log_has_taken_it_in(make_context: MakeContext) -> None:
    from assets.logs import ingest_attempts
    from assets.rollouts.plan import rollout_states

    context = make_context()
    first, *_ = planned(context, "one")
    record(context, first, usage(1000, 100), None)
    end(context, first, "finished", "agent")
    before = spent(context.lake, rollout_states(context.lake))
    ingest_attempts(context)
    assert not (context.lake.root / "attempts" / first.attempt_id).exists()
    assert spent(context.lake, rollout_states(context.lake)) == before


def test_a_preview_states_nothing(make_context: MakeContext) -> None:
    context = make_context()
    rows = state_tasks(context, [bundle(task_id="one")])
    arguments: dict[str, Any] = {
        "purpose": "collect", "batch": "b", "tasks": rows, "policies": ["openai:m"], "repeats": 2, "seed": 1,
    }  # fmt: skip
    seen = preview_batch(context, **arguments)
    assert list(context.lake.events(stream_kind="attempt")) == []
    assert plan_batch(context, **arguments) == seen == preview_batch(context, **arguments)
