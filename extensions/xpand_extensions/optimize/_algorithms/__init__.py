"""The steps of the optimisers and root finders, in terms of the standard."""
