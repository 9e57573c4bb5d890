"""Tests of the SQL files: views, metrics and the worked examples on a small deterministic lake."""
