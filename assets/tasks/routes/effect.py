"""Runs the candidates of both routes, block by block, and states what became of each.

One stream a candidate ends in `candidate.proposed` or `candidate.quarantined`; one without an end is taken up again,
its paid answers read from the log. Novelty is decided in the order of candidates, on all categories, between drafting
and everything that costs more. Belongs here: blocks, novelty, events. Does not belong here: the steps (`making.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from assets.llm.client import Client, models
from assets.llm.failures import LlmError, OutOfBudget
from assets.llm.many import all_of
from assets.personas import Persona
from assets.profile import Profile
from assets.sandbox import Limits, open_sandbox
from assets.skills.reader import visible
from assets.stage import Context
from assets.tasks.bundle import TaskBundle
from assets.tasks.propose import PROPOSED, STREAM, propose
from assets.tasks.routes import wording
from assets.tasks.routes.candidate import Candidate, persona_candidates, skill_candidates
from assets.tasks.routes.making import Maker, SetAside, Work
from assets.tasks.routes.novelty import Embedder, HashingEmbedder, Kept
from assets.tasks.routes.trials import Bench
from lake.spool import Spool

KIND: Final = "candidate"
MADE, QUARANTINED = "candidate.proposed", "candidate.quarantined"
BLOCK: Final = 64
"""Candidates drafted before the first of them is built: a budget that ends leaves finished tasks, not drafts."""
CORE_LIMIT: Final = 30_000


def propose_by_models(context: Context) -> Mapping[str, int]:
    """Propose the profile's tasks of both routes, as far as a generator and the budget go.

    Returns:
        Counts: `written`, `quarantined`, `known` (ended before), `open` (left for the next run), and the calls
        `paid` for and `from_log`.

    Raises:
        SetupError: no endpoint, or the sandbox broke.
        StageError: every call would fail the same way, or there is nobody to write for.
    """
    settings = context.profile.synthesis
    if not (settings.persona_tasks or settings.skill_tasks) or "generator" not in models(context.profile.llm):
        return {}
    return asyncio.run(_Run(context).everything())


class _Run:
    def __init__(self, context: Context) -> None:
        context.lake.commit()  # what a killed run has stated counts
        self._context, self._lake, self._profile = context, context.lake, context.profile
        self._ended = {event.stream_id: event.payload for event in context.lake.events(MADE, QUARANTINED)}
        self._proposed = context.lake.streams(STREAM, (PROPOSED,))
        self._tasks = {e.payload["task_id"]: e.payload["instruction"] for e in context.lake.events(PROPOSED)}
        self._kept = Kept(_embedder(context.profile.synthesis.embedder))
        self._counts = {"written": 0, "quarantined": 0, "known": 0, "open": 0, "paid": 0, "from_log": 0}
        self._stopped: str | None = None

    async def everything(self) -> Mapping[str, int]:
        """Both routes, in this order."""
        settings = self._profile.synthesis
        async with Client(self._lake, self._profile.llm, run_id=self._context.run_id, on_call=self._on_call) as client:
            maker = Maker(
                client,
                settings,
                _bench(self._profile),
                self._texts,
                asyncio.Semaphore(self._profile.audits.concurrency),
            )
            with self._lake.spool("tasks.routes", self._context.run_id) as spool:
                for wanted, drawn in self._routes():
                    await self._route(maker, spool, list(islice(drawn(), wanted)))
            self._counts |= {"paid": client.asked, "from_log": client.known}
        if self._stopped is not None:
            self._context.progress(f"stopped: {self._stopped}; raise it and run again to go on")
        return self._counts

    def _routes(self) -> Iterator[tuple[int, Callable[[], Iterable[Candidate]]]]:
        settings = self._profile.synthesis
        if settings.persona_tasks:
            personas = [Persona.from_row(row) for row in self._lake.rows("personas")]
            yield settings.persona_tasks, lambda: persona_candidates(settings, personas)
        if settings.skill_tasks:
            skills = self._lake.rows("skills")
            yield settings.skill_tasks, lambda: skill_candidates(settings, skills)

    async def _route(self, maker: Maker, spool: Spool, candidates: Sequence[Candidate]) -> None:
        for at in range(0, len(candidates), BLOCK):
            block = candidates[at : at + BLOCK]
            works = [Work(item) for item in block if item.candidate_id not in self._ended]
            self._counts["known"] += len(block) - len(works)
            if self._stopped is not None:
                self._counts["open"] += len(works)
            elif works:
                await self._block(maker, spool, candidates[at:], block, works)

    async def _block(
        self, maker: Maker, spool: Spool, later: Sequence[Candidate], block: Sequence[Candidate], works: Sequence[Work]
    ) -> None:
        drafted = await self._each(spool, works, maker.draft)
        if self._stopped is None:
            novel = self._novel(spool, later, block, [work for work, _ in drafted])
            await self._each(spool, novel, maker.build, lambda work, made: self._made(spool, work, made))
        else:
            self._counts["open"] += len(drafted)
        spool.seal()
        self._lake.commit()

    async def _each(
        self,
        spool: Spool,
        works: Sequence[Work],
        step: Callable[[Work], Any],
        done: Callable[[Work, Any], None] = lambda work, value: None,
    ) -> list[tuple[Work, Any]]:
        """Do a step for all; those that came through, in order. Bad ones are set aside, unanswered ones left open."""

        async def one(work: Work) -> tuple[Work, Any] | None:
            try:
                value = await step(work)
            except SetAside as error:
                self._set_aside(spool, work, error.step, error.kind, error.reason)
            except LlmError as error:
                self._counts["open"] += 1
                self._context.progress(f"{work.candidate.candidate_id} is left for the next run: {error.detail}")
            except OutOfBudget as error:
                self._counts["open"] += 1
                self._stopped = str(error)
            else:
                done(work, value)
                return work, value
            return None

        return [result for result in await all_of(one(work) for work in works) if result is not None]

    def _novel(
        self, spool: Spool, later: Sequence[Candidate], block: Sequence[Candidate], drafted: Sequence[Work]
    ) -> list[Work]:
        """Those whose instruction is not too near to an earlier one's, whatever became of that one in this block."""
        kept = self._kept
        kept.only(self._tasks, self._tasks.keys() - {item.candidate_id for item in later})
        fresh = {work.candidate.candidate_id: work for work in drafted}
        found = []
        for candidate in block:
            name = candidate.candidate_id
            work, ended = fresh.get(name), self._ended.get(name)
            if ended is not None:
                if ended["novel"]:
                    kept.keep(name, ended["instruction"])
                continue
            if work is None or work.task is None:
                continue
            nearest, cosine = kept.nearest(work.task.instruction)
            if nearest is not None and cosine >= self._profile.synthesis.novel_below:
                reason = f"cosine {cosine:.3f} to {nearest} ({kept.embedder.name})"
                self._set_aside(spool, work, "novelty", "not_novel", reason, novel=False)
                continue
            kept.keep(name, work.task.instruction)
            found.append(work)
        return found

    def _made(self, spool: Spool, work: Work, bundle: TaskBundle) -> None:
        if f"{bundle.task_id}@{bundle.task_version}" not in self._proposed:
            propose(spool, bundle, caused_by=work.cause)
        ids = {"task_id": bundle.task_id, "task_version": bundle.task_version}
        self._end(spool, work, MADE, {**ids, "novel": True})
        self._tasks[bundle.task_id] = bundle.instruction
        self._counts["written"] += 1

    def _set_aside(
        self, spool: Spool, work: Work, step: str, kind: str, reason: str, *, novel: bool | None = None
    ) -> None:
        novel = (work.task is not None and step != "task_draft") if novel is None else novel
        self._end(spool, work, QUARANTINED, {"step": step, "kind": kind, "reason": reason, "novel": novel})
        self._counts["quarantined"] += 1

    def _end(self, spool: Spool, work: Work, event: str, outcome: Mapping[str, Any]) -> None:
        candidate = work.candidate
        payload = {
            "candidate_id": candidate.candidate_id,
            "route": candidate.route,
            "seed": candidate.seed,
            "index": candidate.index,
            "scenario_category": candidate.category,
            "scenario_subcategory": candidate.subcategory,
            "persona_id": candidate.persona.persona_id if candidate.persona else None,
            "skill_ids": [str(row["skill_id"]) for row in candidate.skills],
            "instruction": work.task.instruction if work.task else None,
            "calls": work.calls,
            "rounds": work.rounds,
            "wording": wording.VERSION,
            **outcome,
        }
        spool.stream(KIND, candidate.candidate_id).emit(event, payload, caused_by=work.cause)
        spool.sync()
        self._ended[candidate.candidate_id] = payload
        done = self._counts["written"] + self._counts["quarantined"] + 1
        self._context.progress("tasks of models", done)

    def _texts(self, candidate: Candidate) -> list[str]:
        """The primary skill in full or in short, the supporting ones in short; nothing that a reader would not see."""
        found = []
        for number, row in enumerate(candidate.skills):
            if number == 0 and self._profile.synthesis.skill_text == "original":
                text = self._lake.blob(row["text_sha256"]).decode("utf-8", "replace")
            else:
                text = f"{row['summary']}\n\n{row['core_content']}"
            found.append(visible(text)[:CORE_LIMIT])
        return found

    def _on_call(self, asked: int, known: int) -> None:
        self._context.progress(f"{asked} calls answered by the endpoint, {known} by the log")


def _embedder(name: str) -> Embedder:
    if name == "hashing":
        return HashingEmbedder()
    from assets.tasks.routes.sentences import SentenceEmbedder  # torch is for those who want it

    return SentenceEmbedder(name)


def _bench(profile: Profile) -> Bench:
    limits = Limits(wall_s=profile.verdicts.timeout_s, memory_bytes=profile.verdicts.memory_bytes)
    return Bench(open_sandbox(profile.rollouts.sandbox), limits, profile.audits.worthless_below)
