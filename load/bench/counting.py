"""The check that the statistics count every answered redirect."""

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
        """Fails unless exactly the answered redirects were counted; returns the clicks counted since. A load whose
        generator may miss responses allows that many more clicks."""
        redirects = sum(load.answered - load.refused for load in loads)
        unseen = sum(load.unseen + load.errors for load in loads)
        if unseen:
            # Requests under way when the generator stopped are counted once they are served.
            time.sleep(0.3)
        after = self.api.clicks()
        counted = sum(after.values()) - sum(self.before.values())
        if not redirects <= counted <= redirects + unseen:
            raise Failed(f"clicks are wrong: {redirects} redirects were answered"
                         f" (and at most {unseen} more), the statistics count {counted}")
        if fell := [code for code, clicks in self.before.items() if after.get(code, 0) < clicks]:
            raise Failed(f"the count of {fell[0]} fell")
        for code in random.Random(3).sample(sorted(after), min(SAMPLE, len(after))):
            if (stats := self.api.stats(code)) != after[code]:
                raise Failed(f"{code}: {after[code]} clicks in the list, {stats} in its statistics")
        self.before = after
        return counted
