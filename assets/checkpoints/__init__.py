"""Stage `checkpoints`: models trained on the filtered examples, each an ordinary transformers folder and a row.

Belongs here: identities, artefact folders and the log of training runs. Does not belong here: how a model is trained
(`training`), which examples there are (`sft`), how good it is (`bench`).
"""

from __future__ import annotations

from assets.checkpoints.artefacts import checkpoint_folder, find_checkpoint
from assets.checkpoints.checks import CHECKS
from assets.checkpoints.effect import train_checkpoints
from assets.checkpoints.projection import PROJECTION
from assets.stage import Stage

STAGE = Stage(
    name="checkpoints",
    doc="Trained models with their whole provenance, and the metrics of their runs.",
    projection=PROJECTION,
    effect=train_checkpoints,
    deps=("sft_examples",),
    checks=CHECKS,
)

__all__ = ["STAGE", "checkpoint_folder", "find_checkpoint"]
