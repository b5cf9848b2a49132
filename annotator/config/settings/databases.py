"""The database, and how long its connections wait and stay."""

from typing import Any

from annotator.config import environment as env
from annotator.config.settings.mode import DATA_DIR, EMBEDDED

# Not as a URL, because the folder's name may contain special characters.
_SQLITE: dict[str, Any] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "assay.sqlite3")}
DATABASES: dict[str, dict[str, Any]] = {"default": env.database(sqlite=_SQLITE if EMBEDDED else None)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # With immediate transactions, a writer waits at BEGIN instead of failing later.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384; PRAGMA mmap_size=268435456;"
        ),
    }
else:
    DATABASES["default"]["ENGINE"] = "annotator.config.postgresql"
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # Some statements are prepared and planned once (annotator.services.database.statements); those of the ORM are not.
    # Such a plan cannot know how few rows it reads, so PostgreSQL would compile it (JIT), which took 100 ms for a claim
    # of 1 ms. The timeouts apply if the server is unreachable, but not if it is frozen:
    # annotator.config.postgresql.limits.
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        prepare_threshold=5,
        options="-c plan_cache_mode=force_generic_plan -c jit=off",
        connect_timeout=5,
        tcp_user_timeout=30_000,
    )
# A pooler (PgBouncer) gives each transaction another connection: nothing may be prepared, no cursor stays open, and
# options of a connection, such as limits, are set by the pooler (deploy/pgbouncer.ini).
DATABASE_POOLER = env.boolean("DATABASE_POOLER", default=False)
if DATABASE_POOLER and DATABASES["default"]["ENGINE"] == "annotator.config.postgresql":
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
    DATABASES["default"]["OPTIONS"] |= {"prepare_threshold": None}
    del DATABASES["default"]["OPTIONS"]["options"]
# Seconds after which a request that waits for a lock or a statement gets 503, and after which a job with a slow
# statement is retried. They apply to the web server (annotator.config.wsgi) and the workers (annotator.config.celery),
# not to commands and migrations. 0: no limit.
REQUEST_LOCK_SECONDS = env.seconds("REQUEST_LOCK_SECONDS", default=10)
REQUEST_STATEMENT_SECONDS = env.seconds("REQUEST_STATEMENT_SECONDS", default=30)
JOB_STATEMENT_SECONDS = env.seconds("JOB_STATEMENT_SECONDS", default=900)
# Seconds that a migration waits for a lock before it lets others pass and tries again. 0: no limit.
MIGRATION_LOCK_SECONDS = env.seconds("MIGRATION_LOCK_SECONDS", default=5)
# Seconds after which PostgreSQL closes an idle connection in a transaction, because its process may be frozen or gone
# and others wait for its locks. Much longer than any computation inside a transaction. 0: no limit.
SILENT_TRANSACTION_SECONDS = env.seconds("SILENT_TRANSACTION_SECONDS", default=300)
# Seconds that connections stay open. In SQLite, opening one costs as much as a claim, and closing it writes the log
# back. In PostgreSQL, prepared statements are lost with their connection.
DATABASES["default"]["CONN_MAX_AGE"] = env.seconds("CONN_MAX_AGE", default=600)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
