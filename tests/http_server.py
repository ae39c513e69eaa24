"""A server on this machine for tests of downloads: it may stop in the middle, on request."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serves ``files`` (bytes by name).

    Args:
        break_after: the bytes after which a connection ends, for each connection in turn; None
            lets it finish.
        ranges: whether parts of files can be asked for.
        redirects: where to send those who ask for a name.
    """

    def __init__(self, files, break_after=(), ranges=True, redirects=None):
        self.files = dict(files)
        self.break_after = list(break_after)
        self.ranges = ranges
        self.redirects = redirects or {}
        self.requests = []  # pairs of a name and the range that was asked for

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def _answer(self, handler):
        name = handler.path.lstrip("/").partition("?")[0]
        asked = handler.headers.get("Range")
        self.requests.append((name, asked))
        if name in self.redirects:
            handler.send_response(302)
            handler.send_header("Location", self.redirects[name])
            handler.send_header("Content-Length", "0")
            return handler.end_headers()
        if name not in self.files:
            return handler.send_error(404)
        data, start = self.files[name], 0
        tag = f'"{hash(data)}"'
        same = handler.headers.get("If-Range", tag) == tag
        if asked and self.ranges and same:
            start = int(asked.removeprefix("bytes=").partition("-")[0])
            if start >= len(data):
                return handler.send_error(416)
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        handler.send_header("ETag", tag)
        handler.send_header("Content-Length", str(len(data) - start))
        handler.end_headers()
        n = self.break_after.pop(0) if self.break_after else None
        handler.wfile.write(data[start:] if n is None else data[start : start + n])


@contextlib.contextmanager
def serving(files, **options):
    """A running :class:`Server`."""
    server = Server(files, **options)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server._answer(self)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
