"""A real browser without a screen, for tests of pages."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import pytest

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium and chromedriver")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1400,1000",
]


@contextmanager
def server(*command):
    """A process that is ended with the block."""
    # A browser does not start with the library of the sanitisers loaded.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(url, data=None):
    """The answer of the browser's driver; with data, to a request that has them."""
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())["value"]


def wait_for(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if value := condition():
                return value
        except (OSError, ValueError):
            pass  # not yet
        time.sleep(0.2)
    pytest.fail(f"{what} did not come in {seconds} s")


@contextmanager
def browser(tmp_path):
    """The address of a session of the driver."""
    port = free_port()
    arguments = [*OPTIONS, f"--user-data-dir={tmp_path / 'browser'}"]
    options = {"binary": BROWSER, "args": arguments}
    capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}
    base = f"http://127.0.0.1:{port}"
    with server(DRIVER, f"--port={port}"):
        wait_for("the driver", lambda: ask(f"{base}/status")["ready"])
        session = ask(f"{base}/session", {"capabilities": capabilities})["sessionId"]
        try:
            yield f"{base}/session/{session}"
        finally:
            close = urllib.request.Request(f"{base}/session/{session}", method="DELETE")
            urllib.request.urlopen(close, timeout=60).close()
