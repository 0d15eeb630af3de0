"""Hypothesis draws the same cases on every machine, and times none of them."""

from hypothesis import settings

settings.register_profile("book", derandomize=True, deadline=None)
settings.load_profile("book")
