"""For every test: a developer's own .env file, with an endpoint and a lake in it, does not reach the tests."""

from __future__ import annotations

import os

from lake.environment import FILE_VARIABLE

os.environ[FILE_VARIABLE] = ""
