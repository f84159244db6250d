"""The costs of xpand compared with references: `python -m benchmarks`."""
