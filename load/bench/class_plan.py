"""What `load/plan` says of visitor classes: pairs of a link and a kind of visitor, as they are written back and kept."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from .batch import WITH_CLASSES
from .costs import KINDS
from .results import figure
from .traffic import Group, distinct

SIZE_OF_BATCH = 64
"""Links of the batches whose bytes in Redis count."""


@dataclass(frozen=True)
class Cost:
    """Of a link with a class, and of each further class of the link in the same flush."""

    link: float
    pair: float

    def of(self, links: float, pairs: float) -> float:
        """What so many of both cost."""
        return links * self.link + (pairs - links) * self.pair


@dataclass(frozen=True)
class ClassCosts:
    """Measured costs: CPU in microseconds, the rest in bytes."""

    server_again: Cost
    server_new_quarter: Cost
    postgres_again: Cost
    postgres_new_quarter: Cost
    log_again: Cost
    log_new_quarter: Cost
    disk: Cost
    """Of a link and its classes in a quarter of an hour."""
    in_redis: float
    """Of a click whose class waits there."""


def costs(owners: int) -> ClassCosts:
    """All of them."""
    def cost(what: str, column: str) -> Cost:
        one, next_one, five = (figure(f"classes of a link merged, {when}, {owners:,} owners: {column}", "classes")
                               for when in (what, "in the next quarter", "in the third quarter, five each"))
        return Cost(one, max(0.0, five - next_one) / 4)

    again, following = "again", "in the next quarter"
    server, postgres, log = "CPU of server, us", "CPU of Postgres, us", "bytes of the log"
    return ClassCosts(
        cost(again, server), cost(following, server), cost(again, postgres), cost(following, postgres), cost(again, log), cost(following, log),
        cost(following, "bytes of class_days and class_quarters"),
        figure(f"a batch of {SIZE_OF_BATCH} links{WITH_CLASSES}: bytes of classes a click in Redis", "batch"))


@dataclass(frozen=True)
class ClassPlan:
    """What classes take beside clicks, where each click is of one of `KINDS`, drawn evenly."""

    pairs: float
    """A second that are merged."""
    pairs_in_new_quarters: float
    server: float
    """CPU seconds a second."""
    postgres: float
    merges: int
    """That have to run side by side, one in an instance."""
    log: float
    disk: float
    """Bytes a second."""
    in_redis: float
    """Bytes of one flush."""


def planned(groups: list[Group], cost: ClassCosts, rate: float, interval: int, busy: float) -> ClassPlan:
    """Links and pairs that are new in their quarter of an hour cost what the first one of a quarter does."""
    kinds = [Group(group.links * KINDS, group.rate / KINDS) for group in groups]
    links, pairs = distinct(groups, interval) / interval, distinct(kinds, interval) / interval
    new_links = min(links, distinct(groups, 900) / 900)
    new_pairs = min(pairs, distinct(kinds, 900) / 900)

    def both(again: Cost, new: Cost) -> float:
        return again.of(links - new_links, pairs - new_pairs) + new.of(new_links, new_pairs)

    server = both(cost.server_again, cost.server_new_quarter) / 1e6
    postgres = both(cost.postgres_again, cost.postgres_new_quarter) / 1e6
    return ClassPlan(
        pairs, new_pairs, server, postgres, ceil((server + postgres) / busy), both(cost.log_again, cost.log_new_quarter),
        cost.disk.of(new_links, new_pairs), rate * interval * cost.in_redis)
