"""A book for each link: what was sent, answered and counted, and so between which bounds its count has to be."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from enum import Enum

from .client import Response

HISTORY_SECONDS = 90.0


class Violated(Exception):
    """An invariant does not hold; the message says which, and shows the link's book."""


class State(Enum):
    """Whether a link has to be there."""

    LIVE = "live"
    DOUBTFUL = "what takes it away was sent and not answered"
    DELETED = "deleted, ended or removed"


class TakenBy(Enum):
    """How a link is taken away."""

    DELETE = "a deletion"
    EDIT = "an ending edit"
    REMOVAL = "a removal"
    BAN = "a ban of its account"

    @property
    def keeps_statistics(self) -> bool:
        """Whether the link is still counted."""
        return self is not TakenBy.DELETE


@dataclass(frozen=True)
class Mark:
    """What was known of a link when its count was asked for."""

    answered: int
    highest: int
    falls: int


@dataclass(eq=False)
class Book:
    """What the clients know of one link.

    `count - answered` is fixed at each calm moment, where no request is under way (see `fix`). So between two such
    moments the bounds are as narrow as the requests since the first one allow.
    """

    code: str
    target: str
    owner: int
    sent: int = 0
    answered: int = 0
    highest: int = 0
    """The highest count that was read."""
    falls: int = 0
    """How often the count was allowed to fall."""
    base: int = 0
    """Count minus answered redirects, at the last calm moment."""
    unanswered_base: int = 0
    """Requests without a 302, at the last calm moment."""
    allowed: int = 0
    """How many answered clicks may be missing since, by exceptions that are documented and were recognised."""
    reasons: list[str] = field(default_factory=list)
    state: State = State.LIVE
    deleted_at: float = 0.0
    deleted_by: str = ""
    taken_by: TakenBy = TakenBy.DELETE
    """How it was taken away, or shall be."""
    is_announced_late: bool = False
    """The instance that deleted it said that it could not announce that."""
    by_instance: Counter[str] = field(default_factory=Counter)
    limit: int | None = None
    """How often it redirects at most: the highest number that was asked for."""
    limit_before: int = 0
    """The limit before it was raised."""
    raised_at: float = 0.0
    """When the limit was raised; infinite while that is not answered."""
    fallback: str = ""
    """Where visitors are sent, uncounted, once it redirects no more; empty: nowhere."""
    pool: int = 0
    """How many visitors get a target of their own; 0: the link has one target."""
    given: set[str] = field(default_factory=set)
    """The targets that visitors were sent to."""
    alias: str = ""
    """Another code of the link; empty: none. Its visits are among the visits of the link."""
    alias_sent: int = 0
    alias_answered: int = 0
    lost: int = 0
    """How many clicks may be missing in all, by exceptions that were recognised."""

    def least_limit(self, felt_after: float) -> int:
        """How often it has to redirect if so many visitors come; a raised limit is felt after some seconds."""
        assert self.limit is not None
        return self.limit if time.monotonic() > self.raised_at + felt_after else self.limit_before

    def may_be_used_up(self, felt_after: float) -> bool:
        """Whether so many visits were sent that it may redirect no more."""
        if self.pool:
            return self.sent >= self.pool
        return self.limit is not None and self.sent >= self.least_limit(felt_after)

    def is_sent_to_fallback(self, response: Response) -> bool:
        """Whether a visitor was sent there."""
        return response.status == 302 and self.fallback != "" and response.headers.get("location") == self.fallback

    def leads_to(self, location: str | None) -> bool:
        """Whether a visitor may be sent there; notes the target of a pool, which no other visitor may get."""
        if not self.pool:
            return location == self.target
        number = (location or "").removeprefix(f"{self.target}&place=")
        is_own = number.isdecimal() and int(number) < self.pool and number not in self.given
        self.given.add(number)
        return is_own

    @property
    def unanswered(self) -> int:
        """Requests since the last calm moment that may be counted, though no 302 came."""
        return self.sent - self.answered - self.unanswered_base

    @property
    def ceiling(self) -> int:
        """No count may be above it."""
        return self.answered + self.base + self.unanswered

    def mark(self) -> Mark:
        """What is known now."""
        return Mark(self.answered, self.highest, self.falls)

    @property
    def unanswered_for_good(self) -> int:
        """Counted clicks of the last calm moment that no later redirect answers. Of a link with a limit one does: a grant
        whose visitor has left is for the next one."""
        return self.base if self.limit is None else 0

    def floor(self, mark: Mark) -> int:
        """No count may be below it that was asked for at this mark."""
        low = mark.answered + self.unanswered_for_good - self.allowed
        return max(low, mark.highest) if mark.falls == self.falls else low

    def allow(self, clicks: int, reason: str, may_fall: bool = False) -> None:
        """Admits that some clicks may be missing; `may_fall` where they may have been read before. The database has all
        clicks of a link with a limit."""
        self.lost += max(clicks, 0)
        if clicks > 0 and self.limit is None:
            self.allowed += clicks
            self.reasons.append(f"{reason}: {clicks}")
            if may_fall:
                self.highest = 0
                self.falls += 1

    def fix(self, count: int) -> None:
        """Notes the count of a calm moment: it has to be within its bounds."""
        low = self.answered + self.unanswered_for_good - self.allowed
        if not low <= count <= self.ceiling:
            raise Violated(f"in a calm moment the count is {count}, and not within {low} and {self.ceiling}\n{self}")
        if count < self.highest:
            raise Violated(f"the count fell from {self.highest} to {count}\n{self}")
        self.base = count - self.answered
        self.unanswered_base = self.sent - self.answered
        self.allowed, self.highest = 0, count

    def fix_alias(self, count: int, of_link: int) -> None:
        """Compares the clicks by the alias in a calm moment: they have a count of their own, which is as exact."""
        low, high = max(self.alias_answered - self.lost, 0), min(self.alias_sent, of_link)
        if not low <= count <= high:
            raise Violated(f"in a calm moment {count} clicks are by the alias {self.alias}, and not from {low} to {high}\n{self}")

    def __str__(self) -> str:
        deleted = ""
        if self.deleted_at:
            deleted = (f", {self.taken_by.value} answered by {self.deleted_by} {time.monotonic() - self.deleted_at:.3f} s ago"
                       + (", announced late" if self.is_announced_late else ""))
        reasons = f", exceptions so far: {'; '.join(self.reasons)}" if self.reasons else ""
        return (f"book of {self.code} -> {self.target}: {self.sent} sent, {self.answered} answered "
                f"({dict(self.by_instance)}), {self.unanswered} without a 302 since the last calm moment, "
                f"{self.base:+d} then, limit {self.limit}, highest count {self.highest}, {self.allowed} may be missing, "
                f"by the alias {self.alias or '-'} {self.alias_sent} sent and {self.alias_answered} answered; {self.state.value}"
                f"{deleted}{reasons}")


class Books:
    """The books of all links, and how many redirects each instance had answered at each moment."""

    def __init__(self) -> None:
        self.all: dict[str, Book] = {}
        self.live: list[Book] = []
        self.gone: list[Book] = []
        self.history: deque[tuple[float, dict[tuple[str, str], int]]] = deque()

    def open(self, book: Book) -> None:
        """A new link."""
        self.all[book.code] = book
        self.live.append(book)

    def close(self, book: Book, state: State) -> None:
        """A link that is deleted, or perhaps so."""
        if book in self.live:
            self.live.remove(book)
        if book not in self.gone:
            self.gone.append(book)
        book.state = state

    def reopen(self, book: Book) -> None:
        """A link that redirects again."""
        self.gone.remove(book)
        self.live.append(book)
        book.state = State.LIVE

    def note_history(self) -> None:
        """Notes the present; to be called often."""
        now = time.monotonic()
        self.history.append((now, {(name, book.code): clicks for book in self.all.values()
                                   for name, clicks in book.by_instance.items()}))
        while self.history[0][0] < now - HISTORY_SECONDS:
            self.history.popleft()

    def reaches_back_to(self, moment: float) -> bool:
        """Whether it is known how many redirects were answered at a moment."""
        return bool(self.history) and self.history[0][0] <= moment

    def answered_since(self, moment: float, instance: str, book: Book) -> int:
        """How many redirects to a link an instance has answered since a moment, or a little before it."""
        then: dict[tuple[str, str], int] = {}
        for at, answered in self.history:
            if at > moment:
                break
            then = answered
        return book.by_instance[instance] - then.get((instance, book.code), 0)
