"""The published defects of recorded sessions, each generated, with the clean view and the findings it must give.

The names C01 … C26 are those of the collection of public reports.
"""

from __future__ import annotations

import json

from tests.trajectories.sessions import Session, clean_lines, exec_call, found, ledger, said


def test_c01_a_call_without_result_after_a_kill() -> None:
    s = Session()
    s.user("go")
    s.assistant("first", exec_call("a"))
    s.result("a", "done")
    s.assistant("", exec_call("b", "sleep 100"))
    clean = s.clean()
    assert said(clean) == ["user: go", "assistant: first ['a']", "tool<a>: done"]
    assert found(clean) == [("cut_before_unanswered", 5), ("unanswered_call", 5)]
    assert clean.branches[0].class_ == "unanswered"
    assert ledger(clean) == {"kept:header": 1, "kept:step": 4}


def test_c01_a_torn_last_line() -> None:
    s = Session()
    s.user("go")
    s.assistant("done")
    lines = s.lines()
    lines[-1] = lines[-1][:-30]
    clean = clean_lines(lines)
    assert said(clean) == ["user: go"] and clean.branches[0].class_ == "empty"
    assert found(clean) == [("bad_json", 3)] and ledger(clean)["quarantined:bad_json"] == 1


def test_c02_synthetic_displaced_duplicate_and_orphaned_results() -> None:
    s = Session()
    s.user("go")
    s.assistant("", exec_call("a"), exec_call("b"))
    s.result("b", "B")
    s.assistant("", exec_call("c"))
    s.result("a", "A")  # line 6: displaced behind a later turn
    s.result(
        "c", "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."
    )
    s.result("b", "B")  # line 8: again
    s.result("b", "other")  # line 9: another one
    s.result("x", "X")  # line 10: of no call
    s.assistant("end")
    clean = s.clean()
    assert said(clean) == ["user: go", "assistant:  ['a', 'b']", "tool<a>: A", "tool<b>: B"]
    assert found(clean) == [
        ("cut_before_unanswered", 5),
        ("duplicate_result", 8),
        ("extra_result", 9),
        ("orphan_result", 10),
        ("result_moved", 6),
        ("synthetic_result", 7),
        ("unanswered_call", 5),
    ]
    assert ledger(clean) == {
        "dropped:duplicate_result": 1, "dropped:synthetic_result": 1, "kept:header": 1, "kept:step": 6,
        "quarantined:extra_result": 1, "quarantined:orphan_result": 1,
    }  # fmt: skip


def test_c02_one_id_in_two_turns_is_paired_by_position() -> None:
    s = Session()
    s.user("go")
    for text in ("one", "two"):
        s.assistant("", exec_call("call_0"))
        s.result("call_0", text)
    s.assistant("end")
    clean = s.clean()
    assert said(clean) == [
        "user: go", "assistant:  ['call_0']", "tool<call_0>: one", "assistant:  ['call_0__2']",
        "tool<call_0__2>: two", "assistant: end",
    ]  # fmt: skip
    assert found(clean) == [("tool_call_id_repeated", 5)]


def test_c02_a_result_before_its_call_moves_behind_it() -> None:
    s = Session()
    s.user("go")
    s.result("a", "early")
    s.assistant("", exec_call("a"))
    s.assistant("end")
    clean = s.clean()
    assert said(clean) == ["user: go", "assistant:  ['a']", "tool<a>: early", "assistant: end"]
    assert found(clean) == [("result_moved", 3)]


def test_c03_one_turn_stored_twice_by_response_id() -> None:
    s = Session()
    s.user("go")
    s.assistant("The answer is for", responseId="r1")
    s.assistant("The answer is forty-two.", responseId="r1")
    s.user("more")
    s.assistant("The answer is forty-two.", responseId="r2")
    clean = s.clean()
    assert said(clean) == [
        "user: go", "assistant: The answer is forty-two.", "user: more", "assistant: The answer is forty-two.",
    ]  # fmt: skip
    assert found(clean) == [("duplicate_response", 3)]
    assert sum(step.output_tokens or 0 for step in clean.branches[0].steps) == 40


def test_c03_streamed_parts_and_their_join() -> None:
    s = Session()
    s.user("go")
    s.assistant("First part.")
    s.assistant("Second part.")
    s.assistant("First part.\n\nSecond part.")
    clean = s.clean()
    assert said(clean) == ["user: go", "assistant: First part.\n\nSecond part."]
    assert found(clean) == [("duplicate_response", 3), ("duplicate_response", 4)]


def test_c03_two_answers_that_say_the_same_are_two_when_the_model_ran_twice() -> None:
    s = Session()
    s.user("go")
    s.assistant("ok", responseId="r1")
    s.assistant("ok", responseId="r2")
    assert said(s.clean()) == ["user: go", "assistant: ok", "assistant: ok"]


def test_c03_a_delivery_mirror_is_no_turn_and_no_branch() -> None:
    s = Session()
    asked = s.user("go")
    s.assistant("The answer.")
    s.assistant("The answer.", parent=asked, provider="openclaw", model="delivery-mirror")
    s.user("more")  # goes on from the mirror
    s.assistant("Done.")
    clean = s.clean()
    assert said(clean) == ["user: go", "assistant: The answer.", "user: more", "assistant: Done."]
    assert found(clean) == [("delivery_mirror", 4)] and len(clean.branches) == 1


def test_a_ring_below_an_earlier_entry_is_opened_all_the_same() -> None:
    s = Session()
    s.message({"role": "user", "content": "hangs on the ring"}, "b", "x")
    s.message({"role": "user", "content": "a"}, "b", "a")
    s.message({"role": "assistant", "content": "b"}, "a", "b")
    clean = s.clean()
    assert said(clean) == ["user: a", "assistant: b"]
    assert ("parent_cycle", 3) in found(clean)


def test_a_mirror_that_its_own_answer_hangs_on_makes_no_ring() -> None:
    s = Session()
    asked = s.user("go")
    s.assistant("early", parent="mirror")
    s.message({"role": "assistant", "content": "early", "model": "delivery-mirror"}, asked, "mirror")
    s.user("more")
    assert said(s.clean()) == ["user: go", "user: more"]


def test_c03_a_history_copied_as_a_new_branch_with_new_ids() -> None:
    s = Session()
    root = s.add({"type": "model_change", "provider": "p", "modelId": "m"})
    for _ in range(2):
        s.last = root
        s.user("go")
        s.assistant("one", responseId="r1")
        s.user("on")
        s.assistant("two", responseId="r2")
    clean = s.clean()
    assert len(clean.branches) == 1 and len(said(clean)) == 4
    assert {line for rule, line in found(clean) if rule == "duplicate_branch"} == {3, 4, 5, 6}
    assert ledger(clean)["dropped:duplicate_branch"] == 4


def test_a_fork_keeps_both_ways_apart() -> None:
    s = Session()
    s.user("go")
    fork = s.assistant("which way?")
    s.user("left")
    s.assistant("went left")
    s.user("right", parent=fork)
    s.assistant("went right")
    clean = s.clean()
    assert said(clean) == ["user: go", "assistant: which way?", "user: right", "assistant: went right"]
    assert said(clean, 1) == ["user: go", "assistant: which way?", "user: left", "assistant: went left"]
    assert found(clean) == [("abandoned_branch", 5)]


def test_c04_the_same_prompt_appended_again() -> None:
    s = Session()
    s.user("do it")
    s.assistant("", stopReason="error", errorMessage="overflow")
    s.user("do it")
    s.user("do it")
    s.assistant("done")
    s.user("do it")
    s.assistant("done again")
    clean = s.clean()
    assert said(clean) == ["user: do it", "assistant: done", "user: do it", "assistant: done again"]
    assert found(clean) == [("failed_turn", 3), ("repeated_prompt", 4), ("repeated_prompt", 5)]


def test_c05_a_missing_head_is_stated() -> None:
    s = Session()
    for number in range(3):
        s.user(f"ask {number}")
        s.assistant(f"answer {number}")
    lines = [s.lines()[0], *s.lines()[3:]]
    clean = clean_lines(lines)
    assert said(clean)[0] == "user: ask 1" and found(clean) == [("head_gap", 2)]


def test_c06_compaction_is_a_branch_point() -> None:
    s = Session()
    s.user("start")
    s.assistant("old answer")
    kept = s.user("kept question")
    s.assistant("kept answer")
    s.add({"type": "compaction", "summary": "We started.", "firstKeptEntryId": kept, "tokensBefore": 9})
    s.user("after")
    s.assistant("new answer")
    clean = s.clean()
    now, before = clean.branches
    assert said(clean) == [
        "user: The conversation history before this point was compacted into the following summary:\n\n"
        "<summary>\nWe started.\n</summary>",
        "user: kept question", "assistant: kept answer", "user: after", "assistant: new answer",
    ]  # fmt: skip
    assert said(clean, 1) == ["user: start", "assistant: old answer", "user: kept question", "assistant: kept answer"]
    assert [step.text for step in now.steps if step.role == "assistant" and not step.context] == ["new answer"]
    assert not any(step.context for step in before.steps)
    assert found(clean) == [("compaction", 6)]


def test_c06_empty_summaries_and_unknown_first_entries_are_stated() -> None:
    s = Session()
    s.user("start")
    s.assistant("old answer")
    s.add({"type": "compaction", "summary": "", "firstKeptEntryId": "nowhere"})
    s.user("after")
    s.assistant("new answer")
    clean = s.clean()
    assert said(clean) == ["user: after", "assistant: new answer"]
    assert found(clean) == [
        ("compaction", 4), ("compaction_empty_summary", 4), ("compaction_first_kept_missing", 4),
    ]  # fmt: skip


def test_c08_heartbeats_go_and_those_that_worked_stay() -> None:
    s = Session()
    s.user("hello")
    s.assistant("hi")
    s.user("[OpenClaw heartbeat poll]")
    s.assistant("", ("h", "read", {"path": "HEARTBEAT.md"}))
    s.result("h", "nothing")
    s.assistant("HEARTBEAT_OK")
    s.user("Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.")
    s.assistant("", ("w", "write", {"path": "a.md", "content": "x"}))
    s.result("w", "written")
    s.assistant("Wrote a.md.")
    clean = s.clean()
    assert [line for rule, line in found(clean) if rule == "heartbeat"] == [4, 5, 6, 7]
    assert ("heartbeat_worked", 8) in found(clean)
    assert len(said(clean)) == 6 and ledger(clean)["dropped:heartbeat"] == 4


def test_c08_a_session_of_heartbeats_has_its_class() -> None:
    s = Session()
    for _ in range(3):
        s.user("[OpenClaw heartbeat poll]")
        s.assistant("NO_REPLY")
    clean = s.clean()
    assert clean.branches[0].class_ == "heartbeat_only" and said(clean) == []


def test_c11_lone_surrogates() -> None:
    s = Session()
    s.user("go")
    s.assistant("MARK")
    lines = [line.replace(b"MARK", b"a\\ud83eb") for line in s.lines()]
    clean = clean_lines(lines)
    assert said(clean)[1] == "assistant: a\ufffdb" and found(clean) == [("lone_surrogate", 3)]
    json.dumps(said(clean)).encode()


def test_c12_unicode_line_separators_are_no_line_ends() -> None:
    s = Session()
    s.user("a\u2028b\u2029c\u0085d")
    s.assistant("e\u2028f")
    clean = s.clean()
    assert said(clean) == ["user: a\u2028b\u2029c\u0085d", "assistant: e\u2028f"] and found(clean) == []


def test_c13_native_usage_is_untouched_and_tokens_follow_the_stated_total() -> None:
    s = Session()
    s.user("go")
    apart = {"input": 10, "output": 5, "cacheRead": 90, "cacheWrite": 0, "totalTokens": 105}
    inside = {"input": 100, "output": 5, "cacheRead": 90, "cacheWrite": 0, "totalTokens": 105}
    for usage in (apart, inside, {"input": 0, "output": 0, "totalTokens": 0}, {"input": -1, "output": 5}):
        s.assistant(f"{usage}", usage=usage)
    steps = s.clean().branches[0].steps[1:]
    assert [step.input_tokens for step in steps] == [100, 100, None, None]
    assert [step.output_tokens for step in steps] == [5, 5, None, 5]
    assert [json.loads(step.usage or "") for step in steps][1] == inside


def test_c15_two_models_in_one_session_are_told_apart() -> None:
    s = Session()
    s.user("go")
    s.assistant("one", model="small")
    s.user("on")
    s.assistant("two", model="large")
    assert [step.model for step in s.clean().branches[0].steps if step.role == "assistant"] == ["small", "large"]


def test_c26_nan_and_infinity_become_null() -> None:
    s = Session()
    s.user("go")
    s.assistant("", exec_call("a"))
    s.result("a", details={"exitCode": 0, "durationMs": 12345})
    s.assistant("end")
    clean = clean_lines([line.replace(b"12345", b"NaN") for line in s.lines()])
    assert len(said(clean)) == 4 and found(clean) == [("nonfinite_number", 4)]


def test_array_arguments_are_put_into_an_object() -> None:
    s = Session()
    s.user("go")
    s.assistant("", ("a", "exec", ["ls", "-l"]), ("b", "exec", '{"command": "ls"}'), ("c", "exec", "ls {"))
    for call in "abc":
        s.result(call)
    clean = s.clean()
    assert [call.arguments for call in clean.branches[0].steps[1].calls] == [
        {"arguments": ["ls", "-l"]}, {"command": "ls"}, {"arguments": "ls {"},
    ]  # fmt: skip
    assert found(clean) == [("tool_arguments_reshaped", 3), ("tool_arguments_reshaped", 3)]


def test_a_bad_timestamp_is_null_and_stated() -> None:
    s = Session()
    s.user("go")
    s.assistant("end")
    s.records[2]["timestamp"] = "the day before"
    clean = s.clean()
    assert clean.branches[0].steps[1].ts is None and found(clean) == [("bad_timestamp", 3)]


def test_c10_images_become_their_digest() -> None:
    s = Session()
    s.user("look")
    s.assistant("", ("a", "read", {"path": "p.png"}))
    image = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}
    s.result("a", content=[{"type": "text", "text": "Read image"}, image])
    s.assistant("a dog")
    clean = s.clean()
    sha = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert said(clean)[2] == f"tool<a>: Read image\n[image image/png, 5 bytes, sha256 {sha}]"
    assert found(clean) == [("image_replaced", 4)]


def test_many_defects_at_once() -> None:
    s = Session()
    s.user("[Tue 2026-03-01 10:00 UTC] go")
    s.assistant("", exec_call("a"))
    s.result("a", "x\n\n(Command exited with code 2)", details={"status": "completed", "exitCode": 2})
    s.assistant("half", stopReason="aborted")
    s.user("[Tue 2026-03-01 10:00 UTC] go on")
    s.assistant("[[reply_to_current]] done")
    lines = [b"", *s.lines(), b"{", b"[1]"]
    clean = clean_lines(lines)
    assert said(clean) == [
        "user: go", "assistant:  ['a']", "tool<a>: x\n\n(Command exited with code 2)", "user: go on", "assistant: done",
    ]  # fmt: skip
    assert found(clean) == [
        ("bad_json", 9), ("blank_line", 1), ("date_prefix", 3), ("date_prefix", 7), ("not_object", 10),
        ("partial_turn", 6), ("reply_tag", 8), ("tool_error_exit_code", 5),
    ]  # fmt: skip
