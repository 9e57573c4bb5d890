"""Verifier of `access_review`: follows the handed-out groups upwards from each user and judges anew."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    bullets,
    check,
    is_int,
    labelled,
    md_table,
    object_keys,
    original,
    original_csv,
    original_yaml,
    output,
    output_csv,
    output_json,
    section,
    share,
)

TODAY = "2026-01-01"
SINCE = "2025-10-03"
REASONS = ("gone", "not_allowed", "conflict", "unused")

USERS = {user["id"]: user for user in json.loads(original("iam/users.json"))}
GROUPS = original_yaml("iam/groups.yaml")
ENTRIES = {name: re.split(r"\s*,\s*", fields["members"]) for name, fields in GROUPS.items()}
GONE = {u for u, user in USERS.items() if user["status"] == "left" or (user["contract_end"] or TODAY) < TODAY}
POLICY = {row["permission"]: row for row in original_csv("iam/policy.csv")}
PAIRS = [{row["permission"], row["other"]} for row in original_csv("iam/conflicts.csv")]
EXCEPTIONS = {
    (row["user"], row["permission"])
    for row in original_csv("iam/exceptions.csv")
    if row["until"] >= TODAY and row["approved_by"] != row["user"]
}


def groups_of(user: str) -> set[str]:
    """Groups a user is in, from the own ones upwards."""
    found: set[str] = set()
    waiting = [user]
    while waiting:
        entry = waiting.pop()
        above = {name for name, entries in ENTRIES.items() if entry in entries} - found
        found |= above
        waiting += [f"@{name}" for name in above]
    return found


def held() -> dict[tuple[str, str], list[str]]:
    result: dict[tuple[str, str], list[str]] = {}
    for user in USERS:
        for group in sorted(groups_of(user)):
            for permission in re.split(r"\s*,\s*", GROUPS[group]["grants"]):
                result.setdefault((user, permission), []).append(group)
    return dict(sorted(result.items()))


def uses() -> dict[tuple[str, str], str]:
    """Day of the latest use of a permission by a user."""
    found: dict[tuple[str, str], str] = {}
    for line in original("iam/access.log").splitlines():
        fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if fields.get("result") == "ok":
            key = (fields["user"].lower(), f"{fields['resource']}:{fields['action']}")
            found[key] = max(found.get(key, ""), line[:10])
    return found


HELD = held()
USED = uses()


def verdict(user: str, permission: str) -> str:
    rule = POLICY.get(permission)
    departments = re.split(r"\s*;\s*", rule["departments"]) if rule else []
    fits = "*" in departments or USERS[user]["department"] in departments
    fits = fits and (USERS[user]["type"] == "employee" or bool(rule and rule["contractors"] == "yes"))
    if user in GONE:
        return "gone"
    if not fits and (user, permission) not in EXCEPTIONS:
        return "not_allowed"
    if any(permission in pair and all((user, other) in HELD for other in pair) for pair in PAIRS):
        return "conflict"
    recent = USED.get((user, permission), "") >= SINCE
    return "" if recent or USERS[user]["status"] == "on_leave" else "unused"


FINDINGS = {key: verdict(*key) for key in HELD if verdict(*key)}
PER_USER = Counter(user for user, _ in FINDINGS)


def permissions(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/permissions.csv", ["user", "permission", "via"])


@check
def permissions_listed(workspace: Path) -> float:
    return [(row["user"], row["permission"]) for row in permissions(workspace)] == list(HELD)


@check
def permissions_via_groups(workspace: Path) -> float:
    found = {(row["user"], row["permission"]): re.split(r"\s*;\s*", row["via"]) for row in permissions(workspace)}
    return found == HELD


def findings(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/findings.csv", ["user", "permission", "reason", "last_used"])


@check
def findings_listed(workspace: Path) -> float:
    return [(row["user"], row["permission"]) for row in findings(workspace)] == list(FINDINGS)


@check
def findings_reasons(workspace: Path) -> float:
    found = {(row["user"], row["permission"]): row["reason"] for row in findings(workspace)}
    return share(sum(found.get(key) == why for key, why in FINDINGS.items()), max(len(found), len(FINDINGS)))


@check
def findings_last_used(workspace: Path) -> float:
    found = {(row["user"], row["permission"]): row["last_used"] for row in findings(workspace)}
    right = sum(found.get(key) == USED.get(key, "") for key in FINDINGS)
    return share(right, max(len(found), len(FINDINGS)))


def cleanup(workspace: Path) -> dict[str, Any]:
    keys = ["gone_members", "unknown_members", "without_owner"]
    return object_keys(output_json(workspace, "output/cleanup.json"), keys)


@check
def gone_members(workspace: Path) -> float:
    wanted = {name: sorted(GONE & set(entries)) for name, entries in ENTRIES.items()}
    return bool(cleanup(workspace)["gone_members"] == {name: found for name, found in wanted.items() if found})


@check
def unknown_members(workspace: Path) -> float:
    known = {*USERS, *(f"@{name}" for name in GROUPS)}
    wanted = {name: sorted(set(entries) - known) for name, entries in ENTRIES.items()}
    return bool(cleanup(workspace)["unknown_members"] == {name: found for name, found in wanted.items() if found})


@check
def groups_without_owner(workspace: Path) -> float:
    wanted = sorted(name for name, fields in GROUPS.items() if fields["owner"] not in set(USERS) - GONE)
    return bool(cleanup(workspace)["without_owner"] == wanted)


def review(workspace: Path) -> str:
    return section(output(workspace, "output/review.md"), f"Access review {TODAY}")


@check
def review_numbers(workspace: Path) -> float:
    text = review(workspace)
    return (
        is_int(labelled(text, "Permissions"), len(HELD))
        and is_int(labelled(text, "Findings"), len(FINDINGS))
        and is_int(labelled(text, "Users with findings"), len(PER_USER))
    )


@check
def review_table(workspace: Path) -> float:
    whose = {name: [user for (user, _), why in FINDINGS.items() if why == name] for name in REASONS}
    wanted = [[name, str(len(found)), str(len(set(found)))] for name, found in whose.items()]
    return md_table(review(workspace), ["Reason", "Findings", "Users"]) == wanted


@check
def review_most_findings(workspace: Path) -> float:
    top = sorted(PER_USER, key=lambda user: (-PER_USER[user], user))[:3]
    wanted = [f"{user} {USERS[user]['name']}: {PER_USER[user]}" for user in top]
    return bullets(section(review(workspace), "Most findings")) == wanted
