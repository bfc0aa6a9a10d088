"""A database full of links, and the instances that serve it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.databases import Postgres, Redis

from .api import Api
from .contenders import Production
from .links import code
from .pinned import PinnedTestbed
from .tables import generate_postgres

ASKED = 10_000
"""Links of the account whose page is asked; also the codes that are asked. As many in each database."""


@dataclass
class Stock(Production):
    """shunt in production mode with links of three accounts: one of `ASKED` links spread over all,
    one of many of the oldest, and one of the rest."""

    links: int = 0
    long: int = 0
    long_token: str = ""
    rest: int = 0
    many: int = 0

    @property
    def step(self) -> int:
        """Every so many links one is of the account that is asked."""
        return self.links // ASKED

    def enrol(self, api: Api) -> int:
        """Makes the accounts."""
        self.many = api.register("many@example.com")
        self.long_token = api.token
        self.rest = api.register("rest@example.com")
        return super().enrol(api)

    def fill(self, owner: int) -> None:
        """Makes the links."""
        assert self.postgres
        # Of the first links, so many that the long list has its length without those of the others.
        until = self.long if self.step < 2 else self.long + self.long // (self.step - 1)
        generate_postgres(self.postgres, self.links, (
            f"case when n % {self.step} = 0 then {owner} when n <= {until} then {self.many}"
            f" else {self.rest} end"))

    def asked(self) -> Iterator[str]:
        """The codes of the account that is asked."""
        return (code(number * self.step) for number in range(ASKED))

    def clicks(self) -> int:
        """What is in the database; all there is while no instance runs."""
        assert self.postgres
        return int(self.postgres.sql("select coalesce(sum(clicks), 0) from link_clicks"))


def stocked(testbed: PinnedTestbed, tools: dict[str, Path], programs: Path, redis: Redis,
            postgres: Postgres, links: int, long: int) -> Stock:
    """Fills a database."""
    stock = Stock(testbed, tools, programs, [], redis=redis, postgres=postgres, links=links, long=long)
    stock.prepare()
    return stock
