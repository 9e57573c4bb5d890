"""Tests of the pages: each by Streamlit's own harness, and again in a real browser."""
