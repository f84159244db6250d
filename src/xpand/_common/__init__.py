"""Corrections that several namespaces share, written against the standard alone."""
