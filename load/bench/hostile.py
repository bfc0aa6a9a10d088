"""Redirects and the API of others beside each attack (`load/overload --only hostile`)."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.processes import wait_for
from testbed.programs import Failed

from .api import Api
from .attacks import ATTACKS, LETTERS, Target, under
from .backends import start_postgres, start_redis
from .contenders import WITHOUT_LIMITS, Embedded, Production, Running, Shunt
from .counting import Count
from .drive import Generators
from .links import codes, write_paths
from .logins import UnpinnedTestbed
from .pinned import say
from .results import Results

KNOWN = 1_000
RATE = 1_000
"""Redirects a second beside the attack, of which each is timed from the moment when it was due."""
CONNECTIONS = 32
LONG = 5_000
"""Links of the attacker's account."""
VISITOR = "127.0.0.3"
"""The address from which others use the API."""
BEGINNING = 1.5
"""Seconds that an attack runs before anything is measured beside it."""


@dataclass
class Others:
    """What the API answers to another account at another address."""

    asked: int = 0
    answered: int = 0
    resident: int = 0
    """The most bytes of the service's process."""


def hostile(tools: dict[str, Path], programs: Path, results: Results, cores: tuple[int, int], attacks: list[str], rounds: int,
            seconds: float) -> None:
    """All attacks in both modes, on a testbed in which nothing is pinned."""
    with UnpinnedTestbed(*cores) as testbed:
        known = list(codes(KNOWN))
        paths = write_paths(testbed.folder / "hostile.paths", known)
        production = Production(testbed, tools, programs, known, redis=start_redis(testbed, tools),
                                postgres=start_postgres(testbed, tools))
        for shunt in (production, Embedded(testbed, tools, programs, known)):
            say(f"{shunt.name}: preparing")
            shunt.prepare()
            with shunt.running() as running:
                token, code = attacker(running)
            # The attacks meet the service with its own limits.
            for name in WITHOUT_LIMITS:
                shunt.settings.pop(name)
            for attack in attacks:
                for number in range(rounds):
                    say(f"{shunt.name}, {attack}: round {number + 1} of {rounds}")
                    with shunt.running() as running:
                        beside(shunt, running, attack, Target(running.port, token, code), results,
                               Generators(tools["wrk"], programs / "pace"), paths, seconds)
    for name in ("shunt", "shunt embedded"):
        for attack in attacks:
            case = f"{name} beside {attack}"
            results.judge(f"{case}: p99 of redirects against without", f"{case}: p99 against without", 2, None, "x")
            results.judge(f"{case}: the API of others, answered", f"{case}: API answered", 0.95, None, "", least=True)
            results.judge(f"{case}: memory at most", f"{case}: resident, MiB", 512, None, "MiB", digits=0)


def attacker(running: Running) -> tuple[str, str]:
    """Registers the account of the attacker; returns its token, and the code of one of its links."""
    api = Api(running.port)
    api.register("attacker@example.org")
    target = "https://example.org/".ljust(LETTERS, "a")
    made = [api.ask("POST", "/urls/bulk", [{"target_url": target}] * 500) for _ in range(LONG // 500)]
    return api.token, str(made[0][0]["short_code"])


def beside(shunt: Shunt, running: Running, attack: str, target: Target, results: Results, generators: Generators, paths: Path,
           seconds: float) -> None:
    """Redirects without the attack and beside it."""
    assert running.api
    count = Count(running.api)
    warm = generators.paced(running.port, paths, CONNECTIONS, requests=KNOWN)
    without = generators.paced(running.port, paths, CONNECTIONS, seconds=seconds, rate=RATE)
    with under(attack, target), others(running) as found:
        time.sleep(BEGINNING)
        load = generators.paced(running.port, paths, CONNECTIONS, seconds=seconds, rate=RATE)
    api = running.api
    wait_for("the API answers after the attack", lambda: api.status("GET", "/urls/my?limit=1")[0] == 200)
    if load.errors or load.refused:
        raise Failed(f"{load.errors} redirects failed and {load.refused} were refused beside {attack}")
    count.check(warm, without, load)
    results.checks += 1
    case = f"{shunt.name} beside {attack}"
    share = found.answered / max(found.asked, 1)
    say(f"  {without.shown_tail()} without, {load.shown_tail()} with; API: {found.answered} of {found.asked};"
        f" {found.resident / 2**20:.0f} MiB")
    results.tail(f"{case}, without", without)
    results.tail(f"{case}, with", load)
    results.figure(f"{case}: p99 against without", load.p99 / without.p99)
    results.figure(f"{case}: API answered", share)
    results.figure(f"{case}: resident, MiB", found.resident / 2**20)


@contextmanager
def others(running: Running) -> Iterator[Others]:
    """Uses the API with the account of the links, 15 times a second, each time on a connection of its own, and watches the memory."""
    assert running.api
    found, is_over = Others(), threading.Event()
    code = running.api.ask("GET", "/urls/my?limit=1")[0]["short_code"]
    links = json.dumps([{"target_url": "https://example.com/bulk"}] * 2)
    requests = [
        ("GET", "/urls/my?limit=20", None), ("GET", f"/urls/{code}/stats", None), ("GET", "/urls/my?q=example&limit=20", None),
        ("POST", "/urls/shorten?target_url=https%3A%2F%2Fexample.com%2Fmade", None), ("GET", f"/urls/{code}/stats/series", None),
        ("POST", "/urls/bulk", links), ("GET", "/urls/my?sort=-clicks&limit=20", None), ("GET", "/auth/me", None),
    ]

    def ask() -> None:
        for method, path, body in itertools.cycle(requests):
            if is_over.wait(1 / 15):
                return
            found.asked += 1
            found.answered += answered(running, method, path, body)

    def watch() -> None:
        while not is_over.wait(0.05):
            found.resident = max(found.resident, resident(running.server.pid))

    threads = [threading.Thread(target=each) for each in (ask, watch)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def answered(running: Running, method: str, path: str, body: str | None) -> bool:
    """Whether a request is done within 5 s."""
    assert running.api
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=5, source_address=(VISITOR, 0))
    headers = {"Authorization": f"Bearer {running.api.token}"} | ({"Content-Type": "application/json"} if body else {})
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        return response.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def resident(pid: int) -> int:
    """All memory of a process that is not swapped out."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def attacks_of(text: str) -> list[str]:
    """The attacks of a list with commas."""
    chosen = text.split(",")
    if unknown := set(chosen) - set(ATTACKS):
        raise Failed(f"{min(unknown)!r} is not one of {', '.join(ATTACKS)}")
    return chosen
