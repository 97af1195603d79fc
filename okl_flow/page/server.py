"""The page over HTTP: its files, and what it asks for every moment.

It asks instead of being told: a laptop that slept, a proxy that cut a stream, and a server that
was started anew then need nothing of their own. What has not changed is not sent again.
"""

import math
import socket
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from okl_flow.page.board import Board
from okl_flow.page.gate import Gate, is_loopback
from okl_flow.page.watching import Watching

__all__ = ["Server", "application"]

_STATIC = Path(__file__).parent / "static"
_GZIP_BYTES_MIN = 2000
_TEXT_MAX = 1024
_COSTLY = ("keys",)
_AGAIN_SECONDS = 0.8  # of ten thousand keys the worst are not found for every browser
_DIGITS_MAX = 15


def application(watching: Watching, *, token: str | None, host: str, port: int) -> Starlette:
    """What answers requests.

    Parameters:
        watching: what there is to see.
        token: what browsers have to show, if anything.
        host: where it is bound to.
        port: the same.
    """
    answers = _Answers(watching)
    gate = Middleware(
        Gate,
        token=token,
        login=str(_STATIC / "login.html"),
        local=is_loopback(host),
        cookie=f"okl_flow_page_{port}",
    )
    return Starlette(
        routes=[
            Route("/", _index),
            Route("/favicon.ico", _icon),
            Route("/api/now", answers.now),
            Route("/api/curves", answers.curves),
            Route("/api/keys", answers.keys),
            Route("/api/key", answers.key),
            Mount("/static", _Files(directory=_STATIC)),
        ],
        middleware=[gate, Middleware(GZipMiddleware, minimum_size=_GZIP_BYTES_MIN)],
    )


class Server:
    """Serves the page on a port that is bound when this is made; an OSError says why it is not.

    Parameters:
        watching: what there is to see.
        host: address to bind to.
        port: 0 for one that is free.
        token: what browsers have to show, if anything.
    """

    def __init__(self, watching: Watching, host: str, port: int, token: str | None) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family)
        self.port: int = self._socket.getsockname()[1]
        app = application(watching, token=token, host=host, port=self.port)
        settings = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=200,
        )
        self._server = uvicorn.Server(settings)
        self._is_stopped = False

    def run(self) -> None:
        """Serve until `stop`, SIGTERM or Ctrl-C; the last raises KeyboardInterrupt."""
        self._server.run([self._socket])
        if not self._is_stopped:  # uvicorn raises what it caught once more, and that may be lost
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Let `run` end."""
        self._is_stopped = True
        self._server.should_exit = True


class _Answers:
    """What is known, as JSON."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._begun = int(1000 * time.time())
        self._encoded: dict[str, tuple[float, int, bytes]] = {}  # when, of which revision

    async def now(self, request: Request) -> Response:
        """What has changed since a revision, and how it stands."""
        since = _number(request, "since")
        board = self._watching.board
        if request.query_params.get("instance") != board.instance:
            since = 0
        with self._watching.lock:
            parts, revision = self._parts(board, since)
            head = msgspec.json.encode(self._head(board, revision))
        body = b",".join([head[:-1], *(b'"%s":%s' % part for part in parts)])
        return Response(body + b"}", media_type="application/json")

    async def curves(self, request: Request) -> Response:
        """Points of curves."""
        asked = request.query_params
        with self._watching.lock:
            found = self._watching.board.curves(
                _text(request, "of"),
                _text(request, "step"),
                asked.get("figure", "")[:_TEXT_MAX],
                after=_number(request, "after"),
                epoch=_number(request, "epoch", -1),
            )
        return _json(found)

    async def keys(self, request: Request) -> Response:
        """Keys with a text in their names."""
        with self._watching.lock:
            found = self._watching.board.found(_text(request, "step"), _text(request, "text"))
        return _json(found)

    async def key(self, request: Request) -> Response:
        """One key."""
        with self._watching.lock:
            found = self._watching.board.key(_text(request, "name"))
        return _json(found)

    def _head(self, board: Board, revision: int) -> dict[str, Any]:
        return {
            "instance": board.instance,
            "revision": revision,
            "now": int(1000 * time.time()),
            "begun": self._begun,
            "version": version("okl-flow"),
            "written": board.written,
            "records": board.records,
            "standing": self._watching.standing(),
        }

    def _parts(self, board: Board, since: int) -> tuple[list[tuple[bytes, bytes]], int]:
        """The parts that have changed, encoded once for all who ask; and of which revision."""
        parts, shown = [], board.revision
        for name, revision in board.changed(since).items():
            made, of, encoded = self._encoded.get(name, (-math.inf, -1, b""))
            pause = _AGAIN_SECONDS if name in _COSTLY else 0.0
            if of != revision and time.monotonic() >= made + pause:
                of, encoded = revision, msgspec.json.encode(board.part(name))
                self._encoded[name] = (time.monotonic(), of, encoded)
            parts.append((name.encode(), encoded))
            shown = min(shown, of) if of < revision else shown  # it will be asked for again
        return parts, shown


class _Files(StaticFiles):
    """Files that a browser asks for anew after an upgrade: it may keep them, and has to ask."""

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response


async def _index(_request: Request) -> Response:
    return FileResponse(_STATIC / "index.html", media_type="text/html")


async def _icon(_request: Request) -> Response:
    return FileResponse(_STATIC / "icon.svg", media_type="image/svg+xml")


def _json(found: Any) -> Response:
    return Response(msgspec.json.encode(found), media_type="application/json")


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:_TEXT_MAX]


def _number(request: Request, name: str, default: int = 0) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.removeprefix("-").isdecimal() and len(text) <= _DIGITS_MAX else default
