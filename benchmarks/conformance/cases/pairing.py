"""Cases of calls and results: unanswered, displaced, repeated, made up, reshaped (C01, C02)."""

from __future__ import annotations

from benchmarks.conformance.case import Expected, case, lines_file, one_file
from benchmarks.conformance.session import Session, exec_call

REPAIR = "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."
LS = '{"command":"ls"}'


@case("C01", "call without result after a kill")
def killed_in_a_call(s: Session) -> Expected:
    """The call is unanswered, no result is invented, and what may be learned from ends before its turn."""
    s.user("go")
    s.assistant("first", exec_call("a"))
    s.result("a", "done")
    s.assistant("", exec_call("b", "sleep 100"))
    learned = ["user: go", "say: first", f"call 0 exec {LS}", "result 0: done"]
    return Expected(
        files=one_file(s),
        views=[[*learned, 'call 1 exec {"command":"sleep 100"}']],
        messages=[learned],
        classes=["unanswered"],
        stated=[(5, "cut_before_unanswered"), (5, "unanswered_call")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[5],
    )


@case("C01", "truncated last line")
def torn_last_line(s: Session) -> Expected:
    """The torn line is set aside with its number; everything before it stays."""
    s.user("go")
    s.assistant("one")
    s.user("more")
    s.assistant("two")
    lines = s.lines()
    lines[-1] = lines[-1][:-30]
    return Expected(
        files=lines_file(s, lines, end=b""),
        views=[["user: go", "say: one", "user: more"]],
        classes=["aborted"],
        stated=[(5, "bad_json")],
        ledger={"kept:header": 1, "kept:step": 3, "quarantined:bad_json": 1},
        tell=[5],
    )


@case("C02", "orphan result")
def orphan_result(s: Session) -> Expected:
    """A result whose call is nowhere is set aside."""
    s.user("go")
    s.assistant("", exec_call("a"))
    s.result("a", "A")
    s.result("x", "of no call")
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[["user: go", f"call 0 exec {LS}", "result 0: A", "say: end"]],
        stated=[(5, "orphan_result")],
        ledger={"kept:header": 1, "kept:step": 4, "quarantined:orphan_result": 1},
        tell=[5],
    )


@case("C02", "late result, after another assistant turn")
def late_result(s: Session) -> Expected:
    """A result that stands behind a later turn belongs to its own call."""
    s.user("go")
    s.assistant("", exec_call("a"), exec_call("b", "pwd"))
    s.result("b", "B")
    s.assistant("on")
    s.result("a", "A")
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[
            ["user: go", f"call 0 exec {LS}", 'call 1 exec {"command":"pwd"}', "result 0: A", "result 1: B", "say: on",
             "say: end"]
        ],
        stated=[(6, "result_moved")],
        ledger={"kept:header": 1, "kept:step": 6},
        tell=[6],
        accepted=[
            [["user: go", f"call 0 exec {LS}", 'call 1 exec {"command":"pwd"}', "result 1: B", "result 0: A", "say: on",
              "say: end"]]
        ],
    )  # fmt: skip


@case("C02", "result before its call")
def early_result(s: Session) -> Expected:
    """A result written before its call moves behind it."""
    s.user("go")
    s.result("a", "early")
    s.assistant("", exec_call("a"))
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[["user: go", f"call 0 exec {LS}", "result 0: early", "say: end"]],
        stated=[(3, "result_moved")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[3],
    )


@case("C02", "made-up, displaced, duplicate and orphaned results at once")
def broken_results(s: Session) -> Expected:
    """Each result has one fate: made up, again, another one, of no call, or moved to its call."""
    s.user("go")
    s.assistant("", exec_call("a"), exec_call("b", "pwd"))
    s.result("b", "B")
    s.assistant("", exec_call("c", "id"))
    s.result("a", "A")
    s.result("c", REPAIR, isError=True)
    s.result("b", "B")
    s.result("b", "other")
    s.result("x", "X")
    s.assistant("end")
    learned = ["user: go", f"call 0 exec {LS}", 'call 1 exec {"command":"pwd"}', "result 0: A", "result 1: B"]
    return Expected(
        files=one_file(s),
        views=[[*learned, 'call 2 exec {"command":"id"}', "say: end"]],
        messages=[learned],
        classes=["unanswered"],
        stated=[
            (5, "cut_before_unanswered"), (5, "unanswered_call"), (6, "result_moved"), (7, "synthetic_result"),
            (7, "tool_error_flag"), (8, "duplicate_result"), (9, "extra_result"), (10, "orphan_result"),
        ],
        ledger={
            "dropped:duplicate_result": 1, "dropped:synthetic_result": 1, "kept:header": 1, "kept:step": 6,
            "quarantined:extra_result": 1, "quarantined:orphan_result": 1,
        },
        tell=[6, 7, 8, 9, 10],
    )  # fmt: skip


@case("C02", "arguments broken off by a control character")
def aborted_arguments(s: Session) -> Expected:
    """The turn was aborted inside its call: its made-up result goes, and nothing is learned from the half call."""
    s.user("go")
    s.assistant("", ("a", "write", '{"path": "a.txt", "content": "x\x01'), stopReason="aborted")
    s.result("a", REPAIR, isError=True)
    s.user("go on")
    s.assistant("end")
    half = 'call 0 write {"arguments":"{\\"path\\": \\"a.txt\\", \\"content\\": \\"x\\u0001"}'
    return Expected(
        files=one_file(s),
        views=[["user: go", half, "user: go on", "say: end"]],
        messages=[["user: go", "user: go on", "say: end"]],
        stated=[
            (3, "partial_turn"), (3, "tool_arguments_reshaped"), (3, "unanswered_call"), (4, "synthetic_result"),
            (4, "tool_error_flag"),
        ],
        ledger={"dropped:synthetic_result": 1, "kept:header": 1, "kept:step": 4},
        tell=[3, 4],
        accepted=[[["user: go", "user: go on", "say: end"]]],
    )  # fmt: skip


@case("C02", "arguments cut off, repaired by the agent and run")
def repaired_arguments(s: Session) -> Expected:
    """What ran is kept, and that the model wrote something else is said."""
    s.user("go")
    part = {"type": "toolCall", "id": "a", "name": "exec", "arguments": {"command": "ls"}}
    s.assistant("", content=[{**part, "partialArgs": '{"command": "ls'}])
    s.result("a")
    s.assistant("", content=[{**part, "id": "b", "partialArgs": '{"command": "ls"}'}])
    s.result("b")
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[
            ["user: go", f"call 0 exec {LS}", "result 0: ok", f"call 1 exec {LS}", "result 1: ok", "say: end"],
        ],
        stated=[(3, "tool_arguments_differ")],
        ledger={"kept:header": 1, "kept:step": 6},
        tell=[3],
    )


@case("C02", "repeated tool ids across turns")
def repeated_ids(s: Session) -> Expected:
    """One id in two turns is two calls, paired by place."""
    s.user("go")
    for text in ("one", "two"):
        s.assistant("", exec_call("call_0"))
        s.result("call_0", text)
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[["user: go", f"call 0 exec {LS}", "result 0: one", f"call 1 exec {LS}", "result 1: two", "say: end"]],
        stated=[(5, "tool_call_id_repeated")],
        ledger={"kept:header": 1, "kept:step": 6},
    )


@case("-", "reshaped (array) arguments")
def array_arguments(s: Session) -> Expected:
    """Arguments that are no object are kept inside one."""
    s.user("go")
    s.assistant("", ("a", "exec", ["ls", "-l"]))
    s.result("a", "ok")
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[["user: go", 'call 0 exec {"arguments":["ls","-l"]}', "result 0: ok", "say: end"]],
        stated=[(3, "tool_arguments_reshaped")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[3],
        accepted=[
            [["user: go", f'call 0 exec {{"{key}":{value}}}', "result 0: ok", "say: end"]]
            for key in ("value", "args", "input", "raw", "_raw")
            for value in ('["ls","-l"]', '"[\\"ls\\",\\"-l\\"]"')
        ],
    )


@case("-", "a failed call said in four ways")
def tool_errors(s: Session) -> Expected:
    """isError, the details' status, the exit code and the text alone all mean that the call failed."""
    s.user("go")
    s.assistant("", *(exec_call(call) for call in "abcde"))
    s.result("a", "no such file", isError=True)
    s.result("b", "denied", details={"status": "failed"})
    s.result("c", "x", details={"status": "completed", "exitCode": 3})
    s.result("d", "y\n\n(Command exited with code 2)")
    s.result("e", "fine", details={"status": "completed", "exitCode": 0})
    s.assistant("end")
    texts = ("no such file", "denied", "x", "y\n\n(Command exited with code 2)", "fine")
    return Expected(
        files=one_file(s),
        views=[
            ["user: go", *(f"call {n} exec {LS}" for n in range(5)),
             *(f"result {n}: {text}" for n, text in enumerate(texts)), "say: end"]
        ],
        stated=[
            (4, "tool_error_flag"), (5, "tool_error_status"), (6, "tool_error_exit_code"), (7, "tool_error_text"),
        ],
        ledger={"kept:header": 1, "kept:step": 8},
        failed=[True, True, True, True, False],
    )  # fmt: skip
