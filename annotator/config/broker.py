"""A file-based broker: Kombu's, except that files are written and taken atomically.

Kombu creates the file of a message before it writes it, so a worker can read an empty message, and exits. Here files
are written under another name and renamed, and a worker takes a message by renaming its file, so only one worker gets
it. A crash can only lose messages that wake workers up: the jobs are in the database.
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
            _write_atomically(Path(self.data_folder_out) / name, dumps(payload))
        except OSError as error:
            raise ChannelError(f"Can't write the message {name}: {error}") from error

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for path in sorted(Path(self.data_folder_in).iterdir()):
            if path.name.partition(".")[2] != f"{queue}.msg":
                continue
            mine = Path(self.processed_folder) / path.name
            try:
                path.rename(mine)
            except OSError:
                continue  # another worker took it
            try:
                return loads(mine.read_text(encoding="utf-8"))
            except ValueError:
                _LOG.warning("deleted a message that could not be read: %s", path.name)
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
            # A power cut can damage the file. Programs bind their queues again when they start.
            _LOG.warning("could not read the bindings of %s; they will be created again", exchange)
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
        with _locked(Path(self.control_folder) / "lock"):
            before = [tuple(row) for row in self.get_table(exchange)]
            after = change(before)
            if after != before:
                _write_atomically(file, dumps(after))


class Transport(filesystem.Transport):
    """The value of ``CELERY_BROKER_TRANSPORT``."""

    Channel = Channel


def _write_atomically(path: Path, text: str) -> None:
    """Write a file so that others never see part of it."""
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4()}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError:
        # On a full disk, the file exists but is incomplete.
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock out other processes during the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
