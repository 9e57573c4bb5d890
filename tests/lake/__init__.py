"""Tests of the lake core, with real Delta tables, DuckDB and processes."""
