"""From a candidate to a bundle: the questions in order, and what becomes of each answer.

Belongs here: the steps of one candidate. They depend on nothing but the answers and the trials, so that a run that was
killed, doing them again with the answers of the log, comes to the same bundle. Does not belong here: which candidates,
novelty, the log (`effect.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from assets.llm.client import Client
from assets.llm.failures import LlmError
from assets.llm.question import Question
from assets.profile import SynthesisSection
from assets.tasks.bundle import TaskBundle
from assets.tasks.lint import lint
from assets.tasks.routes import wording
from assets.tasks.routes.answers import CoverageReview, TaskDraft, TaskReview
from assets.tasks.routes.candidate import Candidate
from assets.tasks.routes.resources import draft_problems, prepared
from assets.tasks.routes.rubric import rules_of, without
from assets.tasks.routes.trials import Bench, solve, source_problems, trial_problems

T = TypeVar("T", bound=BaseModel)

LICENCE: Final = "generated"
"""Of what a model wrote; the terms of whoever serves it apply."""
_PROTOCOL: Final = {"persona": "grade_floats", "skill": "reward_booleans"}
_REPAIRS: Final = 2
"""Times a draft, the inputs or a solution are asked for."""


class SetAside(Exception):  # noqa: N818 - an outcome
    """The candidate comes to nothing: data, with the step and the reason."""

    def __init__(self, step: str, kind: str, reason: str) -> None:
        super().__init__(f"{step}: {kind}: {reason}")
        self.step, self.kind, self.reason = step, kind, " ".join(reason.split())[:1000]


@dataclass
class Work:
    """A candidate on its way."""

    candidate: Candidate
    calls: dict[str, list[str]] = field(default_factory=dict)
    """Step to the calls whose answers it used."""
    task: TaskDraft | None = None
    cause: str | None = None
    """Event of the call that drafted it."""
    rounds: int = 0
    """Verifiers that were written."""


@dataclass(frozen=True)
class Maker:
    """What all candidates of a run share."""

    client: Client
    settings: SynthesisSection
    bench: Bench
    texts: Callable[[Candidate], Sequence[str]]
    """Texts of a candidate's skills, as the generator sees them."""
    room: asyncio.Semaphore
    """Bounds the trials at a time."""

    async def draft(self, work: Work) -> TaskDraft:
        """The task in words.

        Raises:
            SetAside: there is none that stands.
            LlmError: nobody answered; it may be tried again.
        """
        texts = self.texts(work.candidate)
        problems: list[str] = []
        for _ in range(_REPAIRS):
            found = await self._ask(work, wording.draft(work.candidate, texts, problems))
            problems = draft_problems(found)
            if not problems:
                work.task = found
                return found
        raise SetAside("task_draft", "unsound", "; ".join(problems))

    async def build(self, work: Work) -> TaskBundle:
        """Inputs, review, solution, verifier and rubric of a drafted task.

        Raises:
            SetAside, LlmError: as `draft`.
            SetupError: the sandbox broke.
        """
        task = work.task
        assert task is not None  # drafted before
        files = await self._inputs(work, task)
        await self._reviewed(work, task, files)
        bundle = _bundle(work.candidate, task, files)
        bundle = replace(bundle, oracle=await self._solution(work, task, bundle))
        code = await self._verifier(work, task, bundle)
        rules = await self._rubric(work, task, code) if self.settings.rubric else []
        done = replace(
            bundle,
            reward={"check.py": _bytes(code)},
            rubric=tuple(rules) or None,
            extra={
                "candidate_id": work.candidate.candidate_id,
                "expected_behavior": task.expected_behavior,
                "difficulty_wanted": work.candidate.difficulty,
                "difficulty_reason": task.difficulty_reason,
                "calls": work.calls,
                "models": dict(self.client.models),
                "wording": wording.VERSION,
                "verifier_rounds": work.rounds,
            },
        )
        if found := lint(done):
            raise SetAside("task_lint", "unsound", "; ".join(found))
        return done

    async def _inputs(self, work: Work, task: TaskDraft) -> dict[str, bytes]:
        if not task.inputs:
            return {}
        problems: list[str] = []
        for _ in range(_REPAIRS):
            answer = await self._ask(work, wording.inputs(work.candidate, task, problems))
            files, problems = prepared(task, answer)
            if not problems:
                return files
        raise SetAside("task_inputs", "unsound", "; ".join(problems))

    async def _reviewed(self, work: Work, task: TaskDraft, files: Mapping[str, bytes]) -> None:
        found: TaskReview = await self._ask(work, wording.review(work.candidate, task, files))
        against = [
            name
            for name, bad in (
                ("answer_leak", found.has_answer_leak), ("factual_error", found.has_factual_error),
                ("unclear", not found.is_clear), ("inconsistent", not found.is_consistent),
                ("unrealistic", not found.is_realistic), ("infeasible", not found.is_feasible),
            )
            if bad
        ]  # fmt: skip
        if against:
            raise SetAside("task_review", against[0], f"{', '.join(against)}: {'; '.join(found.reasons)}")

    async def _solution(self, work: Work, task: TaskDraft, bundle: TaskBundle) -> dict[str, bytes]:
        problems: tuple[str, ...] = ()
        for _ in range(_REPAIRS):
            script = await self._ask(work, wording.solution(work.candidate, task, bundle.inputs, problems))
            solved = await self._aside(partial(solve, script.code, bundle, self.bench))
            problems = solved.problems
            if not problems:
                return dict(solved.outputs)
        raise SetAside("task_solution", "unsolved", "; ".join(problems))

    async def _verifier(self, work: Work, task: TaskDraft, bundle: TaskBundle) -> str:
        """Generate, run, repair; the reviewer looks at what the trials pass."""
        code, problems = "", list[str]()
        for _ in range(self.settings.rounds):
            work.rounds += 1
            question = wording.verifier(
                work.candidate, task, bundle.inputs, bundle.verifier_protocol, code, problems
            )  # fmt: skip
            code = (await self._ask(work, question)).code
            problems = source_problems(code)
            if not problems:
                tried = replace(bundle, reward={"check.py": _bytes(code)})
                problems = await self._aside(partial(trial_problems, tried, self.bench))
            if not problems and self.settings.coverage_review:
                seen: CoverageReview = await self._ask(
                    work, wording.coverage(work.candidate, task, bundle.inputs, code)
                )
                problems = [f"not checked: {item}" for item in seen.missing_requirements]
                problems += [f"too strict: {item}" for item in seen.too_strict]
                problems += [seen.guidance] if problems and seen.guidance else []
            if not problems:
                return code
        raise SetAside("task_verifier", "unsound", f"after {self.settings.rounds} rounds: {'; '.join(problems)}")

    async def _rubric(self, work: Work, task: TaskDraft, code: str) -> list[dict[str, Any]]:
        rules = rules_of(await self._ask(work, wording.rubric(work.candidate, task, code)), task)
        if not rules:
            return []
        seen = await self._ask(work, wording.redundant(work.candidate, rules, code))
        return without(rules, set(seen.covered_by_code))

    async def _ask(self, work: Work, question: Question[T]) -> T:
        try:
            value, call_id = await self.client.ask(question)
        except LlmError as error:
            if error.passing:
                raise
            self._used(work, question.step, error.call_id)
            raise SetAside(question.step, error.kind, error.detail) from error
        self._used(work, question.step, call_id)
        return value

    def _used(self, work: Work, step: str, call_id: str) -> None:
        work.calls.setdefault(step, []).append(call_id)
        if step == "task_draft":
            work.cause = self.client.event_of(call_id)

    async def _aside(self, run: Callable[[], Any]) -> Any:
        """Run something slow beside the loop."""
        async with self.room:
            waiting: Awaitable[Any] = asyncio.to_thread(run)
            return await waiting


def _bundle(candidate: Candidate, task: TaskDraft, files: Mapping[str, bytes]) -> TaskBundle:
    """The bundle before it has a verifier."""
    return TaskBundle(
        task_id=candidate.candidate_id,
        instruction=task.instruction.strip() + "\n",
        inputs=dict(sorted(files.items())),
        reward={},
        verifier_protocol=_PROTOCOL[candidate.route],
        origin=candidate.route,
        route=candidate.route,
        licence=LICENCE,
        scenario_category=candidate.category,
        scenario_subcategory=candidate.subcategory,
        bench_category=task.bench_category,
        operations=candidate.operations,
        difficulty=task.difficulty,
        persona_id=candidate.persona.persona_id if candidate.persona else None,
        skill_ids=tuple(str(row["skill_id"]) for row in candidate.skills),
        expected_outputs=tuple(sorted(item.path for item in task.outputs)),
    )


def _bytes(code: str) -> bytes:
    return (code if code.endswith("\n") else code + "\n").encode("utf-8", "replace")
