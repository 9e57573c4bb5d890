"""Tests of the stage `rollouts`."""
