"""``Authorization: Bearer assay_…``"""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from annotator.models import ApiToken, User
from annotator.services.accounts.rate_limits import limit_address, limit_person
from annotator.services.accounts.tokens import find_live_token, token_projects
from annotator.services.client_address import client_address
from annotator.views.request_limits import admit_request

_SCHEME = (
    "A token, created under “API tokens”. It has scopes: read, import, annotate and administer. Each includes read, "
    "and administer includes all. It may be limited to some of its owner’s projects; others do not exist for it (404)."
)


class TokenAuthentication(BaseAuthentication):
    """Authenticates the owner of a working token. Raises Busy (see ``annotator.views.request_limits``) and TooMany."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != b"bearer":
            return None
        if len(parts) != 2:
            limit_address(request._request)
            raise AuthenticationFailed(_("The Authorization header must be “Bearer” and a token."))
        token = find_live_token(parts[1].decode("latin-1"), address=client_address(request._request))
        if token is None:
            limit_address(request._request)
            raise AuthenticationFailed(_("The token is unknown, expired or revoked. Create one under “API tokens”."))
        limit_person(request._request, token.user, token_id=token.pk)
        token.user.token_projects = token_projects(token)
        admit_request(request._request, token.user)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class TokenScheme(OpenApiAuthenticationExtension):
    """The description of tokens in the schema."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": _SCHEME}
