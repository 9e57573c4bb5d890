"""The published defects of recorded sessions as generated files with the right answer, and who gives it.

`make conformance` (python -m benchmarks.conformance) runs this project and, each in an environment of its own, its
peers on the same files, judges all by the same expectations, and writes `benchmarks/results/conformance.json` and
`docs/conformance.md`.
Does not belong here: cleaning itself; speed.
"""
