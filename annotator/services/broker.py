"""Messages that wake workers. People wait while they are sent, so they are sent once and with short time limits."""

import logging

import redis
from celery import current_app
from django.conf import settings

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


def broker_version() -> str:
    """Return the version of Redis; blank if it does not respond or is not used."""
    if not settings.REDIS_URL:
        return ""
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            return str(client.info("server")["redis_version"])
    except (redis.RedisError, KeyError):
        return ""
