"""An owner of many links: pages and searches of the list, and making links in bulk against COPY."""

from __future__ import annotations

import json
import os
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

from testbed.programs import Failed, run

from .accounting import usage
from .api import Api
from .contenders import Embedded, Running
from .drive import Generators
from .links import code, write_paths
from .pinned import say
from .results import Results
from .stock import Stock

CONNECTIONS = 4
RATE = 20.0
"""Requests a second for each kind of page: far below the capacity, as latency is wanted."""
BULK_LINKS = 10_000
BULK_CALLS = 10
"""Calls on each connection in a round."""

PAGES = {
    "newest": ["urls/my?limit=50"],
    "oldest": ["urls/my?limit=50&sort=created_at"],
    "tag": ["urls/my?limit=50&tag=autumn"],
    "inactive": ["urls/my?limit=50&status=inactive"],
    "a text in all links": ["urls/my?limit=50&q=example"],
    "a text in one of 1,000": ["urls/my?limit=50&q=harvest"],
    "most clicks": ["urls/my?limit=50&sort=-clicks"],
    "fewest clicks, inactive": ["urls/my?limit=50&sort=clicks&status=inactive"],
    "most clicks, a text in one of 1,000": ["urls/my?limit=50&sort=-clicks&q=harvest"],
}


def searches(stock: Stock, generators: Generators, results: Results, seconds: float) -> None:
    """The p99 of pages of an owner of many links, and how long it takes to find one link among them by its code."""
    describe(stock)
    folder = stock.testbed.folder
    with stock.running() as running:
        api = Api(running.port, stock.long_token)
        begin = time.monotonic()
        with api.open("GET", "/urls/my?limit=50&sort=-clicks") as response:
            response.read()
        first = (time.monotonic() - begin) * 1000
        results.figure("the first page by clicks after a start: ms", first)
        say(f"  the first page by clicks after a start: {first:.0f} ms")
        pages = PAGES | {"deep in the list": deep_pages(api)}
        for what, paths in pages.items():
            file = write_paths(folder / "pages.paths", paths)
            load = generators.paced(running.port, file, CONNECTIONS, rate=RATE, seconds=seconds, drain=30.0,
                                    headers=(f"Authorization: Bearer {stock.long_token}",))
            if load.refused or load.errors:
                raise Failed(f"{what}: {load.statuses}, {load.errors} errors")
            results.tail(f"page of many links: {what}", load)
            say(f"  page: {what}: p50 {load.p50 / 1000:.1f} ms, {load.shown_tail()}")
        # The link is in the middle of the list.
        number = next(n for n in range(stock.long // 2, stock.links) if n % stock.step)
        begin = time.monotonic()
        asked, longest = walk(api, f"q={code(number)}")
        seconds = time.monotonic() - begin
        results.figure("one link among many, by its code: s", seconds)
        results.figure("the same: requests", asked)
        results.figure("the same: the longest request, ms", longest * 1000)
        say(f"  one link by its code: {seconds:.2f} s in {asked} requests, the longest {longest * 1000:.0f} ms")


def describe(stock: Stock) -> None:
    """Gives titles, tags, clicks and inactive links to the owner of many."""
    assert stock.postgres
    mine = f"owner_id = {stock.many}"
    for statement in (
        f"update links set title = 'Autumn harvest' where {mine} and id % 1000 = 0",
        f"update links set is_active = false where {mine} and id % 1000 = 1",
        f"update links set tags = '[\"autumn\"]' where {mine} and id % 1000 = 2",
        "select count_clicks(array_agg(id order by id), array_agg(1 + id * 7919 % 100000 order by id), 1900000)"
        f" from links where {mine} and id not in (select link_id from link_clicks)",
        "vacuum analyze",
    ):
        stock.postgres.sql(statement)


def deep_pages(api: Api) -> list[str]:
    """The paths of pages far from the beginning."""
    paths = []
    cursor = None
    for _ in range(100):
        path = "/urls/my?limit=1000" + (f"&cursor={cursor}" if cursor else "")
        with api.open("GET", path) as response:
            response.read()
            link = response.headers.get("Link", "")
        if "cursor=" not in link:
            break
        cursor = link.split("cursor=")[1].split("&")[0].split(">")[0]
        paths.append(f"urls/my?limit=50&cursor={cursor}")
    if len(paths) < 10:
        raise Failed(f"the list has {len(paths)} pages, and its header Link is {link!r}")
    return paths


def walk(api: Api, query: str) -> tuple[int, float]:
    """Follows the pages of a search until a link is found; returns the number of requests and the longest of them."""
    path = f"/urls/my?limit=50&{query}"
    asked, longest = 0, 0.0
    while True:
        begin = time.monotonic()
        with api.open("GET", path) as response:
            links = json.loads(response.read())
            link = response.headers.get("Link", "")
        asked, longest = asked + 1, max(longest, time.monotonic() - begin)
        if links:
            return asked, longest
        if "cursor=" not in link:
            raise Failed(f"no link was found with {query}")
        path = link.split("<")[1].split(">")[0]
        path = path[path.index("/urls"):]


def bulk(stock: Stock, embedded: Embedded, results: Results, rounds: int) -> None:
    """Links a second that are made in bulk, and how many rows COPY writes into an equal table. Postgres may use both cores,
    and the server one of them."""
    assert stock.postgres
    # New sessions inherit it from the process that accepts them.
    os.sched_setaffinity(stock.postgres.process.pid, {stock.testbed.server_core, stock.testbed.load_core})
    body = json.dumps([{"target_url": f"https://www.example.com/made/{n:015d}"} for n in range(BULK_LINKS)])
    for number in range(rounds):
        with stock.running() as running:
            made, growth, used = post(running, body, f"{number}")
        copied = copy(stock)
        with embedded.running() as running:
            made_embedded, _, used_embedded = post(running, body, f"{number}")
        results.figure("bulk: links/s, Postgres", made)
        results.figure("bulk: rows/s, COPY", copied)
        results.figure("bulk: growth of the server, MiB", growth / 2**20)
        results.figure("bulk: links/s, embedded", made_embedded)
        for what, us in (used | {"server, embedded": used_embedded["server"]}).items():
            results.figure(f"bulk: CPU of {what} per link, us", us)
        say(f"bulk: round {number + 1}: {made:.0f} links/s, COPY {copied:.0f} rows/s; embedded {made_embedded:.0f}"
            f" links/s; the server grew by {growth / 2**20:.0f} MiB")


def post(running: Running, body: str, name: str) -> tuple[float, int, dict[str, float]]:
    """Posts lists of links over some connections, each of an account of its own; links a second, the growth, and the CPU
    per link, in us."""
    tokens = []
    for number in range(CONNECTIONS):
        api = Api(running.port)
        api.register(f"bulk{name}-{number}@example.com")
        tokens.append(api.token)
    failures: list[str] = []

    def calls(token: str) -> None:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=120)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        for _ in range(BULK_CALLS):
            connection.request("POST", "/urls/bulk", body, headers)
            response = connection.getresponse()
            content = response.read()
            if response.status != 200 or content.count(b'"status":200') != BULK_LINKS:
                failures.append(f"{response.status}: {content[:200]!r}")
        connection.close()

    before, used_before = usage(running.server.pid).resident, running.cpu()
    most = before
    threads = [threading.Thread(target=calls, args=(token,)) for token in tokens]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most = max(most, usage(running.server.pid).resident)
        time.sleep(0.02)
    seconds = time.monotonic() - begin
    if failures:
        raise Failed(f"bulk: {failures[0]}")
    links = CONNECTIONS * BULK_CALLS * BULK_LINKS
    used = {who: (cpu - used_before[who]) / links * 1e6 for who, cpu in running.cpu().items()}
    return links / seconds, most - before, used


def copy(stock: Stock) -> float:
    """Rows a second that COPY writes over as many connections into a table with the same columns and indexes, which no
    trigger watches."""
    assert stock.postgres
    postgres = stock.postgres
    postgres.sql("drop table if exists copied")
    postgres.sql("create table copied (like links including all)")
    rows = BULK_CALLS * BULK_LINKS
    now = int(time.time() * 1e6)
    files = []
    for number in range(CONNECTIONS):
        file = stock.testbed.folder / f"copy{number}.tsv"
        with file.open("w") as out:
            for row in range(rows):
                # Codes in no order, as drawn ones are.
                drawn = (number * rows + row) * 2654435761 % 2**32
                out.write(f"{code(drawn)}x{number}\thttps://www.example.com/made/{row:015d}\t{stock.rest}\t{now}\n")
        files.append(file)

    def write(file: Path) -> None:
        run([postgres.psql, "-X", "-q", "-d", postgres.url, "-c",
             f"\\copy copied (short_code, target_url, owner_id, created_at) from '{file}'"], seconds=300)

    threads = [threading.Thread(target=write, args=(file,)) for file in files]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    if int(postgres.sql("select count(*) from copied")) != CONNECTIONS * rows:
        raise Failed("COPY wrote another number of rows")
    postgres.sql("drop table copied")
    return CONNECTIONS * rows / seconds
