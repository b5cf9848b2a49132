"""What an address of the API takes: only the parameters, values and bodies in its schema."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from annotator.services.database.filters import HARMLESS, UnknownFilter, one_of, refuse_unknown_names

if TYPE_CHECKING:
    # The framework's views look this class up while they are imported.
    from rest_framework.views import APIView


class UnknownBody(UnknownFilter):
    """A request has fields, and the address takes none."""

    code = "unknown_field"


class KnownParameters(BasePermission):
    """Refuses unknown parameters, their unknown values, and a body where there is none in the schema.

    Raises UnknownFilter (400). ``annotator.api.inputs.Input`` refuses unknown fields of bodies.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        method = method_of(request)
        # An unknown method is refused as such (405), whatever its parameters.
        if not hasattr(view, method):
            return True
        if request.query_params:
            known = parameters_of(type(view), method)  # type: ignore[arg-type]
            refuse_unknown_names(request.query_params, known)
            for name in request.query_params:
                _refuse_value(request, name, known.get(name, ()))
        kind: Any = type(view)
        if method not in ("get", "options") and not has_body(kind, method) and request.data:
            names = sorted(map(str, request.data))
            sentence = _("Unknown field: %(names)s. This address takes no fields.")
            shown = ", ".join(f"“{name[:40]}”" for name in names[:10])
            raise UnknownBody(sentence % {"names": shown}, [name[:100] for name in names[:10]])
        return True


def _refuse_value(request: Request, name: str, known: tuple[str, ...]) -> None:
    values = request.query_params.getlist(name)
    if len(values) > 1 and not name.startswith(HARMLESS):
        sentence = _("“%(name)s” is given %(count)d times. Give it once.")
        raise UnknownFilter(sentence % {"name": name, "count": len(values)}, [name])
    if known:
        one_of({name: values[0]}, name, known)


def method_of(request: Request) -> str:
    """Return the name of the method of a view that handles the request."""
    return "get" if request.method == "HEAD" else str(request.method).lower()


@cache
def parameters_of(view: "type[APIView]", method: str) -> Mapping[str, tuple[str, ...]]:
    """Return the parameters that ``extend_schema`` and pagination declare for a method of a view.

    Parameter → its values, if the schema lists them; else ().
    """
    schema = _schema_of(view, method)
    if schema is None:
        return {}
    found: dict[str, tuple[str, ...]] = {
        one.name: tuple(map(str, one.enum or ())) for one in schema.get_override_parameters()
    }
    paginated = getattr(view, "pagination_class", None)
    if paginated is not None and method == "get":
        for one in paginated().get_schema_operation_parameters(view()):
            found[one["name"]] = tuple(map(str, one["schema"].get("enum", ())))
    return found


@cache
def has_body(view: "type[APIView]", method: str) -> bool:
    """Return whether a method of a view takes a body."""
    schema = _schema_of(view, method)
    return schema is not None and schema.get_request_serializer() is not None


def _schema_of(view: "type[APIView]", method: str) -> Any:
    """Return the schema of a method of a view, or None if none is declared."""
    described = getattr(getattr(view, method, None), "kwargs", {}).get("schema")
    if described is None:
        return None
    schema = described()
    schema.view, schema.method = view(), method.upper()
    schema.view.request, schema.view.kwargs = None, {}
    return schema
