"""Code of others, unchanged, under xpand's transformations of NumPy arrays: which of it works, and what stops the rest.

`table.py` has the clients, one module each has the calls of a client, `verdicts.py` judges a call. To judge all clients
that are installed, and write the table of the docs: python -m tests.clients --write
"""
