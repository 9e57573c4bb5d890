"""Cases of values inside records: encodings, numbers, times, secrets, images, usage (C09–C13, C15, C26)."""

from __future__ import annotations

import base64

from benchmarks.conformance.case import Expected, case, lines_file, one_file
from benchmarks.conformance.session import Session, exec_call
from lake.ids import sha256_hex

LS = '{"command":"ls"}'


@case("C09", "secret in tool output")
def secret(s: Session) -> Expected:
    """Masked in everything derived by a typed placeholder, stable for the secret; never in raw."""
    key = "sk-ant-api03-" + "Canary" * 8
    s.user("show the key")
    s.assistant("", exec_call("a"))
    s.result("a", f"ANTHROPIC_API_KEY={key} keyboard=qwerty")
    s.assistant(f"It is {key}.")
    place = f"[masked:anthropic_key:{sha256_hex(key)[:8]}]"
    return Expected(
        files=one_file(s),
        views=[
            ["user: show the key", f"call 0 exec {LS}", f"result 0: ANTHROPIC_API_KEY={place} keyboard=qwerty",
             f"say: It is {place}."]
        ],
        stated=[(4, "secret_masked"), (5, "secret_masked")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[4, 5],
    )  # fmt: skip


@case("C10", "image part of 400 KB")
def image(s: Session) -> Expected:
    """The bytes stay in raw; the text names their digest, size and type."""
    data = bytes(range(256)) * 1200
    s.user("look")
    s.assistant("", ("a", "read", {"path": "p.png"}))
    part = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}
    s.result("a", content=[{"type": "text", "text": "Read image"}, part])
    s.assistant("a dog")
    return Expected(
        files=one_file(s),
        views=[["user: look", 'call 0 read {"path":"p.png"}', "result 0: Read image\n[image]", "say: a dog"]],
        stated=[(4, "image_replaced")],
        ledger={"kept:header": 1, "kept:step": 4},
    )


@case("C10", "a text of 3 MB")
def giant_text(s: Session) -> Expected:
    """Beginning and end stay in the text, with the digest and size of the whole, which is in raw."""
    text = "0123456789abcdef" * 196_608
    s.user("cat it")
    s.assistant("", exec_call("a"))
    s.result("a", text)
    s.assistant("long")
    middle = f"\n[… {len(text) - 32_768} of {len(text)} characters left out, sha256 {sha256_hex(text.encode())} …]\n"
    cut = text[:16_384] + middle + text[-16_384:]
    return Expected(
        files=one_file(s),
        views=[["user: cat it", f"call 0 exec {LS}", f"result 0: {cut}", "say: long"]],
        stated=[(4, "oversized_value")],
        ledger={"kept:header": 1, "kept:step": 4},
        accepted=[[["user: cat it", f"call 0 exec {LS}", f"result 0: {text}", "say: long"]]],
    )


@case("C11", "lone surrogate")
def lone_surrogate(s: Session) -> Expected:
    """The line parses; the half character becomes U+FFFD in clean text, and that is said."""
    s.user("go")
    s.assistant("MARK")
    lines = [line.replace(b"MARK", b"a\\ud83eb") for line in s.lines()]
    return Expected(
        files=lines_file(s, lines),
        views=[["user: go", "say: a\ufffdb"]],
        stated=[(3, "lone_surrogate")],
        ledger={"kept:header": 1, "kept:step": 2},
        tell=[3],
    )


def _separator(s: Session, character: str) -> Expected:
    s.user(f"a{character}b")
    s.assistant("", exec_call("a"))
    s.result("a", f"c{character}d")
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[[f"user: a{character}b", f"call 0 exec {LS}", f"result 0: c{character}d", "say: end"]],
        ledger={"kept:header": 1, "kept:step": 4},
    )


@case("C12", "U+2028 in a string")
def line_separator(s: Session) -> Expected:
    """No line end."""
    return _separator(s, "\u2028")


@case("C12", "U+2029 in a string")
def paragraph_separator(s: Session) -> Expected:
    """No line end."""
    return _separator(s, "\u2029")


@case("C12", "U+0085 in a string")
def next_line(s: Session) -> Expected:
    """No line end."""
    return _separator(s, "\u0085")


@case("C13", "usage with and without cached tokens, and none")
def usage(s: Session) -> Expected:
    """Prompt tokens count cached ones once, whichever way the provider states them; all zero means unknown."""
    s.user("go")
    for number, stated in enumerate(
        (
            {"input": 10, "output": 5, "cacheRead": 90, "cacheWrite": 0, "totalTokens": 105},
            {"input": 100, "output": 5, "cacheRead": 90, "cacheWrite": 0, "totalTokens": 105},
            {"prompt_tokens": 100, "completion_tokens": 5, "cache_read_input_tokens": 90},
            {"input": 0, "output": 0, "totalTokens": 0},
        )
    ):
        s.assistant(f"answer {number}", usage=stated, responseId=f"{s.session_id}/r{number}")
    return Expected(
        files=one_file(s),
        views=[["user: go", *(f"say: answer {number}" for number in range(4))]],
        stated=[(6, "usage_unknown")],
        ledger={"kept:header": 1, "kept:step": 5},
        tokens=[(100, 5), (100, 5), (100, 5), None],
    )


@case("C15", "two models in one session")
def two_models(s: Session) -> Expected:
    """Each answer has its own model."""
    s.user("go")
    s.assistant("one", model="small", usage={"input": 90, "output": 10, "totalTokens": 100})
    s.user("on")
    s.assistant("two", model="large", usage={"input": 190, "output": 10, "totalTokens": 200})
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: one", "user: on", "say: two"]],
        ledger={"kept:header": 1, "kept:step": 4},
        models=["small", "large"],
        tokens=[(90, 10), (190, 10)],
    )


@case("C26", "NaN, Infinity and 1e309")
def nonfinite(s: Session) -> Expected:
    """The line is read; the numbers become null, and that is said."""
    s.user("go")
    s.assistant("", exec_call("a"))
    s.result("a", details={"exitCode": 0, "durationMs": 12345, "cost": 67890, "more": 24680})
    s.assistant("end")
    lines = [
        line.replace(b"12345", b"NaN").replace(b"67890", b"-Infinity").replace(b"24680", b"1e309") for line in s.lines()
    ]
    return Expected(
        files=lines_file(s, lines),
        views=[["user: go", f"call 0 exec {LS}", "result 0: ok", "say: end"]],
        stated=[(4, "nonfinite_number")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[4],
    )


@case("-", "bad timestamp")
def bad_timestamp(s: Session) -> Expected:
    """A time that cannot be read is null, and one that is missing too; both are said."""
    s.user("go")
    s.assistant("one")
    s.user("more")
    s.assistant("end")
    s.records[2]["timestamp"] = "the day before"
    del s.records[3]["timestamp"]
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: one", "user: more", "say: end"]],
        stated=[(3, "bad_timestamp"), (4, "missing_timestamp")],
        ledger={"kept:header": 1, "kept:step": 4},
        tell=[3, 4],
    )


@case("-", "times out of order")
def time_order(s: Session) -> Expected:
    """The order of the log is kept; the step back is said."""
    s.user("go")
    s.assistant("one")
    s.records[2]["timestamp"] = s.records[0]["timestamp"]
    return Expected(
        files=one_file(s),
        views=[["user: go", "say: one"]],
        stated=[(3, "out_of_order_time")],
        ledger={"kept:header": 1, "kept:step": 2},
    )


@case("-", "a key twice in one object")
def duplicate_keys(s: Session) -> Expected:
    """The last one counts, as JSON readers have it; that there were two is said."""
    s.user("go")
    s.assistant("MARK")
    lines = [line.replace(b'"text": "MARK"', b'"text": "first", "text": "last: one"') for line in s.lines()]
    return Expected(
        files=lines_file(s, lines),
        views=[["user: go", "say: last: one"]],
        stated=[(3, "duplicate_json_key")],
        ledger={"kept:header": 1, "kept:step": 2},
        tell=[3],
    )


@case("-", "byte order mark, CRLF, blank lines")
def line_ends(s: Session) -> Expected:
    """All of it is read."""
    s.user("go")
    s.assistant("one")
    lines = [line + b"\r" for line in s.lines()]
    lines[0] = b"\xef\xbb\xbf" + lines[0]
    lines.insert(2, b"  \r")
    return Expected(
        files=lines_file(s, lines),
        views=[["user: go", "say: one"]],
        stated=[(1, "utf8_bom"), (3, "blank_line")],
        ledger={"dropped:blank_line": 1, "kept:header": 1, "kept:step": 2},
    )


@case("-", "bytes that are no UTF-8")
def bad_bytes(s: Session) -> Expected:
    """The line is read, the bytes become U+FFFD in clean text, and that is said."""
    s.user("go")
    s.assistant("MARK")
    lines = [line.replace(b"MARK", b"a\xff\xfeb") for line in s.lines()]
    return Expected(
        files=lines_file(s, lines),
        views=[["user: go", "say: a\ufffd\ufffdb"]],
        stated=[(3, "bad_utf8_replaced")],
        ledger={"kept:header": 1, "kept:step": 2},
        tell=[3],
    )


@case("-", "integers above 2^64")
def huge_integers(s: Session) -> Expected:
    """Whole, digit for digit."""
    s.user("go")
    s.assistant("", ("a", "exec", {"command": "ls", "big": 2**70}))
    s.result("a")
    s.assistant("end")
    return Expected(
        files=one_file(s),
        views=[["user: go", f'call 0 exec {{"big":{2**70},"command":"ls"}}', "result 0: ok", "say: end"]],
        ledger={"kept:header": 1, "kept:step": 4},
    )


@case("-", "deep nesting, lines of no known kind")
def odd_records(s: Session) -> Expected:
    """Bounded depth, and a fate for lines that are no object or of no known type."""
    s.user("go")
    s.assistant("", ("a", "exec", {"command": "ls", "deep": "DEEP"}))
    s.result("a")
    s.assistant("end")
    s.add({"type": "telemetry_v9", "data": {}})
    deep = b'{"d":' * 1000 + b"1" + b"}" * 1000
    lines = [*(line.replace(b'"DEEP"', deep) for line in s.lines()), b"[1, 2]", b"not json"]
    kept = '{"d":' * 195 + '"[nested deeper than 200 levels]"' + "}" * 195
    arguments, whole = (f'{{"command":"ls","deep":{value}}}' for value in (kept, deep.decode()))
    return Expected(
        files=lines_file(s, lines),
        views=[["user: go", f"call 0 exec {arguments}", "result 0: ok", "say: end"]],
        stated=[(3, "deep_nesting"), (6, "unknown_record_type"), (7, "not_object"), (8, "bad_json")],
        ledger={
            "kept:header": 1, "kept:step": 4, "quarantined:bad_json": 1, "quarantined:not_object": 1,
            "quarantined:unknown_record_type": 1,
        },
        tell=[7, 8],
        accepted=[[["user: go", f"call 0 exec {whole}", "result 0: ok", "say: end"]]],
    )  # fmt: skip
