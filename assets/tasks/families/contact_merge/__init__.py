"""Family `contact_merge`: three exports of the same people become one directory, and their contradictions a list.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import csv
import io
import random
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import leave_inputs, opening, people, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, look, plan, read, rewritten, run, script, verify, write

ACCENTED: Final = ("Zoë Ångström", "Jürgen Möller", "Inês Conceição", "Loïc Béranger", "Søren Højgaard")
COMPANIES: Final = (
    "Halden, Berg & Co", "Quay Street Joinery", "Nordfrost AG", "Café Lumière", "Feldmann; Söhne", "Bluecrate",
    "Orchard School", "Porto Sul Lda",
)  # fmt: skip
HOSTS: Final = ("post.example", "mailbox.example", "kontor.example", "quay.example")
COUNTRIES: Final = ("49", "43", "41", "351")


@dataclass(frozen=True)
class Record:
    """A record of an export as it is meant; phones in their normal form, shared ones among them."""

    ident: str
    name: str
    company: str
    emails: tuple[str, ...]
    phones: tuple[str, ...]
    changed: date


@dataclass(frozen=True)
class Person:
    """Who is behind some records."""

    records: tuple[Record, ...]

    @property
    def key(self) -> str:
        """The first of the ids."""
        return min(record.ident for record in self.records)

    @property
    def newest(self) -> list[Record]:
        """Records, the one changed last first."""
        return sorted(self.records, key=lambda record: record.changed, reverse=True)


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    country = rng.choice(COUNTRIES)
    shared = [_number(rng, country) for _ in range(2)]
    persons = _people(rng, country, shared)
    lone = _without_reach(rng, shared[0])
    records = [record for person in persons for record in person.records] + lone
    rng.shuffle(records)
    inputs: dict[str, str | bytes] = {
        "contacts/phone.vcf": _vcards(rng, [r for r in records if r.ident.startswith("P")], country),
        "contacts/crm.csv": _crm(rng, [r for r in records if r.ident.startswith("C")], country),
        "contacts/mailing.csv": _mailing(rng, [r for r in records if r.ident.startswith("M")], country),
        "contacts/shared_numbers.txt": "# switchboards\n" + "".join(f"{_dial(rng, n, country)}\n" for n in shared),
    }
    errand = "My contacts are spread over three exports and nobody knows which entry is right."
    text = told(
        __file__, opening=opening(rng, persona, errand), closing=leave_inputs(rng, "contacts/"), country=country
    )
    oracle = _oracle(persons, [record.ident for record in lone], len(records), frozenset(shared))
    return Draft(text, inputs, oracle, {"COUNTRY": country}, _plan(rng, country))


def _people(rng: random.Random, country: str, shared: list[str]) -> list[Person]:
    """People with one to four records each; two of one name, some behind the same switchboard."""
    names = people(rng, 13)
    names += rng.sample(ACCENTED, 4)
    names.append(names[0])
    ids = _ids(rng)
    counts = [4, 4, 3, 3, 3, *(rng.choice((1, 2, 2, 3)) for _ in names[5:])]
    found = []
    for name, count in zip(names, counts, strict=True):
        behind = rng.choice(shared) if rng.random() < 0.6 else None
        found.append(_person(rng, name, [next(ids) for _ in range(count)], country, behind))
    return found


def _ids(rng: random.Random) -> Iterator[str]:
    """Record ids; the letter says which export."""
    for number in rng.sample(range(100, 1000), 90):
        yield f"{rng.choice('PPCM')}-{number}"


def _person(rng: random.Random, name: str, ids: list[str], country: str, switchboard: str | None) -> Person:
    """Each record after the first shares an address or a number with one before it, and may bring new ones."""
    days = rng.sample(range(900), len(ids))
    company = rng.choice(COMPANIES)
    emails: list[str] = []
    phones: list[str] = []
    records = []
    for i, ident in enumerate(ids):
        most = {"P": (2, 2), "C": (1, 1), "M": (2, 1)}[ident[0]]
        mine: list[list[str]] = [[], []] if i else [[_email(rng, name)], []]
        if i:
            known = rng.choice((*emails[-2:], *phones[-2:]))
            mine[0 if "@" in known else 1].append(known)
        if len(mine[0]) < most[0] and rng.random() < 0.5:
            mine[0].append(_email(rng, name))
        if len(mine[1]) < most[1] and rng.random() < 0.6:
            mine[1].append(_number(rng, country))
        emails += [item for item in mine[0] if item not in emails]
        phones += [item for item in mine[1] if item not in phones]
        if switchboard and len(mine[1]) < most[1]:
            mine[1].append(switchboard)
        changed_on = date(2023, 6, 1) + timedelta(days=days[i])
        spelt, works = _variant(rng, name), _company(rng, company)
        records.append(Record(ident, spelt, works, tuple(mine[0]), tuple(mine[1]), changed_on))
    return Person(tuple(records))


def _variant(rng: random.Random, name: str) -> str:
    """The name as a record has it; one in three is truly another."""
    given, family = name.split()
    return rng.choice(
        (name, name, name.upper(), name, f"{given[0]}. {family}", f"{given} {family}-{people(rng, 1)[0].split()[1]}")
    )


def _company(rng: random.Random, company: str) -> str:
    return rng.choice((company, company, company.upper(), "", rng.choice(COMPANIES)))


def _email(rng: random.Random, name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.replace("ø", "o")).encode("ascii", "ignore").decode().lower()
    return f"{plain.replace(' ', rng.choice('._'))}{rng.getrandbits(20):05x}@{rng.choice(HOSTS)}"


def _number(rng: random.Random, country: str) -> str:
    return f"+{country}{rng.randint(20, 99)}{rng.randint(1_000_000, 9_999_999)}"


def _without_reach(rng: random.Random, switchboard: str) -> list[Record]:
    """Records that cannot be used: no address, and a switchboard for a number, or none."""
    names = people(rng, 4)
    day = date(2024, rng.randint(1, 12), 3)
    return [
        Record(f"{letter}-0{rng.randint(10, 49) + 50 * (i % 2)}", name, "", (), phones, day)
        for i, (name, letter, phones) in enumerate(
            zip(names, "PCMP", ((), (switchboard,), (), (switchboard,)), strict=True)
        )
    ]


# --- exports ------------------------------------------------------------------------------------------------------


def _dial(rng: random.Random, number: str, country: str) -> str:
    """A number as people write it."""
    area, rest = number[len(country) + 1 :][:2], number[len(country) + 3 :]
    return rng.choice(
        (
            number, f"+{country} {area} {rest}", f"00{country}-{area}-{rest[:3]} {rest[3:]}", f"(0{area}) {rest}",
            f"0{area}/{rest[:3]} {rest[3:5]} {rest[5:]}", f" 00{country} {area} {rest}",
        )
    )  # fmt: skip


def _typed(rng: random.Random, address: str) -> str:
    return rng.choice((address, address, address.title(), address.upper()))


def _spaced(rng: random.Random, text: str) -> str:
    return rng.choice((text, text, text.replace(" ", "  ", 1), f"{text} "))


def _junk(rng: random.Random) -> str:
    return rng.choice(("", "", f"ext. {rng.randint(100, 999)}", "n/a", f"0{rng.randint(100, 999)}"))


def _vcards(rng: random.Random, records: list[Record], country: str) -> str:
    lines = []
    for record in records:
        card = ["BEGIN:VCARD", "VERSION:3.0", f"UID:{record.ident}", f"FN:{_spaced(rng, record.name)}"]
        if record.company:
            company = record.company.replace(",", "\\,").replace(";", "\\;")
            card.append(f"ORG:{_spaced(rng, company)}")
        body = [
            f"{rng.choice(('EMAIL', 'EMAIL;TYPE=INTERNET', 'EMAIL;TYPE=work,pref'))}:{_typed(rng, e)}"
            for e in record.emails
        ]
        body += [
            f"{rng.choice(('TEL', 'TEL;TYPE=CELL', 'TEL;TYPE=work,voice'))}:{_dial(rng, p, country)}"
            for p in record.phones
        ]
        if rng.random() < 0.3:
            body.append(f"TEL;TYPE=pager:{_junk(rng) or '110'}")
        body.append(f"NOTE:{rng.choice(('met at the fair', 'prefers mail to calls', 'moved house in spring'))}")
        rng.shuffle(body)
        card += [*body, f"REV:{record.changed:%Y%m%d}T{rng.randint(6, 20):02}1500Z", "END:VCARD"]
        for line in card:
            fold = len(line) > 30 and rng.random() < 0.5
            at = rng.randint(12, len(line) - 4) if fold else len(line)
            lines += [line[:at], *([f" {line[at:]}"] if fold else [])]
    return "\n".join(lines) + "\n"


def _crm(rng: random.Random, records: list[Record], country: str) -> bytes:
    rows = []
    for record in records:
        given, family = record.name.split()
        name = _spaced(rng, f"{family}, {given}")
        phone = _dial(rng, record.phones[0], country) if record.phones else _junk(rng)
        email = _typed(rng, record.emails[0]) if record.emails else ""
        rows.append((record.ident, name, _spaced(rng, record.company), phone, email, f"{record.changed:%d.%m.%Y}"))
    return _csv(("id", "name", "company", "phone", "email", "changed"), rows, ";").encode("cp1252")


def _mailing(rng: random.Random, records: list[Record], country: str) -> str:
    rows = []
    for record in records:
        emails = " ".join(_typed(rng, e) for e in record.emails)
        phone = _dial(rng, record.phones[0], country) if record.phones else _junk(rng)
        company = _spaced(rng, record.company)
        rows.append((record.ident, emails, _spaced(rng, record.name), company, phone, record.changed.isoformat()))
    return _csv(("id", "emails", "full_name", "organisation", "phone", "updated"), rows)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n", delimiter=delimiter).writerows([header, *rows])
    return buffer.getvalue()


# --- answer -------------------------------------------------------------------------------------------------------


def _oracle(persons: list[Person], lone: list[str], count: int, shared: frozenset[str]) -> dict[str, str]:
    """Outputs from the people as they are meant."""
    persons = sorted(persons, key=lambda person: person.key)
    directory, conflicts = [], []
    for person in persons:
        newest = person.newest
        emails = sorted({item for record in newest for item in record.emails})
        phones = sorted({item for record in newest for item in record.phones} - shared)
        company = next((record.company for record in newest if record.company), "")
        directory.append((person.key, newest[0].name, company, " ".join(emails), " ".join(phones), len(newest)))
        for field in ("company", "name"):
            values = {r.ident: r.company if field == "company" else r.name for r in newest}
            values = {ident: value for ident, value in values.items() if value}
            if len({value.upper() for value in values.values()}) > 1:
                conflicts += [(person.key, field, ident, values[ident]) for ident in sorted(values)]
    scattered = sorted((p for p in persons if len(p.records) >= 3), key=lambda p: (-len(p.records), p.key))
    report = ["# Contacts", "", f"Records: {count}", f"Left out: {len(lone)}", f"People: {len(persons)}", ""]
    report += ["## Left out", "", *(f"- {ident}" for ident in sorted(lone)), "", "## Most scattered", ""]
    report += ["| Key | Name | Records |", "| --- | --- | --- |"]
    report += [f"| {p.key} | {p.newest[0].name} | {len(p.records)} |" for p in scattered]
    return {
        "output/directory.csv": _csv(("key", "name", "company", "emails", "phones", "records"), directory),
        "output/conflicts.csv": _csv(("key", "field", "record", "value"), conflicts),
        "output/report.md": "\n".join(report) + "\n",
    }


def _plan(rng: random.Random, country: str) -> Plan:
    name = rng.choice(("merge.py", "scripts/merge_contacts.py", "work/contacts.py"))
    source = script(__file__, COUNTRY=country)
    steps = [
        look(rng.choice(("ls -l contacts", "wc -l contacts/*"))),
        read("contacts/phone.vcf", "The cards first."),
        run("iconv -f CP1252 -t UTF-8 contacts/crm.csv | head -15", phase="explore", beside=True),
        run("head -15 contacts/mailing.csv; cat contacts/shared_numbers.txt", phase="explore", beside=True),
        write(name, source, "Normalise, then join by shared addresses and numbers, in one script."),
        run(f"python3 {name}", "Run it."),
        verify("head -12 output/directory.csv; wc -l output/*.csv", "Has anybody got too many addresses?"),
        verify("head -20 output/conflicts.csv", "Are these true conflicts?"),
        read("output/report.md", "And the report.", phase="check"),
    ]
    slips = [
        Slip(1, read("contacts/phone.vcard"), "The file is phone.vcf."),
        Slip(5, run(f"python3 contacts/{name}"), f"The script is {name}."),
    ]
    joined = changed(source, (" and number not in shared", ""))
    by_name = changed(source, ('*r["emails"], *r["phones"]]', '*r["emails"], r["name"]]'))
    as_typed = changed(source, ('number = "+" + COUNTRY + number[1:]', "pass"))
    oldest = changed(source, ('key=lambda r: r["changed"])', 'key=lambda r: r["changed"], reverse=True)'))
    case = changed(source, ("value.casefold()", "value"))
    flaws = [
        Flaw("switchboards_join_people", {4: rewritten(steps[4], joined)}, loss="large"),
        Flaw("joined_by_name_instead_of_number", {4: rewritten(steps[4], by_name)}, loss="large"),
        Flaw("national_numbers_kept", {4: rewritten(steps[4], as_typed)}, loss="large"),
        Flaw("oldest_record_wins", {4: rewritten(steps[4], oldest)}, loss="small"),
        Flaw("case_counts_as_conflict", {4: rewritten(steps[4], case)}, loss="small"),
        Flaw("report_forgotten", {5: run(f"python3 {name} && rm output/report.md", "Run it.")}, loss="small"),
    ]
    return plan(steps, slips, flaws, "One directory, the contradictions and a short report are in output/.")


FAMILY = Family(
    name="contact_merge",
    bench_category="Productivity & Collaboration",
    settings=(
        Setting("Office and Daily Tasks", "table and record handling"),
        Setting("Information Retrieval and Collection", "fact-checking and verification"),
    ),
    operations=(
        "read local files and extract relevant content",
        "extract structured data from files or web content",
        "write structured results to local files",
        "run scripts or command-line programs",
    ),
    difficulty=4,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("office administration", "customer service", "retail and commerce"),
    skill_words=("contacts", "crm", "address"),
)
