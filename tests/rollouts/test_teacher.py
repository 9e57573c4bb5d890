"""The teacher follows its plan, errs by its character, and reacts to what the tools say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.rollouts.proxy.answer import Answer, read_answer
from assets.rollouts.teacher import CHARACTERS, Character, teacher_policy
from assets.rollouts.teacher.character import Draws
from assets.rollouts.teacher.replay import error_of
from assets.rollouts.teacher.route import plan_route
from assets.tasks.plan import Plan, Step
from tests.rollouts.handmade import PLAN

TOOLS = [{"type": "function", "function": {"name": "read"}}]
MISSING = json.dumps({"status": "error", "tool": "read", "error": "File not found: /workspace/sales.csv."})
Tool = Callable[[str, dict[str, Any]], str]


def works(name: str, arguments: dict[str, Any]) -> str:
    """A workspace in which every call succeeds but the slip's."""
    return MISSING if arguments.get("path") == "sales.csv" else f"ok {name}"


def converse(
    plan: Plan, character: Character, tool: Tool = works, *, seed: int = 1, task: str = "t", most: int = 60
) -> list[Answer]:
    """Play the harness until the teacher ends its turn; the answers it gave."""
    policy = teacher_policy(plan, character, seed=seed, repeat=0, task=task)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": "do it"}]
    answers: list[Answer] = []
    for number in range(most):
        request = {"model": "m", "messages": messages, "tools": TOOLS, "stream": True}
        body = b"".join(policy(request, f"r{number}"))
        assert b"".join(policy(request, f"r{number}")) == body, "the same request gets the same answer"
        answer = read_answer(body, streamed=True)
        assert answer.nonsense is None and answer.done
        answers.append(answer)
        if not answer.tool_calls or answer.malformed_call:
            return answers
        calls = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in answer.tool_calls.values()
        ]
        messages.append({"role": "assistant", "content": answer.text or None, "tool_calls": calls})
        for call in answer.tool_calls.values():
            result = tool(call["name"], json.loads(call["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    raise AssertionError("the teacher does not come to an end")


def made(answers: list[Answer]) -> list[tuple[str, dict[str, Any]]]:
    return [(call["name"], json.loads(call["arguments"])) for answer in answers for call in answer.tool_calls.values()]


def with_habits(name: str, **habits: float) -> Character:
    return Character(**{**CHARACTERS[name].__dict__, **habits})


STEPS = [(step.tool, step.arguments) for step in PLAN.steps]


@given(st.integers(0, 500))
def test_the_strong_teacher_makes_all_steps_in_order(seed: int) -> None:
    calls = made(converse(PLAN, CHARACTERS["strong@1"], seed=seed))
    assert [call for call in calls if call != ("read", {"path": "sales.csv"})] == STEPS


def test_a_slip_is_recovered_from_in_words_and_deed() -> None:
    answers = converse(PLAN, with_habits("strong@1", slips=1.0))
    calls = made(answers)
    at = calls.index(("read", {"path": "sales.csv"}))
    assert calls[at + 1] == ("read", {"path": "data/sales.csv"})
    assert answers[at + 1].text == PLAN.slips[0].recovery


def test_a_slip_that_does_no_harm_needs_no_recovery() -> None:
    answers = converse(PLAN, with_habits("strong@1", slips=1.0), lambda name, arguments: "ok")
    assert PLAN.slips[0].recovery not in [answer.text for answer in answers]


def test_an_unexpected_error_makes_it_look_and_try_again() -> None:
    failures = iter(['Validation failed for tool "write":\n - content'])

    def once(name: str, arguments: dict[str, Any]) -> str:
        return next(failures, "ok") if name == "write" else "ok"

    calls = made(converse(PLAN, with_habits("strong@1", slips=0.0), once))
    first = calls.index(("write", PLAN.steps[3].arguments))
    assert calls[first + 1][0] == "exec" and "find" in calls[first + 1][1]["command"]
    assert calls[first + 2] == ("write", PLAN.steps[3].arguments)


def test_a_step_that_keeps_failing_ends_in_an_honest_word() -> None:
    answers = converse(PLAN, with_habits("strong@1", slips=0.0), lambda n, a: MISSING if n == "write" else "ok")
    assert "File not found" in answers[-1].text
    assert answers[-1].text != PLAN.closing


def test_a_failed_check_makes_it_redo_its_product_once() -> None:
    checks: list[str] = []

    def tool(name: str, arguments: dict[str, Any]) -> str:
        if arguments.get("command", "").startswith("test "):
            checks.append(name)
            return "11\n\n(Command exited with code 1)" if len(checks) == 1 else "ok"
        return "ok"

    answers = converse(PLAN, with_habits("strong@1", slips=0.0), tool)
    assert made(answers).count(("write", PLAN.steps[3].arguments)) == 2
    assert len(checks) == 2
    assert answers[-1].text == PLAN.closing


def test_the_weak_teacher_takes_flaws_and_skips_checks() -> None:
    answers = converse(PLAN, with_habits("weak@1", slips=0.0, large_flaw=1.0, skips_checks=1.0, malformed=0.0))
    calls = made(answers)
    assert ("write", {"path": "out/report.md", "content": "# Report\n\nTotal: 11\n"}) in calls
    assert not [call for call in calls if call[1].get("command", "").startswith("test ")]
    assert answers[-1].text == PLAN.closing, "it claims to be done all the same"


def test_the_weak_teacher_repeats_errors_and_may_give_up() -> None:
    habits = {"slips": 1.0, "repeats": 1.0, "recovers": 0.0, "gives_up": 1.0, "malformed": 0.0}
    answers = converse(PLAN, with_habits("weak@1", **habits))
    assert made(answers).count(("read", {"path": "sales.csv"})) == 2
    assert answers[-1].text.startswith("I could not finish")


def test_a_malformed_call_is_really_malformed() -> None:
    answers = converse(PLAN, with_habits("weak@1", malformed=1.0, slips=0.0, large_flaw=0.0, small_flaw=0.0))
    assert answers[-1].malformed_call


def test_parallel_calls_go_out_together_and_only_the_failed_is_repeated() -> None:
    steps = (
        Step("read", {"path": "a"}, "read"),
        Step("read", {"path": "b"}, "read", with_previous=True),
        Step("exec", {"command": "true"}, "run"),
    )
    failures = iter([MISSING])

    def tool(name: str, arguments: dict[str, Any]) -> str:
        return next(failures, "ok") if arguments.get("path") == "b" else "ok"

    answers = converse(Plan(steps, (), (), "Done."), CHARACTERS["strong@1"], tool)
    assert len(answers[0].tool_calls) == 2
    again = [json.loads(call["arguments"]) for call in answers[2].tool_calls.values()]
    assert again == [{"path": "b"}]


@pytest.mark.parametrize("name", sorted(CHARACTERS))
def test_routes_differ_between_tasks_but_not_between_calls(name: str) -> None:
    character = CHARACTERS[name]

    def routes() -> list[list[str]]:
        return [
            [move.kind + move.say for move in plan_route(PLAN, character, Draws(1, 0, f"task-{n}", character.name))]
            for n in range(40)
        ]

    assert routes() == routes()
    assert len({tuple(route) for route in routes()}) > 1


def test_a_request_without_tools_gets_words() -> None:
    policy = teacher_policy(PLAN, CHARACTERS["strong@1"], seed=1, repeat=0, task="t")
    whole = b"".join(policy({"model": "m", "messages": [], "stream": False}, "r"))
    answer = read_answer(whole, streamed=False)
    assert answer.text and not answer.tool_calls


def test_trailing_context_messages_do_not_move_it() -> None:
    policy = teacher_policy(PLAN, with_habits("strong@1", slips=0.0), seed=1, repeat=0, task="t")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "do it"}]
    noise = {"role": "user", "content": [{"type": "text", "text": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> none"}]}
    plain = {"model": "m", "tools": TOOLS, "stream": True, "messages": messages}
    noisy = {**plain, "messages": [*messages, noise]}
    calls = [read_answer(b"".join(policy(request, "r")), streamed=True).tool_calls for request in (plain, noisy)]
    assert calls[0] == calls[1]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (MISSING, "File not found: /workspace/sales.csv."),
        ('{"status": "error", "count": 3}', None),
        ("out\nerr: no such column\n\n(Command exited with code 3)", "err: no such column"),
        ("(Command exited with code 1)", "(Command exited with code 1)"),
        ("a\n\nCommand timed out after 2 seconds.\n\nMore.", "Command timed out after 2 seconds."),
        ("Tool nonexistent_tool not found", "Tool nonexistent_tool not found"),
        ("Tool not found in the manual of the shed", None),
        ("plain", None),
        ("", None),
    ],
)
def test_errors_are_told_from_results(result: str, error: str | None) -> None:
    assert error_of(result) == error
