"""What tinyarray does natively, for xpand: one module a capability, any subset of its functions."""
