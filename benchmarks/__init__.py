"""Figures, not tests: ours beside a peer in the same run, in CPU-seconds and ratios.

`make bench` (python -m benchmarks) writes `benchmarks/results/latest.json` and `latest.md`. One file a job in `jobs/`.
Does not belong here: anything a test depends on.
"""
