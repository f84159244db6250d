"""What NumPy does natively."""
