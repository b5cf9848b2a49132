"""``Authorization: Bearer assay_…``"""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from annotator.models import ApiToken, User
from annotator.services.accounts.tokens import find_live_token
from annotator.views.slow import take_a_turn


class TokenAuthentication(BaseAuthentication):
    """A live token acts as its owner. Raises Busy (see ``annotator.views.slow``)."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != b"bearer":
            return None
        if len(parts) != 2:
            raise AuthenticationFailed("The Authorization header must be “Bearer” and one token.")
        token = find_live_token(parts[1].decode("latin-1"))
        if token is None:
            raise AuthenticationFailed("The token is unknown, expired or revoked; make a new one under API tokens.")
        take_a_turn(request._request, token.user)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class TokenScheme(OpenApiAuthenticationExtension):
    """How the schema describes tokens."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A token, made under API tokens."}
