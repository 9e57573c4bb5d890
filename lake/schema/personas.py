"""Tables of the stage `personas`: who the tasks are for. No scenarios or operations here."""

from __future__ import annotations

import pyarrow as pa

from lake.schema.model import Column, Table

PERSONAS = Table(
    name="personas",
    stage="personas",
    kind="projection",
    doc="User profiles from which task instructions take their setting.",
    grain="one persona",
    key=("persona_id",),
    columns=(
        Column("persona_id", pa.string(), "Digest of the persona text and origin"),
        Column("text", pa.string(), "The persona in one or two sentences"),
        Column("name", pa.string(), "Given name used in instructions"),
        Column("occupation", pa.string(), "What the person does"),
        Column("domain", pa.string(), "Field of work"),
        Column("origin", pa.string(), "builtin | import:<file name>"),
        Column("licence", pa.string(), "Licence of the persona text"),
        Column("event_id", pa.string(), "Event that stated it", references="events.event_id"),
    ),
)

TABLES = (PERSONAS,)
