"""Asks: from the log where it can, else the endpoint, within the budget, with retries and one repair round.

Belongs here: the order of things for one question, and many of them at a time. Does not belong here: the request
(`wire.py`), the events (`journal.py`), what is asked.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar

from pydantic import BaseModel

from assets.llm.account import Account
from assets.llm.failures import LlmError, OutOfBudget
from assets.llm.journal import Journal
from assets.llm.question import Asked, Message, Question, Role
from assets.llm.structured import MalformedError, instruction, read, request_field, strict_schema
from assets.llm.usage import Usage
from assets.llm.wire import PASSING, Completion, OpenAiWire, Wire, WireError
from assets.profile import LlmSection
from lake import Lake
from lake.errors import SetupError, StageError
from lake.ids import canonical

T = TypeVar("T", bound=BaseModel)
Sleep = Callable[[float], Awaitable[None]]
Done = Callable[[int, int], None]
"""Called with the calls answered by the endpoint and by the log so far."""

MODES: Final = ("json_schema", "json_object", "text")
SILENT: Final = 3
"""Calls in a row, every try of each in vain, that mean an endpoint is down; more where more go at a time."""
_LONGEST_WAIT_S: Final = 60.0
_BASE_WAIT_S: Final[dict[str, float]] = {"busy": 2.0, "server": 1.0, "connection": 1.0, "timeout": 0.5, "broken": 0.5}


class Client:
    """Everything a run asks of models. Belongs to one event loop; open it with `async with`."""

    def __init__(
        self,
        lake: Lake,
        settings: LlmSection,
        *,
        run_id: str | None = None,
        wire: Wire | None = None,
        sleep: Sleep = asyncio.sleep,
        on_call: Done = lambda asked, known: None,
    ) -> None:
        """Open the log; nothing is asked yet.

        Raises:
            SetupError: a role has a model, and OPENAI_BASE_URL is not set.
            UsageError: there is a cap in money, and a model without a price.
        """
        self._settings, self._sleep, self._on_call = settings, sleep, on_call
        self.models: Mapping[Role, str] = models(settings)
        self._wire = wire or _wire(settings)
        self._journal = Journal(lake, settings, run_id)
        try:
            self._account = Account(settings, self._journal.spent(), sorted(set(self.models.values())), section="llm")
        except BaseException:
            self._journal.close()
            raise
        self._room = asyncio.Semaphore(settings.concurrency)
        self._flights: dict[str, asyncio.Future[Completion]] = {}
        self._modes: dict[str, str] = {}
        self._silent = 0
        self.asked = 0
        """Calls the endpoint answered in this run."""
        self.known = 0
        """Calls the log answered in this run."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._wire.close()
        self._journal.close()

    def event_of(self, call_id: str) -> str:
        """The event of an answered call, for what was caused by it."""
        return self._journal.event_of(call_id)

    async def ask(self, question: Question[T]) -> tuple[T, str]:
        """The answer as the question's schema, and the id of the call that gave it.

        An answer that does not fit, or is cut at the limit, is sent back once with what is wrong.

        Raises:
            LlmError: there is no usable answer: the record is to be set aside.
            OutOfBudget: nothing more is asked.
            StageError: every further question would fail the same way.
        """
        schema = strict_schema(question.schema)
        messages: list[Message] = [
            {"role": "system", "content": f"{question.system}\n\n{instruction(schema)}"},
            {"role": "user", "content": question.user},
        ]
        problem = ""
        for _ in range(2):
            asked = self._asked(question, messages, schema)
            completion = await self._complete(asked)
            if completion.refusal or completion.finish_reason == "content_filter":
                raise LlmError("refused", completion.refusal or "filtered by the endpoint", asked.call_id)
            try:
                return read(completion.text, question.schema), asked.call_id
            except MalformedError as error:
                cut = completion.finish_reason == "length"
                problem = "the answer was cut at its longest length; be much shorter" if cut else str(error)
            messages = [
                *messages,
                {"role": "assistant", "content": completion.text},
                {"role": "user", "content": f"That does not fit: {problem}. Give the whole JSON object again."},
            ]
        raise LlmError("too_long" if cut else "malformed", problem, asked.call_id)

    def _asked(self, question: Question[T], messages: Sequence[Message], schema: dict[str, Any]) -> Asked:
        role = getattr(self._settings, question.role)
        model = self.models.get(question.role)
        if model is None:
            raise StageError(f"nobody is the {question.role}: set llm.{question.role}.model")
        parameters: dict[str, Any] = {**role.parameters, self._settings.length_field: role.max_tokens}
        if role.temperature is not None:
            parameters["temperature"] = role.temperature
        return Asked(
            question.role, model, parameters, messages, question.schema.__name__, schema,
            question.step, question.version, question.sample, question.subject,
        )  # fmt: skip

    async def _complete(self, asked: Asked) -> Completion:
        """The completion of one request; two who ask the same at the same time wait for one."""
        flight = self._flights.get(asked.call_id)
        if flight is not None:
            return await asyncio.shield(flight)
        found = self._journal.find(asked.call_id)
        if isinstance(found, str):
            raise LlmError("rejected", found, asked.call_id)
        if found is not None:
            self.known += 1
            self._on_call(self.asked, self.known)
            return found
        flight = asyncio.get_running_loop().create_future()
        self._flights[asked.call_id] = flight
        try:
            async with self._room:
                completion = await self._tried(asked)
        except BaseException as error:
            flight.set_exception(error)
            flight.exception()  # seen, also where nobody waits
            raise
        finally:
            del self._flights[asked.call_id]
        flight.set_result(completion)
        self.asked += 1
        self._on_call(self.asked, self.known)
        return completion

    async def _tried(self, asked: Asked) -> Completion:
        """Try until there is an answer, an end for good, or no try left; state which."""
        tries: list[dict[str, Any]] = []
        chance = random.Random(asked.call_id)
        while True:
            mode = self._modes.get(asked.model, self._settings.structured)
            request = self._request(asked, mode)
            refused = self._account.admit(asked.call_id, asked.model, canonical(request).encode())
            if refused is not None:
                raise OutOfBudget(refused)
            try:
                completion = await self._wire.send(request, f"{asked.call_id}-{len(tries)}")
            except WireError as error:
                self._free(asked)
                if error.trouble == "schema" and mode != MODES[-1]:
                    self._modes[asked.model] = MODES[MODES.index(mode) + 1]
                    continue
                wait = self._wait(error, len(tries), chance)
                tries.append({"trouble": error.trouble, "status": error.status, "detail": error.detail, "wait_s": wait})
                self._end_or_go_on(asked, error, tries)
                await self._sleep(wait)
                continue
            except BaseException:
                self._free(asked)
                raise
            self._silent = 0
            self._account.charge(asked.call_id, asked.model, completion.usage)
            self._journal.answered(asked, completion, self._wire.name, mode, tries)
            return completion

    def _end_or_go_on(self, asked: Asked, error: WireError, tries: Sequence[Mapping[str, Any]]) -> None:
        if error.trouble == "fatal":
            self._account.hear(error.status, f"{self._wire.name} said {error.detail}")
            raise StageError(self._account.refused or error.detail)
        if error.trouble not in PASSING:
            self._journal.rejected(asked, error.detail, self._wire.name, tries)
            raise LlmError("rejected", error.detail, asked.call_id)
        if len(tries) >= self._settings.tries:
            self._journal.unanswered(asked, error.detail, self._wire.name, tries)
            self._silent += 1
            if self._silent >= max(SILENT, self._settings.concurrency):
                raise StageError(
                    f"{self._wire.name} left {self._silent} calls in a row unanswered, the last with {error.detail};"
                    " nothing is lost, run again when it answers"
                )
            raise LlmError("unanswered", f"{len(tries)} tries, the last: {error.detail}", asked.call_id)

    def _free(self, asked: Asked) -> None:
        """A request without an answer takes nothing, as far as anybody says."""
        self._account.charge(asked.call_id, asked.model, Usage())

    def _request(self, asked: Asked, mode: str) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": asked.model,
            "messages": [dict(message) for message in asked.messages],
            **asked.parameters,
            **request_field(mode, asked.schema_name, dict(asked.schema)),
        }
        if self._settings.stream:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        return request

    @staticmethod
    def _wait(error: WireError, failed: int, chance: random.Random) -> float:
        """Seconds before the next try: what the endpoint asks for, else doubling with jitter."""
        own = _BASE_WAIT_S.get(error.trouble, 0.0) * 2**failed * chance.uniform(0.5, 1.5)
        return float(round(min(_LONGEST_WAIT_S, max(own, error.retry_after_s or 0.0)), 3))


def models(settings: LlmSection) -> dict[Role, str]:
    """The model of each role that has one.

    Raises:
        SetupError: it is to be in the environment, and is not.
    """
    found: dict[Role, str] = {}
    roles: tuple[Role, ...] = ("generator", "annotator", "reviewer", "judge")
    for role in roles:
        model = getattr(settings, role).model
        if model and model.startswith("$"):
            name = model[1:]
            model = os.environ.get(name, "")
            if not model:
                raise SetupError(f"llm.{role}.model is ${name}, which is not set; set it, in .env say, or name a model")
        if model:
            found[role] = model
    return found


def _wire(settings: LlmSection) -> Wire:
    base_url = os.environ.get("OPENAI_BASE_URL", "")
    if not base_url:
        raise SetupError("OPENAI_BASE_URL is not set; set it, in .env say, or leave the roles of [llm] without models")
    return OpenAiWire(base_url, os.environ.get("OPENAI_API_KEY", "").strip(), settings.timeout_s)
