"""Tests of the stage `tasks`."""
