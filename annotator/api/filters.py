"""Query strings of the API: an address takes only the parameters in its schema."""

from functools import cache
from typing import TYPE_CHECKING, Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from annotator.services.database.filters import refuse_unknown_names

if TYPE_CHECKING:
    # The framework's views look this class up while they are imported.
    from rest_framework.views import APIView


class KnownParameters(BasePermission):
    """Refuses unknown parameters. Raises UnknownFilter (400)."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        method = "get" if request.method == "HEAD" else str(request.method).lower()
        # An unknown method is refused as such (405), whatever its parameters.
        if request.query_params and method in ("get", "post") and hasattr(view, method):
            known = parameters_of(type(view), method)  # type: ignore[arg-type]
            refuse_unknown_names(request.query_params, known)
        return True


@cache
def parameters_of(view: "type[APIView]", method: str) -> frozenset[str]:
    """Return the parameters that ``extend_schema`` and pagination declare for a method of a view."""
    handler: Any = getattr(view, method, None)
    if handler is None:
        return frozenset()
    schema = handler.kwargs["schema"]()
    schema.view, schema.method = view(), method.upper()
    schema.view.request, schema.view.kwargs = None, {}
    names = {one.name for one in schema.get_override_parameters()}
    paginated = getattr(view, "pagination_class", None)
    if paginated is not None and method == "get":
        names |= {one["name"] for one in paginated().get_schema_operation_parameters(view())}
    return frozenset(names)
