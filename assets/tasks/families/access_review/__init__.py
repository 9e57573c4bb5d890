"""Family `access_review`: who has which permission through nested groups, and who should not.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

DEPARTMENTS: Final = ("Finance", "Clinic", "Records", "IT", "Front Desk")
RESOURCES: Final = ("ledger", "payroll", "patients", "schedule", "archive", "backups")
LEVELS: Final = ("read", "write")
GROUPS: Final = ("all-staff", "billing", "bookkeeping", "care-team", "desk", "it-ops", "records", "temps", "auditors")
REASONS: Final = ("gone", "not_allowed", "conflict", "unused")


@dataclass(frozen=True)
class User:
    """Somebody with an account."""

    ident: str
    name: str
    department: str
    contractor: bool
    status: str
    contract_end: date | None

    def gone(self, today: date) -> bool:
        """Whether the account should be closed."""
        return self.status == "left" or (self.contract_end is not None and self.contract_end < today)


@dataclass(frozen=True)
class Group:
    """A group as written."""

    name: str
    owner: str
    users: tuple[str, ...]
    inside: tuple[str, ...]
    unknown: tuple[str, ...]
    grants: tuple[str, ...]


@dataclass(frozen=True)
class Company:
    """Everything a seed decides."""

    today: date
    days: int
    users: dict[str, User]
    groups: dict[str, Group]
    policy: dict[str, tuple[tuple[str, ...], bool]]
    """Permission → departments (none: all), whether contractors may."""
    conflicts: tuple[tuple[str, str], ...]
    exceptions: tuple[tuple[str, str, date, str], ...]
    uses: tuple[tuple[str, str, date], ...]

    @cached_property
    def members(self) -> dict[str, set[str]]:
        """All members of each group; grown until nothing is added."""
        found = {name: set(group.users) for name, group in self.groups.items()}
        for _ in self.groups:
            for name, group in self.groups.items():
                for other in group.inside:
                    found[name] |= found[other]
        return found

    @cached_property
    def held(self) -> dict[tuple[str, str], list[str]]:
        """(user, permission) → groups that grant it."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in sorted(self.groups):
            for permission in self.groups[name].grants:
                for ident in self.members[name]:
                    found[ident, permission].append(name)
        return dict(sorted(found.items()))

    @cached_property
    def last(self) -> dict[tuple[str, str], date]:
        """Latest use of a permission by a user."""
        return {(ident, permission): day for ident, permission, day in sorted(self.uses, key=lambda use: use[2])}

    def reason(self, ident: str, permission: str) -> str:
        """Why the user should not have it; empty if nothing speaks against it."""
        user = self.users[ident]
        if user.gone(self.today):
            return "gone"
        departments, contractors = self.policy.get(permission, (("nobody",), False))
        allowed = (not departments or user.department in departments) and (contractors or not user.contractor)
        if not allowed and not any(
            (who, what) == (ident, permission) and until >= self.today and by != ident
            for who, what, until, by in self.exceptions
        ):
            return "not_allowed"
        others = [b if a == permission else a for a, b in self.conflicts if permission in (a, b)]
        if any((ident, other) in self.held for other in others):
            return "conflict"
        used = self.last.get((ident, permission))
        recent = used is not None and used >= self.today - timedelta(days=self.days)
        return "" if recent or user.status == "on_leave" else "unused"

    @cached_property
    def findings(self) -> dict[tuple[str, str], str]:
        """(user, permission) → reason."""
        return {key: reason for key in self.held if (reason := self.reason(*key))}


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    company = _company(rng)
    while not _fit(company):
        company = _company(rng)
    since = company.today - timedelta(days=company.days)
    inputs = {
        "iam/users.json": _users_json(rng, company),
        "iam/groups.yaml": _groups_yaml(rng, company),
        "iam/policy.csv": "permission,departments,contractors\n"
        + "".join(f"{p},{'; '.join(d) or '*'},{'yes' if c else 'no'}\n" for p, (d, c) in company.policy.items()),
        "iam/conflicts.csv": "permission,other\n" + "".join(f"{a},{b}\n" for a, b in company.conflicts),
        "iam/exceptions.csv": "user,permission,until,approved_by\n"
        + "".join(f"{u},{p},{d},{by}\n" for u, p, d, by in company.exceptions),
        "iam/access.log": _log(rng, company),
    }
    text = told(
        __file__, opening=opening(rng, persona, "Our yearly access review is due and nobody has looked at it yet."),
        closing=leave_inputs(rng, "iam/"), today=company.today, days=company.days, since=since,
    )  # fmt: skip
    constants = {"TODAY": company.today.isoformat(), "SINCE": since.isoformat()}
    return Draft(text, inputs, _oracle(company), constants, _plan(rng, constants))


def _company(rng: random.Random) -> Company:
    today = date(2026, rng.randint(4, 12), rng.randint(1, 28))
    idents = [f"u{n}" for n in sorted(rng.sample(range(101, 399), 14))]
    users = {}
    for i, (ident, name) in enumerate(zip(idents, people(rng, 14), strict=True)):
        contractor = i % 4 == 3
        end = today + timedelta(days=rng.choice((-40, -1, 0, 90))) if contractor else None
        status = ("left", "on_leave", "active", "left")[i] if i < 4 else "active"
        users[ident] = User(ident, name, rng.choice(DEPARTMENTS), contractor, status, end)
    permissions = [f"{resource}:{level}" for resource in RESOURCES for level in LEVELS]
    policy = {
        permission: (
            () if rng.random() < 0.6 else tuple(sorted(rng.sample(DEPARTMENTS, rng.choice((2, 3))))), rng.random() < 0.6
        )
        for permission in rng.sample(permissions, len(permissions) - 1)
    }  # fmt: skip
    names = rng.sample(GROUPS, 8)
    groups = {}
    for i, name in enumerate(names):
        inside = [names[i + 1]] if i in (0, 2, 4) else [names[i - 1]] if i == 5 else []
        unknown = {1: (f"u{rng.randint(400, 499)}",), 6: ("@everyone", f"u{rng.randint(500, 599)}")}.get(i, ())
        owner = rng.choice(idents) if i != 3 else rng.choice((idents[0], f"u{rng.randint(600, 699)}"))
        members = tuple(sorted(rng.sample(idents, rng.randint(2, 4))))
        grants = tuple(sorted(rng.sample(permissions, rng.choice((1, 2, 2)))))
        groups[name] = Group(name, owner, members, tuple(inside), unknown, grants)
    base = Company(today, rng.choice((60, 90)), users, groups, policy, (), (), ())
    return _history(rng, base, permissions)


def _history(rng: random.Random, base: Company, permissions: list[str]) -> Company:
    """Conflicts, exceptions and uses that fit what people have."""
    pairs = sorted({(a, b) for u, a in base.held for v, b in base.held if u == v and a < b})
    first, second = rng.sample(permissions, 2)
    conflicts = (*rng.sample(pairs, 2), (first, second))
    denied = [key for key, reason in base.findings.items() if reason == "not_allowed"]
    exceptions = []
    for ident, permission in rng.sample(denied, min(5, len(denied))):
        late = rng.choice((-20, -1, 0, 60, 200))
        by = ident if rng.random() < 0.25 else rng.choice(sorted(base.users))
        exceptions.append((ident, permission, base.today + timedelta(days=late), by))
    uses = []
    for ident, permission in base.held:
        if rng.random() < 0.8:
            ago = rng.choice((base.days, base.days + 1, *[rng.randint(1, 50)] * 6, rng.randint(100, 150)))
            uses.append((ident, permission, base.today - timedelta(days=ago)))
            if rng.random() < 0.4:
                uses.append((ident, permission, base.today - timedelta(days=ago + rng.randint(1, 30))))
    return replace(base, conflicts=conflicts, exceptions=tuple(exceptions), uses=tuple(uses))


def _fit(company: Company) -> bool:
    """Whether each reason occurs, nesting and an exception change something, and there is something to clean."""
    reasons = Counter(company.findings.values())
    held, direct = set(company.held), set()
    for group in company.groups.values():
        direct |= {(ident, permission) for ident in group.users for permission in group.grants}
    strict = replace(company, exceptions=())
    spared = {key for key in strict.findings if strict.reason(*key) == "not_allowed"} - {
        key for key, reason in company.findings.items() if reason == "not_allowed"
    }
    ended = [u.ident for u in company.users.values() if u.gone(company.today) and u.status != "left"]
    gone = any(ident in ended for ident, _ in held)
    some = all(reasons[reason] >= 2 for reason in REASONS) and len(held - direct) >= 5
    return some and bool(spared) and gone and len(company.findings) < len(held) - 3


def _users_json(rng: random.Random, company: Company) -> str:
    listed = [
        {"id": u.ident, "name": u.name, "department": u.department,
         "type": "contractor" if u.contractor else "employee",
         "status": u.status, "contract_end": u.contract_end.isoformat() if u.contract_end else None}
        for u in company.users.values()
    ]  # fmt: skip
    return json.dumps(rng.sample(listed, len(listed)), indent=1) + "\n"


def _groups_yaml(rng: random.Random, company: Company) -> str:
    lines = ["# members: ids, and @group for all members of a group"]
    for group in company.groups.values():
        members = [*group.users, *(f"@{name}" for name in group.inside), *group.unknown]
        rng.shuffle(members)
        lines += [f"{group.name}:", f"  owner: {group.owner}", f'  members: "{", ".join(members)}"']
        lines.append(f"  grants: {', '.join(group.grants)}")
    return "\n".join(lines) + "\n"


def _log(rng: random.Random, company: Company) -> str:
    """Uses, accesses that were denied (some later than the use), and cut lines."""
    lines = []
    for ident, permission, day in company.uses:
        lines.append(_access(rng, ident, permission, day, "ok"))
    unused = [key for key, reason in company.findings.items() if reason == "unused"]
    for ident, permission in unused + rng.sample(sorted(company.held), 4):
        lines.append(_access(rng, ident, permission, company.today - timedelta(days=rng.randint(1, 20)), "denied"))
    lines.sort()
    for ident, permission in unused[:2]:
        line = _access(rng, ident, permission, company.today - timedelta(days=2), "ok")
        lines.append(line[: line.index(" result=")])
    return "\n".join(lines) + "\n"


def _access(rng: random.Random, ident: str, permission: str, day: date, result: str) -> str:
    resource, level = permission.split(":")
    clock = f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d}"
    who = ident.upper() if rng.random() < 0.3 else ident
    return f"{day}T{clock}Z user={who} resource={resource} action={level} result={result}"


def _oracle(company: Company) -> dict[str, str]:
    findings = company.findings
    rows = "".join(f"{ident},{permission},{'; '.join(via)}\n" for (ident, permission), via in company.held.items())
    bad = "".join(
        f"{ident},{permission},{reason},{company.last.get((ident, permission), '')}\n"
        for (ident, permission), reason in findings.items()
    )
    gone = {u.ident for u in company.users.values() if u.gone(company.today)}
    ordered = sorted(company.groups.values(), key=lambda group: group.name)
    cleanup = {
        "gone_members": {g.name: sorted(gone & set(g.users)) for g in ordered if gone & set(g.users)},
        "unknown_members": {g.name: sorted(g.unknown) for g in ordered if g.unknown},
        "without_owner": [g.name for g in ordered if g.owner in gone or g.owner not in company.users],
    }
    per_user = Counter(ident for ident, _ in findings)
    text = [f"# Access review {company.today}", "", f"Permissions: {len(company.held)}", f"Findings: {len(findings)}"]
    text += [f"Users with findings: {len(per_user)}", "", "| Reason | Findings | Users |", "| --- | --- | --- |"]
    for reason in REASONS:
        whose = [ident for (ident, _), found in findings.items() if found == reason]
        text.append(f"| {reason} | {len(whose)} | {len(set(whose))} |")
    text += ["", "## Most findings", ""]
    for ident, count in sorted(per_user.items(), key=lambda item: (-item[1], item[0]))[:3]:
        text.append(f"- {ident} {company.users[ident].name}: {count}")
    return {
        "output/permissions.csv": f"user,permission,via\n{rows}",
        "output/findings.csv": f"user,permission,reason,last_used\n{bad}",
        "output/cleanup.json": json.dumps(cleanup, indent=2) + "\n",
        "output/review.md": "\n".join(text) + "\n",
    }


def _plan(rng: random.Random, constants: dict[str, str]) -> Plan:
    name = rng.choice(("review.py", "scripts/access_review.py", "work/review.py"))
    source = script(__file__, **constants)
    steps = [
        look(rng.choice(("ls -l iam", "wc -l iam/*"))),
        read("iam/groups.yaml", "Groups and policy first."),
        read("iam/policy.csv", beside=True),
        run("cat iam/conflicts.csv iam/exceptions.csv; head -30 iam/users.json", phase="read", beside=True),
        run("tail -5 iam/access.log; grep -vc 'result=' iam/access.log; cut -d= -f5 iam/access.log | sort | uniq -c",
            "How does the log look, and which lines are not whole?", phase="explore"),
        write(name, source, "Groups contain each other, so membership has to guard against circles."),
        run(f"python3 {name}", "Run it."),
        verify("cat output/findings.csv output/review.md", "Do the findings make sense?"),
        read("output/cleanup.json", "And what is to be cleaned up.", phase="check"),
        verify("head -12 output/permissions.csv", beside=True),
    ]  # fmt: skip
    slips = [
        Slip(1, read("iam/groups.yml"), "It is groups.yaml."),
        Slip(6, run(f"cd iam && python3 {name}"), "From the main folder."),
    ]
    flat = changed(source, ("for other in nested:", "for other in []:"))
    lenient = changed(source, ("if until >= TODAY and by != user:", "if True:"))
    denied = changed(source, ('match["result"] == "ok"', 'match["result"]'))
    apart = changed(source, ("for other in conflicts[permission]", "for other in ()"))
    no_report = run(f"python3 {name} && rm output/review.md", "Run it.")
    flaws = [
        Flaw("nested_groups_missed_no_report", {5: rewritten(steps[5], flat), 6: no_report}, loss="large"),
        Flaw("every_exception_believed", {5: rewritten(steps[5], lenient)}, loss="small"),
        Flaw("denied_accesses_count_as_use", {5: rewritten(steps[5], denied)}, loss="small"),
        Flaw("conflicts_missed", {5: rewritten(steps[5], apart)}, loss="small"),
        Flaw("report_forgotten", {6: no_report}, loss="small"),
    ]
    return plan(steps, slips, flaws, "The permissions, the findings and what to clean up are in output/.")


FAMILY = Family(
    name="access_review",
    bench_category="Content & Domain Support",
    settings=(
        Setting("Information Retrieval and Collection", "fact-checking and verification"),
        Setting("Planning and Knowledge Organization", "information synthesis and summarization"),
    ),
    operations=(
        "read local files and extract relevant content",
        "inspect code or configuration files",
        "filter, sort, and rank records",
        "compose updates, reports, or status summaries",
        "write structured results to local files",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("healthcare administration", "it operations", "finance and accounting", "public and non-profit"),
    skill_words=("access", "security", "audit", "compliance", "permissions"),
)
