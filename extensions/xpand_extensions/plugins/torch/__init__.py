"""What PyTorch does natively."""
