"""Implementations in terms of the standard alone, for any library."""
