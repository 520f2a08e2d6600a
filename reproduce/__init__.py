"""The paper's tables and figures, measured again; `python -m reproduce --help` says how."""
