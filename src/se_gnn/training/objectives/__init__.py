"""What training minimizes: the paper's loss, or the loss of the vote itself. Each reads its own settings."""
