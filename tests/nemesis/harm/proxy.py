"""A TCP proxy with a line between each instance and each store, every one of which can be harmed by itself.

It runs as a process of its own, so that its lines are not late because the clients are busy:

    python proxy.py CONTROL_PORT '[{"name": "one-redis", "port": 10001, "target": 10002}, ...]'

Each line of JSON on the control port changes lines, as `{"names": ["one-redis"], "mode": "delay", "value": 0.1}`, and is
answered `ok`. The mode `target` moves new connections to another server, and leaves the open ones where they are.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harm.resp import Values  # noqa: E402

PIECE = 64 * 1024
ERROR = b"-ERR upstream request timeout\r\n"
YOUNG = 1.0
"""Seconds for which a connection is new."""

MODES = {
    "none": "passes everything on",
    "cut": "closes every connection and refuses new ones",
    "stall": "keeps what is sent in both directions, and passes it on once healed",
    "hole": "drops what is sent in both directions; such connections are closed once healed",
    "deaf": "passes requests on and drops the replies; such connections are closed once healed",
    "delay": "passes each piece on late, by a random time up to `value` seconds",
    "connecting": "closes every connection, and passes on late what comes in the first second of a new one",
    "throttle": "passes `value` bytes a second on",
    "errors": "answers each command of Redis with an error of its own, without passing it on",
    "masked": "passes each command of Redis on, and replaces its reply with an error of its own",
}


@dataclass(eq=False)
class Line:
    """One listener and its connections."""

    name: str
    port: int
    target: int
    mode: str = "none"
    value: float = 0.0
    healed: asyncio.Event = field(default_factory=asyncio.Event)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)
    tainted: set[asyncio.StreamWriter] = field(default_factory=set)
    """Writers of connections that lost some bytes."""

    def change(self, mode: str, value: float) -> None:
        """Takes another mode."""
        if mode == "target":
            self.target = int(value)
            return
        self.mode, self.value = mode, value
        self.healed.set()
        self.healed = asyncio.Event()
        for writer in list(self.writers if mode in ("cut", "connecting") else self.tainted):
            writer.close()
        self.tainted.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes one connection on."""
        upstream: asyncio.StreamWriter | None = None
        try:
            if self.mode == "cut":
                return
            replies, upstream = await asyncio.open_connection("127.0.0.1", self.target)
            self.writers |= {writer, upstream}
            ways = [asyncio.ensure_future(self.requests(reader, upstream, writer)),
                    asyncio.ensure_future(self.replies(replies, writer))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass
        finally:
            for end in (writer, upstream):
                if end:
                    self.writers.discard(end)
                    self.tainted.discard(end)
                    end.close()

    async def requests(self, reader: asyncio.StreamReader, upstream: asyncio.StreamWriter,
                       back: asyncio.StreamWriter) -> None:
        """From the instance to the store."""
        commands = Values()

        async def answer(piece: bytes) -> None:
            back.write(ERROR * len(commands.feed(piece)))
            await back.drain()

        await self.copy(reader, upstream, instead={"errors": answer})

    async def replies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """From the store to the instance."""
        values = Values()

        async def mask(piece: bytes) -> None:
            writer.write(ERROR * len(values.feed(piece)))
            await writer.drain()

        async def drop(piece: bytes) -> None:
            del piece
            self.tainted.add(writer)

        await self.copy(reader, writer, instead={"masked": mask, "deaf": drop})

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                   instead: dict[str, Callable[[bytes], Awaitable[None]]]) -> None:
        """Copies pieces as the mode says; `instead` has what a direction does of its own in some modes."""
        clock = asyncio.get_running_loop().time
        made = clock()
        with suppress(OSError):
            while piece := await reader.read(PIECE):
                while self.mode == "stall":
                    await self.healed.wait()
                if self.mode == "hole":
                    self.tainted.add(writer)
                    continue
                if special := instead.get(self.mode):
                    await special(piece)
                    continue
                if self.mode == "delay" or self.mode == "connecting" and clock() < made + YOUNG:
                    await asyncio.sleep(random.uniform(0, self.value))
                elif self.mode == "throttle":
                    await asyncio.sleep(len(piece) / self.value)
                writer.write(piece)
                await writer.drain()


async def control(lines: dict[str, Line], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Obeys the run."""
    while text := await reader.readline():
        order = json.loads(text)
        for name in order["names"]:
            lines[name].change(order["mode"], float(order["value"]))
        writer.write(b"ok\n")
        await writer.drain()


async def main() -> None:
    """Listens until it is ended."""
    lines = {line["name"]: Line(**line) for line in json.loads(sys.argv[2])}
    for line in lines.values():
        await asyncio.start_server(line.serve, "127.0.0.1", line.port)
    server = await asyncio.start_server(lambda reader, writer: control(lines, reader, writer), "127.0.0.1",
                                        int(sys.argv[1]))
    await server.serve_forever()


class Lines:
    """The proxy as the run sees it."""

    def __init__(self, control_port: int) -> None:
        self.port = control_port
        self.turn = asyncio.Lock()

    async def change(self, names: list[str], mode: str, value: float = 0.0) -> None:
        """Changes lines; returns once it is in force."""
        async with self.turn:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(json.dumps({"names": names, "mode": mode, "value": value}).encode() + b"\n")
            await reader.readline()
            writer.close()


if __name__ == "__main__":
    asyncio.run(main())
