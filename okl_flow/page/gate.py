"""Who may see the page, and what browsers may do with it."""

import asyncio
import hashlib
import hmac
import ipaddress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Gate", "is_loopback"]

_WRONG_SECONDS = 0.5  # that an answer to a wrong token takes
_LOGIN_BYTES = 4096
_COOKIE_SECONDS = 365 * 24 * 3600
_OPEN = ("/static/", "/favicon.ico")  # there is nothing of a job in it
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound to a host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Gate:
    """Lets in who has the token; without one, who asks this machine by a name of its own.

    The latter is against foreign pages in the same browser, whose names somebody may let point to
    this machine. A browser gets a cookie for the token, which tells nobody the token.

    Parameters:
        app: what is behind it.
        token: what to ask for, or None.
        login: the file of the page that asks for it.
        local: whether the page is bound to the loopback interface.
        cookie: name of the cookie: those of one host are not told apart by its ports.
    """

    def __init__(
        self, app: ASGIApp, *, token: str | None, login: str, local: bool, cookie: str
    ) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._login = login
        self._local = local
        self._cookie = cookie
        self._pass = hmac.digest(self._token or b"", b"okl_flow page", hashlib.sha256).hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = await self._answer(scope, receive)
        await (answer or self._app)(scope, receive, with_headers)

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        """The answer to a request that is not let through."""
        headers, path = Headers(scope=scope), scope["path"]
        if self._token is None:
            return self._foreign(headers)
        if path == "/login" and scope["method"] == "POST":
            given = parse_qs((await _body(receive)).decode("latin-1")).get("token", [""])
            return await self._let_in(given[0])
        if path.startswith(_OPEN) or self._has_pass(headers):
            return None
        if path != "/":
            await asyncio.sleep(_WRONG_SECONDS if "authorization" in headers else 0.0)
            return JSONResponse({"error": "this page wants a token"}, 401)
        asked = parse_qs(scope["query_string"].decode("latin-1"), True).get("token")
        if asked is not None:
            return await self._let_in(asked[0])
        return FileResponse(self._login, 401, media_type="text/html")

    def _foreign(self, headers: Headers) -> Response | None:
        if not self._local or _host(headers.get("host", "")) in _LOCAL_NAMES:
            return None
        return JSONResponse({"error": "without a token this page answers to localhost only"}, 421)

    async def _let_in(self, given: str) -> Response:
        """Whoever has the token gets a cookie, and loses the token from the address."""
        assert self._token is not None
        if not hmac.compare_digest(_digest(given.strip().encode()), _digest(self._token)):
            await asyncio.sleep(_WRONG_SECONDS)
            return RedirectResponse("/?wrong", 303)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._cookie, self._pass, _COOKIE_SECONDS, httponly=True, samesite="lax", path="/"
        )
        return answer

    def _has_pass(self, headers: Headers) -> bool:
        assert self._token is not None
        kind, _, given = headers.get("authorization", "").partition(" ")
        bearer = given.strip().encode() if kind.lower() == "bearer" else b""
        known = hmac.compare_digest(_digest(bearer), _digest(self._token))
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return known
        cookie = cookies[self._cookie].value if self._cookie in cookies else ""
        return hmac.compare_digest(cookie.encode(), self._pass.encode()) or known


def _digest(text: bytes) -> bytes:
    """Of one length, whatever it is of: a comparison then takes one time."""
    return hashlib.sha256(text).digest()


def _host(header: str) -> str:
    """The name in a Host header, without the port.

    >>> _host("localhost:8765"), _host("[::1]:8765"), _host("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    if header.startswith("["):
        return header.partition("]")[0] + "]"
    return header.partition(":")[0].lower()


async def _body(receive: Receive) -> bytes:
    """The body of a request, as far as a token may be long."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body") or sum(map(len, parts)) > _LOGIN_BYTES:
            return b"".join(parts)[:_LOGIN_BYTES]
