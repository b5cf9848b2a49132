"""A client that speaks to the API as a program does: a token in the header, JSON in the body."""

import json
from typing import Any

from django.test import Client

from annotator.models import User
from annotator.services.accounts.tokens import create_token


class ApiClient(Client):
    """``ApiClient(user, scopes=…, projects=…)`` signs every request with a fresh token; without a person, with none."""

    def __init__(self, user: User | None = None, **limits: Any) -> None:
        super().__init__()
        if user is not None:
            _, self.secret = create_token(actor=user, name="test", expires_at=None, **limits)
            self.defaults["HTTP_AUTHORIZATION"] = f"Bearer {self.secret}"

    def send(self, path: str, body: Any = None) -> Any:
        """POST a JSON value."""
        return self.post(path, json.dumps({} if body is None else body), content_type="application/json")


def refusal(response: Any) -> tuple[int, str]:
    """Status and code of a refusal, whose shape is checked on the way."""
    body = response.json()
    assert set(body) == {"error", "sentence", "details"}, body
    assert isinstance(body["sentence"], str)
    assert len(body["sentence"]) > 10
    return response.status_code, body["error"]
