"""The labeled memory of a model: sets with a guarantee, nodes without an answer, new nodes, and what to label next."""
