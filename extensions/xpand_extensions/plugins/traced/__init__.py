"""Traced arrays: every operation goes to the interpreters of `tracing`."""

from ...tracing._facades import implementation as implementation
