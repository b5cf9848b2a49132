"""Settings, read from environment variables.

There are two modes. ``embedded`` (the default) needs only Python: SQLite and a file-based broker. ``server`` uses
PostgreSQL and Redis, and requires a secret key.
"""

import ipaddress
import itertools
import os
import re
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.conf import global_settings
from django.contrib.messages import constants as levels
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse
from django.utils.translation import gettext_noop as _
from django.utils.translation import to_locale
from kombu.entity import Exchange, Queue

from annotator.config import environment as env

BASE_DIR = Path(__file__).resolve().parent.parent.parent
MODE = env.text("ASSAY_MODE", default="embedded")
if MODE not in ("embedded", "server"):
    raise ImproperlyConfigured(f"ASSAY_MODE is “{MODE}”; it must be embedded or server.")
EMBEDDED = MODE == "embedded"
DEMO = env.boolean("ASSAY_DEMO", default=False)
DEBUG = env.boolean("DEBUG", default=False)
DATA_DIR = Path(env.text("ASSAY_DATA", default=str(BASE_DIR / "var")))
# Other users of this machine must not read candidates, mails or releases: neither new files nor those of an earlier
# version.
os.umask(0o077)
env.folder("ASSAY_DATA", DATA_DIR)
if DATA_DIR.stat().st_mode & 0o077:
    try:
        DATA_DIR.chmod(0o700)
    except PermissionError:
        raise ImproperlyConfigured(
            f"Other users of this machine can read {DATA_DIR}, and it belongs to one of them. Ask its owner to run "
            "chmod 700 on it, or set ASSAY_DATA to a folder of your own."
        ) from None

EMBEDDED_SECRET_KEY = "embedded-mode-only-this-key-is-public-and-server-mode-refuses-it"  # noqa: S105 - refused below


def _secret_key() -> str:
    key = env.file_content("SECRET_KEY_FILE") or env.text("SECRET_KEY")
    if EMBEDDED:
        return key or EMBEDDED_SECRET_KEY
    if not key:
        raise ImproperlyConfigured("Server mode needs a secret key: set SECRET_KEY or SECRET_KEY_FILE.")
    if key == EMBEDDED_SECRET_KEY:
        raise ImproperlyConfigured("SECRET_KEY is the demo's public key. Server mode needs a key of its own.")
    if len(key) < 32:
        raise ImproperlyConfigured("SECRET_KEY is shorter than 32 characters. Use a longer one.")
    # Refuses few different characters, few pairs (a repeated word) and few steps (the alphabet). Random keys pass.
    pairs = list(itertools.pairwise(map(ord, key)))
    if min(len(set(key)), len(set(pairs)) // 2, len({b - a for a, b in pairs})) < 7:
        raise ImproperlyConfigured(
            "SECRET_KEY is too repetitive and can be guessed. Create a random one: "
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))"'
        )
    return key


SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = env.items("SECRET_KEY_FALLBACKS", default=[])
if DEMO and not EMBEDDED:
    raise ImproperlyConfigured("ASSAY_DEMO allows sign-in without a password, so it is refused in server mode.")
if DEBUG and not EMBEDDED:
    raise ImproperlyConfigured("DEBUG shows settings and data on error pages, so it is refused in server mode.")

ALLOWED_HOSTS = env.hosts(default=["localhost", "127.0.0.1", "[::1]"] if EMBEDDED else [])
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("Server mode needs a host name: set ALLOWED_HOSTS, for example to assay.example.org.")
CSRF_TRUSTED_ORIGINS = env.origins()

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
    "annotator.views.middleware.ContentPolicyMiddleware",
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
# The tone in which a page shows a message.
MESSAGE_TAGS = {
    levels.DEBUG: "info",
    levels.INFO: "info",
    levels.SUCCESS: "good",
    levels.WARNING: "warn",
    levels.ERROR: "bad",
}

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

# Not as a URL, because the folder's name may contain special characters.
_SQLITE: dict[str, Any] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "assay.sqlite3")}
DATABASES: dict[str, dict[str, Any]] = {"default": env.database(sqlite=_SQLITE if EMBEDDED else None)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # With immediate transactions, a writer waits at BEGIN instead of failing later.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384; PRAGMA mmap_size=268435456;",
    }
else:
    DATABASES["default"]["ENGINE"] = "annotator.config.postgresql"
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # Some statements are prepared and planned once (annotator.services.database.statements); those of the ORM are not. Such
    # a plan cannot know how few rows it reads, so PostgreSQL would compile it (JIT), which took 100 ms for a claim of 1 ms.
    # The timeouts apply if the server is unreachable, but not if it is frozen: annotator.config.postgresql.limits.
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        prepare_threshold=5,
        options="-c plan_cache_mode=force_generic_plan -c jit=off",
        connect_timeout=5,
        tcp_user_timeout=30_000,
    )
# Seconds after which a request that waits for a lock or a statement gets 503, and after which a job with a slow statement
# is retried. They apply to the web server (annotator.config.wsgi) and the workers (annotator.config.celery), not to
# commands and migrations. 0: no limit.
REQUEST_LOCK_SECONDS = env.seconds("REQUEST_LOCK_SECONDS", default=10)
REQUEST_STATEMENT_SECONDS = env.seconds("REQUEST_STATEMENT_SECONDS", default=30)
JOB_STATEMENT_SECONDS = env.seconds("JOB_STATEMENT_SECONDS", default=900)
# Seconds after which PostgreSQL closes an idle connection in a transaction, because its process may be frozen or gone and
# others wait for its locks. Much longer than any computation inside a transaction. 0: no limit.
SILENT_TRANSACTION_SECONDS = env.seconds("SILENT_TRANSACTION_SECONDS", default=300)
# Seconds that connections stay open. In SQLite, opening one costs as much as a claim, and closing it writes the log back.
# In PostgreSQL, prepared statements are lost with their connection.
DATABASES["default"]["CONN_MAX_AGE"] = env.seconds("CONN_MAX_AGE", default=600)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- pages --------------------------------------------------------------------------------------------------------
# An app does not know the pages of the apps above it. To link to them, use the address of an object, or one of these
# settings with the template tag ``page_url``.
LOGIN_REDIRECT_URL = "home"
NEW_PROJECT_PAGE = "protocol"
ARCHIVE_PAGE = "project-archive"
EXAMPLES_PAGE = "example-list"
OUTDATED_PAGE = "guideline-outdated"
IMPORTS_PAGE = "import-list"
RELEASES_PAGE = "release-list"
EXPORTS_PAGE = "dialogue-export"
PLAY_PAGE, WORKSPACE_PLAY_PAGE = "dialogue-play", "workspace-play"
ABSOLUTE_URL_OVERRIDES = {
    "annotator.project": lambda project: reverse("project", args=[project.slug]),
    "annotator.dialogue": lambda dialogue: reverse("dialogue", args=[dialogue.project.slug, dialogue.public_id]),
    "annotator.job": lambda job: reverse("job-list", args=[job.project.slug]),
    "annotator.webhook": lambda webhook: reverse("webhook", args=[webhook.project.slug, webhook.public_id]),
}
_OVERSEERS, _ADMINISTRATORS = ("senior_reviewer", "administrator"), ("administrator",)
# The navigation bar of a project: page, label, keyboard shortcut, roles that see it (empty: every member). Pages for some
# roles only are in a menu, so that the bar fits in one row.
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
    ("toolset-list", _("Toolsets"), "g l", _ADMINISTRATORS),
    ("composite-list", _("Composites"), "g c", _ADMINISTRATORS),
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
# Those of allauth would lock a username for everybody, and need a cache. Ours are in annotator.services.accounts.attempts.
ACCOUNT_RATE_LIMITS = False
# People who were not invited cannot sign up, so they get no mails.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_FORMS = {
    "login": "annotator.views.forms.SignInForm",
    "signup": "annotator.views.forms.SignUpForm",
    "change_password": "annotator.views.forms.NewPasswordForm",
    "reset_password": "annotator.views.forms.ForgottenPasswordForm",
}
# The demo writes mails to files.
EMAIL_BACKEND = env.mail_backend(default=f"django.core.mail.backends.{'filebased' if DEMO else 'console'}.EmailBackend")
EMAIL_FILE_PATH = env.text("EMAIL_FILE_PATH", default=str(DATA_DIR / "mail"))
EMAIL_TIMEOUT = env.seconds("EMAIL_TIMEOUT", default=30, minimum=1)
EMAIL_HOST = env.mail_host(default="localhost")
EMAIL_PORT = env.integer("EMAIL_PORT", default=25, minimum=1, maximum=65535)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD", default="")
EMAIL_USE_TLS = env.boolean("EMAIL_USE_TLS", default=False)
DEFAULT_FROM_EMAIL = env.mail_address("DEFAULT_FROM_EMAIL", default="assay@localhost")

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
HTTPS = env.boolean("ASSAY_HTTPS", default=not EMBEDDED)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# Proxies whose X-Forwarded-For is trusted: failed sign-ins are counted by the client's address, not the proxy's.
try:
    TRUSTED_PROXIES = [
        ipaddress.ip_network(one) for one in env.items("TRUSTED_PROXIES", default=["127.0.0.0/8", "::1"])
    ]
except ValueError as error:
    raise ImproperlyConfigured(
        f"TRUSTED_PROXIES: {error}; it must be addresses or networks like 10.0.0.0/8, separated by commas."
    ) from None
if not EMBEDDED:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = HTTPS
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]
    SECURE_HSTS_SECONDS = env.integer("SECURE_HSTS_SECONDS", default=31536000 if HTTPS else 0)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
# For requests of people who may not send large files. deploy/Caddyfile has the same limit.
MAX_REQUEST_BYTES = 10 * 10**6
# For forms of people who are not signed in, because parsing 8 MB takes seconds.
MAX_ANONYMOUS_REQUEST_BYTES = 100_000
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000
FILE_UPLOAD_MAX_MEMORY_SIZE = 2**20
# In the data folder, so that /readyz checks this disk, and so that files of a killed web server are removed.
FILE_UPLOAD_TEMP_DIR = env.folder("ASSAY_DATA", DATA_DIR / "uploads")
FILE_UPLOAD_HANDLERS = [
    "annotator.views.uploads.PermissionHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# --- files ------------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT", default=str(DATA_DIR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = DATA_DIR / "files"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG or env.boolean("ASSAY_PLAIN_STATIC", default=False)
        else "annotator.config.static_files.ModuleStorage"
    },
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = False
WHITENOISE_USE_FINDERS = env.boolean("ASSAY_PLAIN_STATIC", default=False)

# --- background work --------------------------------------------------------------------------------------------
REDIS_URL = env.redis(required=not EMBEDDED)
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"visibility_timeout": 3600, "socket_keepalive": True}
else:
    # A broker of files, which needs no server. Both sides use the same folder.
    BROKER_DIR = DATA_DIR / "broker"
    for folder in ("messages", "processed", "control"):
        env.folder("ASSAY_DATA", BROKER_DIR / folder)
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
# Jobs with untrusted data or code have their own queue and workers, so that they delay only each other. A worker without
# --queues serves all. Each queue has its own exchange; otherwise messages would go to all. Jobs of “models” wait for
# endpoints for hours.
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in ("assay", "untrusted", "models")]
CELERY_TIMEZONE = "UTC"
# Model endpoints without a public address, or without https, to which workers may connect. In embedded mode all may be.
ENDPOINT_HOSTS = env.items("ENDPOINT_HOSTS", default=["*"] if EMBEDDED else [])
# The same for webhooks.
WEBHOOK_HOSTS = env.items("WEBHOOK_HOSTS", default=["*"] if EMBEDDED else [])
# Days after which data that is no longer needed is deleted (annotator.services.jobs.retention). 0: never.
KEEP_DAYS = {
    "draft_steps": env.days("KEEP_DRAFT_STEPS_DAYS", default=30),
    "uploads": env.days("KEEP_UPLOADS_DAYS", default=90),
    "tokens": env.days("KEEP_TOKENS_DAYS", default=90),
    "mails": env.days("KEEP_MAILS_DAYS", default=30),
    "webhooks": env.days("KEEP_WEBHOOKS_DAYS", default=30),
}
# For /readyz: the maximum age of the workers' last heartbeat, and the free space that the data folder needs.
WORKER_LAG_SECONDS = env.seconds("WORKER_LAG_SECONDS", default=300)
DISK_RESERVE_MB = env.integer("DISK_RESERVE_MB", default=500)
CELERY_BEAT_SCHEDULER = "annotator.config.beat:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
#: Name → (task, seconds between runs).
_PERIODIC_TASKS = {
    "forget-old-attempts": ("annotator.tasks.forget_old_attempts", 3600),
    "tidy-up": ("annotator.tasks.tidy_up", 6 * 3600),
    "write-checkpoints": ("annotator.tasks.write_checkpoints", 3600),
    "resume-jobs": ("annotator.tasks.resume_jobs", 15),
    "tidy-claims": ("reviews.tasks.tidy_claims", 60),
    "fold-counts": ("reviews.tasks.fold_counts", 15),
    "rewind-cursors": ("reviews.tasks.rewind_cursors", 3600),
    "send-digests": ("annotator.tasks.send_digests", 600),
    "send-webhooks": ("annotator.tasks.send_webhooks", 15),
    "draw-samples": ("reviews.tasks.draw_samples", 60),
    "delete-projects": ("benchmark.tasks.delete_projects", 60),
}
# Messages expire after five minutes or one interval. After a weekend without workers, a hundred thousand may be waiting,
# so jobs have a higher priority (0 is the highest in Redis).
CELERY_BEAT_SCHEDULE = {
    name: {"task": task, "schedule": float(seconds), "options": {"expires": max(300, seconds), "priority": 9}}
    for name, (task, seconds) in _PERIODIC_TASKS.items()
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotator.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "annotator.api.scopes.HasScope",
        "annotator.api.filters.KnownParameters",
    ],
    "DEFAULT_PARSER_CLASSES": ["annotator.api.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["annotator.api.rendering.FastJSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "annotator.api.schema.StrictSchema",
    "EXCEPTION_HANDLER": "annotator.api.errors.handle",
    "DEFAULT_PAGINATION_CLASS": "annotator.api.pagination.KeysetPagination",
    "PAGE_SIZE": 50,
    # There is only JSON, so “format” is an unknown parameter and refused.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay",
    "DESCRIPTION": "Import candidates, read status and revisions, submit reviews, and download releases.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SCHEMA_PATH_PREFIX": "/api/",
    # Separate schemas for requests and responses: a request contains a file, its response an address.
    "COMPONENT_SPLIT_REQUEST": True,
    # Names of values that several fields have.
    "ENUM_NAME_OVERRIDES": {
        "ChangeKindEnum": ["added", "removed", "changed", "moved"],
        "DeliveryStateEnum": "annotator.models.DeliveryState",
        "JobStateStateEnum": ["queued", "running", "done", "failed", "cancelled"],
        "ChangeCategoryEnum": "benchmark.api.release_differences.CATEGORIES",
        "ReadFormatEnum": "benchmark.core.formats.READ",
        "WrittenFormatEnum": "benchmark.core.formats.WRITTEN",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotator.api.schema.complete",
    ],
}

TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en"
#: Translations: a folder in locale/ for each language other than English. The browser's settings choose the language.
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGES = [
    (code, name)
    for code, name in global_settings.LANGUAGES
    if code == "en" or (BASE_DIR / "locale" / to_locale(code)).is_dir()
]
# Links in mails and invitations begin with this address, never with the Host header of a request.
_host = "" if EMBEDDED else next(iter(ALLOWED_HOSTS), "").lstrip("*.")
if not (_host or EMBEDDED or env.text("SITE_URL")):
    raise ImproperlyConfigured(
        "The first entry of ALLOWED_HOSTS cannot be used for links in mails. Set SITE_URL to the address of Assay, for "
        "example https://assay.example.org."
    )
_address = f"{'https' if HTTPS else 'http'}://{_host}" if _host else "http://localhost:8000"
SITE_URL = env.text("SITE_URL", default=_address).rstrip("/")
if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s?#]+)?", SITE_URL):
    raise ImproperlyConfigured(f"SITE_URL is “{SITE_URL}”; it must be an address like https://assay.example.org.")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {
        "secrets": {"()": "annotator.config.logs.HideSecrets"},
        "no_traceback": {"()": "annotator.config.logs.NoTraceback"},
        "outages": {"()": "annotator.services.jobs.outages.OutagesInOneLine"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["outages", "secrets"]}},
    "root": {"handlers": ["stderr"], "level": env.level("LOG_LEVEL", default="WARNING")},
    "loggers": {
        # Deletions are always logged.
        "annotator.services.jobs.retention": {"level": "INFO"},
        "django.security.DisallowedHost": {"filters": ["no_traceback"]},
    },
}
