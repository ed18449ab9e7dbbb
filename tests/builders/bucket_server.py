"""A server on loopback that speaks the protocol of S3, with one bucket for each test."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

BUCKET = "farm"
_numbers = itertools.count(1)


@contextlib.contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """Serve S3; yields the variables of the environment with which clients reach it."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # as buckets do, one connection for many requests

        def log(self, *_: object, **__: object) -> None:
            """Print nothing."""

    # One request after another: `moto` looks whether there is an object, and then writes it.
    lock = threading.Lock()
    application = DomainDispatcherApplication(create_backend_app)

    def alone(environ: object, start: object) -> object:
        with lock:
            return application(environ, start)

    server = make_server("127.0.0.1", 0, alone, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()


def new_bucket() -> str:
    """Make a bucket; returns its URL."""
    import s3fs

    name = f"{BUCKET}-{next(_numbers)}"
    s3fs.S3FileSystem().mkdir(name)
    return f"s3://{name}"
