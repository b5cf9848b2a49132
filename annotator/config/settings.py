"""Settings of every installation, read from the environment.

Two modes. ``embedded`` (the default) needs nothing but Python: SQLite, a broker of plain files, one worker.
``server`` uses PostgreSQL and Redis and refuses to start without a secret key of its own.
"""

import ipaddress
import itertools
import os
import re
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse
from django.utils.translation import gettext_noop as _
from django.utils.translation import to_locale
from kombu.entity import Exchange, Queue

from annotator.config import environment as given

BASE_DIR = Path(__file__).resolve().parent.parent.parent
MODE = given.text("ASSAY_MODE", default="embedded")
if MODE not in ("embedded", "server"):
    raise ImproperlyConfigured(f"ASSAY_MODE is “{MODE}”; it must be embedded or server.")
EMBEDDED = MODE == "embedded"
DEMO = given.yes_no("ASSAY_DEMO", default=False)
DEBUG = given.yes_no("DEBUG", default=False)
DATA_DIR = Path(given.text("ASSAY_DATA", default=str(BASE_DIR / "var")))
# Nobody else on this machine reads candidates, mails or releases: not what any process writes from here on (a database
# and the files beside it, too), and not what an earlier version wrote.
os.umask(0o077)
given.folder("ASSAY_DATA", DATA_DIR)
if DATA_DIR.stat().st_mode & 0o077:
    try:
        DATA_DIR.chmod(0o700)
    except PermissionError:
        raise ImproperlyConfigured(
            f"{DATA_DIR} is open to other users of this machine and belongs to one of them: have them chmod 700 it, "
            "or set ASSAY_DATA to a folder of your own."
        ) from None

EMBEDDED_SECRET_KEY = "embedded-mode-only-this-key-is-public-and-server-mode-refuses-it"  # noqa: S105 - refused below


def _secret_key() -> str:
    key = given.content("SECRET_KEY_FILE") or given.text("SECRET_KEY")
    if EMBEDDED:
        return key or EMBEDDED_SECRET_KEY
    if not key:
        raise ImproperlyConfigured("Server mode needs a secret key: set SECRET_KEY or SECRET_KEY_FILE.")
    if key == EMBEDDED_SECRET_KEY:
        raise ImproperlyConfigured("SECRET_KEY is the demo's public key; server mode needs one of its own.")
    if len(key) < 32:
        raise ImproperlyConfigured("SECRET_KEY is shorter than 32 characters; make a longer one.")
    # No random key fails these: few characters, few pairs of them (a repeated word), few steps (the alphabet).
    pairs = list(itertools.pairwise(map(ord, key)))
    if min(len(set(key)), len(set(pairs)) // 2, len({b - a for a, b in pairs})) < 7:
        raise ImproperlyConfigured(
            "SECRET_KEY can be guessed: it repeats itself. Make a random one: "
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))"'
        )
    return key


SECRET_KEY = _secret_key()
if DEMO and not EMBEDDED:
    raise ImproperlyConfigured("ASSAY_DEMO opens sign-in without a password; it is refused in server mode.")
if DEBUG and not EMBEDDED:
    raise ImproperlyConfigured("DEBUG shows settings and data to whoever meets an error; it is refused in server mode.")

ALLOWED_HOSTS = given.hosts(default=["localhost", "127.0.0.1", "[::1]"] if EMBEDDED else [])
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("Server mode needs a name to answer to: set ALLOWED_HOSTS, to assay.example.org say.")
CSRF_TRUSTED_ORIGINS = given.origins()

INSTALLED_APPS = [
    "annotator",
    "reviews",
    "benchmark",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",
    "allauth",
    "allauth.account",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "rest_framework",
    "template_partials",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "annotator.views.middleware.HealthMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "annotator.views.middleware.CacheMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "annotator.views.middleware.SizeMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotator.views.middleware.PersonMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "annotator.views.middleware.TurnsMiddleware",
    "annotator.views.middleware.FormAddressMiddleware",
    "annotator.views.middleware.NulMiddleware",
    "annotator.views.middleware.DomainErrorMiddleware",
    "annotator.views.middleware.FilterMiddleware",
]

ROOT_URLCONF = "annotator.config.urls"
WSGI_APPLICATION = "annotator.config.wsgi.application"
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotator.views.context.chrome",
            ],
        },
    },
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [BASE_DIR / "templates" / "jinja2"],
        "OPTIONS": {"environment": "annotator.presentation.components.jinja.environment"},
    },
]

# Not by way of a URL: the folder's name may hold characters that mean something there.
_SQLITE: dict[str, Any] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "assay.sqlite3")}
DATABASES: dict[str, dict[str, Any]] = {"default": given.database(sqlite=_SQLITE if EMBEDDED else None)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Immediate transactions: a writer waits its turn at BEGIN instead of failing in the middle.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384; PRAGMA mmap_size=268435456;",
    }
else:
    DATABASES["default"]["ENGINE"] = "annotator.config.postgresql"
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # Statements that ask for it are prepared, and planned once (annotator.services.database.statements); the ORM's never are.
    # Such a plan is made without knowing how few rows it reads, and PostgreSQL compiles what looks dear: that took 0.1 s of
    # each claim of 1 ms. A server that takes nobody in, or that the network has lost, is given up instead of waited for. Not
    # one that is frozen, whose kernel acknowledges what is sent to it: see annotator.config.postgresql.limits.
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        prepare_threshold=5,
        options="-c plan_cache_mode=force_generic_plan -c jit=off",
        connect_timeout=5,
        tcp_user_timeout=30_000,
    )
# Seconds that a request waits for a lock, and that one statement of a request takes, before it is answered 503, and that
# one of a job takes, before the job is taken up again. Only the web server (annotator.config.wsgi) and the workers
# (annotator.config.celery) set them: commands and migrations may wait. 0: no limit.
REQUEST_LOCK_SECONDS = given.seconds("REQUEST_LOCK_SECONDS", default=10)
REQUEST_STATEMENT_SECONDS = given.seconds("REQUEST_STATEMENT_SECONDS", default=30)
JOB_STATEMENT_SECONDS = given.seconds("JOB_STATEMENT_SECONDS", default=900)
# Seconds after which PostgreSQL ends the connection of a web server or worker that is in a transaction and says nothing:
# it is frozen, or gone, and others wait for what it has locked. Far longer than any step computes. 0: no limit.
SILENT_TRANSACTION_SECONDS = given.seconds("SILENT_TRANSACTION_SECONDS", default=300)
# Kept open between requests: to SQLite, too, where opening costs as much as a claim, and closing writes the log back. On
# PostgreSQL what was prepared is lost with its connection.
DATABASES["default"]["CONN_MAX_AGE"] = given.seconds("CONN_MAX_AGE", default=600)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- pages --------------------------------------------------------------------------------------------------------
# No app knows the pages of those above it. What leads to such a page asks for the address of an object, or names one of
# these settings (``page_url`` in templates).
LOGIN_REDIRECT_URL = "home"
NEW_PROJECT_PAGE = "protocol"
EXAMPLES_PAGE = "example-list"
IMPORTS_PAGE = "import-list"
RELEASES_PAGE = "release-list"
ABSOLUTE_URL_OVERRIDES = {
    "annotator.project": lambda project: reverse("project", args=[project.slug]),
    "annotator.dialogue": lambda dialogue: reverse("dialogue", args=[dialogue.project.slug, dialogue.public_id]),
    "annotator.job": lambda job: reverse("job-list", args=[job.project.slug]),
}
_OVERSEERS, _ADMINISTRATORS = ("senior_reviewer", "administrator"), ("administrator",)
# The bar of a project: name of the page, label, key, roles that see it (empty: every member). What only some roles see
# is in a menu, so that the bar has one row.
PROJECT_BAR: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("project", _("Project"), "g p", ()),
    ("dialogue-list", _("Dialogues"), "g d", ()),
    ("statistics", _("Statistics"), "g t", ()),
    ("release-list", _("Releases"), "g r", ()),
    ("guideline", _("Guideline"), "g g", ()),
    ("feedback-list", _("Feedback"), "g f", ()),
    ("protocol", _("Protocol"), "g o", ()),
    ("member-list", _("People"), "g e", ()),
    ("review-session-list", _("Disputes"), "g x", _OVERSEERS),
    ("gold-list", _("Gold"), "g k", _OVERSEERS),
    ("history-list", _("History"), "g y", _OVERSEERS),
    ("assignment-list", _("Assignments"), "g a", _ADMINISTRATORS),
    ("import-list", _("Imports"), "g i", _ADMINISTRATORS),
    ("job-list", _("Jobs"), "g j", _ADMINISTRATORS),
    ("project-settings", _("Settings"), "g s", _ADMINISTRATORS),
]

# --- people -----------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "annotator.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
ACCOUNT_ADAPTER = "annotator.services.accounts.accounts.InvitationAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
# allauth's would lock a name, or an address, for everybody, and need a cache: ours are annotator.services.accounts.attempts.
ACCOUNT_RATE_LIMITS = False
# Who was not invited cannot sign up, so there is nothing to write to them.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_FORMS = {
    "login": "annotator.views.forms.SignInForm",
    "signup": "annotator.views.forms.SignUpForm",
    "change_password": "annotator.views.forms.NewPasswordForm",
    "reset_password": "annotator.views.forms.ForgottenPasswordForm",
}
# The demo's mails are files that can be looked at.
EMAIL_BACKEND = given.mail_backend(
    default=f"django.core.mail.backends.{'filebased' if DEMO else 'console'}.EmailBackend"
)
EMAIL_FILE_PATH = given.text("EMAIL_FILE_PATH", default=str(DATA_DIR / "mail"))
EMAIL_TIMEOUT = given.seconds("EMAIL_TIMEOUT", default=30, least=1)
EMAIL_HOST = given.mail_host(default="localhost")
EMAIL_PORT = given.whole("EMAIL_PORT", default=25, least=1, most=65535)
EMAIL_HOST_USER = given.text("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = given.text("EMAIL_HOST_PASSWORD", default="")
EMAIL_USE_TLS = given.yes_no("EMAIL_USE_TLS", default=False)
DEFAULT_FROM_EMAIL = given.mail_address("DEFAULT_FROM_EMAIL", default="assay@localhost")

# --- safety -----------------------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "manifest-src": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "annotator.views.errors.csrf_failed"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
HTTPS = given.yes_no("ASSAY_HTTPS", default=not EMBEDDED)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# Whose X-Forwarded-For is believed: tries to sign in are counted by the reader's address, not by the proxy's own.
try:
    TRUSTED_PROXIES = [
        ipaddress.ip_network(one) for one in given.names("TRUSTED_PROXIES", default=["127.0.0.0/8", "::1"])
    ]
except ValueError as error:
    raise ImproperlyConfigured(
        f"TRUSTED_PROXIES: {error}; it must be addresses or networks like 10.0.0.0/8, separated by commas."
    ) from None
if not EMBEDDED:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = HTTPS
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]
    SECURE_HSTS_SECONDS = given.whole("SECURE_HSTS_SECONDS", default=31536000 if HTTPS else 0)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
# Of a whole request, files included, but from those who may send large ones; deploy/Caddyfile has the same limit.
MAX_REQUEST_BYTES = 10 * 10**6
# Of a form from somebody who is not signed in: reading 8 MB of one takes seconds of computing.
MAX_ANONYMOUS_REQUEST_BYTES = 100_000
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000
FILE_UPLOAD_MAX_MEMORY_SIZE = 2**20
# Beside what is kept of them, so that /readyz looks at this disk, and what a killed web server leaves there is removed.
FILE_UPLOAD_TEMP_DIR = given.folder("ASSAY_DATA", DATA_DIR / "uploads")
FILE_UPLOAD_HANDLERS = [
    "annotator.views.uploads.DoorHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# --- files ------------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = Path(given.text("STATIC_ROOT", default=str(DATA_DIR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = DATA_DIR / "files"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG or given.yes_no("ASSAY_PLAIN_STATIC", default=False)
        else "annotator.config.static_files.ModuleStorage"
    },
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = False
WHITENOISE_USE_FINDERS = given.yes_no("ASSAY_PLAIN_STATIC", default=False)

# --- background work --------------------------------------------------------------------------------------------
REDIS_URL = given.redis(required=not EMBEDDED)
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"visibility_timeout": 3600, "socket_keepalive": True}
else:
    # Kombu's file-system transport: a broker that needs no server. One folder, read and written by both sides.
    BROKER_DIR = DATA_DIR / "broker"
    for folder in ("messages", "processed", "control"):
        given.folder("ASSAY_DATA", BROKER_DIR / folder)
    CELERY_BROKER_URL = "filesystem://localhost"
    CELERY_BROKER_TRANSPORT = "annotator.config.broker:Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR / "messages"),
        "data_folder_out": str(BROKER_DIR / "messages"),
        "processed_folder": str(BROKER_DIR / "processed"),
        "control_folder": str(BROKER_DIR / "control"),
        "store_processed": False,
        "polling_interval": 0.1,
    }
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_DEFAULT_QUEUE = "assay"
# What works on untrusted data or code has a queue, and workers, of its own: there it holds up nothing but its like. A
# worker that is not told its queues serves both. Each has an exchange of its own, or a message would go to both.
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in ("assay", "untrusted")]
CELERY_TIMEZONE = "UTC"
# Days after which what nothing needs any more is removed (annotator.services.jobs.retention); 0: never.
KEEP_DAYS = {
    "draft_steps": given.days("KEEP_DRAFT_STEPS_DAYS", default=30),
    "uploads": given.days("KEEP_UPLOADS_DAYS", default=90),
    "tokens": given.days("KEEP_TOKENS_DAYS", default=90),
    "mails": given.days("KEEP_MAILS_DAYS", default=30),
}
# What /readyz asks: how old the workers' last sign of life may be, and how much room the data folder has to have.
WORKER_LAG_SECONDS = given.seconds("WORKER_LAG_SECONDS", default=300)
DISK_RESERVE_MB = given.whole("DISK_RESERVE_MB", default=500)
CELERY_BEAT_SCHEDULER = "annotator.config.beat:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
#: Name → (task, seconds between two of its messages).
_ROUTINES = {
    "forget-old-attempts": ("annotator.tasks.forget_old_attempts", 3600),
    "tidy-up": ("annotator.tasks.tidy_up", 6 * 3600),
    "write-checkpoints": ("annotator.tasks.write_checkpoints", 3600),
    "resume-jobs": ("annotator.tasks.resume_jobs", 15),
    "tidy-claims": ("reviews.tasks.tidy_claims", 60),
    "fold-counts": ("reviews.tasks.fold_counts", 5),
    "rewind-cursors": ("reviews.tasks.rewind_cursors", 3600),
    "send-digests": ("annotator.tasks.send_digests", 600),
    "draw-samples": ("reviews.tasks.draw_samples", 60),
}
# What nobody has taken for five minutes is thrown away unread: the next is on its way. Workers that come back after a
# weekend find a hundred thousand of them, so jobs go first (0 is Redis's highest priority, and that of jobs).
CELERY_BEAT_SCHEDULE = {
    name: {"task": task, "schedule": float(seconds), "options": {"expires": max(300, seconds), "priority": 9}}
    for name, (task, seconds) in _ROUTINES.items()
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotator.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "annotator.api.filters.KnownParameters",
    ],
    "DEFAULT_PARSER_CLASSES": ["annotator.api.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["annotator.api.rendering.FastJSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "annotator.api.schema.StrictSchema",
    "EXCEPTION_HANDLER": "annotator.api.errors.handle",
    "DEFAULT_PAGINATION_CLASS": "annotator.api.pagination.KeysetPagination",
    "PAGE_SIZE": 50,
    # There is JSON alone: “format” is a parameter that no address has, and refused like any other.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay",
    "DESCRIPTION": "Candidates in, status and revisions, verified releases out.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SCHEMA_PATH_PREFIX": "/api/",
    # What is sent is described apart from what comes back: a file is sent as one, and comes back as an address.
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotator.api.schema.complete",
    ],
}

TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en"
#: Translations: a folder in locale/ for each language besides English. A person gets the one that their browser asks for.
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGES = [
    (code, name)
    for code, name in global_settings.LANGUAGES
    if code == "en" or (BASE_DIR / "locale" / to_locale(code)).is_dir()
]
# What people type to come here. Links in mails and invitations begin with it, whatever a request's Host header says.
_host = "" if EMBEDDED else next(iter(ALLOWED_HOSTS), "").lstrip("*.")
if not (_host or EMBEDDED or given.text("SITE_URL")):
    raise ImproperlyConfigured(
        "ALLOWED_HOSTS begins with no name that links in mails could lead to: set SITE_URL to the address people type, "
        "to https://assay.example.org say."
    )
_address = f"{'https' if HTTPS else 'http'}://{_host}" if _host else "http://localhost:8000"
SITE_URL = given.text("SITE_URL", default=_address).rstrip("/")
if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s?#]+)?", SITE_URL):
    raise ImproperlyConfigured(f"SITE_URL is “{SITE_URL}”; it must be an address like https://assay.example.org.")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {
        "secrets": {"()": "annotator.config.logs.WithoutSecrets"},
        "one_line": {"()": "annotator.config.logs.OneLine"},
        "outages": {"()": "annotator.services.jobs.outages.OutagesInOneLine"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["outages", "secrets"]}},
    "root": {"handlers": ["stderr"], "level": given.level("LOG_LEVEL", default="WARNING")},
    "loggers": {
        # What is removed is said in any case.
        "annotator.services.jobs.retention": {"level": "INFO"},
        "django.security.DisallowedHost": {"filters": ["one_line"]},
    },
}
