"""What CuPy does natively."""
