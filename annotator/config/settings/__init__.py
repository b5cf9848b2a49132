"""Settings, read from environment variables; each module has those of one subject.

There are two modes. ``embedded`` (the default) needs only Python: SQLite and a file-based broker. ``server`` uses
PostgreSQL and Redis, and requires a secret key.
"""

from annotator.config.settings.accounts import *
from annotator.config.settings.api import *
from annotator.config.settings.application import *
from annotator.config.settings.databases import *
from annotator.config.settings.files import *
from annotator.config.settings.jobs import *
from annotator.config.settings.languages import *
from annotator.config.settings.logs import *
from annotator.config.settings.mail import *
from annotator.config.settings.mode import *
from annotator.config.settings.monitoring import *
from annotator.config.settings.navigation import *
from annotator.config.settings.security import *
