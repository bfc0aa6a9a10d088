"""How often links are clicked, by Zipf or uniformly, and the arithmetic of distinct links and caches that follows.

Clicks of a link arrive at random with a rate of their own. Then, within `t` seconds, a link of rate `r` is clicked at least once
with the probability 1 - exp(-rt); and a cache that keeps a link for `t` seconds from its look-up on has it for
rt / (1 + rt) of its clicks, as on average 1 / r seconds pass between its expiry and its next look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import expm1, log


@dataclass(frozen=True)
class Group:
    """Links that are clicked equally often."""

    links: float
    rate: float
    """Clicks of each per second."""


def uniform(links: int, rate: float, groups: int) -> list[Group]:
    """No link is more popular than another."""
    return [Group(links / groups, rate / links)] * groups


def zipf(links: int, rate: float, groups: int) -> list[Group]:
    """The n-th link is clicked 1/n as often as the first. The first links are a group each; then come groups of `links / groups`
    neighbours, with the rate that these have on average."""
    width = links // groups
    whole = rate / harmonic(links)
    head = [Group(1, whole / rank) for rank in range(1, width + 1)]
    bounds = [harmonic(width * number) for number in range(1, groups + 1)]
    tail = [Group(width, whole * (after - before) / width) for before, after in pairwise(bounds)]
    return head + tail


def harmonic(number: int) -> float:
    """1 + 1/2 + ... + 1/number."""
    if number < 100:
        return sum(1 / each for each in range(1, number + 1))
    return log(number) + 0.5772156649015329 + 1 / (2 * number) - 1 / (12 * number ** 2)


def distinct(groups: list[Group], seconds: float) -> float:
    """The links that are clicked at least once within this time."""
    return sum(group.links * -expm1(-group.rate * seconds) for group in groups)


def kept(rate: float, lifetimes: tuple[float, float], unused: float = float("inf")) -> float:
    """The share of time for which a cache has a link that is asked for at this rate, and so the share of its hits. Lifetimes are
    spread evenly between two bounds; x / (1 + x) differs little from its middle there, so that Simpson's rule is exact enough.
    Where memory is full, a link also goes once it was not asked for during `unused` seconds: the first pause as long as that comes
    after (e^ru - 1) / r seconds on average, at a moment that is spread about as that of an expiry at random."""
    shortest, longest = lifetimes
    until_pause = expm1(min(rate * unused, 30.0)) / rate
    points = ((shortest, 1), ((shortest + longest) / 2, 4), (longest, 1))
    share = 0.0
    for life, weight in points:
        held = rate * until_pause * -expm1(-life / until_pause)
        share += weight * held / (1 + held)
    return share / 6


def evicted(groups: list[Group], capacity: float, lifetimes: tuple[float, float]) -> float:
    """The time after which a link that is not asked for is evicted, where only `capacity` links fit (Che's approximation);
    infinite where all fit."""
    def held(unused: float) -> float:
        return sum(group.links * kept(group.rate, lifetimes, unused) for group in groups)

    if held(float("inf")) <= capacity:
        return float("inf")
    low, high = 0.0, 10 * lifetimes[1]
    while high - low > high / 10_000:
        middle = (low + high) / 2
        if held(middle) < capacity:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Caches:
    """What a process and Redis cache."""

    instances: int
    process_links: float
    process_lifetimes: tuple[float, float]
    redis_lifetime: float


@dataclass(frozen=True)
class Rates:
    """Look-ups per second, and the links that are held meanwhile."""

    in_process: float
    in_redis: float
    in_postgres: float
    links_in_process: float
    links_in_redis: float


def lookups(groups: list[Group], caches: Caches) -> Rates:
    """Where links are found, once the caches are as full as they get."""
    per_instance = [Group(group.links, group.rate / caches.instances) for group in groups]
    unused = evicted(per_instance, caches.process_links, caches.process_lifetimes)
    share = [kept(group.rate, caches.process_lifetimes, unused) for group in per_instance]
    asked = [Group(group.links, group.rate * (1 - hits)) for group, hits in zip(groups, share, strict=True)]
    held = [kept(group.rate, (caches.redis_lifetime, caches.redis_lifetime)) for group in asked]
    in_process = sum(group.links * group.rate * hits for group, hits in zip(groups, share, strict=True))
    in_redis = sum(group.links * group.rate * hits for group, hits in zip(asked, held, strict=True))
    total = sum(group.links * group.rate for group in groups)
    return Rates(in_process, in_redis, total - in_process - in_redis,
                 sum(group.links * hits for group, hits in zip(groups, share, strict=True)), sum(group.links * hits for group, hits in zip(asked, held, strict=True)))


def cumulated(groups: list[Group]) -> list[float]:
    """For draws: the clicks per second of the groups up to each."""
    return list(accumulate(group.rate for group in groups))
