"""A client of shunt's API."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from testbed.programs import Failed

PASSWORD = "correct horse battery staple"


class Api:
    """A client of one instance, with the token of an account."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.token = token

    @contextmanager
    def open(self, method: str, path: str, body: Any = None) -> Iterator[http.client.HTTPResponse]:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        text = None
        if body is not None:
            text = json.dumps(body)
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, text, headers)
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """One request whose response must have the status; returns its JSON."""
        with self.open(method, path, body) as response:
            content = response.read()
            if response.status != status:
                raise Failed(f"{method} {path} answered {response.status}: {content[:500]!r}")
        return json.loads(content) if content else None

    def status(self, method: str, path: str) -> tuple[int, str]:
        """Status and Location of a response."""
        with self.open(method, path) as response:
            response.read()
            return response.status, response.headers.get("Location", "")

    def metric(self, series: str) -> float:
        """The value of a series of `/metrics`."""
        found = self.metrics({"value": series})
        if not found:
            raise Failed(f"/metrics has no series {series}")
        return found["value"]

    def metrics(self, wanted: Mapping[str, str]) -> dict[str, float]:
        """The value of each series, or the sum of a metric's, without missing series."""
        with self.open("GET", "/metrics") as response:
            lines = response.read().decode().splitlines()
        found: dict[str, float] = {}
        for key, series in wanted.items():
            for line in lines:
                if line.startswith((f"{series} ", f"{series}{{")):
                    found[key] = found.get(key, 0.0) + float(line.rpartition(" ")[2])
        return found

    def is_ready(self) -> bool:
        """Whether the instance is ready for traffic."""
        try:
            return self.status("GET", "/ready")[0] == 200
        except OSError:
            return False

    def register(self, email: str) -> int:
        """Registers an account, keeps its token, returns its id."""
        response = self.ask("POST", "/auth/register", {"email": email, "password": PASSWORD})
        self.token = response["access_token"]
        return int(self.ask("GET", "/auth/me")["id"])

    def shorten(self, target: str) -> str:
        """Creates a link; returns its code."""
        response = self.ask("POST", f"/urls/shorten?target_url={quote(target, safe='')}")
        return str(response["short_code"])

    def clicks(self) -> dict[str, int]:
        """Clicks of every link of the account."""
        return {link["short_code"]: link["clicks"] for link in self.ask("GET", "/urls/my")}

    def clicks_in_all(self) -> int:
        """Clicks of all links of the account, also of those that have the same code on several hosts."""
        return sum(link["clicks"] for link in self.ask("GET", "/urls/my"))

    def stats(self, code: str) -> int:
        """The clicks of the public statistics."""
        response = self.ask("GET", f"/urls/{code}/stats")
        if response["clicks"] != response["total"]:
            raise Failed(f"stats of {code}: clicks {response['clicks']}, total {response['total']}")
        return int(response["clicks"])
