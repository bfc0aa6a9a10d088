"""`load/hooks`: what a thousand hooks cost the server, beside the same links without hooks."""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import time
from pathlib import Path

from testbed.processes import wait_for
from testbed.programs import Failed, require

from .accounting import usage
from .api import Api
from .backends import start_postgres, start_redis
from .contenders import Embedded, Production, Running, Shunt
from .pinned import PinnedTestbed, say
from .results import Results
from .tools import build, machine, where

BAR = 0.05
"""Cores that the hooks may take."""
ACCOUNTS = 100
HOOKS = 10
DELIVERIES = 100
"""A second, of all hooks: each link that is made is an event for the hooks of its account."""


class Receiver:
    """Takes every event, over connections that stay open."""

    def __init__(self) -> None:
        self.taken = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1_024)
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        """Serves each connection by a thread: there are as many as hooks that are worked off at once."""
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        """Answers one request after the other."""
        with connection, connection.makefile("rb") as lines:
            while lines.readline():
                length = 0
                while (line := lines.readline().rstrip()) != b"":
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                lines.read(length)
                with self.lock:
                    self.taken += 1
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0, or 1 when the run failed."""
    parser = argparse.ArgumentParser(prog="load/hooks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds with and without hooks [default: %(default)s]")
    parser.add_argument("--seconds", type=int, default=30, help="of each measurement [default: %(default)s]")
    parser.add_argument("--program", type=Path, help="the folder of the program; it is built otherwise")
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    options = parser.parse_args(arguments)
    try:
        tools = require(["redis-server", "redis-cli", "postgres", "initdb", "psql"])
        results = Results("shunt: a thousand hooks", machine(tools))
        programs = options.program or build()
        with PinnedTestbed(options.server_core, options.load_core) as testbed:
            testbed.settle()
            results.notes += [
                f"{options.rounds} rounds of {options.seconds} s with and without hooks: {ACCOUNTS} accounts with {HOOKS} hooks each,"
                f" and {DELIVERIES // HOOKS} links a second, each of which is an event for {HOOKS} hooks.",
                where(testbed),
                "CPU: user and system time of the server process by second, with hooks less without, in one round; medians.",
            ]
            production = Production(testbed, tools, programs, [], redis=start_redis(testbed, tools),
                                    postgres=start_postgres(testbed, tools))
            for shunt in (production, Embedded(testbed, tools, programs, [])):
                measure(shunt, options, results)
    except Failed as failure:
        print(f"load/hooks: {failure}", file=sys.stderr)
        return 1
    results.save("hooks")
    print(results.text())
    return 0


def measure(shunt: Shunt, options: argparse.Namespace, results: Results) -> None:
    """Both kinds of measurement in turns."""
    shunt.prepare()
    receiver = Receiver()
    with shunt.running(HOOK_TARGETS="private") as running:
        accounts = [Account(running.port, number) for number in range(ACCOUNTS)]
        say(f"{shunt.name}: {ACCOUNTS * HOOKS} hooks")
        before = usage(running.server.pid).resident
        for _ in range(options.rounds):
            without = {on: seconds_of_cpu(running, accounts, receiver, options.seconds, on) for on in (False, True)}
            results.figure(f"{shunt.name}: CPU of all hooks, cores", without[True] - without[False])
            results.figure(f"{shunt.name}: CPU without hooks, cores", without[False])
            say(f"  {without[False]:.3f} cores without, {without[True]:.3f} with hooks")
        grown = usage(running.server.pid).resident - before
        results.figure(f"{shunt.name}: growth with hooks, MiB", grown / 2**20)
    cost = results.middle(f"{shunt.name}: CPU of all hooks, cores") or 0.0
    say(f"{shunt.name}: {cost:.3f} cores (bar {BAR})")


def seconds_of_cpu(running: Running, accounts: list[Account], receiver: Receiver, seconds: int, on: bool) -> float:
    """CPU seconds of the server in each second in which links are made; fails unless every hook got every event."""
    # What happened before is in the feeds, so that no hook gets it.
    time.sleep(3)
    for account in accounts:
        account.switch(f"http://127.0.0.1:{receiver.port}/in", on)
    time.sleep(3)
    taken, links = receiver.taken, 0
    begin, used = time.monotonic(), usage(running.server.pid).cpu
    while (elapsed := time.monotonic() - begin) < seconds:
        due = links * HOOKS / DELIVERIES
        if due > elapsed:
            time.sleep(due - elapsed)
        accounts[links % ACCOUNTS].make_link()
        links += 1
    expected = taken + (links * HOOKS if on else 0)
    wait_for("every hook has its events", lambda: receiver.taken >= expected)
    cpu = usage(running.server.pid).cpu - used
    if receiver.taken != expected:
        raise Failed(f"{expected - taken} deliveries were due, {receiver.taken - taken} came")
    return cpu / seconds


class Account:
    """An account that has hooks, or none."""

    def __init__(self, port: int, number: int) -> None:
        self.api = Api(port)
        self.api.register(f"owner{number}@example.com")
        self.hooks: list[int] = []

    def switch(self, url: str, on: bool) -> None:
        """Makes all of its hooks, or ends them: a hook that is only switched off gets later what happened meanwhile."""
        for hook in self.hooks:
            self.api.ask("DELETE", f"/hooks/{hook}", status=204)
        made = [self.api.ask("POST", "/hooks", {"url": url, "types": ["link.created"]}) for _ in range(HOOKS if on else 0)]
        self.hooks = [int(hook["id"]) for hook in made]

    def make_link(self) -> None:
        """One event."""
        self.api.ask("POST", "/urls/shorten", {"target_url": "https://www.example.com/"})
