"""The stage's tables from the raw records: every source read, cleaned, joined with its attempt's calls, and rendered.

Belongs here: the order of work over a whole lake. Does not belong here: any rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

import pyarrow as pa

from assets.trajectories.clean import CleanSession
from assets.trajectories.copies import Copies
from assets.trajectories.findings import Findings
from assets.trajectories.formats import clean_source
from assets.trajectories.gaps import fill_head
from assets.trajectories.join import Joined, context_differs, join, recovery, state_unlogged
from assets.trajectories.render import Context, Renderer, Rows
from assets.trajectories.rules import RULES
from assets.trajectories.served import Served, read_served
from assets.trajectories.sources import CALLS, TRANSCRIPTS, Group, Source, groups
from assets.trajectories.superseded import only_here
from assets.trajectories.trace import Trace, read_trace
from assets.trajectories.unlogged import session_of_calls
from lake import Projection, View, rows_table
from lake.ids import Json

OUTPUTS = ("trajectories", "steps", "tool_calls", "diagnostics", "ledger", "samples", "cleaning_rules")


def build(view: View) -> Mapping[str, pa.Table]:
    """See `Projection.build`."""
    rows: Rows = {name: [] for name in OUTPUTS}
    attempts = {row["attempt_id"]: row for row in view.table("attempts").to_pylist()}
    copies = Copies()
    for group in groups(view):
        _group(group, attempts.get(group.attempt_id), copies, rows)
    rows["cleaning_rules"] = [
        {
            "rule": rule.name,
            "rule_version": rule.version,
            "action": rule.action,
            "severity": rule.severity,
            "meaning": rule.meaning,
        }
        for rule in RULES.values()
    ]
    return {name: rows_table(name, rows[name]) for name in OUTPUTS}


def _group(group: Group, attempt: Mapping[str, Json] | None, copies: Copies, rows: Rows) -> None:
    renderer = Renderer(rows)
    served = read_served(group.calls[0].rows) if group.calls else None
    traces = {session: read_trace(sources[0].rows) for session, sources in sorted(group.traces.items())}
    sessions: list[CleanSession] = []
    made: set[int] = set()
    places: dict[str, dict[int, str]] = {}
    for source in group.transcripts:
        trace = traces.get(source.ref.session_id or "")
        session = clean_source(source.ref, source.rows, recovery(served, trace, None))
        copies.mark(session)
        sessions.append(session)
        if trace is not None:
            fill_head(session, trace)
    if served is not None and not any(session.branches for session in sessions):
        sessions += session_of_calls(group.calls[0].ref, served)
    for session in sessions:
        joined = join(session, served, by_order=len(sessions) == 1) if served is not None else Joined()
        made |= joined.made.keys()
        _render(renderer, session, attempt, served, traces.get(session.ref.session_id or ""), joined)
        places[session.ref.source_id] = _trajectory_of(session)
    recovered = _only_in_superseded(group, sessions, copies)
    for session in recovered.values():
        _render(renderer, session, attempt, None, None, Joined())
    _state_all(group, renderer, sessions, served, traces, made, places)
    _state_superseded(group, renderer, recovered)


def _only_in_superseded(
    group: Group, sessions: list[CleanSession], copies: Copies
) -> dict[tuple[str, int], CleanSession]:
    """What only superseded versions of foreign sources hold, newest first; by source and version."""
    found: dict[tuple[str, int], CleanSession] = {}
    for source in reversed(group.superseded if group.attempt_id is None else []):
        if source.ref.kind not in TRANSCRIPTS:
            continue
        session = only_here(clean_source(source.ref, source.rows), [*sessions, *found.values()])
        if session is not None:
            copies.mark(session)
            found[source.ref.source_id, source.ref.version] = session
    return found


def _state_superseded(group: Group, renderer: Renderer, recovered: Mapping[tuple[str, int], CleanSession]) -> None:
    """Findings and ledger of superseded versions."""
    for source in group.superseded:
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
    group: Group,
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
    return Counter({(disposition, rule): len(source.rows)})


PROJECTION = Projection(
    name="trajectories",
    version=2,
    outputs=OUTPUTS,
    events=(),
    build=build,
    raw=True,
    tables=("attempts",),
)
