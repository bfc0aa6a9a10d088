"""Codes, their targets, and the order in which they are requested."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz"
BASE = len(ALPHABET)
CODE_LENGTH = 7
# A step that shares no factor with the number of possible codes visits each once; products with it
# stay below 2^63, so that Postgres can calculate the same.
STEP = 387_420_487
DRAWS = 500_000


def code(number: int, series: int = 0) -> str:
    """The code of a number: a different one for each number, scattered like random ones. Series of less than a
    thousand million codes do not overlap."""
    rest = (number + series * 1_000_000_000) * STEP % BASE**CODE_LENGTH
    letters = []
    for _ in range(CODE_LENGTH):
        rest, letter = divmod(rest, BASE)
        letters.append(ALPHABET[letter])
    return "".join(letters)


def code_in_sql(number: str) -> str:
    """The same as `code` of series 0, as an expression of Postgres."""
    letters = (f"substr('{ALPHABET}', (({number}::bigint * {STEP} % {BASE**CODE_LENGTH}) / "
               f"{BASE**place} % {BASE} + 1)::int, 1)" for place in range(CODE_LENGTH))
    return " || ".join(letters)


def target_in_sql(number: str) -> str:
    """The same as `target`, as an expression of Postgres."""
    return f"'{target(0)[:-11]}' || lpad(({number})::text, 11, '0')"


def target(number: int) -> str:
    """A target of 60 bytes."""
    return f"https://www.example.com/articles/2026/11/a-title/{number:011d}"


def codes(count: int, series: int = 0) -> Iterator[str]:
    """The first `count` codes."""
    return (code(number, series) for number in range(count))


def uniform(known: Sequence[str], draws: int = DRAWS) -> list[str]:
    """Every code as likely as any other."""
    return random.Random(1).choices(known, k=draws)


def zipf_like(known: Sequence[str], draws: int = DRAWS) -> list[str]:
    """The n-th most popular code is requested 1/n as often as the most popular one."""
    weights = list(accumulate(1 / rank for rank in range(1, len(known) + 1)))
    return random.Random(2).choices(known, cum_weights=weights, k=draws)


def write_paths(file: Path, asked: Sequence[str] | Iterator[str]) -> Path:
    """A file of paths for the load generators."""
    with file.open("w") as out:
        out.writelines(f"/{each}\n" for each in asked)
    return file
