"""Find a Python that can run Assay.

Keep its syntax valid in every Python since 2.7 (no annotations, no f-strings), so that an old interpreter prints an
explanation instead of a syntax error.
"""

import os
import subprocess
import sys

MINIMUM = (3, 11)
CANDIDATES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11", "python")


def is_supported(version):
    """Return whether a version tuple such as ``sys.version_info`` is new enough."""
    return tuple(version[:2]) >= MINIMUM


def version_of(executable):
    """Return (major, minor) of a Python executable, or None if it does not run."""
    command = [executable, "-c", "import sys; print('%d %d' % sys.version_info[:2])"]
    try:
        with open(os.devnull, "wb") as nowhere:
            answer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=nowhere).communicate()[0]
        major, minor = answer.split()
        return int(major), int(minor)
    except (OSError, ValueError):
        return None


def find_supported_python(path=None):
    """Return the first of `CANDIDATES` on the PATH that is supported, or None."""
    folders = (os.environ.get("PATH", "") if path is None else path).split(os.pathsep)
    for name in CANDIDATES:
        for folder in folders:
            executable = os.path.join(folder, name)
            if folder and os.access(executable, os.X_OK):
                version = version_of(executable)
                if version is not None and is_supported(version):
                    return executable
    return None


def old_python_sentence(version, executable):
    """Return the message for a Python that is too old, if there is no newer one."""
    return (
        "Assay needs Python %d.%d or newer. %s is Python %d.%d, and no newer one was found on the PATH. "
        "Install one (Debian, Ubuntu: apt-get install python3 python3-venv), "
        "or set its path: make demo PYTHON=/path/to/python3.12"
    ) % (MINIMUM + (executable,) + tuple(version[:2]))


def use_supported_python(version=None, path=None):
    """If this Python is too old, run the same command with a newer one, or exit with a message."""
    version = sys.version_info if version is None else version
    if is_supported(version):
        return
    executable = find_supported_python(path)
    if executable is None:
        sys.exit(old_python_sentence(version, sys.executable))
    os.execv(executable, [executable] + sys.argv)  # noqa: S606 - the same command line, no shell
