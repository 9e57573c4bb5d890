"""Cleaning, defect by defect, where the published cases (`test_conformance`) leave something to say."""

from __future__ import annotations

import json

from assets.logs.decode import decode
from assets.logs.timestamps import parse_time
from assets.trajectories.content import MAX_TEXT
from assets.trajectories.findings import Findings, Place
from assets.trajectories.gaps import fill_head
from assets.trajectories.keys import repeated_keys
from assets.trajectories.trace import Trace, TraceMessage
from lake.ids import sha256_hex
from tests.trajectories.sessions import Session, clean_lines, exec_call, found, ledger, said


def test_two_answers_that_say_the_same_are_two_when_the_model_ran_twice() -> None:
    s = Session()
    s.user("go")
    s.assistant("ok", responseId="r1")
    s.assistant("ok", responseId="r2")
    assert said(s.clean()) == ["user: go", "assistant: ok", "assistant: ok"]


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


def test_native_usage_is_untouched_and_tokens_follow_the_stated_total() -> None:
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


def test_images_become_their_digest() -> None:
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


def test_a_part_that_was_cut_short_is_dropped_whichever_way_the_two_were_written() -> None:
    for stops in (("aborted", "stop"), ("stop", "aborted"), ("aborted", "aborted")):
        s = Session()
        s.user("go")
        for stop, text in zip(stops, ("one", "one and two"), strict=True):
            s.assistant(text, responseId="r1", stopReason=stop)
        clean = s.clean()
        kept = [step for step in clean.branches[0].steps if step.role == "assistant"]
        assert [step.stop_reason for step in kept] == [min(stops, key="stop".__ne__)]
        assert [step.output_tokens for step in kept] == [20]
        assert "duplicate_response" in {rule for rule, _ in found(clean)}


def test_a_cut_call_and_the_whole_one_of_one_response_are_one_call() -> None:
    s = Session()
    s.user("go")
    s.assistant("", ("a", "exec", '{"command": "ec'), responseId="r1", stopReason="error")
    s.assistant("", exec_call("a", "echo"), responseId="r1")
    s.result("a", "done")
    s.assistant("end", responseId="r2")
    clean = s.clean()
    assert said(clean) == ["user: go", "assistant:  ['a']", "tool<a>: done", "assistant: end"]
    assert clean.branches[0].class_ == "normal" and ledger(clean)["dropped:duplicate_response"] == 1


def test_a_window_that_a_compaction_ended_in_the_middle_of_work_is_not_aborted() -> None:
    s = Session()
    s.user("go")
    s.assistant("", exec_call("a"))
    kept = s.result("a", "done")
    s.add({"type": "compaction", "summary": "Went.", "firstKeptEntryId": kept})
    s.assistant("end")
    assert [branch.class_ for branch in s.clean().branches] == ["normal", "compacted"]


def test_a_wrapper_inside_json_text_is_left_out_and_the_json_still_parses() -> None:
    wrapped = (
        '<<<EXTERNAL_UNTRUSTED_CONTENT id="ab">>>\nSource: Web Fetch\n---\nIt rains.\n'
        '<<<END_EXTERNAL_UNTRUSTED_CONTENT id="ab">>>'
    )
    s = Session()
    s.user("go")
    s.assistant("", exec_call("a"))
    s.result("a", json.dumps({"title": "\n" + wrapped, "text": wrapped, "status": 200}, indent=2))
    clean = s.clean()
    text = clean.branches[0].steps[2].text
    assert json.loads(text) == {"title": "\nIt rains.", "text": "It rains.", "status": 200}
    assert found(clean) == [("untrusted_wrapper", 4)]


def test_only_what_the_model_was_given_is_cut() -> None:
    long = "x" * (MAX_TEXT + 1)
    s = Session()
    s.user(long)
    s.assistant(long)
    user, answer = s.clean().branches[0].steps
    assert len(user.text) < 40_000 and sha256_hex(long) in user.text and answer.text == long


def test_keys_stated_twice_are_found_at_any_depth_and_only_there() -> None:
    plain = [b'{"a":{"b":1,"c":":"},"d":[{"b":2}]}', b'{"a" : "\\u003a:", "b":1e3}', b"[1]", b'{"a":1.0,"b":"\\ud800"}']
    assert [repeated_keys(raw, decode(raw), bytearray()) for raw in plain if decode(raw).value] == [[], [], []]
    twice = b'{"a":[{"b":1,"b" :2}],"c":{"d":NaN,"d":1}}'
    long = b'{"a":"\\u003a","b":%s}' % (b"9" * 5000)
    assert decode(long).value is None or repeated_keys(long, decode(long), bytearray()) == []
    for hidden in (b'{"a":1,"a":2,"b":"\\u003a"}', b'{"a":1,"a":2,"b":1e3,"c":1e3}'):
        assert repeated_keys(hidden, decode(hidden), bytearray()) == ["a"]
    assert repeated_keys(twice, decode(twice), bytearray()) == ["b", "d"]


def test_messages_before_a_lost_head_are_paired_among_themselves() -> None:
    s = Session()
    s.user("ask")
    s.assistant("", exec_call("call_0"), exec_call("call_9"))
    s.result("call_0", "old")
    s.assistant("old answer")
    cut = len(s.records)
    s.user("more")
    s.assistant("", exec_call("call_0"))
    s.result("call_0", "new")
    s.assistant("new answer")
    messages = {
        ("m", number): TraceMessage(
            Place(number, number, f"k{number}"), record["message"], parse_time(record["timestamp"])
        )
        for number, record in enumerate(s.records[1:cut])
    }
    clean = clean_lines([s.lines()[0], *s.lines()[cut:]])
    fill_head(clean, Trace(Findings(), messages=messages))
    steps = clean.branches[0].steps
    assert [(step.role, step.context) for step in steps[:4]] == [
        ("user", True), ("assistant", True), ("tool", True), ("assistant", True),
    ]  # fmt: skip
    assert said(clean) == [
        "user: ask", "assistant: old answer", "user: more", "assistant:  ['call_0']", "tool<call_0>: new",
        "assistant: new answer",
    ]  # fmt: skip
    assert [step.at.key for step in steps[:2]] == ["k0", "k1"] and clean.branches[0].class_ == "incomplete"
    again = clean_lines(s.lines())
    fill_head(again, Trace(Findings(), messages=messages))
    assert again.branches[0].class_ == "unanswered" and len(again.branches[0].steps) == 8  # nothing is put twice
