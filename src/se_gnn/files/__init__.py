"""Reading and writing safely: what is whole or absent, what is checked before it is believed.

Nothing else in the package opens a file to write it, or reads one that somebody else may have made.
"""

from se_gnn.files.commit import commit_files, current_path, locked, read_current, visible_names
from se_gnn.files.json_text import (
    append_line,
    check_format,
    json_bytes,
    json_line,
    parse_json,
    parse_json_lines,
    read_json_lines,
)
from se_gnn.files.reading import SMALL, read_file, sha256
from se_gnn.files.writing import remove_tree, replace_file, replacing, writing_to

__all__ = [
    "SMALL",
    "append_line",
    "check_format",
    "commit_files",
    "current_path",
    "json_bytes",
    "json_line",
    "locked",
    "parse_json",
    "parse_json_lines",
    "read_current",
    "read_file",
    "read_json_lines",
    "remove_tree",
    "replace_file",
    "replacing",
    "sha256",
    "visible_names",
    "writing_to",
]
