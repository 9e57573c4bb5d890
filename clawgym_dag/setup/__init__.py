"""Set-up of a fresh clone, with nothing but the standard library: it runs before anything is installed.

Belongs here: the virtual environment, OpenClaw, system packages, and one plain line for each way they can fail.
Does not belong here: anything that needs an installed package. `python3.11 -m clawgym_dag.setup --help` says more.
"""
