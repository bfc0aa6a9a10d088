"""The servers of compose.yaml, each started when what it needs is there."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .client import answers
from .processes import Failed, Server, free_port, install_missing, need, run, succeeds, wait_for

DEPLOY = Path(__file__).resolve().parents[1]
ROOT = DEPLOY.parent
COMPOSE = (DEPLOY / "compose.yaml").read_text()


class Setup:
    """Everything that runs, in the order it was started."""

    def __init__(self) -> None:
        self.servers: list[Server] = []
        self.instances: list[Server] = []
        self.folder = Path(tempfile.mkdtemp(prefix="shunt-"))
        # Postgres and nginx's workers run as other users where this is root: they must get in.
        self.folder.chmod(0o711)
        self.port = 0
        self.prometheus_port = 0

    def build(self, binary: Path | None) -> None:
        """Starts everything, each when what it needs is there."""
        install_missing()
        binary = binary.resolve() if binary else built()
        # Before the instances: nginx's address is in their links to further pages.
        self.port = free_port()
        database = self.start_postgres()
        redis = self.start_redis()
        settings = env_file(DEPLOY / "shunt.env") | {
            "BASE_URL": self.address, "DATABASE_URL": database, "REDIS_URL": redis,
            "JWT_SECRET": secrets.token_hex(32), "TRUSTED_PROXIES": "127.0.0.1"}
        metrics = [self.start_instance(name, binary, settings) for name in ("shunt-1", "shunt-2")]
        for instance in self.instances:
            wait_until_ready(instance)
        self.start_nginx()
        self.start_prometheus(metrics)

    @property
    def address(self) -> str:
        """Where people go."""
        return f"http://127.0.0.1:{self.port}"

    def add(self, name: str, command: Sequence[str | Path], port: int, **more: object) -> Server:
        """Starts a server in a folder of its own."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        server = Server(name, [str(part) for part in command], folder / "log", port, **more)  # type: ignore[arg-type]
        server.start()
        self.servers.append(server)
        return server

    def start_postgres(self) -> str:
        """A cluster of its own, with the settings of compose.yaml; the URL of its database."""
        user = "postgres" if os.geteuid() == 0 else None
        folder = self.folder / "postgres"
        folder.mkdir()
        password, port = secrets.token_hex(16), free_port()
        (folder / "password").write_text(password)
        if user:
            shutil.chown(folder, user, user)
            shutil.chown(folder / "password", user, user)
        (folder / "password").chmod(0o600)
        arguments = one(r"POSTGRES_INITDB_ARGS: (.+)", COMPOSE).split()
        run([need("initdb"), "--pgdata", str(folder / "data"), "--username=shunt", "--auth-local=trust",
             f"--pwfile={folder / 'password'}", "--no-sync", *arguments], user=user, folder=folder)
        settings = re.findall(r"-c (\w+=\S+)", COMPOSE) + [
            f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}"]
        command: list[str | Path] = [need("postgres"), "-D", folder / "data"]
        for setting in settings:
            command += ["-c", setting]
        server = self.add("postgres", command, port, user=user, stop_signal=signal.SIGINT)
        psql = [need("psql"), "-X", "-q", "-h", str(folder), "-p", str(port), "-U", "shunt", "-d", "postgres"]
        wait_for("Postgres answers", lambda: server.accepts() and succeeds([*psql, "-c", "select 1"]))
        run([*psql, "-c", "create database shunt"])
        return f"postgres://shunt:{password}@127.0.0.1:{port}/shunt"

    def start_redis(self) -> str:
        """A Redis with the settings of redis.conf; its URL."""
        password, port = secrets.token_hex(16), free_port()
        server = self.add("redis", [
            need("redis-server"), DEPLOY / "redis" / "redis.conf", "--port", str(port), "--bind",
            "127.0.0.1", "--dir", self.folder / "redis", "--requirepass", password], port)
        wait_for("Redis listens", server.accepts)
        return f"redis://:{password}@127.0.0.1:{port}"

    def start_instance(self, name: str, binary: Path, settings: dict[str, str]) -> str:
        """An instance; where its metrics are."""
        port, metrics = free_port(), f"127.0.0.1:{free_port()}"
        own = {"BIND": f"127.0.0.1:{port}", "METRICS_BIND": metrics}
        self.instances.append(self.add(name, [binary, "serve"], port, environment=settings | own))
        return metrics

    def start_nginx(self) -> None:
        """nginx with the files of deploy/nginx: the port and the instances' addresses are put in."""
        folder = self.folder / "nginx"
        folder.mkdir()
        conf = (DEPLOY / "nginx" / "nginx.conf").read_text()
        conf = replaced(r"listen 8080\b", f"listen 127.0.0.1:{self.port}", conf)
        instances = (DEPLOY / "nginx" / "instances.conf").read_text()
        # Debian's nginx is older than `resolve`, and addresses need no looking up.
        instances = replaced(r"resolver .*;\n", "", instances)
        for instance in self.instances:
            instances = replaced(rf"server {instance.name}:8000 resolve ",
                                 f"server 127.0.0.1:{instance.port} ", instances)
        (folder / "nginx.conf").write_text(conf)
        (folder / "instances.conf").write_text(instances)
        server = self.add("nginx", [need("nginx"), "-e", "stderr", "-p", folder, "-c",
                                    folder / "nginx.conf"], self.port, stop_signal=signal.SIGQUIT)
        wait_for("nginx listens", server.accepts)

    def start_prometheus(self, targets: Sequence[str]) -> None:
        """Prometheus with the files of deploy/prometheus: the targets' addresses are put in."""
        folder = self.folder / "prometheus"
        self.prometheus_port = free_port()
        shutil.copytree(DEPLOY / "prometheus", folder)
        (folder / "targets.yml").write_text(json.dumps([{"targets": list(targets)}]))
        (folder / "alertmanagers.yml").write_text("[]")
        conf = folder / "prometheus.yml"
        own = f"127.0.0.1:{self.prometheus_port}"
        conf.write_text(replaced(r"localhost:9090", own, conf.read_text()))
        server = self.add("prometheus", [
            need("prometheus"), f"--config.file={conf}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={own}"], self.prometheus_port)
        wait_for("Prometheus listens", server.accepts)

    def say_where(self) -> None:
        """Prints the addresses."""
        print(f"shunt       {self.address}   (explorer: {self.address}/docs)")
        for instance in self.instances:
            print(f"{instance.name}     http://127.0.0.1:{instance.port}")
        print(f"Prometheus  http://127.0.0.1:{self.prometheus_port}")
        print(f"logs        {self.folder}/*/log")
        print("Ctrl-C takes all down.", flush=True)

    def watch(self) -> None:
        """Waits until something ends that should not."""
        while True:
            for server in self.servers:
                if server.has_ended():
                    raise Failed(f"{server.name} ended:\n{server.last_words()}")
            time.sleep(0.5)

    def take_down(self) -> None:
        """Stops everything, what was started last first."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for server in reversed(self.servers):
            try:
                server.stop()
            except Failed as failure:
                print(f"deploy/local: {failure}", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_until_ready(instance: Server) -> None:
    """Waits until an instance takes traffic."""
    def ready() -> bool:
        answer = answers(instance.port, "/ready") if instance.accepts() else None
        return answer is not None and answer.status == 200
    wait_for(f"{instance.name} is ready", ready, seconds=60)


def built() -> Path:
    """Builds shunt; where it is."""
    print("building shunt", flush=True)
    run(["cargo", "build", "--quiet", "--locked", "--release", "--package", "shunt", "--bin", "shunt"],
        folder=ROOT)
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    return (ROOT / target / "release" / "shunt").resolve()


def env_file(path: Path) -> dict[str, str]:
    """The lines NAME=VALUE of a file."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def one(pattern: str, text: str) -> str:
    """What a pattern's group finds; it has to be there."""
    found = re.search(pattern, text)
    if found is None:
        raise Failed(f"`{pattern}` is not to be found in compose.yaml")
    return found[1]


def replaced(pattern: str, by: str, text: str) -> str:
    """`text` with every match replaced; there has to be one."""
    changed, count = re.subn(pattern, by, text)
    if count == 0:
        raise Failed(f"`{pattern}` is not to be found")
    return changed
