"""Days of visitor classes, packed as the service packs them (`src/store/class_day.rs`)."""

from __future__ import annotations

from collections.abc import Mapping

QUARTERS_A_DAY = 96


def leb128(number: int) -> bytes:
    """Seven bits in each byte, the lowest first."""
    packed = bytearray()
    while number >= 0x80:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)
    return bytes(packed)


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
