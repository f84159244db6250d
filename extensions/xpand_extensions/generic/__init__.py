"""Implementations that use only the standard, for any library."""
