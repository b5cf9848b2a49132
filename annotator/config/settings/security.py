"""The secret key, the addresses of the site, cookies, the content security policy, and limits of requests."""

import ipaddress
import itertools
import re

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from annotator.config import environment as env
from annotator.config.settings.mode import DATA_DIR, EMBEDDED

EMBEDDED_SECRET_KEY = "embedded-mode-only-this-key-is-public-and-server-mode-refuses-it"  # noqa: S105 - refused below


def _secret_key() -> str:
    key = env.text("SECRET_KEY")
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

ALLOWED_HOSTS = env.hosts(default=["localhost", "127.0.0.1", "[::1]"] if EMBEDDED else [])
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("Server mode needs a host name: set ALLOWED_HOSTS, for example to assay.example.org.")
CSRF_TRUSTED_ORIGINS = env.origins()

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
        "object-src": [NONE],
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
    SECURE_REDIRECT_EXEMPT = [r"^(livez|healthz|readyz|metrics)$"]
    SECURE_HSTS_SECONDS = env.integer("SECURE_HSTS_SECONDS", default=31536000 if HTTPS else 0)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
# For requests of people who may not send large files. deploy/Caddyfile has the same limit.
MAX_REQUEST_BYTES = 10 * 10**6
# For forms of people who are not signed in, because parsing 8 MB takes seconds.
MAX_ANONYMOUS_REQUEST_BYTES = 100_000
# Requests of a token, of a person (pages and API together), and of an address that is not signed in. Far above what
# people and a script that waits for each answer send.
RATE_LIMITS = {
    "token": env.rate("RATE_TOKEN", default="20000/minute"),
    "person": env.rate("RATE_PERSON", default="30000/minute"),
    "address": env.rate("RATE_ADDRESS", default="3000/minute"),
}
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
