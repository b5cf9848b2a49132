"""The broker made of files: messages arrive complete, once and in order, whichever process reads at which moment."""

import errno
import os
import threading
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection, Producer
from kombu.exceptions import ChannelError
from kombu.transport.virtual import BrokerState

from annotator.config.broker import Transport


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("messages", "processed", "control"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def open_channel(folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    # A process remembers what it has bound, and does not bind it again in another folder.
    monkeypatch.setattr(Transport, "global_state", BrokerState())

    def open_one() -> Any:
        options = {
            "data_folder_in": str(folder / "messages"),
            "data_folder_out": str(folder / "messages"),
            "processed_folder": str(folder / "processed"),
            "control_folder": str(folder / "control"),
        }
        connection = Connection("filesystem://localhost", transport=Transport, transport_options=options)
        request.addfinalizer(connection.release)
        return connection.channel()

    return open_one


def take(channel: Any, queue: str = "work") -> Any:
    try:
        return channel._get(queue)
    except Empty:
        return None


def test_messages_come_once_in_order_and_to_their_queue(open_channel, folder):
    channel = open_channel()
    channel._put("work", {"n": 1})
    channel._put("other", {"n": 2})
    channel._put("work", {"n": 3})
    assert [take(channel) for _ in range(3)] == [{"n": 1}, {"n": 3}, None]
    assert take(channel, "other") == {"n": 2}
    assert list((folder / "messages").iterdir()) == list((folder / "processed").iterdir()) == []


def test_a_message_goes_to_the_workers_of_one_queue_alone(open_channel, settings):
    channel = open_channel()
    for queue in settings.CELERY_TASK_QUEUES:
        queue(channel).declare()
    for queue in settings.CELERY_TASK_QUEUES:
        with Producer(channel) as producer:
            producer.publish(queue.name, exchange=queue.exchange, routing_key=queue.routing_key)
        assert {name: take(channel, name) is not None for name in ("assay", "untrusted")} == {
            name: name == queue.name for name in ("assay", "untrusted")
        }


def test_a_message_that_is_still_being_written_is_not_there_yet(open_channel, monkeypatch):
    channel, seen = open_channel(), []
    replace = Path.replace

    def look_first(self: Path, target: Path) -> Path:
        seen.append(take(channel))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", look_first)
    channel._put("work", {"n": 1})
    assert seen == [None]
    assert take(channel) == {"n": 1}


def test_a_message_for_which_the_disk_has_no_room_leaves_nothing_behind(open_channel, folder, monkeypatch):
    channel = open_channel()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", lambda self, *_, **__: (self.touch(), raise_full()))
        with pytest.raises(ChannelError, match="No space left"):
            channel._put("work", {"n": 1})
    assert list((folder / "messages").iterdir()) == []


def raise_full():
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_unreadable_message_is_passed_over(open_channel, folder):
    channel = open_channel()
    (folder / "messages" / "0.work.msg").write_text("")
    channel._put("work", {"n": 1})
    assert take(channel) == {"n": 1}
    assert os.listdir(folder / "processed") == []


@pytest.mark.parametrize("left", ["", "\0\0\0", '[["assay", ""'])
def test_bindings_that_a_power_cut_has_cut_off_are_made_anew(open_channel, folder, settings, left):
    queue = settings.CELERY_TASK_QUEUES[0]
    (folder / "control" / f"{queue.exchange.name}.exchange").write_text(left)
    channel = open_channel()
    queue(channel).declare()
    with Producer(channel) as producer:
        producer.publish("work", exchange=queue.exchange, routing_key=queue.routing_key)
    assert take(channel, queue.name) is not None


def test_of_several_workers_exactly_one_has_each_message(open_channel):
    writers = [threading.Thread(target=write, args=(open_channel(), start)) for start in range(0, 120, 30)]
    taken: list[int] = []
    readers = [threading.Thread(target=read, args=(open_channel(), taken, 120)) for _ in range(3)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in (*writers, *readers):
        thread.join()
    assert sorted(taken) == list(range(120))


def write(channel: Any, start: int) -> None:
    for n in range(start, start + 30):
        channel._put("work", {"n": n})


def read(channel: Any, taken: list[int], until: int) -> None:
    while len(taken) < until:
        message = take(channel)
        if message is not None:
            taken.append(message["n"])


def test_bindings_of_many_processes_are_all_kept(open_channel):
    channels = [open_channel() for _ in range(8)]
    threads = [
        threading.Thread(target=channel._queue_bind, args=("news", "", "", f"queue{n}"))
        for n, channel in enumerate(channels)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {row.queue for row in channels[0].get_table("news")} == {f"queue{n}" for n in range(8)}
    channels[0]._delete("queue3", "news", "", "")
    channels[0]._queue_bind("news", "", "", "queue4")
    assert len(channels[1].get_table("news")) == 7


def test_the_application_uses_it(settings):
    from annotator.config.celery import app

    if not settings.CELERY_BROKER_URL.startswith("filesystem"):
        assert "redis" in app.connection().transport_cls
        return
    assert isinstance(app.connection().transport, Transport)
