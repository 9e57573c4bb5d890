"""Value pools and small makers that families share: people, departments, money, ways to open a request.

Belongs here: data and pure functions of a random generator. Does not belong here: the rules of any task.
"""

from __future__ import annotations

import random
import unicodedata
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from string import Template
from typing import Final

from assets.personas import Persona

GIVEN: Final = (
    "Agnes", "Bela", "Carlo", "Dana", "Edgar", "Fatima", "Gwen", "Hanna", "Igor", "Joana", "Karim", "Lena", "Milan",
    "Nadia", "Oscar", "Paula", "Ravi", "Selma", "Tomas", "Uma", "Vera", "Walid", "Yara", "Zeno",
)  # fmt: skip
FAMILY: Final = (
    "Abbott", "Brandt", "Castel", "Dufour", "Eriksen", "Fontana", "Gruber", "Haddad", "Ivanova", "Jansen", "Kowalski",
    "Lindqvist", "Moreau", "Novak", "Okafor", "Pereira", "Quist", "Rossi", "Schmid", "Tanaka", "Ueda", "Varga", "Weber",
    "Ziegler",
)  # fmt: skip
DEPARTMENTS: Final = (
    "Operations", "Finance", "Marketing", "Field Services", "Research", "Customer Care", "Facilities", "People",
    "Procurement", "Product",
)  # fmt: skip


def people(rng: random.Random, count: int) -> list[str]:
    """Distinct full names with distinct given and family names."""
    return [
        f"{given} {family}" for given, family in zip(rng.sample(GIVEN, count), rng.sample(FAMILY, count), strict=True)
    ]


def slugged(name: str) -> str:
    """ASCII, lower case, dots between the words."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return ".".join(plain.lower().split())


def cents(value: Decimal) -> Decimal:
    """Rounded half up to two places."""
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def is_tie(value: Decimal, places: int = 2) -> bool:
    """Whether the value lies half-way between two neighbours of so many places; generators avoid such values."""
    scaled = abs(value).scaleb(places)
    return scaled % 1 == Decimal("0.5")


def tie_free(rng: random.Random, low: int, high: int, factor: Decimal) -> Decimal:
    """An amount of whole cents in [low, high] cents whose product with `factor` has no rounding tie at two places."""
    while True:
        amount = Decimal(rng.randint(low, high)) / 100
        if not is_tie(amount * factor):
            return amount


def opening(rng: random.Random, persona: Persona, errand: str) -> str:
    """First sentence of a request in the persona's name."""
    article = "an" if persona.occupation[0].lower() in "aeiou" else "a"
    lowered = errand if errand.startswith("I ") else f"{errand[0].lower()}{errand[1:]}"
    forms = (
        f"Hi, {persona.name} here ({persona.occupation}). {errand}",
        f"I'm {persona.name}, {article} {persona.occupation}, and I need a hand. {errand}",
        f"Hello! As {article} {persona.occupation} I do this every so often; please take it over. {errand}",
        f"{errand} (This is {persona.name}; I work as {article} {persona.occupation}.)",
        f"Quick request from {persona.name}, {persona.occupation}: {lowered}",
    )
    return rng.choice(forms)


def told(family_file: str, **values: object) -> str:
    """The family's `instruction.md` with its `$names` filled in; every name must be given."""
    template = Path(family_file).with_name("instruction.md").read_text("utf-8")
    return Template(template).substitute(values).strip()


def leave_inputs(rng: random.Random, folder: str = "input/") -> str:
    """The sentence that asks to keep the inputs as they are."""
    return rng.choice(
        (
            f"Please leave everything under {folder} exactly as it is.",
            f"Do not change any file in {folder}; only add the output files.",
            f"Treat {folder} as read-only.",
        )
    )


def spelled(rng: random.Random, value: str) -> str:
    """The value with careless case or blanks around it, sometimes."""
    return rng.choice((value, value, value.title(), value.upper(), f" {value}", f"{value} "))
