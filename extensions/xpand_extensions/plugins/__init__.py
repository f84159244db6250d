"""Native implementations, one package a library; any subset of the functions."""
