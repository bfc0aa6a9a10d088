"""The cost of a batch of clicks in Redis: the script of today, against one command per link."""

from __future__ import annotations

import random
import socket
import sys
from pathlib import Path
from statistics import median

from testbed.databases import Redis
from testbed.programs import Failed, require

from .accounting import usage
from .backends import start_redis
from .pinned import PinnedTestbed, say

SCRIPTS = Path(__file__).resolve().parents[2] / "src" / "redis" / "scripts"
CLICKS = 200_000
ROUNDS = 6
LINKS = range(1, 100_000)
BATCHES = (24, 64, 256)

# The first version of the script: its loop costs a call for each link, in the script and in the append-only file.
BY_LINK = """
  for i = 6, #ARGV, 2 do
    redis.call('HINCRBY', KEYS[3], ARGV[i], ARGV[i + 1])
  end
end
return known
"""


def main() -> int:
    """Prints a line for each size of batch; 1 when the run failed."""
    try:
        with PinnedTestbed(0, 1) as testbed:
            redis = start_redis(testbed, require(["redis-server", "redis-cli"]))
            for size in BATCHES:
                say(f"batches of {size} links")
                compare(redis, size)
    except Failed as failure:
        print(f"load/batch: {failure}", file=sys.stderr)
        return 1
    return 0


def compare(redis: Redis, size: int) -> None:
    """Alternates between the two scripts."""
    now = (SCRIPTS / "data_set.lua").read_text() + (SCRIPTS / "record_clicks.lua").read_text()
    before = now[:now.index("  local links = ")] + BY_LINK
    cost: dict[str, list[float]] = {now: [], before: []}
    for number in range(ROUNDS):
        for script in (now, before) if number % 2 else (before, now):
            cost[script].append(cpu_per_click(redis, script, size, in_pairs=script == before))
    print(f"{size:4} links: {median(cost[now]):.2f} us of Redis' CPU per click,"
          f" {median(cost[before]):.2f} us with a command per link")


def cpu_per_click(redis: Redis, script: str, size: int, in_pairs: bool) -> float:
    """Records clicks on random links, one batch after the other."""
    redis.ask("flushall")
    sha = redis.ask("-x", "script", "load", text=script)
    # The first batch creates the state with this epoch.
    epoch = "load-1"
    batches = []
    for number in range(1, CLICKS // size):
        links = random.sample(LINKS, size)
        clicks = [f for link in links for f in (link, 1)] if in_pairs else links + [1] * size
        batches.append(command("EVALSHA", sha, 3, "state", "recorders", "pending",
                               "load", 1, "recorder", number, epoch, *clicks))
    with socket.create_connection(("127.0.0.1", redis.process.port)) as connection:
        replies = connection.makefile("rb")
        begin = usage(redis.process.pid)
        for batch in batches:
            connection.sendall(batch)
            if replies.readline() != b"*2\r\n":
                raise Failed("Redis refused a batch")
            for _ in range(4):
                replies.readline()
        spent = usage(redis.process.pid) - begin
    counted = sum(int(value) for value in redis.ask("hvals", "pending").split())
    if counted != len(batches) * size:
        raise Failed(f"{counted} clicks were counted instead of {len(batches) * size}")
    return spent.cpu * 1e6 / counted


def command(*words: object) -> bytes:
    """A command in Redis's protocol."""
    encoded = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
