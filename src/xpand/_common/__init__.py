"""Corrections that several namespaces share, written with the standard alone."""
