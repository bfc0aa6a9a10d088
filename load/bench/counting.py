"""The check that what was answered is what the statistics count."""

from __future__ import annotations

import random
import time

from testbed.programs import Failed

from .api import Api
from .drive import Load

SAMPLE = 50


class Count:
    """Compares the clicks of all links of an account before and after a load."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.before = api.clicks()

    def check(self, *loads: Load) -> int:
        """Fails unless every answered redirect was counted, and nothing else was; returns the clicks
        counted since. A load whose generator may miss answers leaves that much room, others none."""
        redirects = sum(load.answered - load.refused for load in loads)
        unseen = sum(load.unseen + load.errors for load in loads)
        if unseen:
            # What was on its way when the generator stopped is counted as soon as it is served.
            time.sleep(0.3)
        after = self.api.clicks()
        counted = sum(after.values()) - sum(self.before.values())
        if not redirects <= counted <= redirects + unseen:
            raise Failed(f"clicks are wrong: {redirects} redirects were answered"
                         f" (and at most {unseen} more), the stats count {counted}")
        if fell := [code for code, clicks in self.before.items() if after.get(code, 0) < clicks]:
            raise Failed(f"the count of {fell[0]} fell")
        for code in random.Random(3).sample(sorted(after), min(SAMPLE, len(after))):
            if (stats := self.api.stats(code)) != after[code]:
                raise Failed(f"{code}: the list says {after[code]} clicks, its stats {stats}")
        self.before = after
        return counted
