"""Bytes communicated per FLOP of useful work: the helper library of the book."""

__version__ = "0.1.0"
