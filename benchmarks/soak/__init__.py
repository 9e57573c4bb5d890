"""Random kills of ingest and cleaning with several writers at once, compared with a run that nobody disturbs.

`make soak` (python -m benchmarks.soak) writes `benchmarks/results/soak.json`. Each named crash point is passed once
in the tests too. Does not belong here: anything that is measured.
"""
