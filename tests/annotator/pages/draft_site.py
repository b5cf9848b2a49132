"""The smallest server of a draft: what the page's modules are tested against. A URL configuration.

``DRAFT`` is the server's memory; a test reads and changes it while the browser is at work.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template import engines
from django.urls import include, path

from annotator.errors import Busy, Conflict, Denied


class Draft:
    """A draft of a few named values, the edits it was sent, and how the server is to behave."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.version = 7
        self.values = {"a": "first", "b": "second", "number": "1", "json": '{"a": 1}'}
        self.items = ["x", "y", "z"]
        self.posts: list[dict[str, Any]] = []
        self.applied: set[str] = set()
        #: The version that last changed each value.
        self.changed: dict[str, int] = {}
        #: How the next ones go wrong: "", "fails", "refuses", "signed out", "loses the answer", "claim lost", "busy".
        self.behaviour = ""

    def other_tab_sets(self, name: str, value: str) -> None:
        self.values[name] = value
        self.version += 1
        self.changed[name] = self.version


DRAFT = Draft()

CARD = """{% load components %}<section class="pane" id="{{ name }}-card"><h2>{{ name }}</h2>
<form {% autosave "/draft/edit/" target anchor %} id="form-{{ name }}"><input type="hidden" name="op" value="set">
<input type="hidden" name="name" value="{{ name }}">{% input "value" name value kind id=name error=error %}</form>
<p class="stored">{{ stored }}</p></section>"""

ITEMS = """{% load components %}<ul id="items">{% for item in items %}
<li id="item-{{ item }}" data-nav-item tabindex="-1">
<form {% autosave "/draft/edit/" "#items" %}><input type="hidden" name="op" value="delete"><button name="name"
value="{{ item }}" data-key="d">Delete {{ item }}</button></form></li>{% endfor %}</ul>"""

PAGE = """{% extends "base.html" %}{% load components %}{% block title %}Draft{% endblock %}
{% block main %}
<div class="page" data-draft="draft0000001" data-seen="{{ version }}"><h1>Draft</h1>
{% include "components/save_state.html" with saved_at=None %}<div id="merge" data-merge tabindex="-1"></div>
{% for card in cards %}{{ card|safe }}{% endfor %}{{ items|safe }}
<form method="post" action="/draft/submit/" data-after-saving>{% csrf_token %}
<input type="hidden" name="active_seconds" value="">
<button class="primary" data-primary data-key="a">Submit</button></form>
<button type="button" hx-get="/draft/missing/" id="missing">Missing</button>
<button type="button" hx-post="/draft/conflict/" id="conflict">Conflict</button>
<button type="button" hx-post="/draft/elsewhere/" id="elsewhere">Elsewhere</button>
<button type="button" popovertarget="guideline" data-key="h">Guideline</button>
<assay-heartbeat data-url="/draft/beat/" data-every="5"></assay-heartbeat></div>{% endblock %}
{% block overlays %}<aside class="drawer" id="guideline" popover="manual" aria-labelledby="guideline-title">
<h2 id="guideline-title" tabindex="-1" autofocus>Guideline</h2></aside>{% endblock %}"""

PROMPT = """<p>Yours: {{ mine }}. Theirs: {{ theirs }}.</p>
<form method="post" action="/draft/merge/" hx-post="/draft/merge/" hx-target="#{{ name }}-card" hx-swap="outerMorph">
<input type="hidden" name="edit" value="{{ edit }}"><input type="hidden" name="name" value="{{ name }}">
<input type="hidden" name="value" value="{{ mine }}"><button>Keep mine</button></form>
<button type="button" data-discard-edit>Keep theirs</button>"""

KINDS = {"a": "textarea", "b": "textarea", "number": "text", "json": "json"}


def page(request: HttpRequest) -> HttpResponse:
    context = {
        "version": DRAFT.version,
        "cards": [_card(request, name) for name in DRAFT.values],
        "items": _rendered(request, ITEMS, {"items": DRAFT.items}),
    }
    return HttpResponse(_rendered(request, PAGE, context))


def edit(request: HttpRequest) -> HttpResponse:
    sent = {key: str(value) for key, value in request.POST.items()}
    DRAFT.posts.append(sent)
    if DRAFT.behaviour == "fails":
        return HttpResponse("<!doctype html><h1>Broken</h1>", status=503)
    if DRAFT.behaviour == "refuses":
        raise Denied("Your claim has ended; somebody else works on this item now.")
    if DRAFT.behaviour == "signed out":
        return redirect("account_login")
    name = sent["name"]
    if sent["edit"] not in DRAFT.applied:
        if int(sent["seen"]) < DRAFT.changed.get(name, 0):
            context = {"mine": sent.get("value"), "theirs": DRAFT.values[name], "name": name, "edit": sent["edit"]}
            return HttpResponse(_rendered(request, PROMPT, context), status=409)
        if sent["op"] == "delete":
            DRAFT.items.remove(name)
        elif name == "number" and not sent["value"].isdigit():
            return HttpResponse(_card(request, name, sent["value"], "This is not a number."), status=422)
        else:
            DRAFT.values[name] = sent["value"]
        DRAFT.version += 1
        DRAFT.changed[name] = DRAFT.version
        DRAFT.applied.add(sent["edit"])
        if DRAFT.behaviour == "loses the answer":
            DRAFT.behaviour = ""
            return HttpResponse("<!doctype html><h1>Bad gateway</h1>", status=502)
    if sent["op"] == "delete":
        return _answer(_rendered(request, ITEMS, {"items": DRAFT.items}))
    return _answer(_card(request, name))


def merge(request: HttpRequest) -> HttpResponse:
    name = request.POST["name"]
    DRAFT.values[name] = request.POST["value"]
    DRAFT.applied.add(request.POST["edit"])
    DRAFT.version += 1
    DRAFT.changed[name] = DRAFT.version
    return _answer(_card(request, name) + '<hx-partial hx-target="#merge"></hx-partial>')


def submit(request: HttpRequest) -> HttpResponse:
    DRAFT.posts.append({"op": "submit", "active_seconds": request.POST["active_seconds"], **DRAFT.values})
    return redirect("/draft/")


def beat(request: HttpRequest) -> HttpResponse:
    DRAFT.posts.append({"op": "beat", **request.POST.dict()})
    if DRAFT.behaviour == "busy":
        raise Busy("Very many requests of yours are under way.")
    if DRAFT.behaviour == "claim lost":
        raise Denied("Your claim has ended; somebody else works on this item now.")
    return HttpResponse(status=204)


def conflict(request: HttpRequest) -> HttpResponse:
    raise Conflict("This job has ended already.")


def missing(request: HttpRequest) -> HttpResponse:
    raise Http404


def elsewhere(request: HttpRequest) -> HttpResponse:
    return redirect("styleguide")


def styleguide(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_rendered(request, '{% extends "styleguide/page.html" %}', {}))


def _rendered(request: HttpRequest, source: str, context: dict[str, Any]) -> str:
    return str(engines["django"].from_string(source).render(context, request))


def _card(request: HttpRequest, name: str, value: str | None = None, error: str = "") -> str:
    context = {
        "name": name,
        "value": DRAFT.values[name] if value is None else value,
        "stored": DRAFT.values[name],
        "error": error,
        "kind": KINDS[name],
        "target": f"#{name}-card",
        "anchor": f"/{name}",
    }
    return _rendered(request, CARD, context)


def _answer(text: str) -> HttpResponse:
    return HttpResponse(text, headers={"X-Draft-Version": str(DRAFT.version)})


handler404 = "annotator.views.errors.not_found"
urlpatterns = [
    path("", page, name="home"),
    path("draft/", page),
    path("draft/edit/", edit),
    path("draft/merge/", merge),
    path("draft/submit/", submit),
    path("draft/beat/", beat),
    path("draft/conflict/", conflict),
    path("draft/missing/", missing),
    path("draft/elsewhere/", elsewhere),
    path("styleguide/", styleguide, name="styleguide"),
    path("accounts/", include("allauth.account.urls")),
    path("", include("annotator.urls")),
]
