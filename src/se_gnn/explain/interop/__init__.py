"""Explanations in the tools people already use; each module needs its package when it is used, not before."""
