"""A form as a browser without scripts has it: what its fields show, what somebody fills in, and what is sent."""

from html.parser import HTMLParser
from typing import Any

from django.http import HttpResponse
from django.test import Client


class _Fields(HTMLParser):
    """The fields of one form that a browser would send, by name."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form, self.inside = form, False
        self.sent: dict[str, list[str]] = {}
        self._area = self._select = ""
        self._options: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        name = given.get("name", "")
        if tag == "form":
            self.inside = given.get("id") == self.form
        elif not self.inside:
            return
        elif tag == "input" and name:
            if given.get("type") not in ("radio", "checkbox") or "checked" in given:
                self.sent.setdefault(name, []).append(given.get("value", "on"))
        elif tag == "textarea":
            self._area = name
            self.sent.setdefault(name, []).append("")
        elif tag == "select":
            self._select, self._options = name, []
        elif tag == "option" and self._select:
            self._options.append((given.get("value", ""), "selected" in given))

    def handle_data(self, data: str) -> None:
        if self._area:
            self.sent[self._area][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "textarea" and self._area:
            self.sent[self._area][-1] = self.sent[self._area][-1].removeprefix("\n")
            self._area = ""
        elif tag == "select" and self._select and self._options:
            chosen = next((value for value, on in self._options if on), self._options[0][0])
            self.sent.setdefault(self._select, []).append(chosen)
            self._select = ""


class HtmlForm:
    """A window with one form open in it."""

    def __init__(self, client: Client, url: str, form: str) -> None:
        self.client, self.url, self.form = client, url, form
        self.load()

    def load(self) -> None:
        self.read(self.client.get(self.url))

    def read(self, answer: HttpResponse) -> None:
        """Show the page of an answer."""
        self.text = answer.content.decode()
        parser = _Fields(self.form)
        parser.feed(self.text)
        self.fields: dict[str, Any] = parser.sent

    def send(self, url: str = "", *, scripts: bool = False, **filled: Any) -> Any:
        """Fill in some fields and send the form, by its button or (``scripts``) as it saves itself."""
        self.fields |= filled
        headers = {"HX-Request": "true"} if scripts else {}
        return self.client.post(url or self.url, self.fields, headers=headers)
