"""The index of an MCAP file on the disk in place of memory, where it would grow as long as a recording lasts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path


class ChunkIndex:
    """Stands for the list of rosbags' writer: records of chunks, written one after the other and read at the end.

    Args:
        folder: of the bag; the file has no name there, so nothing is left of it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)
        self._sizes: list[int] = []

    def append(self, record: BytesIO) -> None:
        """Add the record of a chunk.

        Raises:
            OSError: the disk is full or fails.
        """
        self._sizes.append(self._file.write(record.getbuffer()))

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[BytesIO]:
        self._file.seek(0)
        for size in self._sizes:
            record = BytesIO()
            record.write(self._file.read(size))
            yield record
