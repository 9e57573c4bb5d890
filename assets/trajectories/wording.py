"""What OpenClaw puts around the words of a user or an answer, and how it is left out of clean text.

Each way out is a rule; raw keeps everything. Used on transcripts and, alike, on the requests served, so that the two
can be compared. Does not belong here: dropping whole records (`clean`).
"""

from __future__ import annotations

import re
from typing import Final

from assets.trajectories.rules import fields
from assets.trajectories.rules.registry import Rule

INTERNAL_BEGIN: Final = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
_INTERNAL_END: Final = "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
_INTERNAL: Final = re.compile(re.escape(INTERNAL_BEGIN) + r".*?(?:" + re.escape(_INTERNAL_END) + r"|\Z)\s*", re.DOTALL)
_FENCED: Final = re.compile(r"\A[A-Z][A-Za-z ]{2,60} \(untrusted[^)\n]*\):\n```json\n.*?\n```\n*", re.DOTALL)
_CONTEXT: Final = re.compile(r"\A[A-Z][A-Za-z ]{2,60} \(untrusted[^)\n]*\):\n(?:#\S* [^\n]*(?:\n|\Z))+\n*")
_SYSTEM: Final = re.compile(r"\A(?:System: \[[^\]\n]+\] [^\n]*(?:\n|\Z))+\n*")
_DATE: Final = re.compile(
    r"\A\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?: [A-Za-z0-9+:/_-]{1,40})?\] ?"
)
_RUNTIME: Final = re.compile(r"\n\nRuntime: agent=[^\n]*\Z")
_CRON: Final = re.compile(r"\A\[cron:[^\]\n]*\] ?")
_CRON_TAIL: Final = re.compile(
    r"\nCurrent time: [^\n]*"
    r"(?:\n\nReturn your (?:summary|response) as plain text; it will be delivered automatically\..*)?\Z",
    re.DOTALL,
)
_REPLY: Final = re.compile(r"\[\[\s*(?:reply_to_current|reply_to:[^\]\n]{0,120}|audio_as_voice)\s*\]\]\s?")
_UNTRUSTED_MARK: Final = "EXTERNAL_UNTRUSTED_CONTENT"
_NEWLINE: Final = r"(?:\n|\\n)"
_UNTRUSTED: Final = re.compile(
    r"(?:SECURITY NOTICE: The following content is from an EXTERNAL, UNTRUSTED source(?:(?!<<<).)*)?"
    rf"<<<EXTERNAL_UNTRUSTED_CONTENT[^>\n]{{0,60}}>>>{_NEWLINE}?"
    rf"(?:Source: (?:(?!{_NEWLINE}).)*{_NEWLINE}(?:(?!---)(?:(?!{_NEWLINE}).)*{_NEWLINE}){{0,4}}---{_NEWLINE})?"
    rf"|{_NEWLINE}?<<<END_EXTERNAL_UNTRUSTED_CONTENT[^>\n]{{0,60}}>>>",
    re.DOTALL,
)
"""The wrapper around content from outside, in plain text or (line ends escaped) inside JSON text."""
_HEARTBEAT_POLL: Final = "[OpenClaw heartbeat poll]"
_HEARTBEAT_PROMPT: Final = "Read HEARTBEAT.md if it exists"
_ACK_CHARS: Final = 300
"""OpenClaw takes an answer with the token and at most so many other characters for an acknowledgement."""
SYNTHETIC_RESULTS: Final = (
    "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.",
    "[moltbot] missing tool result in session history; inserted synthetic error result for transcript repair.",
    "[clawdbot] missing tool result in session history; inserted synthetic error result for transcript repair.",
    "No result provided",
)
"""Texts by which OpenClaw and its predecessors repair a transcript."""


def strip_user(text: str) -> tuple[str, list[Rule]]:
    """A user's own words, and the rules that left something out or say what kind of message it is."""
    applied: list[Rule] = []
    if text.startswith("[Inter-session message]"):
        return text, [fields.INTER_SESSION]
    for _ in range(20):  # envelopes, dates and system lines come in any order, each maybe more than once
        before = text
        for pattern, rule in _LEADING:
            text, count = pattern.subn("", text, count=1)
            if count and rule not in applied:
                applied.append(rule)
        if text == before:
            break
    if "\n\nRuntime: agent=" in text:
        text, count = _RUNTIME.subn("", text)
        if count:
            applied.append(fields.RUNTIME_SUFFIX)
    if INTERNAL_BEGIN in text:
        text = _INTERNAL.sub("", text)
        applied.append(fields.INTERNAL_CONTEXT)
    text, wrapped = strip_untrusted(text)
    applied += wrapped
    if text.startswith("[cron:"):
        text = _CRON_TAIL.sub("", _CRON.sub("", text))
        applied.append(fields.CRON)
    elif text.startswith("[Subagent Context]"):
        applied.append(fields.SUBAGENT_CONTEXT)
    elif text.startswith("A new session was started via /new or /reset."):
        applied.append(fields.SESSION_PROMPT)
    return text, applied


_LEADING: Final = (
    (_FENCED, fields.ENVELOPE),
    (_CONTEXT, fields.ENVELOPE),
    (_SYSTEM, fields.SYSTEM_LINES),
    (_DATE, fields.DATE_PREFIX),
)


def strip_answer(text: str) -> tuple[str, list[Rule]]:
    """An answer without reply directives."""
    if "[[" not in text:
        return text, []
    stripped, count = _REPLY.subn("", text)
    return stripped, [fields.REPLY_TAG] if count else []


def strip_untrusted(text: str) -> tuple[str, list[Rule]]:
    """Content from outside without its wrapper and the warning before it."""
    if _UNTRUSTED_MARK not in text:
        return text, []
    stripped, count = _UNTRUSTED.subn("", text)
    return stripped, [fields.UNTRUSTED] if count else []


def is_heartbeat(text: str) -> bool:
    """Whether a user message is a heartbeat prompt."""
    return _HEARTBEAT_PROMPT in text or text.strip() == _HEARTBEAT_POLL


def is_acknowledgement(text: str) -> bool:
    """Whether an answer only says that there was nothing to do."""
    text = text.strip()
    for token in ("HEARTBEAT_OK", "NO_REPLY"):
        if text.startswith(token) or text.endswith(token):
            return len(text) - len(token) <= _ACK_CHARS
    return not text


def is_silence(text: str) -> bool:
    """Whether an answer is the silence token and nothing else."""
    return text.strip() == "NO_REPLY"


def is_synthetic_result(text: str) -> bool:
    """Whether a tool result is one OpenClaw made up to repair its transcript."""
    return text.strip() in SYNTHETIC_RESULTS


def is_transient(text: str) -> bool:
    """Whether a message at the end of a request is internal context that the next request does not hold."""
    return text.lstrip().startswith(INTERNAL_BEGIN)
