"""Nothing is trained on that is only context: from a log with a compaction to the mask over its tokens."""

from __future__ import annotations

import json

import pytest

from assets.logs import STAGE as LOGS
from assets.logs import ingest_attempts
from assets.rollouts import STAGE as ROLLOUTS
from assets.sft import STAGE, conversation_of, read_examples
from assets.stage import run_stage
from assets.trajectories import STAGE as TRAJECTORIES
from lake import Lake
from lake.ids import Json, digest
from tests.sft.rows import put
from tests.training.conversations import TOOLS
from tests.trajectories.attempts import context, state_attempt, write_database
from tests.trajectories.sessions import Session
from training.chat import END_OF_TURN, assistant_text, normalise
from training.tokenise import Encoder, broken_invariant, masked_runs
from training.tokenizer import train_tokenizer

ATTEMPT = "9" * 20


def compacted() -> Session:
    """Three answers, two of them before a compaction that kept the second."""
    session = Session("compacted")
    session.user("Sum the table, then say it.")
    session.assistant("Reading it.", ("call_1", "read", {"path": "e.csv"}))
    session.result("call_1", "1,2,3")
    kept = session.assistant("Summing it.", ("call_2", "exec", {"command": "echo 6"}))
    session.result("call_2", "6")
    session.add({"type": "compaction", "summary": "The table was read.", "firstKeptEntryId": kept})
    session.assistant("Writing it.", ("call_3", "write", {"path": "sum", "content": "6"}))
    session.result("call_3", "written")
    session.assistant("The sum is 6.")
    return session


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A run whose history was compacted in its middle, accepted, graded and kept."""
    made = context(tmp_path_factory.mktemp("context") / "root")
    session = compacted()
    event = {
        "traceSchema": "openclaw-trajectory", "type": "context.compiled", "ts": "2026-03-01T09:00:00.000Z",
        "sessionId": session.session_id, "data": {"systemPrompt": "You are an agent.", "tools": TOOLS},
    }  # fmt: skip
    folder = made.lake.root / "attempts" / ATTEMPT
    database = folder / "state/agents/main/agent/openclaw-agent.sqlite"
    write_database(database, session.lines(), [json.dumps(event).encode()], session.session_id)
    (folder / "stdout.json").write_text('{"ok": true}\n')
    state_attempt(made.lake, ATTEMPT, session.session_id)
    ingest_attempts(made)
    for stage in (ROLLOUTS, LOGS, TRAJECTORIES):
        made.lake.build(stage.projection)
    (attempt,) = made.lake.rows("attempts")
    task = {name: attempt[name] for name in ("task_id", "task_version")}
    verdict = {"verdict_id": digest("v"), "attempt_id": ATTEMPT, "status": "scored", "is_latest": True, "checks": "{}"}
    put(made.lake, "verdicts", [{**task, **verdict, "score_code": 1.0, "score": 1.0}])
    put(made.lake, "task_status", [{**task, "status": "accepted", "reasons": [], "split": "train"}])
    run_stage(STAGE, made)
    return made.lake


def test_the_mask_covers_the_answers_of_this_window_and_no_other(lake: Lake) -> None:
    (example,) = read_examples(lake, "train")
    steps = [
        step
        for step in lake.rows("steps")
        if step["trajectory_id"] == example["trajectory_id"] and step["role"] == "assistant" and step["in_messages"]
    ]
    steps.sort(key=lambda step: int(step["step"]))
    context_steps = [step for step in steps if step["copied_context"]]
    assert [step["text"] for step in context_steps] == ["Summing it."] and len(steps) == 3
    conversation = conversation_of(example)
    answers = [message for message in conversation.messages if message["role"] == "assistant"]
    assert [message.get("weight") == 0 for message in answers] == [step["copied_context"] for step in steps]
    encoder = Encoder(train_tokenizer([conversation], vocab_size=400))
    row = encoder.encode(conversation)
    trained = [encoder.decode(run).removesuffix(END_OF_TURN) for run in masked_runs(row)]
    assert trained == [_text(message) for message in answers if message.get("weight") != 0]
    assert broken_invariant(encoder, conversation, row) is None


def _text(message: Json) -> str:
    return assistant_text(normalise(message))


def test_a_window_of_nothing_but_context_trains_nothing(lake: Lake) -> None:
    (example,) = read_examples(lake, "train")
    conversation = conversation_of(example)
    for message in conversation.messages:
        if message["role"] == "assistant":
            assert isinstance(message, dict)
            message["weight"] = 0
    encoder = Encoder(train_tokenizer([conversation], vocab_size=400))
    assert broken_invariant(encoder, conversation, encoder.encode(conversation)) == "no_assistant"
