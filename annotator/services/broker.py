"""Messages that wake workers. People wait while they are sent, so they are sent once and with short time limits."""

import logging

from celery import current_app

#: Limits for Redis, which may accept connections but not respond. The file broker ignores them.
SHORT_TIMEOUTS = {"socket_timeout": 2, "socket_connect_timeout": 2, "max_retries": 0, "retry_on_timeout": False}

_LOG = logging.getLogger(__name__)


def wake_task(name: str) -> None:
    """Start a periodic task now. If the message is lost, beat starts it later."""
    try:
        with current_app.connection_for_write(transport_options=SHORT_TIMEOUTS) as broker:
            current_app.send_task(name, connection=broker, retry=False, expires=60)
    except Exception as error:
        # Whatever the broker raises.
        _LOG.warning("no broker took the message for %s: %s", name, error)
