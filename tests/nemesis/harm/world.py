"""Everything that runs: a topology of stores, the instances over it, and the proxy between them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from testbed.databases import Postgres, start_postgres, start_redis
from testbed.processes import Testbed, free_port, wait_for
from testbed.programs import Failed, find, require, run

from .books import Books, Violated
from .client import Client, Cut, NotSent
from .evidence import Evidence
from .proxy import Lines
from .servers import Instance, PostgresServer, RedisServer, family, send, until

TOPOLOGIES = ("single", "cluster", "takeover", "replica")
CACHE_TTL = 10
"""CACHE_TTL_SECONDS: shorter than by default, so that a run sees what happens after it."""
HEAL_SECONDS = 30.0
"""Everything has to be up within this time once everything is healed."""

REDIS_SETTINGS = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "volatile-lru",
                  "--repl-diskless-sync-delay", "0"]
POSTGRES_SETTINGS = ["max_connections=200", "wal_level=replica", "max_wal_senders=8", "wal_keep_size=256MB",
                     "shared_buffers=64MB"]
PROGRAMS = ["initdb", "postgres", "psql", "redis-cli", "redis-server"]


@dataclass
class World:
    """What runs, and what is known of it."""

    testbed: Testbed
    topology: str
    binary: Path
    books: Books = field(default_factory=Books)
    instances: list[Instance] = field(default_factory=list)
    redis: list[RedisServer] = field(default_factory=list)
    """The servers of Redis: first the one in use; of a cluster all masters."""
    postgres: list[PostgresServer] = field(default_factory=list)
    """The primary, then its standby if there is one."""
    deposed: tuple[Instance, float] | None = None
    """An instance that was left on a deposed master, and since when."""
    known: frozenset[tuple[str, str]] = frozenset()
    """Instances and codes that they have to follow, as they did so since Postgres is away."""
    is_losing: bool = False
    """Whether a fault is under way whose loss is admitted at its end."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Closed while no visitor may send a request."""
    under_way: int = 0
    """Requests of visitors without a response yet."""
    tools: dict[str, Path] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)
    """The port of the server behind each line."""

    @property
    def user(self) -> str | None:
        """The user that Postgres runs as."""
        return "postgres" if os.geteuid() == 0 else None

    def start(self, instances: int, burners: int) -> None:
        """Starts everything."""
        self.tools = require(PROGRAMS)
        self.start_postgres()
        self.start_redis()
        names = [f"instance-{number}" for number in range(1, instances + 1)]
        ports = self.start_proxy(names)
        clock_library = libfaketime()
        for name in names:
            self.start_instance(name, ports, clock_library)
        for number in range(burners):
            self.testbed.start(f"burner-{number}", [sys.executable, "-c", "while True: pass"], 0)
        self.gate.set()

    def start_postgres(self) -> None:
        """A primary, and a standby where the topology has one."""
        primary = start_postgres(self.testbed, self.tools, POSTGRES_SETTINGS)
        self.postgres.append(PostgresServer(primary))
        if self.topology != "replica":
            return
        folder = self.testbed.folder / "standby"
        folder.mkdir()
        if self.user:
            shutil.chown(folder, self.user, self.user)
        port = free_port()
        old, new = str(self.testbed.folder / "postgres"), str(folder)
        command = [part.replace(old, new).replace(f"--port={primary.process.port}", f"--port={port}")
                   for part in primary.process.command]
        data = folder / "data"
        run([self.basebackup, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-D", data, "-d", primary.url],
            user=self.user, folder=folder)
        process = self.testbed.start("standby", command, port, user=self.user, stop_signal=primary.process.stop_signal)
        wait_for("the standby listens", process.listens)
        self.postgres.append(PostgresServer(Postgres(process, primary.psql, "postgres", "")))

    @property
    def basebackup(self) -> Path:
        """pg_basebackup, which is beside initdb."""
        return self.tools["initdb"].with_name("pg_basebackup")

    def start_redis(self) -> None:
        """One Redis, or one with a replica, or three masters of a cluster."""
        count = {"cluster": 3, "takeover": 2}.get(self.topology, 1)
        for number in range(count):
            settings = list(REDIS_SETTINGS)
            if self.topology == "cluster":
                # Clients are directed to the line through the proxy.
                self.targets[f"all-redis-{number}"] = 0
                settings += ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1",
                             "--cluster-announce-port", str(self.line_port(f"all-redis-{number}")),
                             "--cluster-port", str(free_port()), "--cluster-require-full-coverage", "no"]
            name = f"redis-{number}" if count > 1 else "redis"
            self.redis.append(RedisServer(start_redis(self.testbed, self.tools, settings, name=name)))
        if self.topology == "takeover":
            self.redis[1].redis.ask("REPLICAOF", "127.0.0.1", str(self.redis[0].port))

    def line_port(self, name: str) -> int:
        """The port of a line, chosen when it is first asked for."""
        self.ports.setdefault(name, free_port())
        return self.ports[name]

    ports: dict[str, int] = field(default_factory=dict)

    def start_proxy(self, names: list[str]) -> dict[str, int]:
        """Starts the proxy; returns the ports of its lines by their names."""
        self.targets = {}
        for name in names:
            self.targets[f"{name}-postgres"] = self.postgres[0].port
            if len(self.postgres) > 1:
                self.targets[f"{name}-replica"] = self.postgres[1].port
            if self.topology != "cluster":
                self.targets[f"{name}-redis"] = self.redis[0].port
        if self.topology == "cluster":
            # A cluster has one address for each of its nodes, so all instances share a line.
            self.targets |= {f"all-redis-{number}": server.port for number, server in enumerate(self.redis)}
        lines = [{"name": name, "port": self.line_port(name), "target": target}
                 for name, target in self.targets.items()]
        control = free_port()
        script = Path(__file__).with_name("proxy.py")
        self.testbed.start("proxy", [sys.executable, script, str(control), json.dumps(lines)],
                           control).wait_until_listening()
        self.lines = Lines(control)
        if self.topology == "cluster":
            self.join_cluster()
        return self.ports

    def join_cluster(self) -> None:
        """Makes one cluster of the masters."""
        nodes = [f"127.0.0.1:{server.port}" for server in self.redis]
        run([self.tools["redis-cli"], "--cluster", "create", *nodes, "--cluster-yes"], seconds=60)
        wait_for("the cluster is formed",
                 lambda: all(server.redis.ask("CLUSTER", "INFO").startswith("cluster_state:ok")
                                                        for server in self.redis))

    def start_instance(self, name: str, ports: dict[str, int], clock_library: Path) -> None:
        """Starts an instance whose stores are behind the proxy."""
        folder = self.testbed.folder / name
        folder.mkdir()
        clock = folder / "clock"
        clock.write_text("+0")
        user = self.postgres[0].postgres
        def database(store: str) -> str:
            return user.url.replace(f":{user.process.port}/", f":{ports[f'{name}-{store}']}/")
        redis = [port for line, port in ports.items() if line.startswith((f"{name}-redis", "all-redis"))]
        port = free_port()
        environment = {
            "BIND": f"127.0.0.1:{port}", "DATABASE_URL": database("postgres"),
            "REDIS_URL": ",".join(f"redis://127.0.0.1:{port}" for port in redis),
            "JWT_SECRET": "a secret of this run, of at least 32 bytes", "LIMIT_LOGIN": "0", "LIMIT_REGISTER": "0",
            "LIMIT_LOGIN_FAILURES": "0", "LIMIT_ACCOUNT_FAILURES": "0",
            # Classes are summed once in ten flushes, and waited for in calm moments.
            "FLUSH_INTERVAL_MS": "300",
            # The receivers of hooks are in this process, at a private address.
            "HOOK_TARGETS": "private",
            "LIMIT_CREATE": "0", "LIMIT_MISSES": "0", "LINKS_PER_ACCOUNT": "0", "MAX_CONNECTIONS_PER_ADDRESS": "0",
            # What comes and goes within a minute is logged at level debug alone.
            "RUST_LOG": "info,shunt::clicks=debug,shunt::shared_redis=debug", "CACHE_TTL_SECONDS": str(CACHE_TTL),
            "REQUEST_TIMEOUT_SECONDS": "10", "WORKERS": "2", "LD_PRELOAD": str(clock_library),
            "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        if len(self.postgres) > 1:
            environment["DATABASE_REPLICA_URL"] = database("replica")
        process = self.testbed.start(name, [self.binary, "serve"], port, environment=environment)
        self.instances.append(Instance(name, process, clock, Evidence(process.log, port)))
        self.instances[-1].evidence.started()

    def grant_administration(self, email: str) -> None:
        """Gives an account the role of an administrator."""
        run([self.binary, "admin", "grant", email], seconds=30,
            environment={"DATABASE_URL": self.postgres[0].postgres.url})

    async def until_up(self) -> None:
        """Waits until everything is up, as it has to be within some seconds."""
        missing = ["nothing was asked yet"]
        end = time.monotonic() + HEAL_SECONDS
        while missing:
            if time.monotonic() > end:
                raise Violated(f"everything is healed for {HEAL_SECONDS:.0f} s, and not everything is up: "
                               + "; ".join(missing))
            await asyncio.sleep(0.1)
            missing = [text for instance in self.instances for text in await self.what_is_down(instance)]

    async def what_is_down(self, instance: Instance) -> list[str]:
        """Why an instance is not up; nothing if it is."""
        instance.process.check()
        client = Client(instance.port, 5.0)
        try:
            ready = await client.ask("GET", "/ready")
            text = ready.body.decode(errors="replace")
            if ready.status != 200 or '"down"' in text or '"away"' in text:
                return [f"{instance.name} is not ready: {text}"]
        except (Cut, NotSent) as error:
            return [f"{instance.name}: {error!r}"]
        finally:
            client.close()
        return []

    async def caught_up(self) -> None:
        """Waits until the second Redis has everything that was written to the first one before."""
        first, second = self.redis
        written = int(await first.info("master_repl_offset"))

        async def has_everything() -> bool:
            return (await second.info("master_link_status") == "up"
                    and int(await second.info("slave_repl_offset") or 0) >= written)
        await until("the replica of Redis has caught up", has_everything)

    def go_on(self) -> None:
        """Lets every server run that a fault has paused, so that it can be stopped."""
        for process in self.testbed.processes:
            if process.popen and process.popen.poll() is None:
                send(signal.SIGCONT, family(process))

    def check_processes(self) -> None:
        """No instance may end by itself, and none may panic."""
        for instance in self.instances:
            if not instance.is_down:
                try:
                    instance.process.check()
                except Failed as failure:
                    raise Violated(f"an instance ended by itself: {failure}") from None
            if instance.evidence.panics:
                raise Violated(f"{instance.name} panicked: {instance.evidence.panics}")


def libfaketime() -> Path:
    """Debian's libfaketime for threads; the plain one sometimes shows a thread the real time."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        apt = find("apt-get")
        if apt and os.geteuid() == 0:
            run([apt, "install", "-qy", "--no-install-recommends", "libfaketime"])
            found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise Failed("please install: libfaketime")
    return found[0]
