"""A provider of OpenID Connect on this machine: django-allauth's own, as a program of its own.

``python tests/oidc_provider.py PORT REDIRECT_URI FOLDER`` serves one person, lena, in the
group ``labels``, to one client. It prints ``ready`` when it serves.
"""

import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.urls import include, path

CLIENT, SECRET, PASSWORD = "assay", "a-secret-of-the-client", "a-long-enough-passphrase"
GROUPS = ["labels"]
#: The name under which Django finds this module.
NAME = "oidc_provider"


def configure(folder: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    settings.configure(
        SECRET_KEY="the-provider-of-tests",
        ALLOWED_HOSTS=["127.0.0.1", "localhost"],
        ROOT_URLCONF=NAME,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "provider.sqlite3"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.messages",
            "django.contrib.sessions",
            "allauth",
            "allauth.account",
            "allauth.idp.oidc",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "allauth.account.middleware.AccountMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
        ACCOUNT_EMAIL_VERIFICATION="none",
        SESSION_COOKIE_NAME="provider_session",
        CSRF_COOKIE_NAME="provider_csrf",
        IDP_OIDC_ADAPTER=f"{NAME}.Adapter",
        IDP_OIDC_PRIVATE_KEY=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    )


class Quiet(WSGIRequestHandler):
    """Logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main(port: int, redirect_uri: str, folder: Path) -> None:
    configure(folder)
    django.setup()
    from allauth.account.models import EmailAddress
    from allauth.idp.oidc.adapter import DefaultOIDCAdapter
    from allauth.idp.oidc.models import Client
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    class Adapter(DefaultOIDCAdapter):  # type: ignore[misc]
        def get_claims(self, *args, **more):  # type: ignore[no-untyped-def]
            return super().get_claims(*args, **more) | {"groups": GROUPS}

    # What the settings name is looked up in this module, which can't import allauth before they are complete.
    globals()["Adapter"] = Adapter
    globals()["urlpatterns"] = [
        path("accounts/", include("allauth.account.urls")),
        path("", include("allauth.idp.urls")),
    ]
    call_command("migrate", verbosity=0)
    lena = User.objects.create_user("lena", "lena@example.org", PASSWORD, first_name="Lena", last_name="Berg")
    EmailAddress.objects.create(user=lena, email=lena.email, verified=True, primary=True)
    client = Client(id=CLIENT, name="Assay", scopes="openid\nprofile\nemail", redirect_uris=redirect_uri)
    client.set_secret(SECRET)
    client.save()
    with make_server("127.0.0.1", port, get_wsgi_application(), handler_class=Quiet) as server:
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    sys.modules[NAME] = sys.modules["__main__"]
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
