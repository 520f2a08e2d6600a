"""`se-gnn serve`: mistakes are a line, and a real server starts, answers and ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from se_gnn.model.folder import save_model
from strategies import random_graph, small_settings, untrained

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model"
    save_model(untrained(random_graph(), small_settings()), path)
    return path


def test_an_address_beyond_loopback_without_a_token_is_refused(run, folder):
    result = run("serve", folder, "--host", "0.0.0.0")
    assert result.exit_code == 2
    assert "give --token-file FILE" in result.output


def test_what_cannot_be_served_is_said_in_a_line(run, folder, tmp_path):
    missing = run("serve", tmp_path / "nothing")
    assert (missing.exit_code, "does not exist" in missing.output) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        busy = run("serve", folder, "--port", str(port))
    assert (busy.exit_code, f"--port {port} cannot be used" in busy.output) == (2, True)
    strange = run("serve", folder, "--host", "no.such.host.invalid", "--token-file", tmp_path / "token")
    assert strange.exit_code == 2


def test_a_server_starts_answers_and_ends(folder):
    command = [sys.executable, "-m", "se_gnn", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
            with urllib.request.urlopen(address + "healthz", timeout=30) as answer:
                assert answer.read() == b'{"status":"alive"}'
            with urllib.request.urlopen(address + "v1/nodes/%233/explanation", timeout=60) as answer:
                assert answer.status == 200
        finally:
            process.send_signal(signal.SIGTERM)
        assert "Traceback" not in process.communicate(timeout=30)[1]


def test_the_page_on_the_explorer_names_every_option(run):
    page = (ROOT / "docs" / "how-to" / "explorer.md").read_text(encoding="utf-8")
    offered = set(re.findall(r"^\W*(--[a-z-]+)", run("serve", "--help").output, flags=re.M)) - {"--help", "--quiet"}
    assert offered == set(re.findall(r"^\| `(--[a-z-]+)", page, flags=re.M))


def test_the_container_runs_as_an_ordinary_user():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert lines.index("USER se-gnn") < next(i for i, line in enumerate(lines) if line.startswith("ENTRYPOINT"))


def test_a_server_starts_without_what_only_training_needs():
    heavy = ("sklearn", "pandas", "matplotlib")
    code = f"import sys, se_gnn.apps.explorer; print([one for one in {heavy} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
