"""The stages, one package each in data-flow order, and the tools below them.

    personas → skills → tasks → workspaces → audits → rollouts → logs → trajectories → verdicts → sft → checkpoints
    → bench

A stage imports earlier stages, the tools (`sandbox`, `grading`, `stage`, `profile`) and `lake`; never a later stage.
"""
