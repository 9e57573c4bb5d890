"""Tests of the stage `skills`."""
