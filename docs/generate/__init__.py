"""What the pages take from the code, written by commands: `python -m docs.generate --help`."""
