"""Cleaned sessions to rows of the tables, every text masked.

Belongs here: columns. Does not belong here: cleaning, Arrow, which sources there are (`projection`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from assets.trajectories.clean import CleanBranch, CleanSession, SourceRef, Stated
from assets.trajectories.content import dumps
from assets.trajectories.findings import Fate, Findings, Place
from assets.trajectories.linear import linear
from assets.trajectories.rules.fields import SECRET
from assets.trajectories.served import Served, ServedCall
from assets.trajectories.steps import Step
from lake.ids import Json
from lake.masking import Masker

Rows = dict[str, list[dict[str, Json]]]
"""Rows by table."""

_INT64: Final = 2**63 - 1
_CHARACTERS_PER_TOKEN: Final = 4


@dataclass
class Context:
    """What is known of a session beside its records."""

    ref: SourceRef
    attempt: Mapping[str, Json] | None = None
    """The attempt's row."""
    system: str | None = None
    system_at: Place | None = None
    """Record the system prompt was taken from."""
    tools: Json = None
    harness: str | None = None
    """Agent software and its version."""
    differs: Callable[[CleanBranch], float | None] = lambda _: None
    """Share of a trajectory's turns that were served another context."""


@dataclass
class Renderer:
    """Renders one attempt or one foreign session; secrets are numbered over all of it."""

    rows: Rows
    masker: Masker = field(default_factory=Masker)
    home: CleanBranch | None = None
    """The trajectory of calls that made no step."""
    joined: dict[int, tuple[CleanBranch, Step]] = field(default_factory=dict)
    """Calls by number, with the step each made."""
    _numbers: dict[int, int] = field(default_factory=dict)
    """id() of a step to its number."""

    def session(self, session: CleanSession, context: Context) -> None:
        """Rows of a session's trajectories. Findings are rendered apart, when all are in (`findings`)."""
        for branch in session.branches:
            self._branch(session, branch, context)

    def findings(
        self, ref: SourceRef, findings: Findings, ledger: Mapping[Fate, int], trajectory_of: Mapping[int, str]
    ) -> None:
        """Rows of `diagnostics` and `ledger` of one source version."""
        ordinals: Counter[tuple[int, str]] = Counter()
        for found in findings.found.values():
            key = (found.position, found.rule.name)
            self.rows["diagnostics"].append(
                {
                    "source_id": ref.source_id,
                    "version": ref.version,
                    "position": found.position,
                    "line": found.line,
                    "rule": found.rule.name,
                    "rule_version": found.rule.version,
                    "ordinal": ordinals[key],
                    "severity": found.rule.severity,
                    "action": found.action,
                    "session_id": ref.session_id,
                    "attempt_id": ref.attempt_id,
                    "trajectory_id": trajectory_of.get(found.position),
                    "detail": self.masker.mask(found.detail),
                    "record_key": found.key,
                }
            )
            ordinals[key] += 1
        for (disposition, rule), records in ledger.items():
            self.rows["ledger"].append(
                {
                    "source_id": ref.source_id,
                    "version": ref.version,
                    "source_kind": ref.kind,
                    "session_id": ref.session_id,
                    "attempt_id": ref.attempt_id,
                    "disposition": disposition,
                    "rule": rule,
                    "records": records,
                }
            )

    # --- trajectories ----------------------------------------------------------------------------------------

    def _branch(self, session: CleanSession, branch: CleanBranch, context: Context) -> None:
        before = self.masker.count
        first = 0
        if context.system is not None and context.system_at is not None:
            step = Step(context.system_at, "system", context.system)
            self._step(branch, 0, step, None)
            first = 1
        for number, step in enumerate(branch.steps, first):
            self._numbers[id(step)] = number
        for number, step in enumerate(branch.steps, first):
            self._step(branch, number, step, session.findings)
            self._calls(branch, number, step, session.findings)
        self._trajectory(session, branch, context, before)

    def _mask(self, step: Step, text: str, findings: Findings | None) -> str:
        masked, kinds = self.masker.mask_with_kinds(text)
        if kinds and findings is not None:
            for kind, count in sorted(Counter(kinds).items()):
                findings.add(step.at, SECRET, f"{kind} × {count}")
        return masked

    def _name(self, name: str | None) -> str | None:
        """A name or an id of the log, which is no place for a secret, so only what is one by its own form is masked.

        Digits are ids here, not cards or phones.
        """
        return name if name is None else self.masker.mask_name(name)

    def _step(self, branch: CleanBranch, number: int, step: Step, findings: Findings | None) -> None:
        self.rows["steps"].append(
            {
                "trajectory_id": branch.trajectory_id,
                "step": number,
                "role": step.role,
                "text": self._mask(step, step.text, findings),
                "thinking": self._mask(step, step.thinking, findings) if step.thinking else None,
                "call_count": len(step.calls),
                "tool_call_id": self._name(step.tool_call_id),
                "is_error": step.is_error,
                "stop_reason": self._name(step.stop_reason),
                "model": self._name(step.model),
                "response_id": self._name(step.response_id),
                "input_tokens": step.input_tokens,
                "output_tokens": step.output_tokens,
                "usage": None if step.usage is None else self.masker.mask_json_text(step.usage),
                "in_messages": step.spoken,
                "copied_context": step.context,
                "ts": step.ts,
                "record_key": step.at.key,
                "proxy_record_key": step.proxy_key,
            }
        )

    def _calls(self, branch: CleanBranch, number: int, step: Step, findings: Findings) -> None:
        for index, call in enumerate(step.calls):
            result = call.result
            arguments = self.masker.mask_json(call.arguments)
            if arguments != dumps(call.arguments):
                findings.add(step.at, SECRET, f"in arguments of {self._name(call.name)}"[:80])
            self.rows["tool_calls"].append(
                {
                    "trajectory_id": branch.trajectory_id,
                    "step": number,
                    "call_index": index,
                    "tool_call_id": self._name(call.id),
                    "tool": self._name(call.name),
                    "arguments": arguments,
                    "phase": call.phase,
                    "target": None if call.target is None else self.masker.mask(call.target),
                    "result_step": None if result is None else self._numbers.get(id(result)),
                    "result_chars": None if result is None else len(result.text),
                    "is_error": None if result is None else result.is_error,
                    "error_source": None if result is None else result.error_source,
                    "exit_code": None if result is None else result.exit_code,
                    "duration_ms": None if result is None else result.duration_ms,
                    "record_key": step.at.key,
                    "result_record_key": None if result is None else result.at.key,
                }
            )

    def _trajectory(self, session: CleanSession, branch: CleanBranch, context: Context, before: int) -> None:
        own = [step for step in branch.steps if not step.context]
        answers = [step for step in own if step.role == "assistant"]
        calls = [call for step in answers for call in step.calls]
        models = Counter(step.model for step in answers if step.model)
        attempt = context.attempt or {}
        messages = [self._message(message) for _, message in linear(branch.steps, context.system)]
        stated = session.stated.get(branch.trajectory_id, Stated(context.tools, context.harness))
        rules = {f.rule.label for f in session.findings.found.values() if f.position in branch.places}
        self.rows["trajectories"].append(
            {
                "trajectory_id": branch.trajectory_id,
                "session_id": branch.session_id,
                "parent_session": branch.parent_session,
                "source_id": context.ref.source_id,
                "attempt_id": context.ref.attempt_id,
                "task_id": attempt.get("task_id"),
                "policy": attempt.get("policy"),
                "branch": branch.branch,
                "class": branch.class_,
                "model": self._name(models.most_common(1)[0][0]) if models else None,
                "turns": len(answers),
                "user_turns": sum(step.role == "user" for step in own),
                "tool_calls": len(calls),
                "tool_types": len({call.name for call in calls}),
                "tool_errors": sum(call.result is not None and bool(call.result.is_error) for call in calls),
                "input_tokens": _sum(step.input_tokens for step in answers),
                "output_tokens": _sum(step.output_tokens for step in answers),
                "text_tokens": sum(map(_length, messages)) // _CHARACTERS_PER_TOKEN,
                "started_at": branch.started_at,
                "ended_at": branch.ended_at,
                "messages": "[" + ",".join(map(dumps, messages)) + "]",
                "tools": None if stated.tools is None else self.masker.mask_json(stated.tools),
                "harness": self._name(stated.harness),
                "context_differs": context.differs(branch),
                "rules": sorted(rules),
                "secrets_masked": self.masker.count - before,
            }
        )

    def _message(self, message: dict[str, Json]) -> dict[str, Json]:
        masked = {**message, "content": self.masker.mask(message["content"])}
        if "tool_call_id" in message:
            masked["tool_call_id"] = self._name(message["tool_call_id"])
        if "tool_calls" in message:
            masked["tool_calls"] = [
                {
                    **call,
                    "id": self._name(call["id"]),
                    "function": {
                        "name": self._name(call["function"]["name"]),
                        "arguments": self.masker.mask_json_text(call["function"]["arguments"]),
                    },
                }
                for call in message["tool_calls"]
            ]
        return masked

    # --- samples ---------------------------------------------------------------------------------------------

    def samples(self, served: Served) -> None:
        """Rows of `samples`: every call that was served messages, with the step it made."""
        if self.home is None:
            return
        texts = [self.masker.mask_json(message.value) for message in served.messages]
        for call in served.calls:
            if not call.messages:
                continue
            branch, step = self.joined.get(call.number, (self.home, None))
            self.rows["samples"].append(
                {
                    "trajectory_id": branch.trajectory_id,
                    "call": call.number,
                    "step": None if step is None else self._numbers.get(id(step)),
                    "kind": call.kind,
                    "parent_call": call.parent,
                    "shared_messages": call.shared,
                    "transient_messages": len(call.messages) - call.stable,
                    "prompt_messages": "[" + ",".join(texts[number] for number in call.messages) + "]",
                    **self._completion(call),
                    "finish_reason": self._name(call.finish_reason),
                    "status": call.status,
                    "response_id": self._name(call.response_id),
                    "record_key": call.at.key,
                }
            )

    def _completion(self, call: ServedCall) -> dict[str, Json]:
        if call.completion is None:
            return {}
        return {
            "completion": self.masker.mask_json(call.completion.message),
            "prompt_token_ids": call.completion.prompt_token_ids,
            "completion_token_ids": call.completion.completion_token_ids,
            "logprobs": call.completion.logprobs,
        }


def _length(message: Mapping[str, Json]) -> int:
    calls = message.get("tool_calls") or ()
    return len(message["content"]) + sum(
        len(call["function"]["name"]) + len(call["function"]["arguments"]) for call in calls
    )


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(sum(known), _INT64) if known else None
