"""The command `se-gnn`.

Nothing heavy is imported before a command needs it, so that `se-gnn --help` answers at once.
"""

from se_gnn.apps.cli.app import app, main

__all__ = ["app", "main"]
