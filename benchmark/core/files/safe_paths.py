"""Which paths an archive may hold."""

from pathlib import PurePosixPath


def is_safe_path(path: str) -> bool:
    """Tell whether a path in an archive is relative, plain, and leads nowhere else."""
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
