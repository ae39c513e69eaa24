"""A page of a real TensorBoard server with our logs, in a real browser without a screen."""

import base64
import io
import sys
import urllib.request

import numpy as np
import pytest
from browser import ask, browser, free_port, needs_browser, server, wait_for
from PIL import Image

import facula
from facula.utils.tensorboard import SummaryWriter

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


@pytest.mark.promise("P7")
@needs_browser
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
