"""Settings of the test run: the application's own, on a database and a folder that are thrown away.

TEST_DATABASE_URL names a PostgreSQL server to test on (default: SQLite in a file, as people run it, not in memory);
TEST_REDIS_URL a Redis server (default: the broker made of files).
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_data = Path(tempfile.mkdtemp(prefix="assay-tests-"))
atexit.register(shutil.rmtree, _data, ignore_errors=True)
# Served from their sources; the web server's middleware wants the folder all the same.
(_data / "static").mkdir()

for _name in (
    "DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "SECRET_KEY_FILE",
    "ALLOWED_HOSTS",
    "ENDPOINT_HOSTS",
    "WEBHOOK_HOSTS",
    "ASSAY_DEMO",
    "DEBUG",
    "SITE_URL",
    "STATIC_ROOT",
):
    os.environ.pop(_name, None)
os.environ["ASSAY_MODE"] = "embedded"
os.environ["ASSAY_DATA"] = str(_data)
os.environ["ASSAY_PLAIN_STATIC"] = "1"
for _name in ("DATABASE_URL", "REDIS_URL"):
    if os.environ.get(f"TEST_{_name}"):
        os.environ[_name] = os.environ[f"TEST_{_name}"]

from annotator.config.settings import *  # noqa: E402, F403
from annotator.config.settings import DATABASES  # noqa: E402

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, so that server threads and worker processes see it; nothing is lost when a power cut loses it.
    DATABASES["default"]["TEST"] = {"NAME": str(_data / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
# A connection kept open would keep the test database from being dropped.
DATABASES["default"]["CONN_MAX_AGE"] = 0

# The middleware is created again whenever a test changes a setting, and would list all files each time.
WHITENOISE_AUTOREFRESH = True

# However little room the machine has that tests this.
DISK_RESERVE_MB = 0

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
