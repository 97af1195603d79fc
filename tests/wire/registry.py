"""A small schema registry on loopback, which answers as Confluent's does."""

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import fastavro
import pytest


class Registry:
    """What a registry holds, and how it answers."""

    def __init__(self):
        self.schemas = {}  # by id: what GET /schemas/ids/{id} says
        self.subjects = {}  # the ids of each, in the order of their versions
        self.asked = []  # method and path of each request
        self.headers = []  # of each request
        self.faults = []  # answers for the next requests, in place of the right ones
        self.user = None  # a pair of name and password, if one is needed
        self.url = None

    def add(self, schema, subject="events-value", **more):
        """Put a schema under a subject; its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        stored = {"schema": text, **more}
        id = next((one for one, held in self.schemas.items() if held == stored), None)
        if id is None:
            id = 1 + len(self.schemas)
            self.schemas[id] = stored
        versions = self.subjects.setdefault(subject, [])
        if id not in versions:
            versions.append(id)
        return id

    def answer(self, method, path, body, authorization):
        """Status and content."""
        if self.faults:
            return self.faults.pop(0)
        if self.user is not None:
            expected = base64.b64encode(":".join(self.user).encode()).decode()
            if authorization != f"Basic {expected}":
                return 401, {"error_code": 401, "message": "Unauthorized"}
        match [method, *map(unquote, path.partition("?")[0].split("/")[1:])]:
            case ["GET", "schemas", "ids", id]:
                return self._by_id(id)
            case ["GET", "subjects", subject, "versions", version]:
                return self._version(subject, version)
            case ["POST", "subjects", subject, "versions"]:
                return self._registered(subject, body["schema"])
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _by_id(self, id):
        if int(id) in self.schemas:
            return 200, self.schemas[int(id)]
        return 404, {"error_code": 40403, "message": f"Schema {id} not found"}

    def _version(self, subject, version):
        if subject not in self.subjects:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        versions = self.subjects[subject]
        at = len(versions) if version == "latest" else int(version)
        if at > len(versions):
            return 404, {"error_code": 40402, "message": f"Version {version} not found."}
        id = versions[at - 1]
        return 200, {"subject": subject, "version": at, "id": id, **self.schemas[id]}

    def _registered(self, subject, text):
        try:
            schema = json.loads(text)
            fastavro.parse_schema(schema)
        except Exception as error:
            return 422, {"error_code": 42201, "message": f"Invalid schema: {error}"}
        for id in self.subjects.get(subject, [])[-1:]:
            fault = incompatible(schema, json.loads(self.schemas[id]["schema"]))
            if fault:
                message = f"Schema being registered is incompatible with an earlier schema: {fault}"
                return 409, {"error_code": 409, "message": message}
        return 200, {"id": self.add(text, subject)}


def incompatible(new, old):
    """Why a reader with one schema cannot read what was written with another (BACKWARD)."""
    old = by_name(old)
    for name, fields in by_name(new).items():
        for field, declared in fields.items():
            if name in old and field not in old[name] and "default" not in declared:
                return f"{name}.{field} has no default"
            before = old.get(name, {}).get(field, declared)
            if plain(before["type"]) != plain(declared["type"]):
                return f"{name}.{field} has another type"
    return None


def plain(kind):
    """A type, by its name if it has one."""
    return kind["name"] if isinstance(kind, dict) and "name" in kind else kind


def by_name(schema):
    """The fields of every record in a schema."""
    if isinstance(schema, list):
        return {name: fields for part in schema for name, fields in by_name(part).items()}
    if not isinstance(schema, dict):
        return {}
    if schema["type"] != "record":
        return by_name(schema.get("items", schema.get("values", schema["type"])))
    found = {schema["name"]: {field["name"]: field for field in schema["fields"]}}
    for field in schema["fields"]:
        found |= by_name(field["type"])
    return found


@contextmanager
def serving(context=None):
    """A registry that is served while the context lasts, with TLS if there is one for it."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def do_GET(self):  # the names that http.server calls by
            registry.asked.append((self.command, self.path))
            registry.headers.append(dict(self.headers))
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            given = self.headers.get("Authorization")
            status, answer, *more = registry.answer(self.command, self.path, body, given)
            octets = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(octets)))
            for name, value in more:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(octets)

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if context is None else "https"
    registry.url = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def registry():
    """A registry, empty at first."""
    with serving() as served:
        yield served
