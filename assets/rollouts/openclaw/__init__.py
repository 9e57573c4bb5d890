"""OpenClaw as the agent: where it is, how it is configured and started, and what its remains say.

Belongs here: everything that knows OpenClaw. Does not belong here: sandboxes, the proxy, the schedule.
"""
