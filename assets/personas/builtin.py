"""The built-in persona generator: deterministic, in our own words, so that a demo needs no persona pool of others.

Belongs here: the word pools and their combination. The first n personas of a seed are the same for every larger n.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from assets.personas.persona import Persona

ORIGIN: Final = "builtin"
LICENCE: Final = "Apache-2.0"

DOMAINS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "office administration": (
        ("office manager", "executive assistant", "team administrator", "front-desk coordinator"),
        ("a family-run architecture firm", "a regional notary's office", "a small engineering consultancy"),
    ),
    "finance and accounting": (
        ("payroll accountant", "financial controller", "accounts-payable clerk", "internal auditor"),
        ("a furniture maker with three sites", "a housing cooperative", "a mid-sized brewery"),
    ),
    "retail and commerce": (
        ("web-shop owner", "category manager", "inventory planner", "store operations lead"),
        ("an outdoor-gear shop", "a second-hand bookshop chain", "an online tea merchant"),
    ),
    "software engineering": (
        ("backend developer", "release engineer", "software maintainer", "technical lead"),
        ("a timetable-software start-up", "a municipal data team", "an open-source mapping project"),
    ),
    "it operations": (
        ("site reliability engineer", "systems administrator", "network operations lead", "platform engineer"),
        ("a university computing centre", "a ticketing platform", "a regional internet provider"),
    ),
    "research and laboratory": (
        ("lab technician", "field ecologist", "postdoctoral researcher", "instrument scientist"),
        ("a river-monitoring programme", "a materials-testing lab", "an agricultural institute"),
    ),
    "education": (
        ("course coordinator", "secondary-school teacher", "instructional designer", "school librarian"),
        ("an evening college", "a vocational school", "an adult-education network"),
    ),
    "healthcare administration": (
        ("clinic manager", "medical-records officer", "ward coordinator", "patient-services supervisor"),
        ("a group of dental practices", "a rehabilitation clinic", "a rural hospital"),
    ),
    "logistics and supply": (
        ("warehouse supervisor", "dispatch planner", "procurement officer", "fleet coordinator"),
        ("a parcel depot", "a food-bank network", "a spare-parts distributor"),
    ),
    "events and hospitality": (
        ("conference organiser", "hotel operations manager", "festival producer", "catering coordinator"),
        ("a lakeside conference hotel", "a jazz festival", "a congress agency"),
    ),
    "media and publishing": (
        ("managing editor", "newsletter editor", "content strategist", "local-news reporter"),
        ("a gardening magazine", "a regional news site", "a small academic press"),
    ),
    "public and non-profit": (
        ("volunteer coordinator", "grants officer", "community organiser", "municipal clerk"),
        ("a neighbourhood association", "a nature-conservation charity", "a town council"),
    ),
    "energy and facilities": (
        ("facilities manager", "building-services technician", "energy consultant", "maintenance planner"),
        ("a campus of office buildings", "a district-heating utility", "a swimming-pool operator"),
    ),
    "customer service": (
        ("support team lead", "customer-success manager", "help-desk agent", "complaints handler"),
        ("an e-bike leasing company", "a software vendor for bakeries", "a travel insurer"),
    ),
}
"""Field of work → (occupations, employers)."""

NAMES: Final = (
    "Amara", "Benoît", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kalinda", "Leif",
    "Maren", "Nikos", "Oluchi", "Petra", "Quentin", "Rosa", "Sanjay", "Tamsin", "Ulrike", "Viktor", "Wanjiru", "Ximena",
    "Yusuf", "Zofia", "Aiko", "Bram", "Carmen", "Dara",
)  # fmt: skip

HABITS: Final = (
    "keeps every record in plain files and distrusts spreadsheets with macros",
    "works through the backlog before nine in the morning",
    "wants figures that can be traced back to the row they came from",
    "inherited a folder of half-tidy exports from a predecessor",
    "prepares everything so that a colleague can take over at any time",
    "reads results on a phone between two meetings",
    "has been burnt by silent rounding errors once and checks totals by hand",
    "prefers short documents with one table and no decoration",
    "answers to a board that asks for evidence",
    "automates whatever has to be done a third time",
)

TENURES: Final = ("newly appointed", "part-time", "long-serving", "self-taught", "recently promoted", "freelance")


def personas(count: int, seed: int) -> Iterator[Persona]:
    """Yield `count` distinct personas; every field of work comes up once before any comes up again."""
    rng = random.Random(f"personas:{seed}")
    domains = sorted(DOMAINS)
    seen: set[str] = set()
    order: list[str] = []
    while len(seen) < count:
        if not order:
            order = rng.sample(domains, len(domains))
        persona = _persona(rng, order.pop())
        if persona.text not in seen:
            seen.add(persona.text)
            yield persona


def _persona(rng: random.Random, domain: str) -> Persona:
    occupations, employers = DOMAINS[domain]
    name, occupation, employer = rng.choice(NAMES), rng.choice(occupations), rng.choice(employers)
    tenure, years = rng.choice(TENURES), rng.randint(2, 24)
    article = "an" if tenure[0] in "aeiou" else "a"
    text = (
        f"{name} is {article} {tenure} {occupation} at {employer}, with {years} years in {domain}. "
        f"{name} {rng.choice(HABITS)}."
    )
    return Persona(text, name, occupation, domain, ORIGIN, LICENCE)
