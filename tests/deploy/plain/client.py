"""A small HTTP client."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass


@dataclass
class Response:
    """A response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> dict[str, object]:
        """The body, which has to be an object."""
        parsed = json.loads(self.body)
        assert isinstance(parsed, dict)
        return parsed


class Client:
    """One connection that stays open, like a browser's."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(self, method: str, path: str, body: object = None, token: str | None = None,
            **more: str) -> Response:
        """Sends a request and reads its response; `more` are headers."""
        headers = more | ({"Authorization": f"Bearer {token}"} if token else {})
        if body is not None:
            headers["Content-Type"] = "application/json"
        text = None if body is None else json.dumps(body)
        try:
            self.connection.request(method, path, body=text, headers=headers)
            response = self.connection.getresponse()
            return Response(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise


def get(port: int, path: str) -> Response | None:
    """The response on a new connection; `None` without one."""
    try:
        return Client(port).ask("GET", path)
    except (OSError, http.client.HTTPException):
        return None
