"""The broker made of files: Kombu's, except that every file appears whole or not at all.

Kombu creates a message's file first and writes it afterwards. A worker that looks in between takes an empty message,
and ends. Here files are written under another name and renamed, and taken by renaming them as well, so that of several
workers exactly one has a message. What is lost when a machine dies is only a wake-up: jobs stand in the database.
"""

import fcntl
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

_LOG = logging.getLogger(__name__)

Binding = tuple[str, str, str]


class Channel(filesystem.Channel):
    """Messages as files in one folder, bindings as one file for each exchange in another."""

    def _put(self, queue: str, payload: Any, **options: Any) -> None:  # type: ignore[override]  # named so twice above
        name = f"{time.time_ns():020}_{uuid.uuid4()}.{queue}.msg"
        try:
            _write_whole(Path(self.data_folder_out) / name, dumps(payload))
        except OSError as error:
            raise ChannelError(f"The message {name} cannot be written: {error}") from error

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for path in sorted(Path(self.data_folder_in).iterdir()):
            if path.name.partition(".")[2] != f"{queue}.msg":
                continue
            mine = Path(self.processed_folder) / path.name
            try:
                path.rename(mine)
            except OSError:
                continue  # another worker was quicker
            try:
                return loads(mine.read_text(encoding="utf-8"))
            except ValueError:
                _LOG.warning("a message that cannot be read was thrown away: %s", path.name)
            finally:
                mine.unlink(missing_ok=True)
        raise Empty

    def get_table(self, exchange: str) -> list[Any]:
        try:
            text = self._exchange_file(exchange).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        try:
            return [filesystem.exchange_queue_t(*row) for row in loads(text)]
        except ValueError:
            # What a power cut has left of it. Every program that starts binds its queues again.
            _LOG.warning("the bindings of %s cannot be read, and are made anew", exchange)
            return []

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        binding = (routing_key or "", pattern or "", queue or "")
        self._change_table(exchange, lambda table: table if binding in table else [binding, *table])

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **options: Any) -> None:
        self._purge(queue)
        binding = (routing_key or "", pattern or "", queue or "")
        self._change_table(exchange, lambda table: [row for row in table if row != binding])

    def _change_table(self, exchange: str, change: Callable[[list[Binding]], list[Binding]]) -> None:
        file = self._exchange_file(exchange)
        with _alone(Path(self.control_folder) / "lock"):
            before = [tuple(row) for row in self.get_table(exchange)]
            after = change(before)
            if after != before:
                _write_whole(file, dumps(after))


class Transport(filesystem.Transport):
    """What the Celery application is told to use (``CELERY_BROKER_TRANSPORT``)."""

    Channel = Channel


def _write_whole(path: Path, text: str) -> None:
    """Write a file that others see complete, or not at all."""
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4()}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError:
        # A full disk takes the name and not the text.
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes out while the block runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
