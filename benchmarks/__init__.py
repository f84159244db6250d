"""What xpand costs, beside what it is measured against: `python -m benchmarks`."""
