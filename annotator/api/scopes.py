"""The scope that a token needs: reading needs ``read``; a view that changes something declares another one.

class ImportList(APIView):
    scope = Scope.IMPORT

A view whose answer has what its reader sees nowhere else declares ``scope_to_read`` as well.
"""

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from annotator.api.filters import method_of
from annotator.core.scopes import Scope
from annotator.errors import Denied
from annotator.models import ApiToken

if TYPE_CHECKING:
    # The framework's views look this class up while they are imported.
    from rest_framework.views import APIView


def scope_of(view: "type[APIView] | APIView", method: str) -> Scope:
    """Return the scope that a method of a view needs. A view that declares none needs the one that includes all."""
    if method.upper() in SAFE_METHODS:
        return Scope(getattr(view, "scope_to_read", Scope.READ))
    scope: Any = getattr(view, "scope", Scope.ADMINISTER)
    return Scope(scope)


class HasScope(BasePermission):
    """Refuses a token without the scope of the view. Raises Denied (403). A signed-in person needs no scope."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        token, method = request.auth, method_of(request)
        # An unknown method is refused as such (405), whatever the token.
        if not isinstance(token, ApiToken) or not hasattr(view, method):
            return True
        scope = scope_of(view, method)
        if scope not in token.scope_set:
            sentence = _(
                "This token doesn’t have the scope “%(scope)s”, which this needs. Create a token with it under “API "
                "tokens”."
            )
            raise Denied(sentence % {"scope": scope.value}, scope=scope.value, scopes=sorted(token.scope_set))
        return True
