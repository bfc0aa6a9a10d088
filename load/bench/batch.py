"""The cost of a batch of clicks in Redis, by its size; saved in load/results/batch.txt."""

from __future__ import annotations

import random
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

from testbed.class_days import packed_details
from testbed.databases import Redis
from testbed.programs import Failed, require

from .accounting import usage
from .backends import start_redis
from .costs import KINDS, kind
from .pinned import PinnedTestbed, say
from .results import Results
from .tools import machine

SCRIPTS = Path(__file__).resolve().parents[2] / "src" / "shared_redis" / "scripts"
PARTS = ("state_and_recorder.lua", "term.lua", "intervals.lua", "record_clicks.lua")
CLICKS = 200_000
MOST_BATCHES = 20_000
ROUNDS = 5
LINKS = range(1, 100_000)
OWNERS = 1_000
RECORDERS = 16
"""With so many Redis seldom waits, which costs CPU, too: one that is busy does not."""
SIZES = (1, 4, 16, 64, 256)
WITH_CLASSES = " with classes"
ROOM = 2**30
"""Bytes that classes may take."""


def main() -> int:
    """Measures each size in turns; 1 when the run failed."""
    try:
        with PinnedTestbed(0, 1) as testbed:
            tools = require(["redis-server", "redis-cli"])
            results = Results("shunt: a batch of clicks in Redis", machine(tools), notes=[
                f"{ROUNDS} rounds; batches of links drawn from {len(LINKS):,}, each with one click, of {RECORDERS} recorders with a connection each.",
                f"With classes: one of {KINDS:,} kinds of visitors for each click.",
                "A line through them by least squares: CPU per batch of any size."])
            redis = start_redis(testbed, tools)
            script = "".join((SCRIPTS / part).read_text() for part in PARTS)
            for number in range(ROUNDS):
                say(f"round {number + 1} of {ROUNDS}")
                for size in SIZES if number % 2 == 0 else reversed(SIZES):
                    for classes in (False, True):
                        of_batches(redis, script, size, results, classes)
    except Failed as failure:
        print(f"load/batch: {failure}", file=sys.stderr)
        return 1
    fit(results, "")
    fit(results, WITH_CLASSES)
    results.save("batch")
    print(results.text())
    return 0


def fit(results: Results, suffix: str) -> None:
    """The cost of a batch, and of each further link in it, from the medians; errors weigh as shares of the cost."""
    points = [(size, results.middle(f"a batch of {size} links{suffix}: CPU of Redis, us") or 0.0) for size in SIZES]
    weights = [1 / cost ** 2 for _, cost in points]
    total = sum(weights)
    x = sum(weight * size for weight, (size, _) in zip(weights, points, strict=True)) / total
    y = sum(weight * cost for weight, (_, cost) in zip(weights, points, strict=True)) / total
    slope = (sum(weight * (size - x) * (cost - y) for weight, (size, cost) in zip(weights, points, strict=True))
             / sum(weight * (size - x) ** 2 for weight, (size, _) in zip(weights, points, strict=True)))
    results.figure(f"a batch without its links{suffix}: CPU of Redis, us", y - slope * x)
    results.figure(f"each link of a batch{suffix}: CPU of Redis, us", slope)


def of_batches(redis: Redis, script: str, size: int, results: Results, classes: bool) -> None:
    """Records clicks on random links, a batch of each recorder after the other; notes the CPU of each, and the bytes of its classes."""
    suffix = WITH_CLASSES if classes else ""
    redis.ask("flushall")
    redis.ask("hset", "state", "term", "1", "epoch", "e1", "change", "0", "flush", "0")
    sha = redis.ask("-x", "script", "load", text=script)
    count = min(CLICKS // size, MOST_BATCHES) // RECORDERS * RECORDERS
    batches = []
    for each in range(count):
        number, recorder = each // RECORDERS + 1, each % RECORDERS + 1
        links = sorted(random.sample(LINKS, size))
        clicks = b"".join(text(f"{link}:{link % OWNERS + 1}") + text("1") for link in links)
        packed = packed_details(links, lambda _: [kind(random.randrange(KINDS))]) if classes else b""
        # As the sender of batches: Redis notes with the first one when it heard of the recorder.
        to_note = recorder if number == 1 else ""
        batches.append(command("EVALSHA", sha, 6, "state", "pending", "flushing", "intervals", "details", "recorders",
                               1, f"recorder:{recorder}", to_note, 2_000_000, number, number - 1, "", ROOM, packed, clicks))
    with ExitStack() as opened:
        connections = [opened.enter_context(socket.create_connection(("127.0.0.1", redis.process.port))) for _ in range(RECORDERS)]
        replies = [connection.makefile("rb") for connection in connections]
        begin = usage(redis.process.pid)
        for first in range(0, count, RECORDERS):
            for connection, batch in zip(connections, batches[first:first + RECORDERS], strict=True):
                connection.sendall(batch)
            for reply in replies:
                if (line := reply.readline()) != b"*2\r\n":
                    raise Failed(f"Redis refused a batch: {line!r}")
                # The newest change, "0", and whether there was no room for the classes.
                for _ in range(3):
                    reply.readline()
        spent = usage(redis.process.pid) - begin
    counted = sum(int(value) for value in redis.ask("hvals", "pending").split())
    if counted != count * size:
        raise Failed(f"{counted} clicks were counted instead of {count * size}")
    results.figure(f"a batch of {size} links{suffix}: CPU of Redis, us", spent.cpu * 1e6 / count)
    if classes:
        of_classes = int(redis.ask("memory", "usage", "details", "samples", "0"))
        results.figure(f"a batch of {size} links{suffix}: bytes of classes a click in Redis", of_classes / count / size)


def text(word: str) -> bytes:
    """A short string of MessagePack, as the script takes links and clicks."""
    return bytes((0xD9, len(word))) + word.encode()


def command(*words: object) -> bytes:
    """A command in Redis's protocol."""
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
