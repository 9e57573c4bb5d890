"""Verifier of `contact_merge`: reads the exports anew and joins records by spreading labels."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from assets.tasks.prelude import (
    ORIGINALS,
    bullets,
    check,
    is_int,
    labelled,
    md_table,
    original,
    original_csv,
    output,
    output_csv,
    section,
    share,
)

COUNTRY = "49"
COLUMNS = ["key", "name", "company", "emails", "phones", "records"]
Record = tuple[str, str, str, frozenset[str], str]
"""Id, name, company, addresses and numbers, day of the last change as YYYYMMDD."""


def dialled(text: str) -> str:
    """A phone number in its one form; empty if it is none."""
    plus, digits = text.strip().startswith("+"), "".join(c for c in text if c in "0123456789")
    if not plus and digits[:2] == "00":
        plus, digits = True, digits[2:]
    elif not plus and digits[:1] == "0":
        plus, digits = True, COUNTRY + digits[1:]
    return ("+" if plus else "") + digits if len(digits) > 7 else ""


SHARED = {dialled(line) for line in original("contacts/shared_numbers.txt").splitlines() if not line.startswith("#")}


def handles(emails: list[str], phones: list[str]) -> frozenset[str]:
    known = {address.strip().lower() for address in emails} | {dialled(number) for number in phones}
    return frozenset(known - SHARED - {""})


def cards() -> list[Record]:
    found: list[Record] = []
    unfolded = original("contacts/phone.vcf").replace("\n ", "")
    for card in unfolded.split("BEGIN:VCARD")[1:]:
        lines = re.findall(r"^([A-Z]+)(?:;[^:\n]*)?:(.*)$", card, re.MULTILINE)
        plain = [(name, value.replace("\\,", ",").replace("\\;", ";")) for name, value in lines]
        one = dict(reversed(plain))
        reach = [[value for name, value in plain if name == wanted] for wanted in ("EMAIL", "TEL")]
        found.append((one["UID"], squeezed(one["FN"]), squeezed(one.get("ORG", "")), handles(*reach), one["REV"][:8]))
    return found


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def rows() -> list[Record]:
    text = ORIGINALS["contacts/crm.csv"].decode("cp1252")
    found: list[Record] = []
    for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=";"):
        name = squeezed(re.sub(r"^(.*?),(.*)$", r"\2 \1", row["name"]))
        changed = re.sub(r"(\d+)\.(\d+)\.(\d+)", r"\3\2\1", row["changed"])
        found.append((row["id"], name, squeezed(row["company"]), handles([row["email"]], [row["phone"]]), changed))
    for row in original_csv("contacts/mailing.csv"):
        reach = handles(row["emails"].split(), [row["phone"]])
        changed = row["updated"].replace("-", "")
        found.append((row["id"], squeezed(row["full_name"]), squeezed(row["organisation"]), reach, changed))
    return found


RECORDS = cards() + rows()
LEFT_OUT = sorted(record[0] for record in RECORDS if not record[3])


def groups() -> dict[str, list[Record]]:
    """Records of each person, newest first, by the person's key."""
    label = {record[0]: record[0] for record in RECORDS if record[3]}
    while True:
        spread = {}
        for record in RECORDS:
            if record[3]:
                near = [other[0] for other in RECORDS if other[3] & record[3]]
                spread[record[0]] = min(label[ident] for ident in near)
        if spread == label:
            break
        label = spread
    found: dict[str, list[Record]] = {key: [] for key in set(label.values())}
    for record in sorted(RECORDS, key=lambda r: r[4], reverse=True):
        if record[3]:
            found[label[record[0]]].append(record)
    return found


PEOPLE = groups()


def expected(key: str) -> dict[str, str]:
    """The row of a person."""
    records = PEOPLE[key]
    reach = sorted(set().union(*(record[3] for record in records)))
    return {
        "key": key,
        "name": records[0][1],
        "company": next((record[2] for record in records if record[2]), ""),
        "emails": " ".join(item for item in reach if "@" in item),
        "phones": " ".join(item for item in reach if "@" not in item),
        "records": str(len(records)),
    }


DIRECTORY = {key: expected(key) for key in sorted(PEOPLE)}


def conflict_rows() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for key, records in PEOPLE.items():
        for field in ("name", "company"):
            values = [(record[0], record[1] if field == "name" else record[2]) for record in records]
            values = [(ident, value) for ident, value in values if value]
            if len({value.lower() for _, value in values}) > 1:
                found += [(key, field, *value) for value in values]
    return sorted(found)


CONFLICTS = conflict_rows()


def directory(workspace: Path) -> list[dict[str, str]]:
    return output_csv(workspace, "output/directory.csv", COLUMNS)


def column_right(workspace: Path, column: str) -> float:
    found = directory(workspace)
    right = sum(row["key"] in DIRECTORY and row[column] == DIRECTORY[row["key"]][column] for row in found)
    return share(right, max(len(found), len(DIRECTORY)))


@check
def people_in_order(workspace: Path) -> float:
    return [row["key"] for row in directory(workspace)] == list(DIRECTORY)


@check
def merged_counts_right(workspace: Path) -> float:
    return [(row["key"], row["records"]) for row in directory(workspace)] == [
        (key, row["records"]) for key, row in DIRECTORY.items()
    ]


@check
def names_right(workspace: Path) -> float:
    return column_right(workspace, "name")


@check
def companies_right(workspace: Path) -> float:
    return column_right(workspace, "company")


@check
def emails_right(workspace: Path) -> float:
    return column_right(workspace, "emails")


@check
def phones_right(workspace: Path) -> float:
    return column_right(workspace, "phones")


def conflicts(workspace: Path) -> list[tuple[str, ...]]:
    return [
        tuple(row.values())
        for row in output_csv(workspace, "output/conflicts.csv", ["key", "field", "record", "value"])
    ]


@check
def conflicting_people_found(workspace: Path) -> float:
    return {row[:2] for row in conflicts(workspace)} == {row[:2] for row in CONFLICTS}


@check
def conflicts_exact(workspace: Path) -> float:
    return conflicts(workspace) == CONFLICTS


def report(workspace: Path) -> str:
    return section(output(workspace, "output/report.md"), "Contacts")


@check
def report_numbers(workspace: Path) -> float:
    text = report(workspace)
    numbers = {"Records": len(RECORDS), "Left out": len(LEFT_OUT), "People": len(PEOPLE)}
    return all(is_int(labelled(text, label), value) for label, value in numbers.items())


@check
def left_out_listed(workspace: Path) -> float:
    return bullets(section(report(workspace), "Left out")) == LEFT_OUT


@check
def scattered_listed(workspace: Path) -> float:
    big = sorted((-len(records), key) for key, records in PEOPLE.items() if len(records) > 2)
    found = md_table(section(report(workspace), "Most scattered"), ["Key", "Name", "Records"])
    return found == [[key, DIRECTORY[key]["name"], str(-count)] for count, key in big]
