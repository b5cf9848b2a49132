"""The test database: migrated once in a run of the suite, and copied for every process after that.

``make test`` names a folder in ASSAY_TEST_TEMPLATES for what its processes share. Without it (one pytest alone)
every run migrates. The first process migrates an empty one, as an installation does; on SQLite the copy is a file
in that folder, on PostgreSQL a database beside the others.
"""

import contextlib
import copy
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = "ASSAY_TEST_TEMPLATES"
POSTGRESQL_TEMPLATE = "test_assay_template"


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_blocker: Any,
    django_db_keepdb: bool,
    django_db_createdb: bool,
    django_db_modify_db_settings: None,
) -> Iterator[None]:
    """The database of this process, there until its last test has ended."""
    from django.test.utils import setup_databases, teardown_databases

    folder = os.environ.get(FOLDER)
    with django_db_blocker.unblock():
        if folder:
            databases = copied_databases(Path(folder))
        else:
            keep = django_db_keepdb and not django_db_createdb
            with quick_migrations():
                databases = setup_databases(verbosity=0, interactive=False, keepdb=keep, serialized_aliases=())
        speed_up_flush()
    yield
    if folder or not django_db_keepdb:
        with django_db_blocker.unblock():
            teardown_databases(databases, verbosity=0)


def copied_databases(folder: Path) -> list[Any]:
    """Make this process's database out of the template, which the first who asks migrates; as `setup_databases`."""
    from django.db import connection
    from django.test.utils import setup_databases

    template = folder / f"{connection.vendor}.template"
    with locked(folder / f"{connection.vendor}.lock"):
        if not template.exists():
            with quick_migrations():
                made: list[Any] = setup_databases(verbosity=0, interactive=False, serialized_aliases=())
            connection.close()
            keep_as_template(template)
            return made
        creation: Any = connection.creation
        name, test_name = connection.settings_dict["NAME"], creation._get_test_db_name()
        if connection.vendor == "sqlite":
            shutil.copyfile(template, test_name)
        else:
            copy_database(POSTGRESQL_TEMPLATE, test_name)
    connection.close()
    connection.settings_dict["NAME"] = test_name
    return [(connection, name, True)]


@contextlib.contextmanager
def quick_migrations() -> Iterator[None]:
    """Migrate in two thirds of the time: copy the fields of models between operations.

    Django builds 25,000 models on the way, each field from its arguments. The tables are the same, also the order of
    their columns. The demo and the API's clients migrate as installations do.
    """
    from django.db.models import Field

    def copied(field: Any) -> Any:
        made = copy.deepcopy(field)
        # Cached as the name of a model; in the built model it is a class.
        vars(made).pop("related_model", None)
        # Columns are in this order.
        made.creation_counter = Field.creation_counter
        Field.creation_counter += 1
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Field, "clone", copied)
        yield


def speed_up_flush() -> None:
    """Speed up the flush that follows each test that commits.

    Django would create permissions again, which Assay does not use, and on PostgreSQL truncate 80 tables. It takes a
    tenth of the time to delete the rows of those few tables that have any. This switches off triggers and foreign keys
    for a moment, because they refuse it, and only a superuser can do that.
    """
    from django.contrib.contenttypes.management import create_contenttypes
    from django.db import connection
    from django.db.models.signals import post_migrate

    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)

    def delete_rows(style: Any, tables: list[str], **_: Any) -> list[str]:
        names = [connection.ops.quote_name(table) for table in tables]
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(f"(SELECT '{name}' FROM {name} LIMIT 1)" for name in names))  # noqa: S608
            filled = [name for (name,) in cursor.fetchall()]
        return ["SET LOCAL session_replication_role = replica", *(f"DELETE FROM {name}" for name in filled)]  # noqa: S608

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW is_superuser")
            if cursor.fetchone() == ("on",):
                operations: Any = connection.ops
                operations.sql_flush = delete_rows


def keep_as_template(template: Path) -> None:
    """Copy the test database that was just migrated; `template` is its file, or on PostgreSQL the sign that it is."""
    from django.db import connection

    name = connection.settings_dict["NAME"]
    unfinished = template.with_suffix(".part")
    if connection.vendor == "sqlite":
        shutil.copyfile(name, unfinished)
    else:
        copy_database(name, POSTGRESQL_TEMPLATE)
        unfinished.touch()
    unfinished.rename(template)


def copy_database(source: str, target: str) -> None:
    """Copy a PostgreSQL database to which nobody is connected; what had the new name is dropped."""
    from django.db import connection

    creation: Any = connection.creation
    with creation._nodb_cursor() as cursor:
        quote = connection.ops.quote_name
        cursor.execute(f"DROP DATABASE IF EXISTS {quote(target)}")
        cursor.execute(f"CREATE DATABASE {quote(target)} TEMPLATE {quote(source)}")


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock between processes; it ends with the process that holds it."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def drop_template() -> None:
    """Drop the template from a server that stays (``python -m tests.databases``)."""
    import django

    django.setup()
    from django.db import connection

    creation: Any = connection.creation
    with creation._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {connection.ops.quote_name(POSTGRESQL_TEMPLATE)}")


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    drop_template()
