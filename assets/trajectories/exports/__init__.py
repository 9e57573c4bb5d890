"""Trajectories in the formats of others, one module a format."""
