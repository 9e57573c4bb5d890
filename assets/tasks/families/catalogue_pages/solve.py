"""Bring titles and descriptions into line and list the products."""

import csv
import html
import json
import re
import tomllib
from pathlib import Path

rules = tomllib.loads(Path("site/seo.toml").read_text())


def text_of(markup: str) -> str:
    """What a reader sees of a piece of markup."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<.*?>", "", markup))).strip()


def shorten(text: str, limit: int) -> str:
    """Cut at a word so that the text with its ellipsis fits."""
    if len(text) <= limit:
        return text
    words = text.split(" ")
    while words:
        words.pop()
        short = " ".join(words).rstrip(" ,.") + "…"
        if len(short) <= limit:
            return short
    return "…"


def yes(flag: bool) -> str:
    """yes or no."""
    return "yes" if flag else "no"


report, products = [], []
for path in sorted(Path("site").glob("*.html")):
    page = path.read_text(encoding="utf-8")
    heading = re.search(r"<h1.*?>(.*?)</h1>", page, re.S)
    lead = re.search(r'<p class="lead">(.*?)</p>', page, re.S)
    assert heading and lead, path
    name = text_of(heading.group(1))
    title = f"{name} | {rules['brand']}"
    if len(title) > rules["title_max"]:
        title = name
    description = shorten(text_of(lead.group(1)), rules["description_max"])

    old_title = re.search(r"<title>(.*?)</title>", page, re.S)
    old_description = re.search(r'<meta name="description" content="(.*?)">', page, re.S)
    assert old_title and old_description, path
    title_changed = text_of(old_title.group(1)) != title
    description_changed = text_of(old_description.group(1)) != description
    new = page
    if title_changed:
        new = new.replace(old_title.group(0), f"<title>{html.escape(title, quote=False)}</title>")
    if description_changed:
        new = new.replace(old_description.group(0), f'<meta name="description" content="{html.escape(description)}">')
    if new != page:
        path.write_text(new, encoding="utf-8")
    report.append([path.name, len(title), len(description), yes(title_changed), yes(description_changed)])

    price = re.search(r'class="price">\s*EUR\s*([\d.,]+)', page)
    sku = re.search(r'data-sku="(.*?)"', page)
    stock = re.search(r'class="stock">(.*?)<', page, re.S)
    if price and sku and stock:
        products.append(
            {
                "sku": sku.group(1),
                "name": name,
                "price": float(price.group(1).replace(",", "")),
                "in_stock": text_of(stock.group(1)).lower() == "in stock",
                "page": path.name,
            }
        )

Path("output").mkdir(exist_ok=True)
with open("output/seo_report.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["page", "title_length", "description_length", "title_changed", "description_changed"])
    writer.writerows(report)
products.sort(key=lambda p: (-float(str(p["price"])), str(p["sku"])))
with open("output/catalogue.jsonl", "w", encoding="utf-8") as handle:
    for product in products:
        handle.write(json.dumps(product, ensure_ascii=False) + "\n")
print(len(report), "pages,", len(products), "products")
