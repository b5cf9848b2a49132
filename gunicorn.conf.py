"""What gunicorn, started in this folder, does beside what its command line says."""

from typing import Any

from gunicorn.glogging import Logger

from annotator.config.logs import without_secrets


class AccessLog(Logger):
    """gunicorn's own, without the secrets that some addresses hold, which are also where somebody came from."""

    def atoms(self, *arguments: Any) -> dict[str, Any]:
        """What a line is put together from."""
        atoms: dict[str, Any] = super().atoms(*arguments)
        return {name: without_secrets(value) if isinstance(value, str) else value for name, value in atoms.items()}


logger_class = AccessLog
