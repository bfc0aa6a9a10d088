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
"""Links of the account whose page is requested, and whose codes are requested. As many in each database."""


@dataclass
class Stock(Production):
    """shunt in production mode with links of three accounts: one with `ASKED` links spread over all, one with many
    of the oldest, and one with the rest."""

    links: int = 0
    long: int = 0
    long_token: str = ""
    rest: int = 0
    many: int = 0

    @property
    def step(self) -> int:
        """The distance between two links of the account that is requested."""
        return self.links // ASKED

    def enrol(self, api: Api) -> int:
        """Registers the accounts."""
        self.many = api.register("many@example.com")
        self.long_token = api.token
        self.rest = api.register("rest@example.com")
        return super().enrol(api)

    def fill(self, owner: int) -> None:
        """Creates the links."""
        assert self.postgres
        # The number of first links in which the long list reaches its length, without those of the first account.
        until = self.long if self.step < 2 else self.long + self.long // (self.step - 1)
        generate_postgres(self.postgres, self.links, (
            f"case when n % {self.step} = 0 then {owner} when n <= {until} then {self.many}"
            f" else {self.rest} end"))

    def asked(self) -> Iterator[str]:
        """The codes of the account that is requested."""
        return (code(number * self.step) for number in range(ASKED))

    def clicks(self) -> int:
        """The clicks in the database, which are all clicks while no instance runs."""
        assert self.postgres
        return int(self.postgres.sql("select coalesce((select sum(clicks) from link_clicks), 0) + coalesce((select sum(n) from click_parts, unnest(clicks) n), 0)"))


def stocked(testbed: PinnedTestbed, tools: dict[str, Path], programs: Path, redis: Redis,
            postgres: Postgres, links: int, long: int) -> Stock:
    """Fills a database."""
    stock = Stock(testbed, tools, programs, [], redis=redis, postgres=postgres, links=links, long=long)
    stock.prepare()
    return stock
