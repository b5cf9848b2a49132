"""Endpoints of a project: services with the OpenAI chat API. Only administrators see them, and never their keys."""

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.outgoing.addresses import is_listed, may_be_public, split_url
from benchmark.models import Endpoint
from benchmark.services.inference.keys import encrypt_key

#: Characters.
MAX_NAME, MAX_URL, MAX_KEY = 80, 500, 1_000


def is_allowed(host: str) -> bool:
    """Return whether the operator allows a host without a public address, or without https."""
    return is_listed(host, settings.ENDPOINT_HOSTS)


def list_endpoints(*, actor: User, project: Project) -> QuerySet[Endpoint]:
    """Return the endpoints of a project by name. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=project)
    return Endpoint.objects.filter(project=project, removed_at__isnull=True).order_by("name")


def load_endpoint(*, actor: User, project: Project, public_id: str) -> Endpoint:
    """Return an endpoint. Raises Denied and Hidden."""
    found = list_endpoints(actor=actor, project=project).filter(public_id=public_id).first()
    if found is None:
        raise Hidden(_("There is no such endpoint in the project."))
    return found


def add_endpoint(*, actor: User, project: Project, name: str, base_url: str, key: str) -> Endpoint:
    """Add an endpoint. Raises Denied; Invalid for a bad address; Conflict if the name is taken."""
    require_administrator(actor=actor, project=project)
    url, key = check_url(base_url), _check_key(key)
    stored = encrypt_key(key) if key else ""
    try:
        with transaction.atomic():
            endpoint = Endpoint.objects.create(project=project, name=name, base_url=url, key=stored, requester=actor)
            _tell(actor, endpoint, "endpoint.added")
    except IntegrityError:
        raise Conflict(_("The project already has an endpoint with this name.")) from None
    return endpoint


def replace_key(*, actor: User, endpoint: Endpoint, key: str) -> None:
    """Store another key. Raises Denied, and Conflict if the endpoint was removed."""
    require_administrator(actor=actor, project=endpoint.project)
    key = _check_key(key)
    with transaction.atomic():
        changed = Endpoint.objects.filter(pk=endpoint.pk, removed_at__isnull=True).update(
            key=encrypt_key(key) if key else ""
        )
        if not changed:
            raise Conflict(_("The endpoint was removed."))
        _tell(actor, endpoint, "endpoint.key_replaced")


def remove_endpoint(*, actor: User, endpoint: Endpoint) -> None:
    """Remove an endpoint and its key. What was asked there stays; it can't be continued. Raises Denied."""
    require_administrator(actor=actor, project=endpoint.project)
    with transaction.atomic():
        if Endpoint.objects.filter(pk=endpoint.pk, removed_at__isnull=True).update(removed_at=timezone.now(), key=""):
            _tell(actor, endpoint, "endpoint.removed")


def check_url(base_url: str) -> str:
    """Return a base URL without a slash at its end. Raises Invalid."""
    parts = split_url(base_url.strip())
    if parts is None:
        raise Invalid(_("The base URL must be an address such as https://api.example.com/v1."))
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise Invalid(_("The base URL must have no user name, password, “?” or “#”. The key has a field of its own."))
    host = parts.hostname or ""
    if not is_allowed(host):
        if parts.scheme == "http":
            raise Invalid(_("Use https, so that the key and the dialogues are encrypted on their way."))
        if not may_be_public(host):
            raise Invalid(
                _("This address is not public. The operator of this server can allow it: ENDPOINT_HOSTS.")
            )  # fmt: skip
    return base_url.strip().rstrip("/")


def _check_key(key: str) -> str:
    key = key.strip()
    if len(key) > MAX_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise Invalid(_("A key has no spaces or special characters, and at most 1,000 characters."))
    return key


def _tell(actor: User, endpoint: Endpoint, kind: str) -> None:
    append_event(actor=actor, project=endpoint.project, kind=kind, after={"name": endpoint.name})
