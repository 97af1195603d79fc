"""Ports that nobody has, for servers that tests start."""

import secrets
import socket

# The system gives higher ones to connections, which may come before the server does.
RANGE = range(10_000, 32_000)


def free_ports(count):
    """So many ports in a row."""
    while True:
        first = secrets.choice(RANGE)
        found = list(range(first, first + count))
        try:
            for port in found:
                socket.create_server(("", port)).close()
        except OSError:
            continue
        return found
