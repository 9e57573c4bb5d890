"""The log of model calls: one stream a fingerprint, answered from there when it is answered already.

    llm.answered   a completion, refusals and unusable ones too: paid for, never asked again
    llm.rejected   the endpoint will never take the request: never asked again
    llm.unanswered every try failed; asked again by the next run

Belongs here: these events and reading them back. Does not belong here: asking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import sql
from assets.llm.question import Asked
from assets.llm.usage import Usage
from assets.llm.wire import Completion
from assets.profile import LlmSection
from lake import Lake
from lake.ids import canonical, event_id, sha256_hex

KIND: Final = "llm_call"
ANSWERED, REJECTED, UNANSWERED = "llm.answered", "llm.rejected", "llm.unanswered"
_INLINE: Final = 16 * 1024
"""Longer texts of answers are blobs. Bytes."""
_COMMIT_EVERY: Final = 256
"""Answers between two commits; bounds what a run holds in memory."""


class Journal:
    """The calls of one lake, for one run. Not for several threads: it belongs to the loop that asks."""

    def __init__(self, lake: Lake, settings: LlmSection, run_id: str | None) -> None:
        lake.commit()  # what a killed run had been answered is in the log too
        self._lake, self._settings = lake, settings
        self._ended = lake.streams(KIND, (ANSWERED, REJECTED))
        self._failed_before = {stream: int(count) for stream, count in lake.sql(sql.load("llm/failed")).fetchall()}
        self._fresh: dict[str, Mapping[str, Any]] = {}
        self._spool = lake.spool("llm", run_id)

    def spent(self) -> dict[str, Usage]:
        """Model to what it used so far, by the log."""
        rows = self._lake.sql(sql.load("llm/spent")).fetchall()
        return {str(model): Usage(*(int(value) for value in figures)) for model, *figures in rows}

    def find(self, call_id: str) -> Completion | str | None:
        """The answer to a question, why it is rejected, or null where it must be asked."""
        payload = self._fresh.get(call_id)
        if payload is None and call_id in self._ended:
            payload = self._read(call_id)
        if payload is None:
            return None
        if "completion" not in payload:
            return str(payload["detail"])
        said = dict(payload["completion"])
        for name in ("text", "reasoning"):
            if f"{name}_sha256" in said:
                said[name] = self._text(said.pop(f"{name}_sha256"))
        return Completion(**{**said, "usage": Usage(**said["usage"])})

    def event_of(self, call_id: str) -> str:
        """The event that ended a call for good."""
        return event_id(KIND, call_id, self._failed_before.get(call_id, 0))

    def answered(self, asked: Asked, completion: Completion, endpoint: str, mode: str, tries: Sequence[Any]) -> None:
        """State an answer; it is on disk when this returns."""
        said = asdict(completion)
        fresh = dict(said)
        for name in ("text", "reasoning"):
            data = said[name].encode("utf-8", "surrogatepass")
            if len(data) > _INLINE:
                said[f"{name}_sha256"] = self._spool.put_blob(data, "text/plain")
                del said[name]
        cost = completion.usage.cost(self._settings.prices.get(asked.model))
        payload = {
            **self._about(asked, endpoint, tries),
            "mode": mode,
            "completion": said,
            "cost": cost,
            "currency": self._settings.currency if cost is not None else None,
        }
        self._emit(asked.call_id, ANSWERED, payload)
        self._fresh[asked.call_id] = {**payload, "completion": fresh}

    def rejected(self, asked: Asked, detail: str, endpoint: str, tries: Sequence[Any]) -> None:
        """State that the endpoint will never take it."""
        payload = {**self._about(asked, endpoint, tries), "detail": detail}
        self._emit(asked.call_id, REJECTED, payload)
        self._fresh[asked.call_id] = payload

    def unanswered(self, asked: Asked, detail: str, endpoint: str, tries: Sequence[Any]) -> None:
        """State that it was tried in vain."""
        self._emit(asked.call_id, UNANSWERED, {**self._about(asked, endpoint, tries), "detail": detail})
        self._failed_before[asked.call_id] = self._failed_before.get(asked.call_id, 0) + 1

    def close(self) -> None:
        """Give the spool to the committer."""
        self._spool.close()
        self._lake.commit()

    def _about(self, asked: Asked, endpoint: str, tries: Sequence[Any]) -> dict[str, Any]:
        prompt = canonical([dict(message) for message in asked.messages]).encode("utf-8", "surrogatepass")
        return {
            "call_id": asked.call_id,
            "role": asked.role,
            "model": asked.model,
            "endpoint": endpoint,
            "parameters": dict(asked.parameters),
            "step": asked.step,
            "prompt_version": asked.version,
            "sample": asked.sample,
            "subject": asked.subject,
            "schema": asked.schema_name,
            "schema_sha256": sha256_hex(canonical(dict(asked.schema))),
            "prompt_sha256": self._spool.put_blob(prompt, "application/json"),
            "prompt_bytes": len(prompt),
            "tries": list(tries),
        }

    def _emit(self, call_id: str, event: str, payload: Mapping[str, Any]) -> None:
        self._spool.stream(KIND, call_id, next_seq=self._failed_before.get(call_id, 0)).emit(event, payload)
        self._spool.sync()
        if len(self._fresh) >= _COMMIT_EVERY:
            self._spool.seal()
            self._lake.commit()
            self._ended |= set(self._fresh)
            self._fresh.clear()

    def _read(self, call_id: str) -> Mapping[str, Any]:
        ((payload, blob),) = self._lake.sql(sql.load("llm/one"), {"call": call_id}).fetchall()
        found: dict[str, Any] = json.loads(payload if payload is not None else self._lake.blob(blob))
        return found

    def _text(self, sha256: str) -> str:
        return self._lake.blob(sha256).decode("utf-8", "surrogatepass")
