"""Where values end in the protocol of Redis: enough to count commands and to replace replies."""

from __future__ import annotations

END = b"\r\n"
AGGREGATES = {ord("*"): 1, ord("~"): 1, ord(">"): 1, ord("%"): 2}
"""The first byte of each aggregate, and how many values an element of it has."""
BULKS = frozenset(b"$=!")


def end_of_value(data: bytes | bytearray, start: int = 0) -> int | None:
    """The index after the value that begins at `start`; `None` while its end is not there yet."""
    line_end = data.find(END, start)
    if line_end < 0:
        return None
    kind, after = data[start], line_end + len(END)
    if kind in BULKS:
        length = int(data[start + 1:line_end])
        end = after + max(length, 0) + (len(END) if length >= 0 else 0)
        return end if end <= len(data) else None
    if kind in AGGREGATES:
        position: int | None = after
        for _ in range(max(int(data[start + 1:line_end]), 0) * AGGREGATES[kind]):
            position = end_of_value(data, position) if position is not None and position < len(data) else None
            if position is None:
                return None
        return position
    return after


class Values:
    """Cuts a stream into values."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The values that are complete with this piece."""
        self.rest += piece
        values = []
        while self.rest:
            end = end_of_value(self.rest)
            if end is None:
                break
            values.append(bytes(self.rest[:end]))
            del self.rest[:end]
        return values
