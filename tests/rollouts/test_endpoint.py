"""The real OpenClaw on a policy behind an endpoint that costs money: caps, a wrong key, and where keys do not go."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assets.logs import ingest_attempts
from assets.profile import EndpointSection
from assets.rollouts import STAGE, forecast, plan_batch, run_batch
from assets.rollouts.teacher import CHARACTERS, teacher_policy
from assets.stage import Context
from lake.errors import StageError
from tests.rollouts.conftest import MakeContext
from tests.rollouts.endpoint import Reply, endpoint
from tests.rollouts.handmade import PLAN, bundle, state_tasks
from tests.rollouts.secrets import files_holding

pytestmark = pytest.mark.openclaw

KEY = "sk-planted-0123456789abcdef"


def capped(context: Context, **settings: Any) -> Context:
    return Context(context.lake, context.profile.model_copy(update={"endpoint": EndpointSection(**settings)}))


def collect(context: Context, *task_ids: str) -> dict[str, int]:
    rows = state_tasks(context, [bundle(task_id=task_id) for task_id in task_ids])
    planned = plan_batch(context, purpose="collect", batch="b", tasks=rows, policies=["openai:m"], repeats=1, seed=1)
    counts = dict(run_batch(context, planned))
    ingest_attempts(context)  # what was spent is read from the log from here on
    context.lake.build(STAGE.projection)
    return counts


def check(context: Context) -> bool:
    return next(one for one in STAGE.checks if one.name == "rollouts_counted").run(context.lake).passed


def test_a_spend_cap_stops_a_run_and_a_higher_one_goes_on(
    make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = teacher_policy(PLAN, CHARACTERS["strong@1"], seed=1, repeat=0, task="t")
    context = make_context()
    with endpoint(lambda n, body: Reply(body=b"".join(policy(body, f"c{n}")))) as up:
        monkeypatch.setenv("OPENAI_BASE_URL", up.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        longest = 8192
        low = capped(context, token_limit=longest + 12_000)
        assert collect(low, "one", "two") == {"spend_cap": 1, "over_spend_cap": 1}
        asked = len(up.bodies)
        assert asked >= 2
        (stopped,) = [row for row in context.lake.rows("attempts") if row["state"] == "ended"]
        assert (stopped["ending"], stopped["ending_kind"], stopped["counted"]) == ("spend_cap", "infrastructure", False)
        assert "endpoint.token_limit 20,192" in stopped["ending_detail"]
        assert check(context), "stopped by the cap is open, not failed"
        paid = forecast(low, []).spent["openai:m"]
        assert paid.calls == asked + 1 and 0 < paid.usage.tokens <= longest + 12_000

        assert collect(low, "one", "two") == {"over_spend_cap": 2}, "what was spent before counts"
        assert len(up.bodies) == asked

        assert collect(capped(context, token_limit=10_000_000), "one", "two") == {"finished": 2}
        assert len(up.bodies) > asked and collect(low, "one", "two") == {"found": 2}
    assert files_holding(context.lake.root, KEY) == []


def test_a_wrong_key_is_one_line_after_one_request(make_context: MakeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    said = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}).encode()
    context = make_context()
    with endpoint(lambda n, body: Reply(401, said, content_type="application/json")) as up:
        monkeypatch.setenv("OPENAI_BASE_URL", up.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with pytest.raises(StageError, match=r"refuses: HTTP 401 .* set OPENAI_API_KEY, in \.env say") as caught:
            collect(context, "one", "two", "three")
        assert len(up.bodies) == 1
    assert KEY not in str(caught.value) and "\n" not in str(caught.value)
    ingest_attempts(context)
    assert files_holding(context.lake.root, KEY) == []


def test_what_looks_for_secrets_finds_them(make_context: MakeContext) -> None:
    lake = make_context().lake
    with lake.spool("test") as spool:
        spool.stream("note", "n").emit("note.taken", {"text": f"key {KEY}"})
        spool.put_blob(f"blob {KEY}".encode())
    assert files_holding(lake.root, KEY)
    lake.commit()
    packed = {name.split("/")[0] for name in files_holding(lake.root, KEY) if name.endswith(".parquet")}
    assert len(packed) >= 1, "in the tables, where compression hides it from a plain search"
