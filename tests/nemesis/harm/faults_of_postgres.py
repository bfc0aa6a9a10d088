"""Faults of Postgres: of the primary and its standby."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from testbed.programs import Failed

from .books import Violated
from .faults import Fault
from .faults_of_redis import Stutter
from .servers import PostgresServer, until


async def until_sql(server: PostgresServer, question: str, answer: str) -> None:
    """Waits until a query has this result."""
    async def holds() -> bool:
        return await server.sql(question) == answer
    await until(question, holds)


class OfPostgres(Fault):
    """A fault of the primary."""

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(["postgres"])

    def __str__(self) -> str:
        return self.kind

    def send(self, number: int) -> None:
        """Sends a signal to all processes of the primary."""
        self.world.postgres[0].signal(number)


class KillPostgres(OfPostgres):
    """`kill -9` of all its processes, and a start on its disk."""

    kind = "postgres-kill"
    about = "Postgres is ended with SIGKILL, and started again on its disk"

    async def begin(self) -> None:
        await self.world.postgres[0].kill()

    async def heal(self) -> None:
        await self.world.postgres[0].start()


class PausePostgres(OfPostgres):
    """SIGSTOP, then SIGCONT."""

    kind = "postgres-pause"
    about = "Postgres hangs, and goes on later"

    async def begin(self) -> None:
        self.send(signal.SIGSTOP)

    async def heal(self) -> None:
        self.send(signal.SIGCONT)


class PostgresStutters(OfPostgres, Stutter):
    """Postgres is slow."""

    kind = "postgres-slow"
    about = "Postgres hangs again and again for up to 120 ms, as on a slow disk"


class LockTables(OfPostgres):
    """A table is locked, as by a migration or a repair by hand."""

    kind = "postgres-locks"
    about = "a table of Postgres is locked by somebody else"
    task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        server = self.world.postgres[0]
        tables = (await server.sql("select string_agg(tablename, ' ' order by tablename) from pg_tables "
                                   "where schemaname = 'public' and tablename not like '%migrations'")).split()
        table = self.rng.choice(tables)

        async def lock() -> None:
            statement = f"begin; lock table {table} in access exclusive mode; select pg_sleep(60)"
            with suppress(Failed):
                await server.sql(f"/* nemesis */ {statement}")
        self.task = asyncio.ensure_future(lock())
        await asyncio.sleep(0.1)

    async def heal(self) -> None:
        with suppress(Failed):
            await self.world.postgres[0].sql("select pg_terminate_backend(pid) from pg_stat_activity "
                                       "where query like '/* nemesis */%' and pid <> pg_backend_pid()")
        if self.task:
            await self.task


class RedisBackFirst(OfPostgres):
    """Redis is cut off from all instances; then Postgres hangs; then Redis is back, and Postgres only later."""

    kind = "redis-back-before-postgres"
    about = "Redis is cut off from all instances, Postgres hangs before Redis is back, and goes on later"

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(["redis", "postgres", "standby", *self.world.targets])

    async def begin(self) -> None:
        lines = [line for line in self.world.targets if "-redis" in line]
        await self.world.lines.change(lines, "cut")
        # Links are deleted meanwhile, which cannot be announced.
        await asyncio.sleep(self.rng.uniform(1.5, 3.0))
        self.send(signal.SIGSTOP)
        await self.world.lines.change(lines, "none")

    async def heal(self) -> None:
        await asyncio.sleep(1.5)
        self.send(signal.SIGCONT)


class RedisLateWithoutPostgres(OfPostgres):
    """Postgres is away, and Redis hangs for short times meanwhile."""

    kind = "redis-late-without-postgres"
    about = "Redis hangs for 0.1 to 2 s, three times, while Postgres is away: no known code is refused"
    is_apart = True

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(["redis", "postgres"])

    async def begin(self) -> None:
        world = self.world
        self.send(signal.SIGSTOP)
        # What was under way is answered, and links are followed without Postgres.
        await asyncio.sleep(1.0)
        before = {book.code: book.by_instance.copy() for book in world.books.live}
        await asyncio.sleep(1.0)
        world.known = frozenset(
            (instance.name, book.code) for instance in world.instances for book in world.books.live
            if book.limit is None and not book.pool and book.code in before
            and book.by_instance[instance.name] > before[book.code][instance.name])
        try:
            for _ in range(3):
                process = self.rng.choice(world.redis).process.popen
                process.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]
                await asyncio.sleep(self.rng.uniform(0.1, 2.0))
                process.send_signal(signal.SIGCONT)  # type: ignore[union-attr]
                await asyncio.sleep(self.rng.uniform(0.2, 1.0))
        finally:
            world.known = frozenset()

    async def heal(self) -> None:
        self.send(signal.SIGCONT)


class FailOver(OfPostgres):
    """The primary dies, and its standby, which has everything, takes over; then a new standby follows it."""

    kind = "postgres-fail-over"
    about = "the primary of Postgres is killed, and its standby, which has every commit, takes over"

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(["postgres", "standby", *(line for line in self.world.targets if "redis" not in line)])

    async def begin(self) -> None:
        primary, standby = self.world.postgres
        # From here on a commit waits for the standby, so the kill loses none that was answered.
        await primary.sql("alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")
        state = "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')"
        await until_sql(primary, state, "1")
        written = await primary.sql("select pg_current_wal_lsn()")
        await until_sql(standby, f"select pg_last_wal_receive_lsn() >= '{written}'", "t")
        await primary.kill()
        await standby.sql("select pg_promote(true, 30)", "alter system reset synchronous_standby_names",
                    "select pg_reload_conf()")
        self.world.postgres.reverse()
        await self.move("postgres", standby.port)

    async def move(self, store: str, port: int) -> None:
        """Moves the lines to a store; open connections to the dead server have broken by themselves."""
        lines = [line for line in self.world.targets if line.endswith(f"-{store}")]
        await self.world.lines.change(lines, "target", float(port))

    async def heal(self) -> None:
        primary, standby = self.world.postgres
        basebackup = self.world.basebackup
        await standby.become_standby_of(primary, basebackup, self.world.user)
        await standby.start()
        await self.move("replica", standby.port)
        lines = [line for line in self.world.targets if line.endswith("-replica")]
        await self.world.lines.change(lines, "cut")
        await self.world.lines.change(lines, "none")
        if await primary.sql("select pg_is_in_recovery()") != "f":
            raise Violated("the promoted standby is still in recovery")


class OfStandby(Fault):
    """A fault of the standby."""

    @property
    def touches(self) -> frozenset[str]:
        return frozenset(["standby"])

    def __str__(self) -> str:
        return self.kind


class PauseStandby(OfStandby):
    """SIGSTOP, then SIGCONT."""

    kind = "standby-pause"
    about = "the standby of Postgres hangs, and goes on later"

    async def begin(self) -> None:
        self.world.postgres[1].signal(signal.SIGSTOP)

    async def heal(self) -> None:
        self.world.postgres[1].signal(signal.SIGCONT)


class StandbyLags(OfStandby):
    """The standby receives everything and replays nothing."""

    kind = "standby-lag"
    about = "the standby of Postgres pauses its replay, so that it shows the past"

    async def begin(self) -> None:
        await self.world.postgres[1].sql("select pg_wal_replay_pause()")

    async def heal(self) -> None:
        await self.world.postgres[1].sql("select pg_wal_replay_resume()")


class KillStandby(OfStandby):
    """`kill -9`, and a start on its disk."""

    kind = "standby-kill"
    about = "the standby of Postgres is ended with SIGKILL, and started again"

    async def begin(self) -> None:
        await self.world.postgres[1].kill()

    async def heal(self) -> None:
        await self.world.postgres[1].start()
