"""Traced arrays: every operation is one that the interpreters of `tracing` follow."""

from ...tracing._facades import implementation as implementation
