"""The recording proxy between the agent and its model. What it wrote is the evidence of record of an attempt.

Belongs here: serving, passing on, recording. Does not belong here: which policy answers (`policies.py`).
"""
