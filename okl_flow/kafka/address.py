"""An address of a broker, tried step by step, so that what fails has its own name.

Name, connection, TLS, Kafka, SASL: clients tell of all of these as a broker that does not answer.
Two requests of Kafka's protocol are enough, which have been the same since its version 0.10: which
requests a broker knows, and whether it takes a mechanism of SASL.
"""

import socket
import ssl
import struct
from typing import Any

__all__ = ["AddressError", "try_address"]

_API_VERSIONS, _SASL_HANDSHAKE, _METADATA = 18, 17, 3
_HANDSHAKE_VERSION = 1
_ALERT = b"\x15\x03"  # what a server of TLS says to somebody who speaks without
_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">hhih")
_LARGEST = 1 << 20
_BROKEN = (OSError, EOFError, ValueError)


class _TLSError(Exception):
    """The other side speaks TLS."""


class AddressError(Exception):
    """Where it fails, and what to do."""

    def __init__(self, kind: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.kind = kind  # name, refused, silent, tls, certificate, protocol, sasl
        self.message = message
        self.remedy = remedy


def try_address(
    host: str, port: int, context: ssl.SSLContext | None, mechanism: str | None, seconds: float
) -> AddressError | None:
    """Speak with a broker as a client would that has this TLS context and SASL mechanism."""
    where = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return AddressError(
            "name",
            f"{where}: the name {host} is not known here: {error.strerror}",
            "mend the name, the DNS or /etc/hosts of this machine; if it is the address that a "
            "broker gives itself, mend its advertised.listeners",
        )
    failure: AddressError | None = None
    for *_, address in found:
        try:
            with _connected(where, address, seconds) as made:
                if context is None:
                    _speak(made, where, mechanism)
                else:
                    with _secured(made, where, host, context) as secured:
                        _speak(secured, where, mechanism)
            return None
        except AddressError as failed:
            failure = failed
    return failure


def _connected(where: str, address: tuple[Any, ...], seconds: float) -> socket.socket:
    try:
        made = socket.create_connection((address[0], address[1]), seconds)
    except TimeoutError:
        raise AddressError(
            "silent",
            f"{where} does not answer in {seconds:g} s",
            "see that the machine is up and that no firewall is between",
        ) from None
    except OSError as error:
        raise AddressError(
            "refused",
            f"{where}: {error.strerror}",
            "start the broker, or mend the address; see that it listens there and not on the "
            "loopback of its own machine alone",
        ) from None
    made.settimeout(seconds)
    return made


def _secured(made: socket.socket, where: str, host: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    try:
        return context.wrap_socket(made, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        raise AddressError(
            "certificate",
            f"{where}: the broker's certificate is not trusted: {error.verify_message}",
            "give the certificate of the CA that has signed it as ssl.ca.location, and see that "
            "it is for this name",
        ) from None
    except (OSError, EOFError) as error:
        raise AddressError(
            "tls",
            f"{where} does not speak TLS: {getattr(error, 'reason', None) or error}",
            "if the listener has no TLS, security.protocol is PLAINTEXT or SASL_PLAINTEXT",
        ) from None


def _speak(made: socket.socket, where: str, mechanism: str | None) -> None:
    """See that it is Kafka, and wants what we have."""
    try:
        _ask(made, _API_VERSIONS, 0, b"")
    except ssl.SSLError as error:
        raise AddressError(
            "certificate",
            f"{where}: the broker does not take our certificate: {error.reason or error}",
            "give one that it trusts as ssl.certificate.location, and its key as ssl.key.location",
        ) from None
    except _TLSError:
        raise AddressError(
            "protocol",
            f"{where} speaks TLS, and security.protocol is without",
            "set security.protocol to SSL or SASL_SSL",
        ) from None
    except _BROKEN as error:
        raise AddressError(
            "protocol",
            f"{where} does not answer as a broker does: {error}",
            "mend address and port; a listener of TLS is for security.protocol SSL or SASL_SSL",
        ) from None
    if mechanism is None:
        _go_on_without_sasl(made, where)
    else:
        _go_on_with(mechanism, made, where)


def _go_on_with(mechanism: str, made: socket.socket, where: str) -> None:
    try:
        answer = _ask(made, _SASL_HANDSHAKE, _HANDSHAKE_VERSION, _text(mechanism))
    except _BROKEN:
        answer = b"\0\1\0\0\0\0"
    code, known = struct.unpack_from(">h", answer)[0], _texts(answer[2:])
    if code and known:
        raise AddressError(
            "sasl",
            f"{where} does not take {mechanism}, but {', '.join(known)}",
            "mend sasl.mechanism",
        )
    if code:
        raise AddressError(
            "sasl",
            f"{where} takes nobody by SASL",
            "set security.protocol to SSL, or PLAINTEXT where there is no TLS",
        )


def _go_on_without_sasl(made: socket.socket, where: str) -> None:
    try:
        _ask(made, _METADATA, 0, struct.pack(">i", 0))
    except _BROKEN:
        raise AddressError(
            "sasl",
            f"{where} lets nobody go on without SASL",
            "set security.protocol to SASL_SSL or SASL_PLAINTEXT, with mechanism and user",
        ) from None


def _ask(made: socket.socket, api: int, version: int, body: bytes) -> bytes:
    """Send a request; its answer."""
    request = _HEAD.pack(api, version, 1, -1) + body
    made.sendall(_SIZE.pack(len(request)) + request)
    head = _received(made, _SIZE.size)
    if head.startswith(_ALERT):
        raise _TLSError
    size = _SIZE.unpack(head)[0]
    if not _SIZE.size <= size < _LARGEST:
        raise ValueError("it speaks another protocol")
    return _received(made, size)[_SIZE.size :]  # after the number of the request


def _received(made: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = made.recv(count - len(found))
        if not more:
            raise EOFError("it ends the connection")
        found += more
    return found


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _texts(packed: bytes) -> list[str]:
    """An array of texts."""
    count, at, found = struct.unpack_from(">i", packed)[0], 4, []
    for _ in range(count):
        length = struct.unpack_from(">h", packed, at)[0]
        found.append(packed[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return found
