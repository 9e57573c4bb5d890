"""The stage's tables from the raw records: every source read, cleaned, joined with its attempt's calls, and rendered.

Belongs here: the order of work over a whole lake. Does not belong here: any rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from assets.trajectories.clean import CleanSession
from assets.trajectories.copies import Answers
from assets.trajectories.findings import Findings
from assets.trajectories.formats import clean_source
from assets.trajectories.gaps import fill_head
from assets.trajectories.join import Joined, context_differs, join, recovery, state_unlogged
from assets.trajectories.render import Context, Renderer, Rows
from assets.trajectories.rules import RULES
from assets.trajectories.served import Served, read_served
from assets.trajectories.sources import CALLS, TRANSCRIPTS, Bundle, Source, load, plan
from assets.trajectories.superseded import only_here
from assets.trajectories.trace import Trace, read_trace
from assets.trajectories.unlogged import session_of_calls
from lake import Projection, View, rows_table
from lake.grouping import Claims, Group, Grouping, Made, by_table
from lake.ids import Json, digest

_BY_GROUP: Final = ("trajectories", "steps", "tool_calls", "diagnostics", "ledger", "samples")

OUTPUTS = (*_BY_GROUP, "answer_claims", "trajectory_groups", "cleaning_rules")


def build(view: View) -> Mapping[str, pa.Table]:
    """See `Projection.build`; everything but the rules is made by group (`make`)."""
    rows: list[dict[str, Json]] = [
        {
            "rule": rule.name,
            "rule_version": rule.version,
            "action": rule.action,
            "severity": rule.severity,
            "meaning": rule.meaning,
        }
        for rule in RULES.values()
    ]
    return {"cleaning_rules": rows_table("cleaning_rules", rows)}


def make(view: View, chunks: Sequence[Sequence[Group]], claims: Claims) -> Iterator[Made]:
    """See `Grouping.make`."""
    for loaded in load(view, chunks):
        cleaned = [(group, _clean(bundle)) for group, bundle in loaded]
        claims.look_up(identity for _, group in cleaned for _, identity in group.held())
        made: Made = []
        cleaned.reverse()
        while cleaned:  # each goes as soon as it is rendered: a single session may be most of what memory holds
            group, clean = cleaned.pop()
            rows = by_table(_BY_GROUP)
            first = claims.claim(group, clean.held())
            _finish(clean, first, group.material.attempt, rows)
            made.append((group, rows))
            del clean
        yield made


@dataclass
class _Cleaned:
    """A group, its sessions cleaned each by itself."""

    bundle: Bundle
    served: Served | None
    traces: dict[str, Trace]
    sessions: list[CleanSession]
    recovered: dict[tuple[str, int], CleanSession]
    """What only superseded versions hold, by source and version."""
    answers: list[Answers]
    """Of the sessions, then of the recovered ones."""

    def held(self) -> list[tuple[str, str]]:
        """Answers of all sessions, as (holder, identity)."""
        return [held for answers in self.answers for held in answers.held()]


def _clean(bundle: Bundle) -> _Cleaned:
    served = read_served(bundle.calls[0].rows) if bundle.calls else None
    traces = {session: read_trace(sources[0].rows) for session, sources in sorted(bundle.traces.items())}
    sessions = [
        clean_source(source.ref, source.rows, recovery(served, traces.get(source.ref.session_id or ""), None))
        for source in bundle.transcripts
    ]
    recovered = _only_in_superseded(bundle, sessions)
    bundle.forget_records()
    answers = [Answers(session) for session in [*sessions, *recovered.values()]]
    return _Cleaned(bundle, served, traces, sessions, recovered, answers)


def _only_in_superseded(bundle: Bundle, sessions: list[CleanSession]) -> dict[tuple[str, int], CleanSession]:
    """What only superseded versions of foreign sources hold, newest first; by source and version."""
    found: dict[tuple[str, int], CleanSession] = {}
    for source in reversed(bundle.superseded if bundle.attempt_id is None else []):
        if source.ref.kind not in TRANSCRIPTS:
            continue
        session = only_here(clean_source(source.ref, source.rows), [*sessions, *found.values()])
        if session is not None:
            found[source.ref.source_id, source.ref.version] = session
    return found


def _finish(cleaned: _Cleaned, first: Mapping[str, str], attempt: Mapping[str, Json] | None, rows: Rows) -> None:
    """Mark what others hold, join with the calls, and render."""
    served, traces, sessions = cleaned.served, cleaned.traces, list(cleaned.sessions)
    for answers in cleaned.answers:
        answers.mark(first)
    for session in sessions:
        trace = traces.get(session.ref.session_id or "")
        if trace is not None:
            fill_head(session, trace)
    if served is not None and not any(session.branches for session in sessions):
        sessions += session_of_calls(cleaned.bundle.calls[0].ref, served)
    renderer = Renderer(rows)
    made: set[int] = set()
    places: dict[str, dict[int, str]] = {}
    for session in sessions:
        joined = join(session, served, by_order=len(sessions) == 1) if served is not None else Joined()
        made |= joined.made.keys()
        _render(renderer, session, attempt, served, traces.get(session.ref.session_id or ""), joined)
        places[session.ref.source_id] = _trajectory_of(session)
    for session in cleaned.recovered.values():
        _render(renderer, session, attempt, None, None, Joined())
    _state_all(cleaned.bundle, renderer, sessions, served, traces, made, places)
    _state_superseded(cleaned.bundle, renderer, cleaned.recovered)


def _state_superseded(bundle: Bundle, renderer: Renderer, recovered: Mapping[tuple[str, int], CleanSession]) -> None:
    """Findings and ledger of superseded versions."""
    for source in bundle.superseded:
        session = recovered.get((source.ref.source_id, source.ref.version))
        if session is None:
            renderer.findings(source.ref, Findings(), _all(source, "dropped", "superseded_version"), {})
        else:
            renderer.findings(session.ref, session.findings, session.findings.ledger(), _trajectory_of(session))


def _render(
    renderer: Renderer,
    session: CleanSession,
    attempt: Mapping[str, Json] | None,
    served: Served | None,
    trace: Trace | None,
    joined: Joined,
) -> None:
    context = _context(session, attempt, served, trace)
    if served is not None:
        context.differs = partial(context_differs, system=context.system, served=served, joined=joined)
    renderer.session(session, context)
    if served is None or not session.branches:
        return
    main = renderer.home is None or session.ref.session_id == (attempt or {}).get("session_id")
    if main:
        renderer.home = session.branches[0]
    renderer.joined.update(joined.made)


def _context(
    session: CleanSession, attempt: Mapping[str, Json] | None, served: Served | None, trace: Trace | None
) -> Context:
    context = Context(session.ref, attempt, harness=None if trace is None else trace.harness)
    if served is not None and served.main is not None:
        context.system, context.system_at = served.system(), served.main.at
        context.tools = served.tools()
    elif trace is not None:
        context.system, context.system_at, context.tools = trace.system, trace.system_at, trace.tools
    return context


def _trajectory_of(session: CleanSession) -> dict[int, str]:
    found: dict[int, str] = {}
    for branch in session.branches:
        for position in branch.places:
            found.setdefault(position, branch.trajectory_id)
    return found


def _state_all(
    group: Bundle,
    renderer: Renderer,
    sessions: list[CleanSession],
    served: Served | None,
    traces: Mapping[str, Trace],
    made: set[int],
    places: Mapping[str, dict[int, str]],
) -> None:
    """Findings and ledger of every source of the group, and the samples."""
    for session in sessions:
        if session.ref.kind != CALLS:
            renderer.findings(session.ref, session.findings, session.findings.ledger(), places[session.ref.source_id])
    if served is not None:
        state_unlogged(served, made)
        home = renderer.home
        if home is not None:
            renderer.samples(served)
        of = dict.fromkeys((call.at.position for call in served.calls), home.trajectory_id) if home else {}
        renderer.findings(group.calls[0].ref, served.findings, served.findings.ledger(), of)
    for session_id, sources in group.traces.items():
        trace = traces[session_id]
        renderer.findings(sources[0].ref, trace.findings, trace.findings.ledger(), {})
    extra = [source for sources in group.traces.values() for source in sources[1:]]
    for source in [*group.others, *group.calls[1:], *extra]:
        renderer.findings(source.ref, Findings(), _all(source, "kept", "evidence"), {})


def _all(source: Source, disposition: str, rule: str) -> Counter[tuple[str, str]]:
    return Counter({(disposition, rule): source.records})


PROJECTION = Projection(
    name="trajectories",
    version=4,
    outputs=OUTPUTS,
    events=(),
    build=build,
    raw=True,
    tables=("attempts",),
    rules=digest(sorted(rule.label for rule in RULES.values())),
    grouping=Grouping(
        outputs=_BY_GROUP,
        state="trajectory_groups",
        claims="answer_claims",
        plan=plan,
        make=make,
    ),
)
