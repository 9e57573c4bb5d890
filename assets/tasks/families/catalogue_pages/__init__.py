"""Family `catalogue_pages`: product pages get right titles and descriptions in place; a catalogue is drawn from them.

Belongs here: the generator. The verifier is `check.py`, the reference script `solve.py`.
"""

from __future__ import annotations

import html
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assets.personas import Persona
from assets.tasks.families.pools import opening, told
from assets.tasks.family import Draft, Family, Setting
from assets.tasks.plan import Flaw, Plan, Slip
from assets.tasks.route import changed, edit, look, plan, read, rewritten, run, script, verify, write

BRANDS: Final = ("Fern & Thorn", "Harbour Supply", "Oak <Works>", "Miller & Daughters")
THINGS: Final = (
    "Folding saw", "Canvas bag", "Wool blanket", "Tea pot", "Desk lamp", "Rain jacket", "Garden shears", "Bread knife",
    "Travel mug", "Head torch", "Seed box", "Picnic rug",
)  # fmt: skip
TRAITS: Final = (
    "large",
    "for left hands",
    "in oak & brass",
    "second edition",
    "extra light",
    "with cover",
    'model "A"',
)
CLAUSES: Final = (
    "Made to last for many years.", "It weighs less than a loaf of bread, and fits into any drawer.",
    "Tested by gardeners, campers and two impatient cooks.", "Spare parts are sold separately & delivered fast.",
    "Rinse it after use, dry it well.", "Comes with a printed guide, a cloth, and a small tin of oil.",
    "The handle is turned from local ash.", "Works where others give up < 5 degrees.",
)  # fmt: skip


@dataclass(frozen=True)
class Page:
    """A product page as it is meant."""

    name: str
    heading: str
    """The h1's name."""
    lead: str
    sku: str
    cents: int | None
    stock: str
    title: str
    description: str
    """What the page has at first; as a reader sees it."""


def draft(rng: random.Random, persona: Persona, setting: Setting) -> Draft:
    """The task of a seed."""
    brand = rng.choice(BRANDS)
    title_max, description_max = rng.randint(34, 40), rng.randint(90, 130)
    pages = _pages(rng, brand, title_max, description_max)
    layouts = {page.name: rng.randint(0, 2) for page in pages}
    rules = f'# agreed in spring\nbrand = "{brand}"\ntitle_max = {title_max}\ndescription_max = {description_max}\n'
    inputs = {f"site/{p.name}": _html(p, p.title, p.description, layouts[p.name]) for p in pages}
    oracle: dict[str, str] = {}
    rows, listed = [], []
    for page in pages:
        title, description = _right(page, brand, title_max, description_max)
        flags = (title != page.title, description != page.description)
        if any(flags):
            oracle[f"site/{page.name}"] = _html(page, title, description, layouts[page.name])
        rows.append(f"{page.name},{len(title)},{len(description)},{','.join('yes' if f else 'no' for f in flags)}")
        if page.cents is not None:
            listed.append((-page.cents, page.sku, page))
    oracle["output/seo_report.csv"] = "\n".join(
        ["page,title_length,description_length,title_changed,description_changed", *rows, ""]
    )
    oracle["output/catalogue.jsonl"] = "".join(
        json.dumps(
            {"sku": sku, "name": p.heading, "price": -cents / 100, "in_stock": p.stock.lower() == "in stock",
             "page": p.name},
            ensure_ascii=False,
        ) + "\n"
        for cents, sku, p in sorted(listed, key=lambda item: item[:2])
    )  # fmt: skip
    errand = "The product pages of our site need proper titles and descriptions, and I want a list of the products."
    text = told(__file__, opening=opening(rng, persona, errand))
    editable = tuple(f"site/{p.name}" for p in pages)
    return Draft(text, {**inputs, "site/seo.toml": rules}, oracle, {}, _plan(rng, pages), editable)


def _right(page: Page, brand: str, title_max: int, description_max: int) -> tuple[str, str]:
    title = f"{page.heading} | {brand}"
    if len(title) > title_max:
        title = page.heading
    if len(page.lead) <= description_max:
        return title, page.lead
    best = ""
    for end in (i for i, letter in enumerate(page.lead) if letter == " "):
        cut = page.lead[:end].rstrip(" ,.") + "…"
        best = cut if len(cut) <= description_max else best
    return title, best


def _pages(rng: random.Random, brand: str, title_max: int, description_max: int) -> list[Page]:
    """Two pages that are right already; others with wrong titles, wrong descriptions, or both."""
    things = sorted(rng.sample(THINGS, rng.randint(7, 9)))
    kinds = ["right", "right", "title", "description", *rng.choices(("both", "both", "title"), k=len(things) - 4)]
    rng.shuffle(kinds)
    price = rng.randint(9, 40) * 100
    pages = []
    for i, (thing, kind) in enumerate(zip(things, kinds, strict=True)):
        heading = thing if i % 3 == 0 else f"{thing}, {rng.choice(TRAITS)}"
        lead = " ".join(rng.sample(CLAUSES, 1 if i % 4 == 0 else rng.randint(2, 4)))
        cents = None if i == 2 else price if i in (1, 3) else rng.randint(500, 180_000)
        stock = rng.choice(("in stock", "In Stock", "sold out", "in stock soon", "IN STOCK"))
        page = Page(
            f"{thing.lower().replace(' ', '-')}.html",
            heading,
            lead,
            f"S-{rng.randint(100, 999)}{i}",
            cents,
            stock,
            "",
            "",
        )
        title, description = _right(page, brand, title_max, description_max)
        wrong_title = rng.choice(("Untitled page", thing.upper(), f"{brand}: {thing}"))
        wrong_description = rng.choice(("", "Buy now!", f"{lead} Order today.", description.rstrip("…") + " …"))
        pages.append(
            Page(
                page.name, heading, lead, page.sku, cents, stock,
                wrong_title if kind in ("title", "both") else title,
                wrong_description if kind in ("description", "both") else description,
            )
        )  # fmt: skip
    return pages


def _html(page: Page, title: str, description: str, layout: int) -> str:
    """The page; the layout only changes how its texts are broken and marked up."""
    heading, lead = html.escape(page.heading, quote=False), html.escape(page.lead, quote=False)
    if layout == 1:
        words = lead.split(" ")
        middle = len(words) // 2
        lead = f"{' '.join(words[:middle])}\n      {' '.join(words[middle:])}"
        heading = f"\n      {heading}\n    "
    if layout == 2:
        first, _, others = lead.partition(" ")
        lead = f"<em>{first}</em> {others}"
    price = "" if page.cents is None else f'    <p>Price: <span class="price">EUR {page.cents / 100:,.2f}</span></p>\n'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n  <meta charset="utf-8">\n'
        f"  <title>{html.escape(title, quote=False)}</title>\n"
        f'  <meta name="description" content="{html.escape(description)}">\n'
        f'</head>\n<body data-sku="{page.sku}">\n  <main>\n    <h1 class="name">{heading}</h1>\n'
        f'    <p class="lead">{lead}</p>\n{price}'
        f'    <p class="stock">{page.stock}</p>\n    <!-- keep: checked by the print shop -->\n'
        '    <p>Questions? Write to <a href="mailto:shop@example.org">the shop</a>.</p>\n  </main>\n</body>\n</html>\n'
    )


def _plan(rng: random.Random, pages: list[Page]) -> Plan:
    name = rng.choice(("scripts/seo.py", "tools/pages.py", "fix_pages.py"))
    source = script(__file__)
    steps = [
        look(rng.choice(("ls -l site", "ls site && wc -c site/*.html"))),
        read("site/seo.toml", "The rules, and two pages to see how they are built."),
        read(f"site/{pages[0].name}", beside=True),
        read(f"site/{pages[1].name}", beside=True),
        run("grep -c 'class=\"price\"' site/*.html; grep -h -e 'class=\"stock\"' -e '<title>' site/*.html",
            "What differs from page to page?", phase="explore"),
        run("mkdir -p work && cp -r site work/before", "A copy, to compare with afterwards.", phase="run"),
        write(name, source, "One script for the edits and both files."),
        run(f"python3 {name}", "Run it."),
        verify("diff -r work/before site | grep -c '^[<>]'; cat output/seo_report.csv", "How much differs?"),
        verify("diff -r work/before site | grep '^>' | head -20", "The new lines, one by one."),
        verify("cat output/catalogue.jsonl", "And the catalogue.", beside=True),
    ]  # fmt: skip
    slips = [
        Slip(1, read("site/index.html"), "There is no index page; I'll take the product pages."),
        Slip(7, run(f"python3 {name.rsplit('.', 1)[0]}"), "The ending was missing."),
        Slip(8, edit(f"site/{pages[0].name}", [("<title></title>", "<title>x</title>")]),
             "No page has an empty title; the script took care of them."),
    ]  # fmt: skip
    sloppy = changed(
        source,
        ('.rstrip(" ,.") + "…"\n        if', '.rstrip(" ,.")\n        if'),
        ("title = f\"{name} | {rules['brand']}\"", "title = name"),
    )
    ascending = changed(source, ("-float(str(", "float(str("))
    raw = changed(
        source,
        ('html.unescape(re.sub(r"<.*?>", "", markup))', "markup"),
        ('shorten(text_of(lead.group(1)), rules["description_max"])', "text_of(lead.group(1))"),
    )
    undone = "cp work/before/*.html site/ && rm output/catalogue.jsonl"
    flaws = [
        Flaw("brand_and_ellipsis_forgotten", {6: rewritten(steps[6], sloppy)}, loss="large"),
        Flaw("cheapest_first", {6: rewritten(steps[6], ascending)}, loss="small"),
        Flaw("report_forgotten", {7: run(f"python3 {name} && rm output/seo_report.csv", "Run it.")}, loss="small"),
        Flaw("markup_kept_and_never_cut", {6: rewritten(steps[6], raw)}, loss="large"),
        Flaw("pages_put_back", {7: run(f"python3 {name} && {undone}", "Run it.")}),
    ]
    closing = "Titles and descriptions are in line, and output/ has the report and the catalogue."
    return plan(steps, slips, flaws, closing)


FAMILY = Family(
    name="catalogue_pages",
    bench_category="Content & Domain Support",
    settings=(
        Setting("Content and External Communication", "SEO and page optimization"),
        Setting("Content and External Communication", "general content writing"),
    ),
    operations=(
        "inspect files and directories",
        "extract structured data from files or web content",
        "edit or rewrite existing local documents",
        "write structured results to local files",
    ),
    difficulty=3,
    folder=Path(__file__).parent,
    draft=draft,
    domains=("retail and commerce", "media and publishing"),
    skill_words=("html", "pages", "site", "content", "diagrams"),
)
