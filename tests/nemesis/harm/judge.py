"""Compares each response with the books. What only a documented exception can explain waits for the evidence of it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from .books import Book, Mark, State, TakenBy
from .client import Response
from .servers import Instance
from .world import CACHE_TTL, World

DEPOSED_SECONDS = 5.0
"""How long an instance whose connections stay may use a master that was deposed."""
VERDICT_AFTER = 1.5
"""Seconds until logs and metrics show a moment."""
CLOCK_SECONDS = 3.0
RAISE_SECONDS = CACHE_TTL + 1.0
"""When a raised limit is felt everywhere, also where Redis was away."""


@dataclass
class Judge:
    """The invariants. It collects what violates them, and counts what it saw."""

    world: World
    violations: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    verdicts: set[asyncio.Task[None]] = field(default_factory=set)

    def violated(self, what: str) -> None:
        """An invariant does not hold."""
        self.violations.append(what)

    def later(self, what: str, book: Book, why: Callable[[], str]) -> None:
        """Judges a moment once there can be evidence of an exception, which `why` looks for."""
        what += f"\n{book}"

        async def verdict() -> None:
            await asyncio.sleep(VERDICT_AFTER)
            while self.world.is_losing:
                await asyncio.sleep(0.1)
            if reason := why():
                self.excused[reason] += 1
            else:
                self.violated(f"{what}\nwhen it was judged: {book}")

        task = asyncio.ensure_future(verdict())
        self.verdicts.add(task)
        task.add_done_callback(self.verdicts.discard)

    def why_followed(self, instance: Instance, book: Book, sent: float, received: float) -> str:
        """The documented exception by which a deleted link was followed; empty if there is none."""
        age = sent - book.deleted_at
        if age > CACHE_TTL + 1:
            return ""
        instance.evidence.read_log()
        if instance.evidence.redis_was_away(sent, received):
            return "a deleted link was followed while its instance had Redis away (log)"
        # An instance that has Redis back since then has to apply what was not announced before it uses Redis.
        if (book.is_announced_late or self.announced_late(book)) and not instance.evidence.has_redis_back(
                book.deleted_at, sent):
            return "a deleted link was followed whose deletion was announced late (log)"
        if self.is_deposed(instance, sent):
            return "a deleted link was followed by an instance just left on a deposed master"
        return ""

    def announced_late(self, book: Book) -> bool:
        """Whether the instance that deleted a link said that Redis did not confirm it."""
        for instance in self.world.instances:
            if instance.name == book.deleted_by:
                instance.evidence.read_log()
                return any(book.deleted_at - 2 < at < book.deleted_at + 1 for at in instance.evidence.announced_late)
        return False

    def is_deposed(self, instance: Instance, moment: float) -> bool:
        """Whether an instance may not have noticed yet that its master was deposed."""
        deposed = self.world.deposed
        return deposed is not None and deposed[0] is instance and deposed[1] <= moment <= deposed[1] + DEPOSED_SECONDS

    def why_low(self, instance: Instance, book: Book, count: int, mark: Mark, sent: float,
                received: float) -> str:
        """The documented exception by which a count was too low; empty if there is none."""
        if book.limit is not None:
            # The database has all of its clicks.
            return ""
        if self.is_deposed(instance, sent):
            return "a count of an instance just left on a deposed master"
        if count >= book.floor(mark):
            return "a count while Redis was losing data, within the loss that was admitted afterwards"
        for other in self.world.instances:
            since = other.evidence.risk_since(sent - VERDICT_AFTER, received + VERDICT_AFTER)
            if other is not instance and since is not None:
                return "a count without the clicks in the memory of another instance (metric, log)"
        return ""

    def redirect(self, instance: Instance, book: Book, state: State, sent: float, response: Response) -> None:
        """Judges the response to a visit of a link that was in this state when it was sent."""
        self.seen[f"visit {response.status}"] += 1
        if response.status == 302:
            if book.is_sent_to_fallback(response):
                self.seen["visit sent to a fallback"] += 1
                if not book.may_be_used_up(RAISE_SECONDS):
                    self.violated(f"{instance.name} sent a visitor to the fallback of a link that is not used up\n{book}")
            elif not book.leads_to(response.headers.get("location")):
                self.violated(f"a wrong target, or one that was given before: {instance.name} answered {response.headers}\n{book}")
            if book.limit is not None and book.answered > book.limit:
                self.violated(f"{instance.name} redirected beyond the limit\n{book}")
            if state is State.DELETED:
                received = time.monotonic()
                self.later(f"a link was followed on {instance.name} {sent - book.deleted_at:.3f} s after "
                           f"{book.taken_by.value} was answered", book,
                           lambda: self.why_followed(instance, book, sent, received))
        elif response.status == 410:
            if book.state is State.LIVE or book.taken_by not in (TakenBy.REMOVAL, TakenBy.BAN):
                self.violated(f"a link that was not removed was answered 410 by {instance.name}\n{book}")
        elif response.status == 404:
            if book.may_be_used_up(RAISE_SECONDS) and not (book.fallback and book.state is State.LIVE):
                self.seen["visit of a link that may be used up"] += 1
            elif book.state is State.LIVE:
                self.violated(f"a live link was answered 404 by {instance.name}\n{book}")
        else:
            if (instance.name, book.code) in self.world.known:
                self.violated(f"{instance.name} answered a visit of a code that it knows with {response.status} "
                              f"while Postgres is away and Redis is late\n{book}")
            self.refusal(instance, "a visit", response)

    def stats(self, instance: Instance, book: Book, mark: Mark, sent: float, response: Response) -> None:
        """Judges the response to a question for the statistics of a link that was live when it was sent."""
        self.seen[f"stats {response.status}"] += 1
        if response.status == 200:
            stats = response.json()
            if stats["clicks"] != stats["total"]:
                self.violated(f"two counts in one response: {stats}\n{book}")
            self.count(instance, book, mark, sent, stats["clicks"])
        elif response.status == 404:
            if book.state is State.LIVE or book.taken_by.keeps_statistics:
                self.violated(f"statistics of a live link are answered 404 by {instance.name}\n{book}")
        else:
            self.refusal(instance, "a question for statistics", response)

    def count(self, instance: Instance, book: Book, mark: Mark, sent: float, count: object) -> None:
        """Judges a count; `mark` is from when it was asked for."""
        assert isinstance(count, int)
        low = book.floor(mark)
        if book.limit is not None and count > book.limit:
            self.violated(f"{instance.name} counts {count}, above the limit\n{book}")
        elif count > book.ceiling:
            self.violated(f"{instance.name} counts {count}, above the {book.ceiling} that were sent\n{book}")
        elif count < low:
            received = time.monotonic()
            self.later(f"{instance.name} counts {count}, below {low}: {mark.answered} were answered before the "
                       f"question, and {mark.highest} was read before", book,
                       lambda: self.why_low(instance, book, count, mark, sent, received))
        else:
            book.highest = max(book.highest, count)

    def count_as_of(self, instance: Instance, book: Book, mark: Mark, sent: float, count: object, as_of: str) -> None:
        """Judges a count that has all clicks up to a moment, by the clock of this machine, and perhaps later ones."""
        assert isinstance(count, int)
        moment = datetime.fromisoformat(as_of).timestamp() - time.time() + time.monotonic()
        if not self.world.books.reaches_back_to(moment):
            self.seen["count as of a moment before the books"] += 1
            return
        later = sum(self.world.books.answered_since(moment, name, book) for name in book.by_instance)
        low = book.answered + min(book.unanswered_for_good, 0) - book.allowed - later
        if book.limit is not None and count > book.limit:
            self.violated(f"{instance.name} counts {count}, above the limit\n{book}")
        elif count > book.ceiling:
            self.violated(f"{instance.name} counts {count}, above the {book.ceiling} that were sent\n{book}")
        elif count < low:
            received = time.monotonic()
            self.later(f"{instance.name} counts {count} as of {as_of}, below {low}", book,
                       lambda: self.why_low(instance, book, count, mark, sent, received))

    def refusal(self, instance: Instance, what: str, response: Response) -> None:
        """Judges a response that is no success: 503 with Retry-After is the only 5xx."""
        if response.status == 503:
            if "retry-after" not in response.headers:
                self.violated(f"{what} is answered 503 without Retry-After by {instance.name}: {response}")
        elif response.status == 401:
            now = time.monotonic()
            if not instance.clock_is_wrong and now > instance.disturbed + CLOCK_SECONDS:
                self.violated(f"{what} is answered 401 by {instance.name}, whose clock is right: {response}")
        else:
            self.violated(f"{what} is answered {response.status} by {instance.name}: {response}")

    def no_response(self, instance: Instance, what: str, sent: float, why: str) -> None:
        """Judges a request without a response: no instance that runs may leave a client waiting."""
        self.seen[f"{what} without a response"] += 1
        if why == "timeout" and instance.disturbed < sent and not instance.is_paused:
            self.violated(f"{what} got no response from {instance.name}, which was neither stopped nor paused")
