"""Tests the whole deployment: clicks, metrics, errors, a rolling restart."""

from __future__ import annotations

import http.client
import itertools
import json
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from testbed.processes import Process, wait_for
from testbed.programs import Failed

from .client import Response, Client
from .deployment import DEPLOY, Deployment, wait_until_ready

FOLLOWED = 100
STOP_TIMEOUT = 45.0
"""Seconds for an instance to stop, as stop_grace_period in compose.yaml."""
TARGET = "https://example.com/a?b=c"


@dataclass
class Load:
    """Light load through nginx, from threads of its own; counts requests and collects failures."""

    port: int
    code: str
    token: str
    stop: threading.Event = field(default_factory=threading.Event)
    answered: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Load:
        work = [(self.follow, 0.01)] * 4 + [(self.read, 0.02), (self.shorten, 0.1)]
        for job, pause in work:
            thread = threading.Thread(target=self.repeat, args=(job, pause), daemon=True)
            thread.start()
            self.threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def repeat(self, job: Callable[[Client], Response], pause: float) -> None:
        """Does one job again and again."""
        client, name = Client(self.port), job.__name__
        expected = 302 if name == "follow" else 200
        while not self.stop.wait(pause):
            try:
                response = job(client)
                fault = "" if response.status == expected else f"{name}: {response.status} {response.body!r}"
            except (OSError, http.client.HTTPException) as error:
                fault = f"{name}: {error!r}"
            with self.lock:
                if fault:
                    self.failed.append(fault)
                else:
                    self.answered[name] += 1

    def follow(self, client: Client) -> Response:
        """Follows the link."""
        return client.ask("GET", f"/{self.code}")

    def read(self, client: Client) -> Response:
        """Reads the statistics of the link."""
        return client.ask("GET", f"/urls/{self.code}/stats")

    def shorten(self, client: Client) -> Response:
        """Creates another link."""
        return client.ask("POST", "/urls/shorten?target_url=https%3A%2F%2Fexample.com%2F", token=self.token)


class Check:
    """The checks, one after the other."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.client = Client(deployment.port)

    def run(self) -> None:
        """All checks; the first that fails ends the run."""
        token = self.register()
        code = self.shorten(token)
        self.follow(code)
        self.hides_metrics()
        self.refuses_in_one_shape()
        self.both_are_scraped()
        self.exporters_measure()
        self.the_runbook_opens()
        self.restart_one_by_one(code, token)
        self.nothing_is_critical()
        self.answers_without_instances(code)
        print("all is well", flush=True)

    def register(self) -> str:
        """Makes a user."""
        person = {"email": "user@example.com", "password": secrets.token_hex(16)}
        response = self.client.ask("POST", "/auth/register", person)
        token = response.json().get("access_token")
        expect(response.status == 200 and isinstance(token, str), "a user is made through nginx", response)
        return str(token)

    def shorten(self, token: str) -> str:
        """Makes a link."""
        query = "target_url=" + TARGET.replace(":", "%3A").replace("/", "%2F").replace("?", "%3F").replace(
            "=", "%3D")
        response = self.client.ask("POST", f"/urls/shorten?{query}", token=token)
        made = response.json()
        expect(response.status == 200 and made.get("target_url") == TARGET, "and a link", response)
        return str(made["short_code"])

    def follow(self, code: str) -> None:
        """Follows the link over both instances; each click is counted once."""
        for path in itertools.islice(itertools.cycle([f"/{code}", f"/urls/r/{code}"]), FOLLOWED):
            response = self.client.ask("GET", path)
            if response.status != 302 or response.headers["Location"] != TARGET:
                raise Failed(f"following the link was answered {response}")
        self.expect_clicks(code, FOLLOWED)
        for instance in self.deployment.instances:
            wait_for(f"{instance.name} had some of the clicks", partial(self.share_of, instance))
        def logged() -> bool:
            return sum(self.share_of(instance) for instance in self.deployment.instances) == FOLLOWED
        # nginx writes its log once a second.
        wait_for("the log has all clicks", logged)
        shares = {instance.name: self.share_of(instance) for instance in self.deployment.instances}
        expect(sum(shares.values()) == FOLLOWED, f"followed over both instances: {shares}", shares)

    def share_of(self, instance: Process) -> int:
        """How many redirects nginx passed to an instance, by nginx's log."""
        log = self.deployment.nginx.log.read_text(errors="replace")
        passed = (json.loads(line) for line in log.splitlines() if line.startswith("{"))
        return sum(entry["status"] == 302 and entry["upstream"] == f"127.0.0.1:{instance.port}"
                   for entry in passed)

    def expect_clicks(self, code: str, clicks: int) -> None:
        """The stats have to be exact on every instance."""
        for port in [self.deployment.port, *(instance.port for instance in self.deployment.instances)]:
            response = Client(port).ask("GET", f"/urls/{code}/stats")
            stats = response.json()
            if (stats.get("clicks"), stats.get("total")) != (clicks, clicks):
                raise Failed(f"the statistics should be exactly {clicks}: {stats}")
        expect(True, f"statistics are exactly {clicks}, through nginx and on both instances")

    def hides_metrics(self) -> None:
        """nginx does not pass on requests for metrics."""
        response = self.client.ask("GET", "/metrics")
        expect(response.status == 404 and b"shunt_" not in response.body, "nginx does not show metrics", response)

    def refuses_in_one_shape(self) -> None:
        """Errors of nginx have the shape of an instance's errors: a sentence in JSON."""
        long, longer = "a" * 20_000, "a" * 70_000
        for status, what, asked in [
            (413, "a body that the service refuses", partial(self.afresh, "POST", "/auth/login", long)),
            (413, "a body that nginx refuses", partial(self.afresh, "POST", "/auth/login", longer)),
            (431, "a head that the service refuses", partial(
                self.afresh, "GET", "/health", One=long[:9_000], Other=long[:9_000])),
            (431, "a header that nginx refuses", partial(self.afresh, "GET", "/health", One=long)),
            (414, "a path that nginx refuses", partial(self.afresh, "GET", f"/{long}")),
            (400, "an invalid path", partial(self.afresh, "GET", "/%zz")),
            (400, "an invalid host", partial(self.afresh, "GET", "/health", Host="a b")),
            (405, "a method that nginx refuses", partial(self.afresh, "TRACE", "/health")),
            (404, "nginx's internal location for errors", partial(self.afresh, "GET", "/.refused/unread")),
        ]:
            self.expect_sentence(status, what, asked())

    def answers_without_instances(self, code: str) -> None:
        """With no instance left, nginx answers 503 by itself."""
        for instance in self.deployment.instances:
            instance.stop(seconds=STOP_TIMEOUT)
        for path in (f"/{code}", f"/urls/{code}/stats"):
            response = self.afresh("GET", path)
            self.expect_sentence(503, f"{path} without an instance", response)
            expect(response.headers["Retry-After"] == "1", "and has a Retry-After", response)

    def afresh(self, method: str, path: str, body: object = None, **headers: str) -> Response:
        """Sends a request on a new connection; after some errors nginx closes the old one."""
        return Client(self.deployment.port).ask(method, path, body, **headers)

    def expect_sentence(self, status: int, what: str, response: Response) -> None:
        """An error has to be a sentence in JSON, and to name its request."""
        expect(response.status == status and response.headers["Content-Type"] == "application/json"
               and isinstance(response.json().get("detail"), str) and bool(response.headers["X-Request-Id"]),
               f"{what} is answered {status} and a sentence", response)

    def both_are_scraped(self) -> None:
        """Prometheus scrapes both instances, and its rules can be evaluated."""
        def up() -> bool:
            return sorted(self.query('up{job="shunt"}')) == [1.0, 1.0]
        wait_for("Prometheus has both targets up", up, seconds=60)
        expect(True, "Prometheus has both targets up")
        expect(len(self.query("shunt_build_info")) == 2, "and metrics of both")
        rules = self.prometheus("/api/v1/rules")
        groups = rules["groups"]
        assert isinstance(groups, list)
        wrong = [rule["name"] for group in groups for rule in group["rules"] if rule["health"] == "err"]
        expect(bool(groups) and not wrong, "and its rules can be evaluated", wrong)

    def exporters_measure(self) -> None:
        """The exporters and the probe measure what the rules on disks, memory and the public address ask for."""
        for expression in ("redis_up", "pg_up", "probe_success"):
            wait_for(f"{expression} is 1", lambda asked=expression: self.query(asked) == [1.0], seconds=60)
        rules = (DEPLOY / "prometheus" / "rules.yml").read_text()
        metrics = set(re.findall(r"\b((?:node|redis|pg)_\w+)\{", rules))
        for metric in sorted(metrics):
            wait_for(f"{metric} is measured", lambda asked=metric: self.query(asked), seconds=30)
        expect(len(metrics) >= 10, f"{len(metrics)} metrics of exporters are there", metrics)

    def the_runbook_opens(self) -> None:
        """The page to which an alert leads is served, with the runbook that has its section."""
        def fires() -> list[str]:
            alerts = self.prometheus("/api/v1/alerts")["alerts"]
            assert isinstance(alerts, list)
            return [alert["annotations"]["runbook_url"] for alert in alerts if alert["labels"]["alertname"] == "Watchdog"]
        wait_for("the watchdog fires", fires, seconds=60)
        base, path = f"http://127.0.0.1:{self.deployment.prometheus_port}", "/user/runbook.html"
        expect(fires() == [f"{base}{path}#watchdog"], "the watchdog fires, and leads to the runbook", fires())
        client = Client(self.deployment.prometheus_port)
        page, text = client.ask("GET", path), client.ask("GET", "/user/runbook.md")
        expect(page.status == 200 and page.headers["Content-Type"].startswith("text/html"), "its page opens", page)
        expect(text.status == 200 and b"### Watchdog" in text.body, "and has the runbook", text)

    def query(self, expression: str) -> list[float]:
        """The current values of an expression."""
        found = self.prometheus("/api/v1/query?query=" + expression.replace("{", "%7B").replace(
            "}", "%7D").replace('"', "%22").replace("=", "%3D"))
        result = found["result"]
        assert isinstance(result, list)
        return [float(sample["value"][1]) for sample in result]

    def prometheus(self, path: str) -> dict[str, object]:
        """Asks Prometheus."""
        response = Client(self.deployment.prometheus_port).ask("GET", path)
        data = response.json().get("data")
        if response.status != 200 or not isinstance(data, dict):
            raise Failed(f"Prometheus answered {response}")
        return data

    def restart_one_by_one(self, code: str, token: str) -> None:
        """A rolling restart under load: no request fails, no click is lost or counted twice."""
        with Load(self.deployment.port, code, token) as load:
            time.sleep(1)
            for instance in self.deployment.instances:
                status = instance.stop(seconds=STOP_TIMEOUT)
                if status != 0:
                    raise Failed(f"{instance.name} ended with {status}:\n{instance.last_lines()}")
                time.sleep(1)
                instance.start()
                wait_until_ready(instance)
                time.sleep(1)
        expect(not load.failed, "a rolling restart of both under load: no request failed, of "
               + ", ".join(f"{count} {name}" for name, count in load.answered.items()), load.failed[:5])
        self.expect_clicks(code, FOLLOWED + load.answered["follow"])

    def nothing_is_critical(self) -> None:
        """A rolling restart is routine; no critical alert may fire."""
        alerts = self.prometheus("/api/v1/alerts")["alerts"]
        assert isinstance(alerts, list)
        firing = [alert["labels"]["alertname"] for alert in alerts
                  if alert["state"] == "firing" and alert["labels"]["severity"] == "critical"]
        expect(not firing, "no critical alert fires", firing)


def expect(holds: bool, what: str, found: object = "") -> None:
    """Prints a check that holds; ends the run with one that does not."""
    if not holds:
        raise Failed(f"expected: {what}; found: {found}")
    print(f"ok: {what}", flush=True)
