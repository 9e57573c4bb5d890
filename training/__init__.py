"""Training: tokenizer, chat format, masks, TRL trainers and the policy server, on plain arguments.

Belongs here: everything that needs torch. Does not belong here: lake tables, Dagster, what an example is worth.
Importing it switches hub access and telemetry off for this process: models are folders, and nothing is reported.
"""

from __future__ import annotations

import os

for _name, _value in {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
}.items():
    os.environ.setdefault(_name, _value)
