"""Native implementations on tinyarray for xpand: a module for each capability, with any subset of its functions."""
