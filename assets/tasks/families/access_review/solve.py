"""Who has which permission, and who should not."""

import csv
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

TODAY = "2026-01-01"
SINCE = "2025-10-03"

users = {user["id"]: user for user in json.loads(Path("iam/users.json").read_text())}
groups: dict[str, dict[str, str]] = {}
for raw in Path("iam/groups.yaml").read_text().splitlines():
    key, _, value = raw.split("#")[0].strip().partition(":")
    if raw.startswith(" "):
        groups[list(groups)[-1]][key] = value.strip().strip("\"'")
    elif key:
        groups[key] = {}


def items(text: str, mark: str = ",") -> list[str]:
    return [item.strip() for item in text.split(mark) if item.strip()]


def table(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


def members(group: str, seen: frozenset[str] = frozenset()) -> set[str]:
    if group in seen or group not in groups:
        return set()
    entries = items(groups[group]["members"])
    found = {entry for entry in entries if entry in users}
    nested = [entry[1:] for entry in entries if entry.startswith("@")]
    for other in nested:
        found |= members(other, seen | {group})
    return found


held: dict[tuple[str, str], list[str]] = defaultdict(list)
for group in sorted(groups):
    for user_id in members(group):
        for permission in items(groups[group]["grants"]):
            held[user_id, permission].append(group)

gone = set()
for user_id, user in users.items():
    if user["status"] == "left" or (user["contract_end"] or TODAY) < TODAY:
        gone.add(user_id)

policy = {row["permission"]: row for row in table("iam/policy.csv")}
excepted = set()
for row in table("iam/exceptions.csv"):
    user, until, by = row["user"], row["until"], row["approved_by"]
    if until >= TODAY and by != user:
        excepted.add((user, row["permission"]))
conflicts = defaultdict(set)
for row in table("iam/conflicts.csv"):
    conflicts[row["permission"]].add(row["other"])
    conflicts[row["other"]].add(row["permission"])

last: dict[tuple[str, str], str] = {}
pattern = re.compile(r"(?P<day>[\d-]{10})T\S+ user=(?P<user>\S+) resource=(?P<resource>\S+) action=(?P<action>\S+)"
                     r" result=(?P<result>\w+)$")  # fmt: skip
for raw in Path("iam/access.log").read_text().splitlines():
    match = pattern.match(raw)
    if match and match["result"] == "ok":
        use = (match["user"].lower(), f"{match['resource']}:{match['action']}")
        last[use] = max(last.get(use, ""), match["day"])


def reason(user_id: str, permission: str) -> str:
    person, rule = users[user_id], policy.get(permission)
    if user_id in gone:
        return "gone"
    allowed = rule is not None and (
        (rule["departments"] == "*" or person["department"] in items(rule["departments"], ";"))
        and (rule["contractors"] == "yes" or person["type"] == "employee")
    )
    if not allowed and (user_id, permission) not in excepted:
        return "not_allowed"
    if any((user_id, other) in held for other in conflicts[permission]):
        return "conflict"
    if last.get((user_id, permission), "") < SINCE and person["status"] != "on_leave":
        return "unused"
    return ""


findings = [(*key, reason(*key)) for key in sorted(held) if reason(*key)]

Path("output").mkdir(exist_ok=True)
with open("output/permissions.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["user", "permission", "via"])
    writer.writerows([*key, "; ".join(held[key])] for key in sorted(held))
with open("output/findings.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["user", "permission", "reason", "last_used"])
    writer.writerows([u, p, why, last.get((u, p), "")] for u, p, why in findings)

leaving, strange, orphaned = {}, {}, []
for group, fields in sorted(groups.items()):
    entries = items(fields["members"])
    left = sorted(entry for entry in entries if entry in gone)
    odd = sorted(e for e in entries if e not in users and not (e[0] == "@" and e[1:] in groups))
    if left:
        leaving[group] = left
    if odd:
        strange[group] = odd
    if fields["owner"] in gone or fields["owner"] not in users:
        orphaned.append(group)
cleanup = {"gone_members": leaving, "unknown_members": strange, "without_owner": orphaned}
Path("output/cleanup.json").write_text(json.dumps(cleanup, indent=2) + "\n")

per_user = Counter(u for u, _, _ in findings)
lines = [f"# Access review {TODAY}", "", f"Permissions: {len(held)}", f"Findings: {len(findings)}"]
lines += [f"Users with findings: {len(per_user)}", "", "| Reason | Findings | Users |", "| --- | --- | --- |"]
for name in ("gone", "not_allowed", "conflict", "unused"):
    whose = [u for u, _, why in findings if why == name]
    lines.append(f"| {name} | {len(whose)} | {len(set(whose))} |")
lines += ["", "## Most findings", ""]
for user_id, count in sorted(per_user.items(), key=lambda item: (-item[1], item[0]))[:3]:
    lines.append(f"- {user_id} {users[user_id]['name']}: {count}")
Path("output/review.md").write_text("\n".join(lines) + "\n")
print(len(held), "permissions,", len(findings), "findings")
