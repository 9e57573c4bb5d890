"""Tests of the stage `workspaces`."""
