"""The prepared interpreter: it imports everything once, then forks a fresh copy for each batch.

It talks to its host over a private socket with whole messages. A message requests a child and contains its channel; the
answer says how the child ended. The work itself goes through the channel and is never read here, so that no child can
find another child's work in its memory.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

from . import channel, layers, seccomp, serving, zones  # noqa: TID252 - nothing above this package can be imported here

#: Modules that validators and tools may import. They are imported before the protection is active.
MODULES: list[str] = """
__future__ abc array ast base64 binascii bisect calendar cmath collections collections.abc colorsys contextlib copy csv
dataclasses datetime _strptime decimal difflib enum fnmatch fractions functools gettext graphlib hashlib heapq hmac
html html.entities html.parser io ipaddress itertools json json.decoder keyword linecache locale logging math numbers
operator pprint queue random re reprlib secrets shlex statistics string stringprep struct textwrap time timeit token
tokenize traceback types typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree zlib zoneinfo
encodings.ascii encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_32 encodings.cp1252
encodings.unicode_escape encodings.raw_unicode_escape encodings.utf_8_sig encodings.gbk encodings.gb18030
""".split()  # noqa: SIM905 - as a list it would be seventy lines
_DESCRIPTORS = 256


def main(control: int, wanted: str) -> None:
    """Prepare, report it, and serve until the host is gone. ``wanted``: names of ``LAYERS``, separated by commas."""
    # If the host has many open files, the number is high; only low numbers are closed for guests.
    host = socket.socket(fileno=os.dup(control))
    os.close(control)
    os.environ.clear()
    try:
        active = add_layers(wanted.split(","))
        syscalls = seccomp.Filter()
        check_filter(syscalls)
    except (seccomp.Unsupported, OSError) as error:
        host.send(json.dumps({"ready": False, "why": str(error)}).encode())
        return
    gc.collect()
    gc.freeze()
    host.send(json.dumps({"ready": True, "layers": active}).encode())
    while True:
        message, descriptors, _, _ = socket.recv_fds(host, 4096, 1)
        if not message:
            return
        if not descriptors:
            # A message “enough” for a child that had just ended.
            continue
        host.send(json.dumps(run_child(host, syscalls, json.loads(message), descriptors[0])).encode())


def add_layers(wanted: list[str]) -> list[str]:
    """Import what children need, then activate the wanted protection if possible; return the names of active layers."""
    for name in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    zones.read_zones()
    sys.path.clear()
    active = []
    for name, add_layer in LAYERS.items():
        if name in wanted and add_layer():
            active.append(name)
    layers.hide_memory()
    return active


#: In this order, because each may need the ones before.
LAYERS = {
    "user": layers.become_nobody,
    "namespaces": layers.enter_namespaces,
    "root": layers.enter_empty_root,
    "landlock": layers.forbid_files,
}


def check_filter(syscalls: seccomp.Filter) -> None:
    """Load the filter in a child that then tries to open a file. Raises OSError if that is not refused."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            syscalls.load()
            try:
                os.open("/", os.O_RDONLY)
            except PermissionError:
                code = 0
            except OSError:
                code = 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise OSError("the system call filter cannot be loaded here")


def run_child(host: socket.socket, syscalls: seccomp.Filter, limits: dict[str, Any], descriptor: int) -> dict[str, Any]:
    """Fork a child for one batch; return how it ended."""
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            restrict(syscalls, limits, descriptor)
            serving.serve()
        except MemoryError:
            os._exit(channel.OUT_OF_MEMORY)
        finally:
            os._exit(98)
    os.close(descriptor)
    late = not wait_for_end(host, child, begin + limits["wall"])
    if late:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return {
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "late": late,
        "cpu": usage.ru_utime + usage.ru_stime,
    }


def wait_for_end(host: socket.socket, child: int, until: float) -> bool:
    """Return whether the child ended by itself. A message from the host, or its end, also ends the wait."""
    ended = os.pidfd_open(child)
    try:
        wait = max(0.0, until - time.monotonic())
        ready, _, _ = select.select([ended, host.fileno()], [], [], wait)
        if host.fileno() in ready and ended not in ready:
            # “Enough”: the child answers more than allowed. An empty message: the host is gone.
            host.recv(16)
        return ended in ready
    finally:
        os.close(ended)


def restrict(syscalls: seccomp.Filter, limits: dict[str, Any], descriptor: int) -> None:
    """Restrict the child to its channel and limits, then load the filter."""
    os.dup2(descriptor, channel.CHANNEL)
    os.closerange(channel.CHANNEL + 1, _DESCRIPTORS)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    limit = resource.setrlimit
    limit(resource.RLIMIT_AS, (limits["memory"], limits["memory"]))
    limit(resource.RLIMIT_CPU, (limits["cpu"], limits["cpu"] + 1))
    limit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK):
        limit(kind, (0, 0))
    limit(resource.RLIMIT_NOFILE, (channel.CHANNEL + 1, channel.CHANNEL + 1))
    # Modules that only the preparation needs.
    for name in ("ctypes", "_ctypes", "socket", "_socket", "select", "resource", "importlib", "inside.seccomp",
                 "inside.layers", "inside.zygote"):  # fmt: skip
        sys.modules.pop(name, None)
    sys.argv[:] = [""]
    syscalls.load()
