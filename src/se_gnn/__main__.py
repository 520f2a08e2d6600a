"""`python -m se_gnn` is `se-gnn`."""

from se_gnn.apps.cli import main

if __name__ == "__main__":
    main()
