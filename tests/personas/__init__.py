"""Tests of the stage `personas`."""
