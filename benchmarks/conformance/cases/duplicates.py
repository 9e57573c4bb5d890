"""Cases of what stands in the log more than once: turns, prompts, records, whole histories (C03, C04, C14)."""

from __future__ import annotations

from benchmarks.conformance.case import Expected, case, lines_file, one_file
from benchmarks.conformance.session import Session, exec_call


@case("C03", "one turn stored twice, by two writers")
def turn_stored_twice(s: Session) -> Expected:
    """The model ran once for a response id; the fuller text stays and its tokens count once."""
    s.user("go")
    s.assistant("The answer is for", responseId=f"{s.session_id}/r1")
    s.assistant("The answer is forty-two.", responseId=f"{s.session_id}/r1")
    s.user("more")
    s.assistant("The answer is forty-two.", responseId=f"{s.session_id}/r2")
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: The answer is forty-two.", "user: more", "say: The answer is forty-two."]],
        stated=[(3, "duplicate_response")],
        ledger={"dropped:duplicate_response": 1, "kept:header": 1, "kept:step": 4},
        tell=[3, 4],
    )


@case("C03", "an aborted part and the whole turn of one response")
def aborted_part_stored_beside(s: Session) -> Expected:
    """A part written when the stream broke, and the whole of the same response: one turn, its tokens counted once."""
    s.user("go")
    s.assistant("The answer", responseId=f"{s.session_id}/r1", stopReason="aborted")
    s.assistant("The answer is forty-two.", responseId=f"{s.session_id}/r1")
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: The answer is forty-two."]],
        stated=[(3, "duplicate_response"), (3, "partial_turn")],
        ledger={"dropped:duplicate_response": 1, "kept:header": 1, "kept:step": 2},
        tell=[3, 4],
        tokens=[(100, 20)],
    )


@case("C03", "streamed parts and their join")
def parts_and_join(s: Session) -> Expected:
    """Parts that are told again, joined with blank lines, are one turn."""
    s.user("go")
    s.assistant("First part.")
    s.assistant("Second part.")
    s.assistant("First part.\n\nSecond part.")
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: First part.\n\nSecond part."]],
        stated=[(3, "duplicate_response"), (4, "duplicate_response")],
        ledger={"dropped:duplicate_response": 2, "kept:header": 1, "kept:step": 2},
        tell=[3, 4, 5],
    )


@case("C03", "mirror duplicate")
def delivery_mirror(s: Session) -> Expected:
    """A copy of a delivered text is no turn and no branch; what goes on from it goes on from the answer."""
    asked = s.user("go")
    s.assistant("The answer.")
    s.assistant("The answer.", parent=asked, provider="openclaw", model="delivery-mirror")
    s.user("more")
    s.assistant("Done.")
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: The answer.", "user: more", "say: Done."]],
        stated=[(4, "delivery_mirror")],
        ledger={"dropped:delivery_mirror": 1, "kept:header": 1, "kept:step": 4},
        tell=[4],
    )


@case("C03", "note injected by the gateway")
def gateway_injected(s: Session) -> Expected:
    """A note of the gateway is no answer and no branch of the user."""
    asked = s.user("go")
    s.assistant("The answer.")
    s.assistant("Gateway restarted.", parent=asked, provider="openclaw", model="gateway-injected")
    s.user("more")
    s.assistant("Done.")
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: The answer.", "user: more", "say: Done."]],
        stated=[(4, "gateway_injected")],
        ledger={"dropped:gateway_injected": 1, "kept:header": 1, "kept:step": 4},
        tell=[4],
    )


@case("C03", "a whole history copied as a new branch, with new ids")
def history_as_branch(s: Session) -> Expected:
    """Answers with response ids that the kept branch has make no branch of their own."""
    root = s.add({"type": "model_change", "provider": "p", "modelId": "m"})
    for _ in range(2):
        s.last = root
        s.user("go")
        s.assistant("one", responseId=f"{s.session_id}/r1")
        s.user("on")
        s.assistant("two", responseId=f"{s.session_id}/r2")
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: one", "user: on", "say: two"]],
        stated=[(line, "duplicate_branch") for line in (3, 4, 5, 6)],
        ledger={"dropped:duplicate_branch": 4, "kept:header": 1, "kept:setting": 1, "kept:step": 4},
        tell=[3, 4, 5, 6],
    )


@case("C04", "same user prompt appended again")
def prompt_again(s: Session) -> Expected:
    """Recovery repeats the prompt: one stays. A person who asks the same later did ask twice."""
    s.user("do it")
    s.assistant("", stopReason="error", errorMessage="overflow")
    s.user("do it")
    s.user("do it")
    s.assistant("done")
    s.user("do it")
    s.assistant("done again")
    return Expected(
        files=one_file(s),
        views=[["user: do it", "say: done", "user: do it", "say: done again"]],
        stated=[(3, "failed_turn"), (4, "repeated_prompt"), (5, "repeated_prompt")],
        ledger={"dropped:failed_turn": 1, "dropped:repeated_prompt": 2, "kept:header": 1, "kept:step": 4},
        tell=[4, 5],
    )


@case("C14", "history copied into a forked session's file")
def copied_history(s: Session) -> Expected:
    """The fork's own turn is its only one: the copied ones stay as context, not trained and not billed again."""
    s.user("go")
    s.assistant("one", exec_call("a"), responseId=f"{s.session_id}/r1")
    s.result("a", "A")
    s.assistant("two", responseId=f"{s.session_id}/r2")
    fork = s.forked(s.session_id + "-fork", minute=s.minute + 30)
    fork.user("further")
    fork.assistant("three", responseId=f"{s.session_id}/r3")
    first = ["user: go", "say: one", 'call 0 exec {"command":"ls"}', "result 0: A", "say: two"]
    return Expected(
        files={f"{fork.session_id}.jsonl": fork.data(), f"{s.session_id}.jsonl": s.data()},
        views=[[*first, "user: further", "say: three"], first],
        messages=[
            ["user: go", "context say: one", 'context call 0 exec {"command":"ls"}', "result 0: A", "context say: two",
             "user: further", "say: three"],
            first,
        ],
        classes=["normal", "normal"],
        stated=[(3, "copied_context"), (5, "copied_context")],
        ledger={"kept:header": 1, "kept:step": 6},
        tell=[3, 4, 5],
        tokens=[(100, 20), (100, 20), (100, 20)],
    )  # fmt: skip


@case("-", "the same record again, and another one with its id")
def repeated_entries(s: Session) -> Expected:
    """Byte for byte the same is one; another record with a taken id keeps its place under an id of its own."""
    s.user("go")
    s.assistant("one", responseId=f"{s.session_id}/r1")
    again = s.lines()[-1]
    s.message({"role": "user", "content": "more"}, record_id="more")
    s.message(
        {"role": "assistant", "content": "two", "responseId": f"{s.session_id}/r2"}, parent="more", record_id="e001"
    )
    lines = [*s.lines()[:3], again, *s.lines()[3:]]
    return Expected(
        files=lines_file(s, lines),
        views=[["user: go", "say: one", "user: more", "say: two"]],
        stated=[(4, "duplicate_entry"), (6, "duplicate_entry_id")],
        ledger={"dropped:duplicate_entry": 1, "kept:header": 1, "kept:step": 4},
        tell=[4],
    )
