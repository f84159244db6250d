"""What JAX does natively."""
