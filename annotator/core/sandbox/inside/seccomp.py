"""The system call filter of a child: it allows a short list that is needed to compute, and refuses all others with
EPERM.

A classic BPF program over ``struct seccomp_data`` (linux/seccomp.h): number at 0, architecture at 4, the low half of
argument n at 16 + 8n. A call from a foreign architecture (x32 included) kills the process.
"""

import ctypes
import platform
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ALLOW, _REFUSE = 0x80000000, 0x7FFF0000, 0x00050000 | 1
_PROT_EXEC = 4
_PR_SET_SECCOMP, _MODE_FILTER, _PR_SET_NO_NEW_PRIVS = 22, 2, 38

#: Machine → (AUDIT_ARCH, first foreign number or 0, {name: number}). mmap and mprotect are allowed unless they
#: would make memory executable. Without tgkill, which could signal other processes, and fcntl, because
#: of F_SETOWN.
_TABLES: dict[str, tuple[int, int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        0x40000000,
        {
            "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
            "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25,
            "madvise": 28, "nanosleep": 35, "getpid": 39, "exit": 60, "gettimeofday": 96, "sigaltstack": 131,
            "gettid": 186, "futex": 202, "clock_gettime": 228, "clock_getres": 229,
            "clock_nanosleep": 230, "exit_group": 231, "set_robust_list": 273, "getrandom": 318, "rseq": 334,
        },
    ),
    "aarch64": (
        0xC00000B7,
        0,
        {
            "read": 63, "write": 64, "close": 57, "fstat": 80, "lseek": 62, "mmap": 222, "mprotect": 226,
            "munmap": 215, "brk": 214, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139,
            "sched_yield": 124, "mremap": 216, "madvise": 233, "nanosleep": 101, "getpid": 172, "exit": 93,
            "gettimeofday": 169, "sigaltstack": 132, "gettid": 178, "futex": 98, "clock_gettime": 113,
            "clock_getres": 114, "clock_nanosleep": 115, "exit_group": 94, "set_robust_list": 99, "getrandom": 278,
            "rseq": 293,
        },
    ),
}  # fmt: skip
_EXECUTABLE = ("mmap", "mprotect")


class Unsupported(Exception):
    """There is no filter for this machine; the text says why."""


def program(machine: str) -> bytes:
    """Return the BPF program for a machine, eight bytes for each instruction. Raises Unsupported."""
    if machine not in _TABLES:
        raise Unsupported(f"there is no table of system calls for {machine}")
    architecture, foreign, numbers = _TABLES[machine]
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if foreign:
        lines += [(_AT_LEAST, 0, 1, foreign), (_RETURN, 0, 0, _KILL)]
    for name in _EXECUTABLE:
        lines += [
            (_EQUAL, 0, 4, numbers[name]),
            (_LOAD, 0, 0, 16 + 8 * 2),
            (_ANY_BIT, 0, 1, _PROT_EXEC),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        ]
    for name, number in numbers.items():
        if name not in _EXECUTABLE:
            lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    lines.append((_RETURN, 0, 0, _REFUSE))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Filter:
    """The program for this machine, built once and loaded in each child."""

    def __init__(self) -> None:
        code = program(platform.machine())
        self._buffer = ctypes.create_string_buffer(code, len(code))
        self._program = _Program(len(code) // 8, ctypes.addressof(self._buffer))
        self._libc = ctypes.CDLL(None, use_errno=True)

    def load(self) -> None:
        """Load the filter: from now on this process can only compute and answer. Raises OSError."""
        self._prctl(_PR_SET_NO_NEW_PRIVS, 1, 0)
        self._prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(self._program))

    def _prctl(self, option: int, first: int, second: int) -> None:
        if self._libc.prctl(option, *(ctypes.c_ulong(value) for value in (first, second, 0, 0))) != 0:
            raise OSError(ctypes.get_errno(), "prctl was refused")
