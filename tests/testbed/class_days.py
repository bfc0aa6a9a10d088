"""Visitor classes, packed as the service packs them (`src/store/class_packing.rs`, `src/store/click_details.rs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

QUARTERS_A_DAY = 96


def leb128(number: int) -> bytes:
    """Seven bits in each byte, the lowest first."""
    packed = bytearray()
    while number >= 0x80:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)
    return bytes(packed)


def packed_details(links: Sequence[int], classes: Callable[[int], Iterable[tuple[str, ...]]]) -> bytes:
    """One click of each link and class, as it travels with a batch or a flush. A class is given by six values, `''` if one is unknown;
    no rule of a link decided."""
    numbers: dict[tuple[str, ...], int] = {}
    packed, before = bytearray(), 0
    for link in links:
        for values in classes(link):
            number = numbers.setdefault(values, len(numbers))
            packed += leb128(link - before) + leb128(number) + leb128(1)
            before = link
    texts = b"".join(leb128(len(value.encode())) + value.encode() for values in numbers
                     for value in (*values[:-1], "", values[-1]))
    return b"\x01" + leb128(len(numbers)) + texts + bytes(packed)


def packed_classes(clicks: Mapping[int, int]) -> bytes:
    """Clicks by the number of their class."""
    if not clicks:
        return b""
    packed, before = bytearray(leb128(len(clicks))), 0
    for number in sorted(clicks):
        packed += leb128(number - before) + leb128(2 * clicks[number])
        before = number
    return bytes(packed)


def packed_bots(clicks: Mapping[int, int]) -> bytes:
    """Clicks of known bots by quarter of the day."""
    return b"".join(bytes([quarter]) + leb128(2 * clicks[quarter]) for quarter in sorted(clicks))


def packed_quarters(clicks: Mapping[int, Mapping[int, int]]) -> bytes:
    """Clicks by quarter of the day and class, the newest first."""
    return b"".join(bytes([quarter]) + packed_classes(clicks[quarter]) for quarter in sorted(clicks, reverse=True))
