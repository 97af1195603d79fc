"""A schema registry: where it is, and what is asked of it.

A registry that does not answer is nobody's fault whose record waits for it: it is asked again
for as long as it is given, and then a `RegistryError` stops the job. So does an answer that
no further asking would change, such as a wrong password.
"""

import base64
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPSHandler, Request, build_opener

import msgspec

from okl_flow.parameters import check, real

__all__ = ["RegistryClient", "RegistryError", "SchemaRegistry", "Stored"]

_ID_LAST = 2**31 - 1
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404
_CONFLICT, _TOO_MANY, _BROKEN = 409, 429, 500
_NO_SUBJECT, _NO_SCHEMA = 40401, 40403
_PAUSE_FIRST, _PAUSE_LONGEST = 0.1, 5.0
_UNKNOWN_SECONDS = 60.0  # for which an unknown id is not asked for again
_UNKNOWN_MAX = 10_000  # ids that are remembered as unknown
_SHOWN = 300
_CONTENT = "application/vnd.schemaregistry.v1+json"

_log = logging.getLogger(__name__)


class RegistryError(RuntimeError):
    """A schema registry that does not answer, or does not let us do what we have to."""


@dataclass(frozen=True)
class SchemaRegistry:
    """Where a schema registry is, and how it is spoken to.

    Parameters:
        url: its address, such as "https://registry:8081".
        user: name for basic authentication; the password comes with it.
        password: is sent to the registry, and is in no message, log or repr.
        ca: a file of the certificates that may vouch for the registry, in place of the system's.
        certificate: a file with the certificate that we show, and after it, or in
        certificate_key: a file of its own, its private key, without a password.
        timeout: seconds to wait for one answer.
        patience: seconds for which a registry that does not answer is asked again.

    >>> SchemaRegistry("https://registry:8081", user="ann", password="s3cret")
    SchemaRegistry(url='https://registry:8081', user='ann', ca=None, certificate=None, ...)
    """

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    certificate_key: str | None = None
    timeout: float = real(10.0, above=0.0)
    patience: float = real(60.0, low=0.0)

    def __post_init__(self) -> None:
        check(self)
        problem = _problem_with(self.url)
        if problem:
            raise ValueError(f"SchemaRegistry: {problem}")
        if (self.user is None) != (self.password is None):
            raise ValueError("SchemaRegistry: user and password must be given together, or neither")
        if ":" in (self.user or ""):
            raise ValueError("SchemaRegistry: user must have no colon in it")
        if self.certificate_key is not None and self.certificate is None:
            raise ValueError("SchemaRegistry: certificate_key is given without a certificate")
        secure = urlsplit(self.url).scheme == "https"
        if not secure and (self.ca is not None or self.certificate is not None):
            raise ValueError("SchemaRegistry: ca and certificate are for an address with https://")
        object.__setattr__(self, "url", self.url.rstrip("/"))


@dataclass(frozen=True)
class Stored:
    """A schema of a registry."""

    kind: str  # "AVRO", or another that we do not read
    documents: tuple[str, ...]  # the schemas that it refers to, and itself at last


class RegistryClient:
    """Asks a schema registry, and remembers what it has answered."""

    def __init__(
        self,
        registry: SchemaRegistry,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`clock` and `sleep` are in seconds."""
        self._registry = registry
        self._clock = clock
        self._sleep = sleep
        self._open = build_opener(HTTPSHandler(context=_context(registry))).open
        self._schemas: dict[int, Stored] = {}
        self._unknown: dict[int, float] = {}  # and when they may be asked for again

    def schema(self, id: int) -> Stored | None:
        """The schema of an id; None if the registry has none."""
        if id in self._schemas:
            return self._schemas[id]
        if not 0 <= id <= _ID_LAST or self._clock() < self._unknown.get(id, 0.0):
            return None
        status, answer = self._ask("GET", f"/schemas/ids/{id}")
        if status == _NOT_FOUND and _code(answer) == _NO_SCHEMA:
            if len(self._unknown) >= _UNKNOWN_MAX:
                self._unknown.clear()
            self._unknown[id] = self._clock() + _UNKNOWN_SECONDS
            return None
        found = self._expected(f"the schema {id}", "schema", status, answer)
        documents = (*self._referred(answer), found)
        stored = Stored(str(answer.get("schemaType", "AVRO")), documents)
        return self._schemas.setdefault(id, stored)

    def register(self, subject: str, schema: str) -> int:
        """The id of a schema, which becomes the latest of the subject if it is not one of its."""
        body = {"schema": schema}
        status, answer = self._ask("POST", f"/subjects/{quote(subject, safe='')}/versions", body)
        if status == _CONFLICT:
            raise RegistryError(
                f"{self._name} says that what we write is not compatible with the latest schema of "
                f"the subject {subject!r}: {_said(answer)}; write to another topic, or have the "
                "compatibility of the subject changed"
            )
        what = f"an id for the schema of the subject {subject!r}"
        id: int = self._expected(what, "id", status, answer)
        return id

    def latest(self, subject: str) -> tuple[int, Stored] | None:
        """The id of the latest schema of a subject, and the schema; None if it has none."""
        path = f"/subjects/{quote(subject, safe='')}/versions/latest"
        status, answer = self._ask("GET", path)
        if status == _NOT_FOUND and _code(answer) == _NO_SUBJECT:
            return None
        what = f"the latest schema of the subject {subject!r}"
        id: int = self._expected(what, "id", status, answer)
        found = self._expected(what, "schema", status, answer)
        kind = str(answer.get("schemaType", "AVRO"))
        return id, Stored(kind, (*self._referred(answer), found))

    @property
    def _name(self) -> str:
        return f"the schema registry {self._registry.url}"

    def _referred(self, answer: Any) -> list[str]:
        """The schemas that one refers to, each after those that it refers to itself."""
        documents: list[str] = []
        for reference in answer.get("references") or ():
            subject, version = reference.get("subject"), reference.get("version")
            path = f"/subjects/{quote(str(subject), safe='')}/versions/{version}"
            status, found = self._ask("GET", path)
            what = f"version {version} of the subject {subject!r}, which a schema refers to"
            text = self._expected(what, "schema", status, found)
            documents += [one for one in (*self._referred(found), text) if one not in documents]
        return documents

    def _expected(self, what: str, member: str, status: int, answer: Any) -> Any:
        """The member of an answer that was asked for."""
        if status == _OK and isinstance(answer, dict) and member in answer:
            return answer[member]
        asked = f"{self._name} was asked for {what} and answered"
        if status == _OK:
            raise RegistryError(
                f"{asked} with no {member}: {_said(answer)}; is it a schema registry?"
            )
        advice = "; is its address right, up to the path?" if status == _NOT_FOUND else ""
        if status in (_UNAUTHORIZED, _FORBIDDEN):
            user = self._registry.user
            whom = "nobody, as no user is given" if user is None else f"the user {user!r}"
            advice = f"; we came as {whom}: check user, password and what they may do"
        raise RegistryError(f"{asked} with the status {status}: {_said(answer)}{advice}")

    def _ask(
        self, method: str, path: str, body: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and content of an answer, however long it takes to get one."""
        begun, pause = self._clock(), _PAUSE_FIRST
        while True:
            try:
                status, answer = self._ask_once(method, path, body)
                if status < _BROKEN and status != _TOO_MANY:
                    return status, answer
                fault = f"it answered with the status {status}: {_said(answer)}"
            except (OSError, HTTPException) as error:
                reason = error.reason if isinstance(error, URLError) else error
                if isinstance(reason, ssl.SSLCertVerificationError):
                    raise RegistryError(
                        f"{self._name} shows a certificate that is not to be trusted: "
                        f"{reason.verify_message}; ca= names those that are"
                    ) from None
                fault = str(reason) or type(reason).__name__
            waited = self._clock() - begun
            if waited >= self._registry.patience:
                raise RegistryError(
                    f"{self._name} has not served us for {waited:.0f} s, at last: {fault}; "
                    "check that it runs and that its address is right, and start the job again: "
                    "it goes on where it was"
                )
            if pause == _PAUSE_FIRST:
                _log.warning("%s does not serve us, and is asked again: %s", self._name, fault)
            self._sleep(min(pause, self._registry.patience - waited))
            pause = min(2.0 * pause, _PAUSE_LONGEST)

    def _ask_once(self, method: str, path: str, body: Mapping[str, str] | None) -> tuple[int, Any]:
        data = None if body is None else msgspec.json.encode(body)
        request = Request(self._registry.url + path, data, {"Accept": _CONTENT}, method=method)
        if data is not None:
            request.add_header("Content-Type", _CONTENT)
        if self._registry.user is not None:
            # Unredirected: whoever a registry sends us to does not learn the password. In no
            # variable either: there are tracebacks that show those.
            request.add_unredirected_header("Authorization", self._authorization())
        try:
            with self._open(request, timeout=self._registry.timeout) as response:
                return response.status, _content(response.read())
        except HTTPError as error:
            with error:
                return error.code, _content(error.read())

    def _authorization(self) -> str:
        pair = f"{self._registry.user}:{self._registry.password}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _problem_with(url: Any) -> str | None:
    """What is wrong with the address of a registry."""
    expected = "url must be an address such as 'https://registry:8081'"
    if not isinstance(url, str):
        return f"{expected}, not {url!r:.80}"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return expected  # without the address, in which there may be a password
    if "@" in parts.netloc:
        return "url must hold no user and no password; give user= and password="
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"{expected}, not {url!r:.80}"
    return f"{expected}, without ? and #" if parts.query or parts.fragment else None


def _context(registry: SchemaRegistry) -> ssl.SSLContext:
    """What connections are made secure with."""
    try:
        context = ssl.create_default_context(cafile=registry.ca)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(
            "SchemaRegistry: ca must be a file of certificates in PEM, not "
            f"{registry.ca!r}: {error}"
        ) from None
    if registry.certificate is not None:
        try:
            # With a password, or it would be asked for on the terminal.
            context.load_cert_chain(registry.certificate, registry.certificate_key, password="")
        except (OSError, ssl.SSLError) as error:
            raise ValueError(
                "SchemaRegistry: certificate and certificate_key must be files in PEM, not "
                f"{registry.certificate!r} and {registry.certificate_key!r}: {error}"
            ) from None
    return context


def _content(octets: bytes) -> Any:
    """What an answer says: JSON, or else text."""
    try:
        return msgspec.json.decode(octets)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return octets.decode("utf-8", "backslashreplace")


def _code(answer: Any) -> int | None:
    """The number of the error that an answer tells of."""
    return answer.get("error_code") if isinstance(answer, dict) else None


def _said(answer: Any) -> str:
    """The words of an answer."""
    words = answer.get("message", answer) if isinstance(answer, dict) else answer
    text = " ".join(str(words).split()) or "nothing"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
