"""Every cleaning rule, declared by subject; importing this package fills the registry."""

from assets.trajectories.rules import documents, fields, noise, pairing, records, served, structure
from assets.trajectories.rules.registry import RULES, Rule

__all__ = ["RULES", "Rule", "documents", "fields", "noise", "pairing", "records", "served", "structure"]
