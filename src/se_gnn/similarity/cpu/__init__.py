"""The CPU backend: compiled by numba, every sum in a fixed order."""
