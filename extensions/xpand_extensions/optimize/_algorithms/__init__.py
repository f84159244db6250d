"""The steps of the optimizers and root finders, in terms of the standard."""
