"""Decide on the tickets and write replies and queue."""

import csv
import json
import re
import tomllib
from datetime import date
from pathlib import Path

style = tomllib.loads(Path("input/style.toml").read_text())
with open("input/orders.csv", newline="") as handle:
    orders = {row["order_id"]: row for row in csv.DictReader(handle)}

blocks: dict[str, str] = {}
for part in re.split(r"^## ", Path("input/macros.md").read_text(), flags=re.M)[1:]:
    title, _, body = part.partition("\n")
    blocks[title.strip()] = body.strip()

folder = Path("output/replies")
folder.mkdir(parents=True, exist_ok=True)
seen, queue = set(), []
for line in Path("input/tickets.jsonl").read_text().splitlines():
    ticket = json.loads(line)
    if ticket["status"] == "spam":
        continue
    key = (ticket["email"].lower(), ticket["order_id"], ticket["category"])
    order = orders.get(ticket["order_id"])
    decision, reason = "reply", ""
    if key in seen:
        decision = "duplicate"
    elif order is None:
        decision, reason = "escalate", "unknown_order"
    elif float(order["amount"]) > style["escalate_above"]:
        decision, reason = "escalate", "high_value"
    elif any(word in ticket["message"].lower() for word in style["escalate_words"]):
        decision, reason = "escalate", "sensitive"
    seen.add(key)
    queue.append([ticket["id"], decision, reason])
    if decision == "reply" and order:
        day = date.fromisoformat(order["ordered_at"])
        text = blocks[ticket["category"]].format(
            order_id=order["order_id"],
            item=order["item"],
            date=f"{day.day} {day.strftime('%B %Y')}",
            amount=f"EUR {order['amount']}",
        )
        first = ticket["name"].split()[0]
        reply = f"Subject: Re: {ticket['subject']}\n\nDear {first},\n\n{text}\n\n{style['signature']}\n"
        (folder / f"{ticket['id']}.md").write_text(reply)

with open("output/queue.csv", "w", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["ticket_id", "decision", "reason"])
    writer.writerows(queue)
print({d: sum(1 for q in queue if q[1] == d) for d in ("reply", "escalate", "duplicate")})
