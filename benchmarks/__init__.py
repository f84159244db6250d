"""What xpand costs, compared with what it is measured against: `python -m benchmarks`."""
