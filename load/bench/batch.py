"""The cost of a batch of clicks in Redis, by its size; saved in load/results/batch.txt."""

from __future__ import annotations

import random
import socket
import sys
from pathlib import Path

from testbed.databases import Redis
from testbed.programs import Failed, require

from .accounting import usage
from .backends import start_redis
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
SIZES = (1, 4, 16, 64, 256)


def main() -> int:
    """Measures each size in turns; 1 when the run failed."""
    try:
        with PinnedTestbed(0, 1) as testbed:
            tools = require(["redis-server", "redis-cli"])
            results = Results("shunt: a batch of clicks in Redis", machine(tools), notes=[
                f"{ROUNDS} rounds; batches of links drawn from {len(LINKS):,}, each with one click, over one connection.",
                "A line through them by least squares: CPU per batch of any size."])
            redis = start_redis(testbed, tools)
            script = "".join((SCRIPTS / part).read_text() for part in PARTS)
            for number in range(ROUNDS):
                say(f"round {number + 1} of {ROUNDS}")
                for size in SIZES if number % 2 == 0 else reversed(SIZES):
                    results.figure(f"a batch of {size} links: CPU of Redis, us", cpu_per_batch(redis, script, size))
    except Failed as failure:
        print(f"load/batch: {failure}", file=sys.stderr)
        return 1
    fit(results)
    results.save("batch")
    print(results.text())
    return 0


def fit(results: Results) -> None:
    """The cost of a batch, and of each further link in it, from the medians; errors weigh as shares of the cost."""
    points = [(size, results.middle(f"a batch of {size} links: CPU of Redis, us") or 0.0) for size in SIZES]
    weights = [1 / cost ** 2 for _, cost in points]
    total = sum(weights)
    x = sum(weight * size for weight, (size, _) in zip(weights, points, strict=True)) / total
    y = sum(weight * cost for weight, (_, cost) in zip(weights, points, strict=True)) / total
    slope = (sum(weight * (size - x) * (cost - y) for weight, (size, cost) in zip(weights, points, strict=True))
             / sum(weight * (size - x) ** 2 for weight, (size, _) in zip(weights, points, strict=True)))
    results.figure("a batch without its links: CPU of Redis, us", y - slope * x)
    results.figure("each link of a batch: CPU of Redis, us", slope)


def cpu_per_batch(redis: Redis, script: str, size: int) -> float:
    """Records clicks on random links, one batch after the other."""
    redis.ask("flushall")
    redis.ask("hset", "state", "term", "1", "epoch", "e1", "change", "0", "flush", "0")
    sha = redis.ask("-x", "script", "load", text=script)
    count = min(CLICKS // size, MOST_BATCHES)
    batches = []
    for number in range(1, count + 1):
        links = random.sample(LINKS, size)
        clicks = b"".join(text(f"{link}:{link % OWNERS + 1}") + text("1") for link in sorted(links))
        # As the sender of batches: Redis notes with the first one when it heard of the recorder.
        to_note = "1" if number == 1 else ""
        batches.append(command("EVALSHA", sha, 6, "state", "pending", "flushing", "intervals", "details", "recorders",
                               1, "recorder:1", to_note, 2_000_000, number, number - 1, "", 0, "", clicks))
    with socket.create_connection(("127.0.0.1", redis.process.port)) as connection:
        replies = connection.makefile("rb")
        begin = usage(redis.process.pid)
        for batch in batches:
            connection.sendall(batch)
            if (reply := replies.readline()) != b"*2\r\n":
                raise Failed(f"Redis refused a batch: {reply!r}")
            # The newest change, "0", and whether there was no room for the classes.
            for _ in range(3):
                replies.readline()
        spent = usage(redis.process.pid) - begin
    counted = sum(int(value) for value in redis.ask("hvals", "pending").split())
    if counted != count * size:
        raise Failed(f"{counted} clicks were counted instead of {count * size}")
    return spent.cpu * 1e6 / count


def text(word: str) -> bytes:
    """A short string of MessagePack, as the script takes links and clicks."""
    return bytes((0xD9, len(word))) + word.encode()


def command(*words: object) -> bytes:
    """A command in Redis's protocol."""
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
