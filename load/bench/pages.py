"""Pages for people of an owner of many links."""

from __future__ import annotations

import http.client
import re
from urllib.parse import urlencode

from testbed.programs import Failed

from .api import PASSWORD
from .drive import Generators
from .links import code, write_paths
from .owners import CONNECTIONS, RATE, describe
from .pinned import say
from .results import Results
from .stock import Stock

EMAIL = "many@example.com"
# With fewer responses a p99 is the slowest of them.
SECONDS = 15.0
PAGES = {
    "the list": "app",
    "the list, a tag": "app?tag=autumn",
    "a link": "app/links/{code}",
    "all clicks": "app/all",
    "a new link": "app/links/new",
    "the account": "app/account",
}


def pages(stock: Stock, generators: Generators, results: Results, seconds: float) -> None:
    """The p99 of each page, of the whole response: its first byte is not later."""
    describe(stock)
    # One of the owner of many.
    number = next(n for n in range(stock.long // 2, stock.links) if n % stock.step)
    with stock.running() as running:
        session = sign_in(running.port)
        for what, path in PAGES.items():
            file = write_paths(stock.testbed.folder / "people.paths", [path.format(code=code(number))])
            headers = (f"Cookie: {session}", "Accept: text/html")
            # The order by clicks is made at the first question.
            generators.paced(running.port, file, 1, requests=2, drain=30.0, headers=headers)
            load = generators.paced(running.port, file, CONNECTIONS, rate=RATE, seconds=max(seconds, SECONDS), drain=30.0,
                                    headers=headers)
            if set(load.statuses) != {"200"} or load.errors:
                raise Failed(f"{what}: {load.statuses}, {load.errors} errors")
            results.tail(f"page for people: {what}", load)
            say(f"  page for people: {what}: p50 {load.p50 / 1000:.1f} ms, {load.shown_tail()}")


def sign_in(port: int) -> str:
    """The cookies of a session, by the form."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/app/login", headers={"Accept": "text/html"})
    response = connection.getresponse()
    found = re.search(r'name="csrf" value="([^"]*)"', response.read().decode())
    cookies = cookies_of(response)
    if not found:
        raise Failed(f"/app/login has no form: {response.status}")
    form = urlencode({"csrf": found[1], "email": EMAIL, "password": PASSWORD, "next": ""})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookies, "Accept": "text/html"}
    connection.request("POST", "/app/login", form, headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    if response.status != 303:
        raise Failed(f"signing in brought {response.status}")
    return cookies_of(response)


def cookies_of(response: http.client.HTTPResponse) -> str:
    """What a browser sends from then on."""
    given = response.headers.get_all("Set-Cookie") or []
    return "; ".join(cookie.split(";")[0] for cookie in given if "Max-Age=0" not in cookie)
