"""What se-gnn is compared with, written to be read: each file one baseline."""
