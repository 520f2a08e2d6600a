"""Runs the first Python example of the README with the installed package, and `se-gnn --help`."""

import re
import subprocess
import sys
from pathlib import Path

import se_gnn

assert "site-packages" in se_gnn.__file__, f"not the installed package: {se_gnn.__file__}"
example = re.search(r"```python\n(.*?)```", Path(sys.argv[1]).read_text(encoding="utf-8"), re.DOTALL)
assert example is not None, "the README has no example in Python"
command = Path(sys.executable).with_name("se-gnn")
subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL)
exec(compile(example[1], "README.md", "exec"), {})
print(f"se-gnn {se_gnn.__version__}: the README's example ran")
