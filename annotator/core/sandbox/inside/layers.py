"""Protection of the prepared interpreter in addition to the filter, if the machine allows it.

The filter works without it. Numbers are from linux/sched.h, linux/mount.h, linux/prctl.h and linux/landlock.h.
"""

import ctypes
import os
import platform
import signal
from pathlib import Path

NOBODY = 65534
_NEW_USER, _NEW_NETWORK, _NEW_PID, _NEW_IPC, _NEW_UTS, _NEW_MOUNTS = (
    0x10000000, 0x40000000, 0x20000000, 0x08000000, 0x04000000, 0x00020000,
)  # fmt: skip
_RECURSIVE, _PRIVATE, _READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_PROGRAMS, _DETACH = 16384, 1 << 18, 1, 2, 4, 8, 2
_PR_PARENT_DEATH, _PR_DUMPABLE, _PR_NO_NEW_PRIVS = 1, 4, 38
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446

_libc = ctypes.CDLL(None, use_errno=True)


def become_nobody() -> bool:
    """Change from root to a user without rights. Return False if this process is not root."""
    if os.getuid() != 0:
        return False
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    # Changing the user cleared this flag; writing the process's own user map needs it.
    _libc.prctl(_PR_DUMPABLE, 1, 0, 0, 0)
    return True


def enter_namespaces() -> bool:
    """Enter namespaces without network and other processes; continue in a child. Return False if that is refused."""
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_PID | _NEW_IPC | _NEW_UTS | _NEW_MOUNTS) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")
    except OSError:
        # Without a map, the child runs as the system user “nobody”, which is intended.
        pass
    child = os.fork()
    if child:
        _wait_and_exit(child)
    _libc.prctl(_PR_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    return True


def _wait_and_exit(child: int) -> None:
    """Wait for the child, which is the first process of the namespaces; then exit."""
    for descriptor in range(256):
        try:
            os.close(descriptor)
        except OSError:
            continue
    try:
        os.waitpid(child, 0)
    finally:
        os._exit(0)


def enter_empty_root() -> bool:
    """Make an empty, read-only folder the root. Needs the namespaces. Return False if that is refused."""
    pivot = _PIVOT_ROOT.get(platform.machine())
    if pivot is None or _libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None) != 0:
        return False
    flags = _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
    # Any folder works as the mount point; /proc exists on every Linux.
    if _libc.mount(b"none", b"/proc", b"tmpfs", flags, b"size=4k") != 0:
        return False
    os.chdir("/proc")
    if _libc.syscall(pivot, b".", b".") != 0:
        return False
    _libc.umount2(b".", _DETACH)
    os.chdir("/")
    return os.listdir("/") == []


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def forbid_files() -> bool:
    """Use Landlock to forbid files, TCP ports, and (in newer versions) abstract sockets and signals. Return False
    without Landlock.
    """
    version = _libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return False
    files = (1 << (13 if version == 1 else 14 if version == 2 else 15 if version < 5 else 16)) - 1
    rules = _Ruleset(files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    descriptor = _libc.syscall(_LANDLOCK_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint(0))
    if descriptor < 0:
        return False
    _libc.prctl(_PR_NO_NEW_PRIVS, 1, 0, 0, 0)
    refused = _libc.syscall(_LANDLOCK_RESTRICT, descriptor, ctypes.c_uint(0))
    os.close(descriptor)
    return bool(refused == 0)


def hide_memory() -> None:
    """Prevent processes of the same user from reading this process's memory."""
    _libc.prctl(_PR_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.prctl(_PR_DUMPABLE, 0, 0, 0, 0)
