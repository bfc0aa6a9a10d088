"""One run, from its start to its verdict."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from testbed.processes import Testbed
from testbed.programs import Failed

from .books import Book, State, Violated
from .client import Client, Cut, NotSent
from .faults import stop_with_0
from .judge import RAISE_SECONDS, VERDICT_AFTER, Judge
from .load import AGENTS, API_TIMEOUT, OWNERS, REFERRERS, Load
from .schedule import STEPS_UNTIL_CALM, Schedule, Timed
from .servers import Instance
from .world import HEAL_SECONDS, World

SAMPLE_PAUSE = 0.2
ALL_TIME = "?interval=month&from=2020-01-01&to=2035-01-01"
"""The range of a series in which all clicks are, also those of an instance whose clock is wrong."""
ENDED = 12
"""Links that were ended or removed, whose counts are compared in a calm moment."""
HISTORY_PAUSE = 0.1
LONGEST_OVERTIME = 900.0
"""Seconds after the asked ones, in which kinds of faults that did not happen yet still may."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    seconds: float
    seed: int
    topology: str
    instances: int
    binary: Path
    burners: int
    kinds: list[str]

    def __str__(self) -> str:
        return (f"seed {self.seed}, topology {self.topology}, {self.instances} instances, {self.seconds:.0f} s"
                + (f", {self.burners} burners" if self.burners else ""))


class Story:
    """A run."""

    def __init__(self, options: Options, testbed: Testbed) -> None:
        self.options = options
        self.world = World(testbed, options.topology, options.binary)
        self.judge = Judge(self.world)
        self.load = Load(self.world, self.judge, random.Random(options.seed + 1))
        self.watchers: list[asyncio.Task[None]] = []
        self.lines: list[str] = []
        self.started = time.monotonic()

    def say(self, text: str) -> None:
        """Prints a line, and keeps it for the report."""
        self.lines.append(f"{time.monotonic() - self.started:7.1f} s  {text}")
        print(self.lines[-1], flush=True)

    async def run(self) -> None:
        """Harms, judges and ends."""
        self.watchers = [asyncio.ensure_future(self.watch(instance)) for instance in self.world.instances]
        self.watchers.append(asyncio.ensure_future(self.note_history()))
        await self.world.until_up()
        await self.load.prepare()
        self.load.start()
        await self.wait(1.0)
        schedule = Schedule(self.world, self.options.kinds, random.Random(self.options.seed), self.options.seconds)
        end = time.monotonic() + self.options.seconds
        steps = 0
        # A slow machine takes more time until every kind has happened.
        while time.monotonic() < end or schedule.missing and time.monotonic() < end + LONGEST_OVERTIME:
            await self.step(schedule, schedule.step())
            steps += 1
            if steps % STEPS_UNTIL_CALM == 0:
                await self.calm()
            await self.wait(schedule.pause())
        await self.calm()
        await self.wait(VERDICT_AFTER + 0.5)
        await self.load.stop()
        self.say("all clients are done; each instance is stopped")
        for watcher in self.watchers:
            watcher.cancel()
        for instance in self.world.instances:
            await stop_with_0(instance)
        self.check()
        if schedule.missing:
            raise Failed(f"these kinds of faults did not happen, so the run proves too little: "
                         f"{', '.join(sorted(schedule.missing))}")

    async def step(self, schedule: Schedule, faults: list[Timed]) -> None:
        """One or two faults, from their beginnings to their ends."""
        is_apart = any(timed.fault.is_apart for timed in faults)
        if is_apart:
            await self.calm()
        self.say(" + ".join(map(str, faults)))
        tasks = [asyncio.ensure_future(self.happen(schedule, timed)) for timed in faults]
        await asyncio.gather(*tasks)
        if is_apart:
            await self.calm()

    async def happen(self, schedule: Schedule, timed: Timed) -> None:
        """One fault."""
        await asyncio.sleep(timed.begin)
        await timed.fault.begin()
        schedule.happened(timed.fault)
        await self.wait(timed.end - timed.begin)
        await timed.fault.heal()

    async def wait(self, seconds: float) -> None:
        """Lets time pass; fails as soon as an invariant is violated."""
        end = time.monotonic() + seconds
        while True:
            self.check()
            left = end - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(0.1, left))

    def check(self) -> None:
        """Fails if an invariant is violated."""
        for task in [*self.load.tasks, *self.watchers]:
            if task.done() and not task.cancelled():
                # It never ends by itself, so this raises its error.
                task.result()
        self.world.check_processes()
        if self.judge.violations:
            raise Violated(self.judge.violations[0])

    async def watch(self, instance: Instance) -> None:
        """Reads what an instance says of itself."""
        sampled = 0.0
        while True:
            await asyncio.sleep(0.05)
            instance.evidence.read_log()
            if not instance.is_down and not instance.is_paused and time.monotonic() > sampled + SAMPLE_PAUSE:
                await instance.evidence.sample()
                sampled = time.monotonic()

    async def note_history(self) -> None:
        """Notes how many redirects were answered until when."""
        while True:
            self.world.books.note_history()
            await asyncio.sleep(HISTORY_PAUSE)

    async def calm(self) -> None:
        """A calm moment: everything is healed, has to be up within 30 seconds, and no request is under way. Then all
        instances have to give the same count of each link, within the bounds of its book."""
        await self.world.until_up()
        self.world.gate.clear()
        async with self.load.change:
            end = time.monotonic() + HEAL_SECONDS
            while self.world.under_way:
                if time.monotonic() > end:
                    raise Violated(f"{self.world.under_way} visits are without a response")
                await self.wait(0.05)
            # They compare with the bounds from before this moment.
            while self.judge.verdicts:
                await self.wait(0.05)
            await self.settle_ban(end)
            await self.settle_endings(end)
            books = [book for book in self.world.books.live if book.state is State.LIVE]
            # The newest alone: there are ever more of them.
            books += [book for book in self.world.books.gone
                      if book.taken_by.keeps_statistics and book.state is State.DELETED][-ENDED:]
            by_instance = [await self.counts(instance, [book.code for book in books], end)
                           for instance in self.world.instances]
            for book, *counts in zip(books, *by_instance):
                if len(set(counts)) > 1:
                    raise Violated(f"in a calm moment the instances count {counts}\n{book}")
                book.fix(counts[0])
            await self.compare_sums(list(zip(books, by_instance[0])), end)
            live = [(book, count) for book, count in zip(books, by_instance[0]) if book.state is State.LIVE]
            await self.load.feeds.settled(self.world.instances[-1], live)
            await self.load.hooks.settled(self.world.instances[-1], live)
            # What came before may have taken long.
            end = time.monotonic() + HEAL_SECONDS
            for book, count in zip(books, by_instance[0]):
                if book.limit is not None and count < book.least_limit(RAISE_SECONDS):
                    await self.answers_everywhere(book, 302, end)
        self.world.gate.set()
        self.say(f"calm: {len(books)} counts are right on {len(by_instance)} instances; "
                 f"{sum(book.answered for book in self.world.books.all.values())} redirects so far")

    async def compare_sums(self, counts: list[tuple[Book, int]], end: float) -> None:
        """Each link's series over all time adds up to its count, and so does, some seconds later, each breakdown."""
        instance = self.world.instances[-1]
        client = Client(instance.port, API_TIMEOUT)
        for book, count in counts:
            path = f"/urls/{book.code}/stats/series{ALL_TIME}"
            series = await self.answer(instance, client, path, end)
            if self.sum_of(series, "points") != count or series["clicks"] != count:
                raise Violated(f"in a calm moment the count is {count}, and its series is {series}\n{book}")
            if book.alias:
                path = f"/urls/{book.alias}/stats/breakdown?by=code&limit=30&from=2023-01-01&to=2029-01-01"
                found = await self.answer(instance, client, path, end, self.load.tokens[book.owner])
                rows = found["rows"]
                assert isinstance(rows, list)
                clicks = {row["value"]: row["clicks"] for row in rows}
                if found["clicks"] != count or set(clicks) != {book.code, book.alias}:
                    raise Violated(f"in a calm moment the count is {count}, and by code it is {found}\n{book}")
                book.fix_alias(clicks[book.alias], count)
                self.judge.seen["clicks by an alias"] += clicks[book.alias]
        for by, values in (("browser", AGENTS), ("referrer", REFERRERS)):
            for book, count in counts:
                if book.owner < OWNERS:
                    await self.compare_breakdown(instance, client, book, count, by, set(values), end)
        client.close()

    async def compare_breakdown(self, instance: Instance, client: Client, book: Book, count: int, by: str,
                                values: set[str | None], end: float) -> None:
        """A breakdown of a link's clicks: it is summed in the background, and has never more than the count."""
        around = (date.today() + timedelta(days=days) for days in (-2, 2))
        path = f"/urls/{book.code}/stats/breakdown?by={by}&limit=100&from={next(around)}&to={next(around)}"
        while True:
            found = await self.answer(instance, client, path, end, self.load.tokens[book.owner])
            clicks = self.sum_of(found, "rows")
            rows = found["rows"]
            assert isinstance(rows, list)
            unknown = {row["value"] for row in rows} - values
            if clicks != found["clicks"] or clicks > count or unknown or "other" in found:
                raise Violated(f"in a calm moment the count is {count}, and its breakdown is {found}\n{book}")
            if clicks == count:
                self.judge.seen[f"clicks with a {by}"] += sum(row["clicks"] for row in rows if row["value"])
                return
            if time.monotonic() > end + HEAL_SECONDS:
                raise Violated(f"for a whole calm moment the count is {count}, and its breakdown is {found}\n{book}")
            await self.wait(0.2)

    @staticmethod
    def sum_of(statistics: dict[str, object], parts: str) -> int:
        """The clicks of all points or rows."""
        found = statistics[parts]
        assert isinstance(found, list)
        return sum(int(part["clicks"]) for part in found)

    async def counts(self, instance: Instance, codes: list[str], end: float) -> list[int]:
        """The counts that an instance gives."""
        client, counts = Client(instance.port, API_TIMEOUT), []
        for code in codes:
            clicks = (await self.answer(instance, client, f"/urls/{code}/stats", end))["clicks"]
            assert isinstance(clicks, int)
            counts.append(clicks)
        client.close()
        return counts

    async def answer(self, instance: Instance, client: Client, path: str, end: float,
                     token: str = "") -> dict[str, object]:
        """The statistics at a path, which have to be there by the end."""
        while True:
            try:
                response = await client.ask("GET", path, token=token)
                if response.status == 200:
                    return response.json()
                why = str(response)
            except (Cut, NotSent) as error:
                why = repr(error)
            if time.monotonic() > end:
                raise Violated(f"in a calm moment {instance.name} does not answer {path} for 30 s: {why}")
            await asyncio.sleep(0.1)

    async def answers_everywhere(self, book: Book, status: int, end: float) -> None:
        """A preview of a link, which uses no click up, is answered so on every instance."""
        for instance in self.world.instances:
            client = Client(instance.port, API_TIMEOUT)
            why = "nothing was asked yet"
            while why:
                try:
                    response = await client.ask("HEAD", f"/{book.code}")
                    why = "" if response.status == status else str(response)
                except (Cut, NotSent) as error:
                    why = repr(error)
                if why and time.monotonic() > end:
                    raise Violated(f"in a calm moment {instance.name} does not answer a link with {status}: {why}\n{book}")
                await asyncio.sleep(0.1 if why else 0)
            client.close()

    async def settle_ban(self, end: float) -> None:
        """The links of an account that was banned or unbanned are removed, or back, on every instance."""
        bans = self.load.bans
        if (status := bans.expected()) is None:
            return
        for book in bans.books:
            await self.answers_everywhere(book, status, end)
        instance = self.world.instances[0]
        client = Client(instance.port, API_TIMEOUT)
        await bans.settled(client, time.monotonic())
        client.close()
        self.say(f"an account: {bans.phase.value}")

    async def settle_endings(self, end: float) -> None:
        """The account whose tokens were ended logs in again."""
        client = Client(self.world.instances[0].port, API_TIMEOUT)
        await self.load.endings.settled(client, end)
        client.close()

    def summary(self) -> str:
        """What was seen."""
        lines = [", ".join(f"{count} {what}" for what, count in sorted(self.judge.seen.items()))]
        lines += [f"excused, {count} times: {reason}" for reason, count in self.judge.excused.items()]
        admitted = {reason for book in self.world.books.all.values() for reason in book.reasons}
        lines += [f"admitted loss: {reason}" for reason in sorted(admitted)[:10]]
        return "\n".join(lines)

    def keep_logs(self) -> Path:
        """Keeps the logs of all servers, and the schedule."""
        kept = Path(tempfile.mkdtemp(prefix="shunt-nemesis-"))
        for log in self.world.testbed.folder.glob("*/*.log"):
            shutil.copy(log, kept / f"{log.parent.name}.log")
        (kept / "schedule.txt").write_text("\n".join(self.lines) + "\n")
        return kept


def play(options: Options) -> int:
    """Makes one run; returns its exit code."""
    print(f"tests/nemesis/run: {options}", flush=True)
    with Testbed() as testbed:
        story = Story(options, testbed)
        try:
            story.world.start(options.instances, options.burners)
            asyncio.run(story.run())
        except (Violated, Failed) as failure:
            kind = "VIOLATED" if isinstance(failure, Violated) else "FAILED"
            print(f"\n{kind} ({options}): {failure}\n")
            for further in story.judge.violations[1:4]:
                print(f"also: {further}\n")
            print("schedule so far:", *story.lines, sep="\n")
            print(story.summary())
            print(f"logs and schedule are kept in {story.keep_logs()}", flush=True)
            return 1
        finally:
            story.world.go_on()
        print(story.summary())
        print(f"tests/nemesis/run: no invariant was violated ({options})", flush=True)
    return 0

