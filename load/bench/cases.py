"""The further cases of `load/compare`, and its verdicts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from testbed.processes import wait_for
from testbed.programs import Failed

from .api import PASSWORD
from .backends import LookupWatch, count_lookups
from .bench import Bench
from .contenders import Contender, Embedded, Nginx, Production, ProductionOff, Running, Shunt, Textbook, TextbookDefault
from .counting import Count
from .drive import Load
from .generators import check_generators
from .links import codes, write_paths
from .pinned import say
from .results import Results
from .visitors import PAST_BUDGET

UNKNOWN = 1_000
SCANNER_RATE = 1_000
LOGINS = 200
PACED = 64
"""Connections of the cases that are compared with the half load."""
WIDE = 256
TURNS = 3
"""How often a case alternates between half load with and without further load, within one round."""
BROWSER = (
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept-Language: de-DE,de;q=0.9,en;q=0.8",
    "Cookie: shunt_tz=Europe/Berlin; consent=1; session=0123456789abcdef0123456789abcdef",
    "Priority: u=0, i",
    "Referer: https://news.example.com/",
    "Sec-Fetch-Dest: document",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-User: ?1",
    "Upgrade-Insecure-Requests: 1",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
)
"""What a browser sends that follows a link."""
TEXTBOOKS = {Textbook.name: "pool of 16", TextbookDefault.name: "default pool"}


def fresh(bench: Bench, contender: Contender) -> None:
    """Every code once, by a process with an empty cache that finds each link in Redis."""
    if not isinstance(contender, Production | Textbook) or isinstance(contender, ProductionOff):
        return
    with contender.running() as running:
        count = bench.count(running)
        if not bench.results.figures.get(f"fresh: {contender.name}: redirects/s") and count:
            # In the first round Redis does not have the links yet: this first process requests them.
            bench.warm(running, count)
    with contender.running() as running:
        count = bench.count(running)
        asked = looked_up(running)
        load = bench.generators.paced(running.port, bench.every, WIDE, requests=len(bench.known))
        asked = looked_up(running) - asked
        bench.verify(count, load)
    bench.results.figure(f"fresh: {contender.name}: redirects/s", load.rate)
    say(f"  fresh: {load.rate:.0f}/s, {asked} look-ups in the database, {load.errors} errors")
    if running.postgres:
        bench.results.figure("fresh: look-ups in the database", asked)


def looked_up(running: Running) -> int:
    """The number of look-ups by code in Postgres."""
    return count_lookups(running.postgres) if running.postgres else 0


def extras(bench: Bench, contender: Contender, running: Running, count: Count | None) -> None:
    """The cases beside the full load. Every contender gets the half load, which shows the share of the machine in the
    latency."""
    if "browser" in bench.extras:
        for connections in bench.connections:
            browser(bench, contender.name, connections, running, count)
    if "visitors" in bench.extras and isinstance(contender, Shunt | Nginx):
        if isinstance(contender, Shunt) and not contender.is_off:
            meet(bench, running, count)
        for connections in bench.connections:
            bench.full(contender.name, "visitors", bench.draws["uniform"], connections, running, count, visitors=bench.visitors)
    if "generators" in bench.extras:
        check_generators(bench, contender.name, running, count)
    if "half" in bench.extras:
        for connections in sorted(bench.connections, reverse=True):
            half(bench, contender.name, connections, running, count)
    if not isinstance(contender, Shunt) or contender.is_before or contender.is_off or count is None:
        return
    if isinstance(contender, Production):
        if "unknown" in bench.extras:
            unknown(bench, contender.name, running, count)
        if "scanner" in bench.extras:
            scanner(bench, contender.name, running, count)
        if "logins" in bench.extras:
            logins(bench, contender.name, running, count)
    if "killed" in bench.extras:
        killed(bench, contender, running, count)


def meet(bench: Bench, running: Running, count: Count | None) -> None:
    """Sends redirects of many visitors until each agent and referrer is known: all come from one address, which has a budget for
    new ones."""
    api = running.api
    assert api

    def are_known() -> bool:
        before = api.metric(PAST_BUDGET)
        load = bench.generators.full(running.port, bench.draws["uniform"], PACED, 1.0, visitors=bench.visitors)
        bench.verify(count, load)
        return api.metric(PAST_BUDGET) == before

    wait_for("all agents and referrers are known", are_known, 120.0)


def browser(bench: Bench, name: str, connections: int, running: Running, count: Count | None) -> None:
    """The full load again, with the headers of a browser that follows a link."""
    sample = bench.full(name, "browser", bench.draws["uniform"], connections, running, count, headers=BROWSER)
    plain = [each for each in bench.results.samples
             if (each.contender, each.case, each.connections) == (name, "uniform", connections)][-1]
    bench.results.figure(f"{name}, {connections} connections: CPU with a browser's headers against plain",
                         sample.cpu / plain.cpu)


def half(bench: Bench, name: str, connections: int, running: Running, count: Count | None) -> None:
    """Half of the load that is sustained, at a constant rate."""
    if count:
        bench.sustain(name, connections, running, count)
    backlog = running.backlog
    waited_before, follows = backlog() if backlog else 0, running.cpu_that_follows()
    before = running.cpu()
    load = paced(bench, name, connections, running)
    bench.note(name, "half", connections, load, before, running.cpu())
    if backlog:
        waiting = backlog()
        wait_for("all clicks are written back", lambda: backlog() == 0, seconds=300)
        follows = (running.cpu_that_follows() - follows) / load.answered * 1e6
        bench.results.figure(f"{name}, {connections} connections: CPU that follows a click at half load, us", follows)
        bench.results.figure(f"{name}, {connections} connections: batches that wait before half load", waited_before)
        bench.results.figure(f"{name}, {connections} connections: batches that wait after half load", waiting)
        say(f"  {follows:.2f} us CPU follow a click; {waiting} batches waited at the end, {waited_before} before")
    bench.verify(count, load)


def paced(bench: Bench, name: str, connections: int, running: Running) -> Load:
    """Half of the rate of this contender in this round: the one that shunt sustained, or the greatest of the others."""
    return bench.generators.paced(running.port, bench.draws["uniform"], connections,
                                  seconds=bench.seconds, rate=bench.half(name, connections))


def unknown(bench: Bench, name: str, running: Running, count: Count) -> None:
    """A few unknown codes, requested again and again."""
    paths = write_paths(bench.folder / "unknown.paths", codes(UNKNOWN, series=1))
    connections = max(bench.connections)
    asked = looked_up(running)
    sample = bench.full(name, "unknown", paths, connections, running, None)
    asked = looked_up(running) - asked
    warm = [each for each in bench.results.samples
            if (each.contender, each.case, each.connections) == (name, "uniform", connections)][-1]
    bench.results.figure("unknown again and again: CPU against a warm hit", sample.cpu / warm.cpu)
    bench.results.figure("unknown again and again: look-ups in the database per code", asked / UNKNOWN)
    # None of them may count, as none was redirected.
    bench.verify(count)


def in_turns(bench: Bench, what: str, drive_calmly: Callable[[], Load], drive_beside: Callable[[], Load], count: Count) -> None:
    """The p99 of redirects with a further load beside them, against without."""
    loads: list[tuple[Load, Load]] = []
    for _ in range(TURNS):
        loads.append((drive_calmly(), drive_beside()))
        bench.verify(count, *loads[-1])
    without, with_it = (median(load.p99 for load in turn) for turn in zip(*loads, strict=True))
    bench.results.figure(f"{what}: p99 of redirects without, us", without)
    bench.results.figure(f"{what}: p99 of redirects, us", with_it)
    for calm, beside in loads:
        for which, load in ((" without", calm), ("", beside)):
            bench.results.figure(f"{what}: p99.9 of redirects{which}, us", load.p999)
            bench.results.figure(f"{what}: slowest redirect{which}, us", load.max)
    bench.results.figure(f"{what}: p99 against without", with_it / without)
    say(f"  {what}: p99 {with_it:.0f} us against {without:.0f} us")


def scanner(bench: Bench, name: str, running: Running, count: Count) -> None:
    """Warm redirects at half load beside a scanner that requests unknown codes, each once."""
    connections = min(bench.connections, key=lambda each: abs(each - PACED))
    amount = round(SCANNER_RATE * (bench.seconds + 1) * 1.2)
    assert running.postgres
    postgres = running.postgres

    def beside() -> Load:
        # Codes that were never requested before, in this round or another.
        series = 10 + len(bench.results.figures.get("scanner: answers/s", ()))
        paths = write_paths(bench.folder / "scanner.paths", codes(amount, series=series))
        with LookupWatch(postgres) as watch:
            scan = bench.generators.start_pace(running.port, paths, 16, seconds=bench.seconds + 1,
                                               rate=SCANNER_RATE)
            time.sleep(0.5)
            load = paced(bench, name, connections, running)
            scanned = scan.result()
        if set(scanned.statuses) != {"404"}:
            raise Failed(f"a scanner got {scanned.statuses}")
        bench.results.figure("scanner: answers/s", scanned.rate)
        bench.results.figure("scanner: look-ups under way in the database, at most", watch.max)
        return load

    in_turns(bench, "scanner", lambda: paced(bench, name, connections, running), beside, count)


def logins(bench: Bench, name: str, running: Running, count: Count) -> None:
    """Warm redirects at half load beside many log-ins at once."""
    connections = min(bench.connections, key=lambda each: abs(each - PACED))
    body = json.dumps({"email": "load@example.com", "password": PASSWORD})
    paths = bench.folder / "login.paths"
    paths.write_text("/auth/login\n")

    def beside() -> Load:
        redirects = bench.generators.start_pace(running.port, bench.draws["uniform"], connections,
                                                seconds=bench.seconds, rate=bench.half(name, connections))
        time.sleep(0.5)
        burst = bench.generators.paced(running.port, paths, LOGINS, requests=LOGINS, method="POST",
                                       headers=("Content-Type: application/json",), body=body, drain=60.0)
        bench.results.figure("logins: seconds until all were answered", burst.seconds)
        bench.results.figure("logins: succeeded", burst.statuses.get("200", 0))
        return redirects.result()

    in_turns(bench, "logins", lambda: paced(bench, name, connections, running), beside, count)


def killed(bench: Bench, contender: Shunt, running: Running, count: Count) -> None:
    """Ends the process with SIGKILL under load; each answered redirect must still be counted."""
    seconds = min(2.0, bench.seconds)
    loading = bench.generators.start_pace(running.port, bench.draws["uniform"], PACED,
                                          seconds=seconds + 5)
    time.sleep(seconds)
    contender.testbed.stop(running.server, hard=True)
    load = loading.result()
    # Requests under way may have been counted without a response.
    lost_at_most = replace(load, errors=0, unseen=PACED)
    with contender.running() as revived:
        assert revived.api
        count.api = revived.api
        bench.verify(count, lost_at_most)
    say(f"  killed -9 after {load.answered} redirects: all of them are counted")


def compare_round(bench: Bench) -> None:
    """Ratios between contenders within one round."""
    results = bench.results

    def newest(contender: str, case: str, connections: int, what: str) -> float | None:
        values = [getattr(sample, what) for sample in results.samples if
                  (sample.contender, sample.case, sample.connections) == (contender, case, connections)]
        return float(values[-1]) if values else None

    def ratio(name: str, above: float | None, below: float | None) -> None:
        if above is not None and below:
            results.figure(name, above / below)

    for connections in bench.connections:
        ratio(f"{Embedded.name}, {connections} connections: p99 at half load against nginx",
              newest(Embedded.name, "half", connections, "p99"), newest("nginx", "half", connections, "p99"))
        for contender in (Production.name, Embedded.name):
            ratio(f"{contender}, {connections} connections: CPU against nginx",
                  newest(contender, "uniform", connections, "cpu"),
                  newest("nginx", "uniform", connections, "cpu"))
            ratio(f"{contender}, {connections} connections: CPU against before",
                  newest(contender, "uniform", connections, "cpu"),
                  newest(f"{contender} before", "uniform", connections, "cpu"))
            ratio(f"{contender}, {connections} connections: CPU with a browser's headers against nginx",
                  newest(contender, "browser", connections, "cpu"),
                  newest("nginx", "browser", connections, "cpu"))
            ratio(f"{contender}, many visitors, {connections} connections: CPU against nginx",
                  newest(contender, "visitors", connections, "cpu"),
                  newest("nginx", "visitors", connections, "cpu"))
        off = newest(ProductionOff.name, "visitors", connections, "cpu")
        ratio(f"many visitors, {connections} connections: CPU of off against before",
              off, newest(f"{Production.name} before", "visitors", connections, "cpu"))
        ratio(f"many visitors, {connections} connections: CPU of on against off",
              newest(Production.name, "visitors", connections, "cpu"), off)
        for textbook in TEXTBOOKS:
            ratio(f"shunt, {connections} connections: redirects/s against {textbook}",
                  newest("shunt", "uniform", connections, "rate"),
                  newest(textbook, "uniform", connections, "rate"))
    figures = {name: values[-1] for name, values in results.figures.items()}
    for textbook in TEXTBOOKS:
        ratio(f"fresh: redirects/s against {textbook}", figures.get("fresh: shunt: redirects/s"),
              figures.get(f"fresh: {textbook}: redirects/s"))


def complain(results: Results, contenders: list[Contender]) -> None:
    """Notes the warnings of shunt, which make a run doubtful."""
    for contender in contenders:
        if isinstance(contender, Shunt) and contender.complaints:
            results.notes.append(f"{contender.name} logged {len(contender.complaints)} warnings, such"
                                 f" as: {contender.complaints[0]}")


def judge(results: Results) -> None:
    """Compares each bar with the measured figure."""
    if not results.checks and any("shunt" in sample.contender for sample in results.samples):
        raise Failed("the clicks were never compared with the responses")
    halves = [results.of(contender, "half", connections) for contender in (Production.name, Embedded.name)
              for connections in (64, 256)]
    if p99s := [each.p99 for each in halves if each]:
        results.figure("half load: greatest of the p99s above, ms", max(p99s) / 1000)
    judge = results.judge
    judge("warm redirect, 256 connections: CPU against nginx's map",
          "shunt, 256 connections: CPU against nginx", 1.25, 1.0, "x")
    judge("warm redirect, 64 connections: CPU against nginx's map",
          "shunt, 64 connections: CPU against nginx", 1.4, 1.1, "x")
    for contender in (Production.name, Embedded.name):
        for connections, bar in {64: 1.1, 256: 1.15}.items():
            judge(f"{contender}, 2,000 agents, {connections} connections: CPU against nginx's map",
                  f"{contender}, many visitors, {connections} connections: CPU against nginx", bar, None, "x")
    for textbook, pool in TEXTBOOKS.items():
        for connections in (64, 256):
            judge(f"redirects/s against the textbook design, {pool}, {connections} connections",
                  f"shunt, {connections} connections: redirects/s against {textbook}", 8, 10, "x", least=True)
    for connections in (64, 256):
        judge(f"embedded, {connections} connections: CPU against nginx's map",
              f"shunt embedded, {connections} connections: CPU against nginx", 2.2, 1.5, "x")
    for contender in (Production.name, Embedded.name):
        for connections in (64, 256):
            name = f"{contender}, {connections} connections: CPU against before"
            if name in results.figures:
                judge(f"{contender}, {connections} connections: CPU against the build before", name, 1.03, None, "x")
    for what, against, bar in (("on", "off", 1.15), ("off", "before", 1.03)):
        for connections in (64, 256):
            name = f"many visitors, {connections} connections: CPU of {what} against {against}"
            if name in results.figures:
                judge(f"2,000 agents, {connections} connections: CPU with ANALYTICS={what} against "
                      f"{'the build before' if against == 'before' else 'off'}", name, bar, None, "x")
    for contender, bars in ((Production.name, {64: 1.4, 256: 1.25}), (Embedded.name, {64: 2.2, 256: 2.2})):
        for connections, bar in bars.items():
            judge(f"{contender}, a browser's headers, {connections} connections: CPU against nginx's map",
                  f"{contender}, {connections} connections: CPU with a browser's headers against nginx", bar, None, "x")
    judge("unknown codes again and again: CPU against a warm hit",
          "unknown again and again: CPU against a warm hit", 1.1, None, "x")
    judge("unknown codes again and again: look-ups in the database per code",
          "unknown again and again: look-ups in the database per code", 2, None, "", digits=3)
    judge("a scanner beside half load: p99 against without", "scanner: p99 against without", 2, None, "x")
    judge("a scanner: look-ups under way in the database (setting: 8)",
          "scanner: look-ups under way in the database, at most", 8, None, "", digits=0)
    for textbook, pool in TEXTBOOKS.items():
        judge(f"in Redis, not in the process: redirects/s against textbook, {pool}",
              f"fresh: redirects/s against {textbook}", 3, None, "x", least=True)
    for connections in (64, 256):
        judge(f"embedded, {connections} connections, half of what is sustained: p99 against nginx's",
              f"shunt embedded, {connections} connections: p99 at half load against nginx", 2.5, None, "x")
        judge(f"embedded, {connections} connections: CPU that follows a click",
              f"shunt embedded, {connections} connections: CPU that follows a click at half load, us", 4, None, "us")
    judge("half load, all modes and connections: greatest p99", "half load: greatest of the p99s above, ms",
          2, 1, "ms")
    judge("200 logins at once beside half load: p99 against without", "logins: p99 against without",
          2, None, "x")
    if results.checks:
        results.notes.append(f"Clicks were compared with answers {results.checks} times; they agreed.")
