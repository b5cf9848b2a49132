"""Random requests to every operation of the API: each answer is described, and none is a failure of the server."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.urls import resolve
from hypothesis import HealthCheck
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from annotator.api.schema_view import description
from annotator.services.accounts.tokens import create_token
from tests.access_project import AccessProject, access, module_access
from tests.access_table import PARAMETERS
from tests.test_access_matrix import VARIABLES, body_of

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

OPERATIONS = [(method.upper(), path) for path, methods in description()["paths"].items() for method in methods]
#: Whose token is sent with each example.
MEMBERS = ("administrator", "annotator")
#: Requests of each member to an operation. Few differ where only an address and a query vary.
EXAMPLES_WITH_BODY, EXAMPLES = 8, 4
checks.load_all_checks()
CHECKS = (
    checks.not_a_server_error,
    *checks.CHECKS.get_by_names(
        [
            "status_code_conformance",
            "content_type_conformance",
            "response_schema_conformance",
            "response_headers_conformance",
        ]
    ),
)


@pytest.fixture(scope="module")
def api() -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(description())
    server = get_wsgi_application()

    def app(*args: Any) -> list[bytes]:
        answer = server(*args)
        try:
            return [b"".join(answer)]
        finally:
            answer.close()

    schema.app = app
    # The end of a request would close the connection that has the test's transaction.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield schema
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def tokens(access: AccessProject) -> dict[str, str]:
    found = {"anonymous": ""}
    for who in MEMBERS:
        person = access.people[who]
        assert person is not None
        found[who] = create_token(actor=person, name=who, expires_at=None)[1]
    return found


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda one: one)
def test_every_answer_is_described(
    api: Any, access: AccessProject, tokens: dict[str, str], method: str, path: str
) -> None:
    operation = api[path][method]
    name = str(resolve(path.replace("{", "").replace("}", "")).url_name)
    sources = PARAMETERS.get(name, {})
    ids = {variable: access.ids[sources.get(variable, variable)] for variable in VARIABLES[name]}
    known = body_of(name, access.ids)
    has_body = "requestBody" in description()["paths"][path][method.lower()]
    # Without a token one is refused before anything is read, so one request is enough.
    people = [*MEMBERS, "anonymous"]
    cases = st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )

    @hypothesis.settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=EXAMPLES_WITH_BODY if has_body else EXAMPLES,
        suppress_health_check=list(HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(case=cases, there=st.booleans(), filled=st.booleans())
    def ask(case: Any, there: bool, filled: bool) -> None:
        if there:
            # Ids that exist: else most requests would end with 404.
            case.path_parameters = dict(ids)
        if filled and isinstance(case.body, dict):
            case.body = case.body | known
        for who in people:
            headers = {"Authorization": f"Bearer {tokens[who]}"} if tokens[who] else {}
            with transaction.atomic():
                case.call_and_validate(headers=headers, checks=CHECKS)
                transaction.set_rollback(True)
        people[:] = MEMBERS

    ask()
