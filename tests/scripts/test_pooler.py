"""PgBouncer between Assay and PostgreSQL, in transaction mode, with the databases of ``deploy/pgbouncer.ini``."""

import os
import re
import shutil
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from scripts.private_services import (
    find_postgresql,
    free_port,
    port_is_open,
    private_folder,
    private_postgresql,
    running_server,
    unprivileged_user,
)
from tests.conftest import ROOT, not_tested

PROGRAM = """
import annotator.config.wsgi
from django.contrib.contenttypes.models import ContentType
from django.db import OperationalError, connection, transaction
from annotator.services.database.statements import database_time
for _ in range(8):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        shown = cursor.fetchone()[0]
        database_time()
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE django_content_type (id int, app_label text, model text)")
    cursor.execute("INSERT INTO django_content_type SELECT n, 'a', n FROM generate_series(1, 3000) n")
rows = ContentType.objects.order_by("pk").iterator(1000)
first = next(rows)
with transaction.atomic():
    database_time()
print(shown, 1 + len(list(rows)))
try:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(20)")
except OperationalError as error:
    print(error)
"""


@pytest.mark.servers
def test_limits_hold_and_no_session_is_needed_behind_a_pooler(tmp_path):
    programs = find_postgresql()
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if programs is None or found is None:
        not_tested("PostgreSQL or PgBouncer is not installed.")
    owner = unprivileged_user()
    identity = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    with private_postgresql(programs) as url, private_folder("pgbouncer", owner) as folder:
        port = free_port()
        text = (ROOT / "deploy" / "pgbouncer.ini").read_text()
        socket_folder = "/" + urlsplit(url).path.removesuffix("/assay").lstrip("/")
        text = text.replace("host=postgres port=5432", f"host={socket_folder}")
        # One connection for all, so that another client gets it between two transactions; a limit for this test.
        text = text.replace("pool_size=20", "pool_size=1").replace(
            "statement_timeout = 30000", "statement_timeout = 700"
        )
        text = re.sub(r"auth_type = .*\nauth_file = .*", "auth_type = any", text)
        text = text.replace("listen_addr = *", "listen_addr = 127.0.0.1").replace("6432", str(port))
        text = text.replace("dbname=assay ", "dbname=assay user=assay ")
        (folder / "pgbouncer.ini").write_text(f"{text}unix_socket_dir =\n")
        (folder / "pgbouncer.ini").chmod(0o644)
        command = [found, str(folder / "pgbouncer.ini")]
        with running_server(command, folder, "PgBouncer", lambda: port_is_open(port), identity):
            variables = {
                "PATH": os.environ["PATH"],
                "ASSAY_DATA": str(tmp_path),
                "ASSAY_PLAIN_STATIC": "1",
                "DATABASE_URL": f"postgres://assay@127.0.0.1:{port}/assay",
                "DATABASE_POOLER": "yes",
                "DJANGO_SETTINGS_MODULE": "annotator.config.settings",
            }
            outcome = subprocess.run(
                [sys.executable, "-c", PROGRAM], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
            )
    assert outcome.stdout.splitlines()[:2] == [
        "700ms 3000",
        "canceling statement due to statement timeout",
    ], outcome.stderr[-3000:]
