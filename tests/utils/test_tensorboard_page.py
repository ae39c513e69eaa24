"""A page of a real TensorBoard server with our logs, in a real browser without a screen."""

import base64
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

import facula
from facula.utils.tensorboard import SummaryWriter

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
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

# Walks into shadow trees too: the page is made of components.
FIND = """
const found = [];
const visit = (root) => {
  for (const node of root.querySelectorAll('*')) {
    if (node.matches(arguments[0])) found.push(node);
    if (node.shadowRoot) visit(node.shadowRoot);
  }
};
visit(document);
"""


PLACE = """
(node.scrollIntoView(), ((r) => [r.left, r.top, r.right, r.bottom])(node.getBoundingClientRect()))
"""
CURVE = (0x42, 0x50, 0x66)


@contextmanager
def server(*command):
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


@pytest.mark.promise("P7")
@pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium and chromedriver")
def test_the_page_shows_the_curve_and_the_image(tmp_path):
    logs = tmp_path / "logs"
    with SummaryWriter(logs / "run") as writer:
        for step in range(20):
            writer.add_scalar("loss", 1 / (step + 1), step)
        writer.add_image("digit", facula.rand(3, 16, 16))

    port = free_port()
    # Not localhost: a proxy of the environment may not know it.
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logs, "--port", port]
    with (
        server(*map(str, command), "--host=127.0.0.1", "--load_fast=false"),
        browser(tmp_path) as page,
    ):
        address = f"http://127.0.0.1:{port}"
        wait_for("TensorBoard", lambda: urllib.request.urlopen(address, timeout=10).status == 200)
        ask(f"{page}/url", {"url": f"{address}/#timeseries"})

        def find(selector, value):
            script = f"{FIND} return found.map(node => {value}).filter(Boolean);"
            return ask(f"{page}/execute/sync", {"script": script, "args": [selector]})

        def columns_of_curve():
            # The curve is drawn on a canvas; its color is that of the run's circle.
            (place,) = find("line-chart canvas", PLACE)
            shot = ask(f"{page}/screenshot")
            with Image.open(io.BytesIO(base64.b64decode(shot))) as image:
                chart = np.asarray(image.convert("RGB").crop(place)).astype(int)
            return (abs(chart - CURVE).max(axis=2) < 20).any(axis=0).mean() > 0.5

        wait_for("the curve", columns_of_curve)
        sizes = wait_for("the image", lambda: find("image-card img", "node.naturalWidth"))
        assert sizes == [16]
        titles = find("card-view .tag, card-view [title]", "node.textContent.trim()")
        assert any("loss" in title for title in titles)
