"""Merge three exports of contacts into one directory."""

import csv
import re
from pathlib import Path
from typing import Any

COUNTRY = "49"

shared: set[str | None] = set()


def phone(text: str) -> str | None:
    number = re.sub(r"[^\d+]", "", text)
    number = ("+" if number.startswith("+") else "") + number.replace("+", "")
    if number.startswith("00"):
        number = "+" + number[2:]
    elif number.startswith("0"):
        number = "+" + COUNTRY + number[1:]
    return number if len(number.lstrip("+")) >= 8 and number not in shared else None


def record(ident: str, name: str, company: str, emails: list[str], phones: list[str], changed: str) -> dict[str, Any]:
    return {
        "id": ident.strip(),
        "name": " ".join(name.split()),
        "company": " ".join(company.split()),
        "emails": {e.strip().lower() for e in emails if e.strip()},
        "phones": {p for p in map(phone, phones) if p},
        "changed": changed,
    }


shared |= {phone(line) for line in Path("contacts/shared_numbers.txt").read_text().splitlines() if line[:1] not in "#"}
records = []
text = re.sub(r"\r?\n[ \t]", "", Path("contacts/phone.vcf").read_text("utf-8"))
for card in re.findall(r"BEGIN:VCARD\n(.*?)END:VCARD", text, re.S):
    fields: dict[str, list[str]] = {}
    for line in card.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.split(";")[0].upper(), []).append(re.sub(r"\\([,;])", r"\1", value))
    one = {key: values[0] for key, values in fields.items()}
    records.append(
        record(
            one["UID"], one["FN"], one.get("ORG", ""), fields.get("EMAIL", []), fields.get("TEL", []), one["REV"][:8]
        )
    )
with open("contacts/crm.csv", encoding="cp1252", newline="") as file:
    for row in csv.DictReader(file, delimiter=";"):
        family, _, given = row["name"].partition(",")
        day, month, year = row["changed"].split(".")
        records.append(
            record(
                row["id"], f"{given} {family}", row["company"], [row["email"]], [row["phone"]], f"{year}{month}{day}"
            )
        )
with open("contacts/mailing.csv", encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file):
        changed = row["updated"].replace("-", "")
        emails = row["emails"].split()
        records.append(record(row["id"], row["full_name"], row["organisation"], emails, [row["phone"]], changed))

kept = [r for r in records if r["emails"] or r["phones"]]
left_out = sorted(r["id"] for r in records if not r["emails"] and not r["phones"])
root = {r["id"]: r["id"] for r in kept}


def find(ident: str) -> str:
    while root[ident] != ident:
        ident = root[ident]
    return ident


owner: dict[str, str] = {}
for r in kept:
    for handle in [*r["emails"], *r["phones"]]:
        root[find(r["id"])] = find(owner.setdefault(handle, r["id"]))
people: dict[str, list[dict[str, Any]]] = {}
for r in kept:
    people.setdefault(find(r["id"]), []).append(r)

Path("output").mkdir(exist_ok=True)
directory, conflicts = [], []
for group in people.values():
    group.sort(key=lambda r: r["changed"])
    key = min(r["id"] for r in group)
    emails = " ".join(sorted(set().union(*(r["emails"] for r in group))))
    phones = " ".join(sorted(set().union(*(r["phones"] for r in group))))
    companies = [r["company"] for r in group if r["company"]]
    directory.append([key, group[-1]["name"], companies[-1] if companies else "", emails, phones, len(group)])
    for field in ("company", "name"):
        values = [(r["id"], r[field]) for r in group if r[field]]
        if len({value.casefold() for _, value in values}) > 1:
            conflicts += [[key, field, ident, value] for ident, value in values]
for path, header, rows in (
    ("directory", ["key", "name", "company", "emails", "phones", "records"], directory),
    ("conflicts", ["key", "field", "record", "value"], conflicts),
):
    with open(f"output/{path}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(sorted(rows))

lines = ["# Contacts", "", f"Records: {len(records)}", f"Left out: {len(left_out)}", f"People: {len(people)}", ""]
lines += ["## Left out", "", *(f"- {ident}" for ident in left_out), ""]
lines += ["## Most scattered", "", "| Key | Name | Records |", "| --- | --- | --- |"]
big = sorted((row for row in directory if row[5] >= 3), key=lambda row: (-row[5], row[0]))
lines += [f"| {row[0]} | {row[1]} | {row[5]} |" for row in big]
Path("output/report.md").write_text("\n".join(lines) + "\n", "utf-8")
