"""The steps of optimizers and root finders, written with the standard alone."""
