"""Published task formats: read into bundles, and written back without loss.

Belongs here: one module a format (`clawgym_folder`, `clawgym_rows`, `pinchbench`, `harbor`), what they share, and the
two effects. Does not belong here: whether a task is any good (`audits`), running a verifier (`assets/grading`).
"""

from __future__ import annotations

from assets.tasks.exchange.contract import File, Format, Imported, Refused
from assets.tasks.exchange.effect import Exported, ImportReport, export_tasks, import_tasks, stated_splits
from assets.tasks.exchange.formats import FORMATS, format_named, recognised

__all__ = [
    "FORMATS",
    "Exported",
    "File",
    "Format",
    "ImportReport",
    "Imported",
    "Refused",
    "export_tasks",
    "format_named",
    "import_tasks",
    "recognised",
    "stated_splits",
]
