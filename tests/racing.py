"""Several people at one moment: threads with a database connection each."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection, connections, transaction


def race(*acts: Callable[[], Any]) -> list[Any]:
    """Run all of them at once; returns what each returned, or the exception it raised, in their order."""
    start = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)

    def run(place: int, act: Callable[[], Any]) -> None:
        try:
            start.wait(30)
            results[place] = act()
        except Exception as error:
            results[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not any(thread.is_alive() for thread in threads), "they wait for one another"
    return results


def won(results: list[Any]) -> list[Any]:
    """Those that did not raise."""
    return [result for result in results if not isinstance(result, Exception)]


def lost(results: list[Any]) -> list[Exception]:
    """Return what the others raised."""
    return [result for result in results if isinstance(result, Exception)]


def overlap(
    first: Callable[[], Any], second: Callable[[], Any], then: Callable[[], Any] = lambda: None
) -> tuple[Any, Any]:
    """Run ``second`` while the transaction of ``first`` is still open; it waits for it, or passes it by.

    ``then`` is what the first transaction does after that, before it ends. PostgreSQL only. Returns what the first
    returned, and what the second returned or raised.
    """
    with transaction.atomic():
        done = first()
        late = begin_meanwhile(second)
        then()
    return done, late.result()


def begin_meanwhile(act: Callable[[], Any]) -> "_Late":
    """Run something on a connection of its own until it has ended, or waits for a lock. PostgreSQL only."""
    late = _Late(act)
    late.start()
    while late.is_alive() and not _waits_for_a_lock(late.backend):
        late.join(0.005)
    return late


class _Late(threading.Thread):
    """A call on a connection of its own, whose backend is known."""

    def __init__(self, act: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._act = act
        self.outcome: Any = None
        self.backend: int | None = None

    def result(self) -> Any:
        """Return what it returned or raised, after it has ended."""
        self.join(240)
        assert not self.is_alive(), "it waits for what will not come"
        return self.outcome

    def run(self) -> None:
        try:
            connection.ensure_connection()
            self.backend = connection.connection.info.backend_pid
            self.outcome = self._act()
        except Exception as error:
            self.outcome = error
        finally:
            connections.close_all()


def _waits_for_a_lock(backend: int | None) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", [backend])
        row = cursor.fetchone()
    return bool(row and row[0])
