"""Read SIGN_IN_FILE: the identity providers with which people may sign in. A wrong file stops the start."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from django.core.exceptions import ImproperlyConfigured

from annotator.config import environment as env
from annotator.core.roles import Role

KINDS = ("openid_connect", "google", "github")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_NAMES = {"google": "Google", "github": "GitHub"}
_GROUP = {"group", "project", "role"}


@dataclass(frozen=True)
class GroupRole:
    """People in ``group``, as the provider names it, have ``role`` in the project with this slug."""

    group: str
    project: str
    role: Role


@dataclass(frozen=True)
class IdentityProvider:
    """A provider of SIGN_IN_FILE."""

    kind: str
    #: Part of its addresses here, such as ``/accounts/oidc/ID/login/callback/``.
    id: str
    name: str
    client_id: str
    secret: str
    #: Address of the issuer; only for OpenID Connect.
    issuer: str = ""
    #: Whether its addresses are verified although it does not say so.
    emails_verified: bool = False
    #: Whether an account here with the same verified address is used without connecting it first.
    link_by_email: bool = False
    #: Whether people without an account or an invitation get an account.
    sign_up: bool = False
    #: Whether it asks for a second factor itself, so that Assay requires no other one.
    second_factor: bool = False
    #: The claim that lists a person's groups.
    groups_claim: str = "groups"
    groups: tuple[GroupRole, ...] = ()

    def as_app(self) -> dict[str, Any]:
        """Return what allauth calls an app."""
        settings: dict[str, Any] = {"verified_email": self.emails_verified, "email_authentication": self.link_by_email}
        settings |= {"oauth_pkce_enabled": True} | ({"server_url": self.issuer} if self.issuer else {})
        app = {"client_id": self.client_id, "secret": self.secret, "name": self.name, "settings": settings}
        return app | ({"provider_id": self.id} if self.kind == "openid_connect" else {})


_FLAGS = ("emails_verified", "link_by_email", "sign_up", "second_factor")
_TEXTS = ("kind", "id", "name", "issuer", "client_id", "client_secret_file", "client_secret", "groups_claim")


def read_providers() -> tuple[IdentityProvider, ...]:
    """Return the providers of SIGN_IN_FILE, in its order; none if it is not set. Raises ImproperlyConfigured."""
    content = env.file_content("SIGN_IN_FILE")
    if not content:
        return ()
    try:
        data = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise ImproperlyConfigured(f"SIGN_IN_FILE is not YAML: {' '.join(str(error).split())}") from None
    listed = data.get("providers") if isinstance(data, dict) and set(data) == {"providers"} else None
    if not isinstance(listed, list):
        raise ImproperlyConfigured("SIGN_IN_FILE must have one key, “providers”, with a list.")
    found = tuple(_read(number, one) for number, one in enumerate(listed, 1))
    ids = [one.id for one in found]
    if repeated := sorted({one for one in ids if ids.count(one) > 1}):
        raise ImproperlyConfigured(f"SIGN_IN_FILE: the id “{repeated[0]}” appears more than once.")
    return found


def _read(number: int, one: Any) -> IdentityProvider:
    """Read one provider, the ``number``-th."""
    place = f"SIGN_IN_FILE: provider {number}"
    if not isinstance(one, dict):
        raise ImproperlyConfigured(f"{place} must be a mapping with kind, id, client_id and more.")
    if unknown := sorted(map(str, set(one) - {*_FLAGS, *_TEXTS, "groups"})):
        raise ImproperlyConfigured(f"{place} has the unknown key “{unknown[0]}”.")
    for name in _FLAGS:
        if not isinstance(one.get(name, False), bool):
            raise ImproperlyConfigured(f"{place}: “{name}” must be true or false.")
    for name in _TEXTS:
        if not isinstance(one.get(name, ""), str):
            raise ImproperlyConfigured(f"{place}: “{name}” must be text. Put it in quotes.")
    kind: str = one.get("kind", "")
    if kind not in KINDS:
        raise ImproperlyConfigured(f"{place}: “kind” must be one of {', '.join(KINDS)}.")
    oidc = kind == "openid_connect"
    provider_id: str = one.get("id", "" if oidc else str(kind))
    if not _ID.fullmatch(provider_id) or oidc != (provider_id not in KINDS) or (not oidc and provider_id != kind):
        rule = "up to 40 lower-case letters, digits, - and _, not a kind" if oidc else f"“{kind}”, or left out"
        raise ImproperlyConfigured(f"{place}: “id” must be {rule}.")
    issuer = one.get("issuer", "").rstrip("/")
    if oidc != bool(re.fullmatch(r"https?://[^\s]+", issuer)):
        rule = "be the address of the issuer, like https://sso.example.org/realms/lab" if oidc else "be left out"
        raise ImproperlyConfigured(f"{place}: “issuer” must {rule}.")
    if one.get("groups") and not oidc:
        raise ImproperlyConfigured(f"{place}: only providers of OpenID Connect have “groups”.")
    if not one.get("client_id"):
        raise ImproperlyConfigured(f"{place}: “client_id” is missing.")
    return IdentityProvider(
        kind=kind,
        id=provider_id,
        name=one.get("name") or _NAMES.get(kind, provider_id),
        client_id=one["client_id"],
        secret=one.get("client_secret", "") or _secret(place, one.get("client_secret_file", "")),
        issuer=issuer,
        groups_claim=one.get("groups_claim", "groups"),
        groups=tuple(_groups(place, one.get("groups", []))),
        **{name: one.get(name, False) for name in _FLAGS},
    )


def _secret(place: str, file: str) -> str:
    if not file:
        raise ImproperlyConfigured(f"{place}: “client_secret_file” is missing: the name of a file with the secret.")
    try:
        if secret := Path(file).read_text().strip():
            return secret
        raise ImproperlyConfigured(f"{place}: the file {file} of “client_secret_file” is empty.")
    except (OSError, ValueError):
        raise ImproperlyConfigured(f"{place}: the file {file} of “client_secret_file” can't be read.") from None


def _groups(place: str, listed: Any) -> Iterable[GroupRole]:
    if not isinstance(listed, list):
        raise ImproperlyConfigured(f"{place}: “groups” must be a list.")
    for one in listed:
        if not isinstance(one, Mapping) or set(one) != _GROUP or not all(isinstance(v, str) for v in one.values()):
            raise ImproperlyConfigured(f"{place}: each of “groups” must have the texts group, project and role.")
        if one["role"] not in set(Role):
            raise ImproperlyConfigured(f"{place}: there is no role “{one['role']}”. Choose from: {', '.join(Role)}.")
        yield GroupRole(one["group"], one["project"], Role(one["role"]))
