#!/usr/bin/env python
"""Django's command line."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    from annotator.services.jobs.outages import unusable

    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, DatabaseError) as error:
        # For errors in settings, the traceback does not help.
        if "--traceback" in sys.argv:
            raise
        sys.exit(unusable(error) if isinstance(error, DatabaseError) else str(error))


if __name__ == "__main__":
    main()
