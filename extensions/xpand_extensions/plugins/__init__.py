"""Native implementations: a package for each library, with any subset of the functions."""
