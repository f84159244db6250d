"""Traced arrays: the interpreters of `tracing` apply every operation."""

from ...tracing._facades import implementation as implementation
