"""Every case by subject; importing this package fills `case.CASES`.

A new published failure is one function more in the module of its subject. Does not belong here: running or judging.
"""

from benchmarks.conformance.case import CASES
from benchmarks.conformance.cases import branches, duplicates, gaps, noise, pairing, values

__all__ = ["CASES", "branches", "duplicates", "gaps", "noise", "pairing", "values"]
