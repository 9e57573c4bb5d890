"""Verifier of `catalogue_pages`: reads the handed-out pages again and compares them with the edited ones."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

from assets.tasks.prelude import (
    ORIGINALS,
    OutputError,
    check,
    is_int,
    object_keys,
    original,
    output,
    output_csv,
    output_jsonl,
    rounded,
    share,
)

PAGES = sorted(path for path in ORIGINALS if path.endswith(".html"))
RULES = tomllib.loads(original("site/seo.toml"))
TITLE = re.compile(r"(<title>)(.*?)(</title>)", re.DOTALL)
DESCRIPTION = re.compile(r'(<meta name="description" content=")([^"]*)(")')
COLUMNS = ["page", "title_length", "description_length", "title_changed", "description_changed"]


def seen(markup: str) -> str:
    """The text a reader sees."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", markup)).split())


def only(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.DOTALL)
    if len(found) != 1:
        raise OutputError(f"{pattern} is there {len(found)} times")
    return str(found[0])


def wanted(text: str) -> tuple[str, str]:
    """Title and description a page must have."""
    name = seen(only(r"<h1[^>]*>(.*?)</h1>", text))
    lead = seen(only(r'<p class="lead">(.*?)</p>', text))
    title = f"{name} | {RULES['brand']}"
    if len(lead) > RULES["description_max"]:
        words = lead.split(" ")
        cuts = [" ".join(words[:n]).rstrip(",. ") + "…" for n in range(1, len(words))]
        lead = [cut for cut in cuts if len(cut) <= RULES["description_max"]][-1]
    return (title if len(title) <= RULES["title_max"] else name), lead


def has(text: str) -> tuple[str, str]:
    """Title and description a page has."""
    titles, descriptions = TITLE.findall(text), DESCRIPTION.findall(text)
    if len(titles) != 1 or len(descriptions) != 1:
        raise OutputError("not exactly one title and one description")
    return seen(titles[0][1]), " ".join(unescape(descriptions[0][1]).split())


def rest(text: str) -> str:
    """The page without title and description."""
    return DESCRIPTION.sub(r"\1\3", TITLE.sub(r"\1\3", text))


def escaped(text: str) -> bool:
    """Whether title and description hold no bare &, < or >."""
    parts = [TITLE.findall(text)[0][1], DESCRIPTION.findall(text)[0][1]]
    return not any(re.search(r"[<>]|&(?!#?\w+;)", part) for part in parts)


TO_CHANGE = [path for path in PAGES if has(original(path)) != wanted(original(path))]
PRODUCTS: list[dict[str, Any]] = []
for page in PAGES:
    markup = original(page)
    price = re.search(r'class="price">\s*EUR ([\d,.]+)', markup)
    if price:
        PRODUCTS.append(
            {
                "sku": only(r'<body data-sku="([^"]+)"', markup),
                "name": seen(only(r"<h1[^>]*>(.*?)</h1>", markup)),
                "price": Decimal(price[1].replace(",", "")),
                "in_stock": seen(only(r'class="stock">(.*?)<', markup)).lower() == "in stock",
                "page": page.rsplit("/", 1)[1],
            }
        )
PRODUCTS.sort(key=lambda p: (-p["price"], p["sku"]))


@check
def titles_right(workspace: Path) -> float:
    right = sum(has(output(workspace, path))[0] == wanted(original(path))[0] for path in TO_CHANGE)
    untouched = sum(has(original(path))[0] == wanted(original(path))[0] for path in TO_CHANGE)
    return max(0.0, share(right - untouched, len(TO_CHANGE) - untouched))


@check
def descriptions_right(workspace: Path) -> float:
    right = sum(has(output(workspace, path))[1] == wanted(original(path))[1] for path in TO_CHANGE)
    untouched = sum(has(original(path))[1] == wanted(original(path))[1] for path in TO_CHANGE)
    return max(0.0, share(right - untouched, len(TO_CHANGE) - untouched))


@check
def pages_exact(workspace: Path) -> float:
    """All titles and descriptions right and escaped, everything else in the pages as it was."""
    texts = {path: output(workspace, path) for path in PAGES}
    return all(
        has(text) == wanted(original(path)) and escaped(text) and rest(text) == rest(original(path))
        for path, text in texts.items()
    )


@check
def right_pages_untouched(workspace: Path) -> float:
    """Pages that needed nothing are as they were, while most of the others have been mended."""
    mended = sum(has(output(workspace, path)) == wanted(original(path)) for path in TO_CHANGE)
    kept = all(output(workspace, path) == original(path) for path in PAGES if path not in TO_CHANGE)
    return kept and 2 * mended >= len(TO_CHANGE)


def report(workspace: Path) -> dict[str, dict[str, str]]:
    rows = output_csv(workspace, "output/seo_report.csv", COLUMNS)
    if [row["page"] for row in rows] != [path.rsplit("/", 1)[1] for path in PAGES]:
        raise OutputError("not one row for each page in order")
    return dict(zip(PAGES, rows, strict=True))


@check
def report_lengths(workspace: Path) -> float:
    rows = report(workspace)
    return all(
        is_int(rows[path]["title_length"], len(title)) and is_int(rows[path]["description_length"], len(description))
        for path in PAGES
        for title, description in [wanted(original(path))]
    )


@check
def report_changes(workspace: Path) -> float:
    rows = report(workspace)
    right = 0
    for path in PAGES:
        changes = ["yes" if a != b else "no" for a, b in zip(has(original(path)), wanted(original(path)), strict=True)]
        right += [rows[path]["title_changed"].lower(), rows[path]["description_changed"].lower()] == changes
    return right == len(PAGES)


def products(workspace: Path) -> list[dict[str, Any]]:
    keys = ["sku", "name", "price", "in_stock", "page"]
    return [object_keys(item, keys) for item in output_jsonl(workspace, "output/catalogue.jsonl")]


@check
def catalogue_order(workspace: Path) -> float:
    return [item["sku"] for item in products(workspace)] == [p["sku"] for p in PRODUCTS]


@check
def catalogue_prices(workspace: Path) -> float:
    found = {item["sku"]: item["price"] for item in products(workspace)}
    return len(found) == len(PRODUCTS) and all(
        not isinstance(found[p["sku"]], str) and rounded(found[p["sku"]], p["price"], 2) for p in PRODUCTS
    )


@check
def catalogue_fields(workspace: Path) -> float:
    fields = ("sku", "name", "in_stock", "page")
    found = [tuple(item[f] for f in fields) for item in products(workspace)]
    return sorted(found, key=str) == sorted((tuple(p[f] for f in fields) for p in PRODUCTS), key=str)
