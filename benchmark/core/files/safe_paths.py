"""The paths that are allowed in an archive."""

from pathlib import PurePosixPath


def is_safe_path(path: str) -> bool:
    """Return whether a path in an archive is relative and plain, and stays inside the archive."""
    parts = PurePosixPath(path).parts
    return (
        bool(parts)
        and path.isprintable()
        and len(path) <= 500
        and not path.startswith("/")
        and "\\" not in path
        and ":" not in path
        and path == "/".join(parts)
        and not {".", ".."} & set(parts)
    )
