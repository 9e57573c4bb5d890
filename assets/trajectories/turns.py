"""Entries of one branch to steps: noise out, duplicates out, words cleaned. Pairing comes after (`pairing`).

Every entry that is left out gets its fate and a finding here. Does not belong here: the tree, linear messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from assets.trajectories.content import Content, dumps, read_content
from assets.trajectories.entries import Entry
from assets.trajectories.findings import Findings
from assets.trajectories.rules import fields, noise
from assets.trajectories.steps import Step, assistant_step, result_step
from assets.trajectories.tree import is_extra, is_mirror
from assets.trajectories.wording import (
    is_acknowledgement,
    is_heartbeat,
    is_silence,
    strip_answer,
    strip_untrusted,
    strip_user,
)

_CUT_SHORT: Final = frozenset({"error", "aborted"})
_FAILED: Final = "[assistant turn failed before producing content]"
_SUMMARY: Final = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>"
)
_BRANCH: Final = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}\n</summary>"
)
_CHECKS: Final = frozenset({"explore", "read", "check"})


@dataclass
class Turns:
    """Steps of a branch before pairing, and how it ended."""

    steps: list[Step] = field(default_factory=list)
    heartbeats: int = 0
    """Heartbeat exchanges left out."""
    last: str = ""
    """Of the last thing said: user | assistant | tool | error | aborted | length."""


class Reader:
    """Reads entries of one session into steps; content is read once, however many branches hold the entry."""

    def __init__(self, cwd: str | None, findings: Findings) -> None:
        self._cwd, self._findings = cwd, findings
        self._contents: dict[str, Content] = {}
        self._heartbeat: set[int] = set()

    def turns(self, path: list[tuple[Entry, bool]]) -> Turns:
        """Steps of one context window.

        Args:
            path: entries in order, each with whether it is only context here (kept over a compaction).
        """
        found = Turns()
        self._heartbeat = set()
        for entry, context in path:
            step = self._step(entry, found)
            if step is not None:
                step.context = context
                found.steps.append(step)
        found.steps = self._without_duplicates(found.steps)
        found.steps = self._without_heartbeats(found)
        found.steps = self._without_repeats(found.steps)
        return found

    # --- one entry -------------------------------------------------------------------------------------------

    def _step(self, entry: Entry, found: Turns) -> Step | None:
        if entry.kind == "message":
            if entry.role == "assistant":
                return self._assistant(entry, found)
            if entry.role == "toolResult":
                found.last = "tool"
                content = self._content(entry, "\n")
                step = result_step(entry, content, self._findings)
                step.text, applied = strip_untrusted(step.text)
                for rule in applied:
                    self._findings.add(entry, rule)
                return step
            return self._user(entry, found)
        if entry.kind == "custom_message":
            return self._custom(entry)
        if entry.kind in ("compaction", "branch_summary"):
            summary = entry.value.get("summary")
            text = summary if isinstance(summary, str) else ""
            frame = _SUMMARY if entry.kind == "compaction" else _BRANCH
            self._findings.keep(entry, entry.kind)
            return Step(entry, "user", frame.format(text), ts=entry.ts) if text.strip() else None
        if entry.kind == "reset":
            self._findings.keep(entry, "reset")
        return None

    def _content(self, entry: Entry, joiner: str) -> Content:
        content = self._contents.get(entry.id)
        if content is None:
            content = self._contents[entry.id] = read_content(entry, self._findings, joiner=joiner)
        return content

    def _assistant(self, entry: Entry, found: Turns) -> Step | None:
        if is_extra(entry):
            self._findings.drop(entry, noise.MIRROR if is_mirror(entry) else noise.INJECTED)
            return None
        content = self._content(entry, "")
        stop = str(entry.message.get("stopReason"))
        found.last = stop if stop in ("error", "aborted", "length") else "assistant"
        text = content.text.strip()
        said = text if text != _FAILED or stop != "error" else ""
        if not (said or content.thinking or content.calls):
            empty = {"error": noise.FAILED_TURN, "aborted": noise.ABORTED_TURN}.get(stop, noise.EMPTY_TURN)
            self._findings.drop(entry, empty, str(entry.message.get("errorMessage") or "")[:200])
            return None
        if is_silence(content.text) and not content.calls:
            self._findings.drop(entry, noise.NO_REPLY)
            return None
        step = assistant_step(entry, content, self._cwd, self._findings)
        step.text, applied = strip_answer(step.text)
        for rule in applied:
            self._findings.add(entry, rule)
        if stop in _CUT_SHORT:
            self._findings.add(entry, noise.PARTIAL_TURN, f"stop reason {stop}")
            step.spoken = False
        return step

    def _user(self, entry: Entry, found: Turns) -> Step | None:
        found.last = "user"
        if entry.role == "bashExecution":
            message = entry.message
            text = f"Ran `{message.get('command')}`\n```\n{message.get('output') or ''}\n```"
            return Step(entry, "user", text, ts=entry.ts)
        content = self._content(entry, "\n")
        if is_heartbeat(content.text):
            self._heartbeat.add(entry.position)
        text, applied = strip_user(content.text)
        if not text.strip():  # nothing but what OpenClaw put there: it stays, and nothing was repaired
            text, applied = content.text, [rule for rule in applied if rule.action == "noted"]
        provenance = entry.message.get("provenance")
        if isinstance(provenance, dict) and provenance.get("kind") == "inter_session":
            applied.append(fields.INTER_SESSION)
        for rule in applied:
            self._findings.add(entry, rule)
        return Step(entry, "user", text, ts=entry.ts)

    def _custom(self, entry: Entry) -> Step | None:
        name = entry.value.get("customType")
        if name in ("openclaw.runtime-context", "openclaw:runtime-context"):
            self._findings.drop(entry, noise.RUNTIME_CONTEXT)
            return None
        if name == "openclaw:turn-aborted":
            self._findings.drop(entry, noise.TURN_ABORTED)
            return None
        value = entry.value.get("content")
        if isinstance(value, list):
            value = "\n".join(str(b.get("text", "")) for b in value if isinstance(b, dict))
        text = value if isinstance(value, str) else dumps(value)
        if not text.strip() or value is None:
            self._findings.drop(entry, noise.NOISE, f"custom message {name}"[:80])
            return None
        return Step(entry, "user", text, ts=entry.ts)

    # --- many entries ----------------------------------------------------------------------------------------

    def _without_duplicates(self, steps: list[Step]) -> list[Step]:
        """One step for each time the model ran: by response id, by equal or joined text of neighbours."""
        dropped: set[int] = set()
        by_response: dict[str, Step] = {}
        run: list[Step] = []
        for step in steps:
            if step.role != "assistant":
                run = []
                continue
            first = by_response.get(step.response_id or "")
            if first is not None and (not (first.spoken and step.spoken) or _contains(step, first)):
                loser = _lesser(first, step)
                self._duplicate(loser, step if loser is first else first, dropped)
                if loser is first:
                    by_response[step.response_id or ""] = step
                continue
            if step.response_id:
                by_response[step.response_id] = step
            if not step.spoken:
                run = []
                continue
            for earlier in _retold(step, run):
                self._duplicate(earlier, step, dropped)
                run.remove(earlier)
            run.append(step)
        return [step for step in steps if step.at.position not in dropped]

    def _duplicate(self, loser: Step, kept: Step, dropped: set[int]) -> None:
        dropped.add(loser.at.position)
        self._findings.drop(loser.at, noise.DUPLICATE_RESPONSE, f"of line {kept.at.line}")

    def _without_heartbeats(self, found: Turns) -> list[Step]:
        if not self._heartbeat:
            return found.steps
        kept: list[Step] = []
        exchange: list[Step] = []
        for step in [*found.steps, None]:
            if step is not None and step.role != "user":
                exchange.append(step)
                continue
            kept += self._beaten(exchange, found)
            exchange = [step] if step is not None else []
        return kept

    def _beaten(self, exchange: list[Step], found: Turns) -> list[Step]:
        """An exchange as it is, or nothing when it is a heartbeat that did nothing."""
        if not exchange or exchange[0].at.position not in self._heartbeat:
            return exchange
        answers = [step for step in exchange if step.role == "assistant"]
        calls = [call for step in answers for call in step.calls]
        if all(call.phase in _CHECKS for call in calls) and (not answers or is_acknowledgement(answers[-1].text)):
            found.heartbeats += 1
            for step in exchange:
                self._findings.drop(step.at, noise.HEARTBEAT)
            return []
        self._findings.add(exchange[0].at, noise.HEARTBEAT_WORK, f"{len(calls)} calls")
        return exchange

    def _without_repeats(self, steps: list[Step]) -> list[Step]:
        kept: list[Step] = []
        asked: Step | None = None
        for step in steps:
            if step.role == "user" and isinstance(step.at, Entry) and step.at.role == "user":
                if asked is not None and asked.text == step.text and step.text.strip():
                    self._findings.drop(step.at, noise.REPEATED_PROMPT, f"of line {asked.at.line}")
                    continue
                asked = step
            elif step.role == "assistant" and step.spoken:
                asked = None
            kept.append(step)
        return kept


def _said(step: Step) -> str:
    return step.text + step.thinking + "".join(dumps(call.arguments) for call in step.calls)


def _lesser(one: Step, other: Step) -> Step:
    """The record of one answer to do without: the one cut short, else the one that says less, else the later."""
    if one.spoken != other.spoken:
        return other if one.spoken else one
    return one if len(_said(other)) > len(_said(one)) else other


def _contains(one: Step, other: Step) -> bool:
    """Whether two steps are one answer stored twice: the same calls, and one text in the other."""
    if [c.name for c in one.calls] != [c.name for c in other.calls]:
        return bool(not one.calls or not other.calls) and _within(one.text, other.text)
    return _within(one.text, other.text) and [c.arguments for c in one.calls] == [c.arguments for c in other.calls]


def _within(one: str, other: str) -> bool:
    short, long = sorted((" ".join(one.split()), " ".join(other.split())), key=len)
    return short in long


def _retold(step: Step, run: list[Step]) -> list[Step]:
    """Earlier neighbours whose texts the step tells again, alone or joined."""
    if not run or (step.calls and run[-1].calls):
        return []
    ids = {earlier.response_id for earlier in run} | {step.response_id}
    if None not in ids and len(ids) == len(run) + 1:
        return []  # each has a response id of its own: the model ran that often
    text = " ".join(step.text.split())
    if not text:
        return []
    told: list[Step] = []
    for earlier in reversed(run):
        if earlier.calls or not earlier.text.strip():
            break
        told.insert(0, earlier)
        if " ".join(" ".join(part.text.split()) for part in told) == text:
            return told
    return []
