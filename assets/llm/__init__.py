"""Language models: one client for every part that asks one, and the log that no answer is paid for twice.

Belongs here: asking, binding answers to a schema, retries, the budget. A tool below the chain of stages: no assets, no
tables. Does not belong here: what is asked (`tasks/routes`, `skills`, `grading/judge.py`), the agent's own model calls
(`rollouts/proxy`).
"""
