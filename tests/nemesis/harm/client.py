"""A small HTTP client that tells a request that was never sent from one whose response did not come."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass


class NotSent(Exception):
    """No connection: the instance cannot have seen the request."""


class Cut(Exception):
    """The request was sent, or a part of it, and no whole response came."""


@dataclass(frozen=True)
class Response:
    """A response."""

    status: int
    headers: dict[str, str]
    """By names in lower case."""
    body: bytes

    def json(self) -> dict[str, object]:
        """The body, which has to be an object."""
        parsed = json.loads(self.body)
        assert isinstance(parsed, dict)
        return parsed

    def list(self) -> list[dict[str, object]]:
        """The body, which has to be an array of objects."""
        parsed = json.loads(self.body)
        assert isinstance(parsed, list)
        return parsed


class Client:
    """One connection to one instance, opened again when it broke."""

    def __init__(self, port: int, timeout: float) -> None:
        self.port = port
        self.timeout = timeout
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The open connection."""
        if self.streams is None:
            try:
                async with asyncio.timeout(self.timeout):
                    self.streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
            except (OSError, TimeoutError) as error:
                raise NotSent(repr(error)) from None
        return self.streams

    def close(self) -> None:
        """Closes the connection, if it is open."""
        if self.streams:
            self.streams[1].close()
            self.streams = None

    async def ask(self, method: str, path: str, *, token: str = "", body: object = None,
                  headers: dict[str, str] | None = None) -> Response:
        """Sends a request and reads its response. A text is sent as it is, any other body as JSON."""
        reader, writer = await self.connect()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        head += f"Authorization: Bearer {token}\r\n" if token else ""
        head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        kind, text = ("text/plain", body) if isinstance(body, str) else ("application/json", json.dumps(body))
        content = b"" if body is None else text.encode()
        if content:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
        try:
            writer.write(head.encode() + b"\r\n" + content)
            # Not `wait_for`, which may swallow the end of its task.
            async with asyncio.timeout(self.timeout):
                response = await read_response(reader, method != "HEAD")
        except TimeoutError:
            self.close()
            raise Cut("timeout") from None
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            self.close()
            raise Cut(repr(error)) from None
        except asyncio.CancelledError:
            self.close()
            raise
        if response.headers.get("connection", "").lower() == "close":
            self.close()
        return response


async def read_response(reader: asyncio.StreamReader, has_body: bool = True) -> Response:
    """Reads one response: of a known length, in chunks, or without a body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head[:-4].split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    status = int(first.split(" ")[1])
    body = b""
    if not has_body:
        return Response(status, headers, body)
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while length := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(length + 2))[:-2]
        await reader.readexactly(2)
    elif length := int(headers.get("content-length", "0")):
        body = await reader.readexactly(length)
    return Response(status, headers, body)
