"""Tests of the composition root: builder, definitions, jobs, command line, set-up."""
