"""`kill -9` of a server in the middle of ratings loses no answer that was acknowledged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import httpx
import pytest

from lab.rating import RatingStore
from rating_file import make_file

ANSWERS = 100
SERVER = """
import sys
from pathlib import Path
from lab.rating import RatingStore
from lab.rating.application import create_app
from se_gnn.apps.web import WebSettings
from se_gnn.apps.web.server import run_server
app = create_app(RatingStore(Path(sys.argv[1])), WebSettings())
run_server(app, host="127.0.0.1", port=0, ready=lambda address: print(address, flush=True))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_server_has_kept_every_acknowledged_answer(tmp_path):
    path = make_file(tmp_path / "ratings.sqlite", items=60)
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        acknowledged: list[int] = []
        enough = threading.Event()

        def rate():
            with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
                client.cookies.update(client.post("/start", data={"name": "ann"}).cookies)
                for pair in range(1, 10 * ANSWERS):
                    try:
                        answer = client.post("/answer", data={"pair": pair, "answer": "similar", "key": f"key {pair}"})
                    except httpx.HTTPError:
                        return
                    assert answer.status_code == 204
                    acknowledged.append(pair)
                    if len(acknowledged) == ANSWERS:
                        enough.set()

        rater = threading.Thread(target=rate)
        rater.start()
        assert enough.wait(60)
        os.kill(server.pid, signal.SIGKILL)
        rater.join(60)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    store = RatingStore(path)
    kept = {one.pair for one in store.ratings()}
    store.close()
    assert set(acknowledged) <= kept
    assert len(kept) <= len(acknowledged) + 1  # the one that was on its way
