"""Pages of webhooks and their messages; for administrators."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.errors import DomainError, Invalid
from annotator.models import DeliveryState, Webhook, WebhookDelivery
from annotator.services.database.filters import one_of
from annotator.services.database.keyset import BY_KEY, read_page
from annotator.services.webhooks import deliveries, hooks
from annotator.views.forms import WebhookForm
from annotator.views.pages import PageRequest, posted, project_page, takes

#: Messages on a page.
PAGE = 50


@never_cache  # going back in the browser does not show the secret again
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def webhook_list(request: PageRequest) -> HttpResponse:
    """Show the project's webhooks, and add one. Its secret is shown once."""
    project = request.project
    rows = hooks.list_webhooks(actor=request.user, project=project)
    form, secret = WebhookForm(posted(request)), ""
    if form.is_valid():
        try:
            _webhook, secret = hooks.add_webhook(actor=request.user, project=project, **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(refusal.details.get("field"), refusal.sentence)
        else:
            form = WebhookForm()
    context = {
        "project": project,
        "form": form,
        "rows": rows,
        "secret": secret,
        "trail": [(project.name, project.get_absolute_url()), _settings(request), (_("Webhooks"), "")],
    }
    return render(request, "annotator/webhook_list.html", context, status=422 if form.errors else 200)


@never_cache
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("state", "before", "after")
def webhook_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show a webhook and its messages, newest first; change it, test it, rotate its secret, remove it."""
    project = request.project
    webhook = hooks.load_webhook(actor=request.user, project=project, public_id=public_id)
    chosen = {"url": webhook.url, "description": webhook.description, "events": webhook.events}
    form, secret = WebhookForm(posted(request) if "save" in request.POST else None, initial=chosen), ""
    if "rotate" in request.POST:
        webhook, secret = hooks.rotate_secret(actor=request.user, webhook=webhook)
    elif form.is_bound and form.is_valid():
        try:
            hooks.change_webhook(actor=request.user, webhook=webhook, **form.cleaned_data)
        except Invalid as refusal:
            form.add_error(refusal.details.get("field"), refusal.sentence)
        else:
            messages.success(request, _("Saved. The next messages use it."))
            return redirect(webhook)
    elif request.method == "POST" and not form.is_bound:
        return _act(request, webhook)
    state = one_of(request.GET, "state", DeliveryState.values)
    page = read_page(
        deliveries.list_deliveries(actor=request.user, webhook=webhook, state=state).defer("body", "reply"),
        before=request.GET.get("before"),
        after=request.GET.get("after"),
        size=PAGE,
        newest_first=True,
        by=BY_KEY,
    )
    filtered = f"state={state}&" if state else ""
    context = {
        "project": project,
        "webhook": webhook,
        "form": form,
        "secret": secret,
        "hours": int(hooks.ROTATION.total_seconds() // 3600),
        "both_sign": webhook.old_secret_signs(timezone.now()),
        "rows": page.rows,
        "newer": f"?{filtered}before={page.before}" if page.before else "",
        "older": f"?{filtered}after={page.after}" if page.after else "",
        "state": state,
        "states": DeliveryState.choices,
        "trail": _trail(request, (str(webhook), "")),
    }
    template = "annotator/webhook.html#log" if request.htmx else "annotator/webhook.html"
    return render(request, template, context, status=422 if form.errors else 200)


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def webhook_delivery(request: PageRequest, public_id: str, delivery: str) -> HttpResponse:
    """Show one message: its headers, body and reply. A POST sends it again."""
    project = request.project
    webhook = hooks.load_webhook(actor=request.user, project=project, public_id=public_id)
    found = deliveries.load_delivery(actor=request.user, webhook=webhook, public_id=delivery)
    if request.method == "POST":
        deliveries.send_again(actor=request.user, delivery=found)
        messages.success(request, _("The message is sent again. Reload the page to see the result."))
        return redirect("webhook-delivery", slug=project.slug, public_id=public_id, delivery=delivery)
    context = {
        "project": project,
        "webhook": webhook,
        "delivery": found,
        "headers": _headers(found),
        "trail": _trail(request, (str(webhook), webhook.get_absolute_url()), (found.message_id, "")),
    }
    return render(request, "annotator/webhook_delivery.html", context)


def _headers(delivery: WebhookDelivery) -> str:
    """Return the headers of the last attempt; what each attempt makes is left out."""
    stamp = "…" if delivery.tried_at is None else str(int(delivery.tried_at.timestamp()))
    return "\n".join(
        [
            f"POST {delivery.webhook.url}",
            "content-type: application/json",
            f"webhook-id: {delivery.message_id}",
            f"webhook-timestamp: {stamp}",
            "webhook-signature: v1,…",
        ]
    )


def _act(request: PageRequest, webhook: Webhook) -> HttpResponse:
    actions: dict[str, Callable[[], str]] = {
        "test": lambda: _test(request, webhook),
        "on": lambda: _switch(request, webhook, active=True),
        "off": lambda: _switch(request, webhook, active=False),
        "remove": lambda: _remove(request, webhook),
    }
    action = next((name for name in actions if name in request.POST), None)
    if action is None:
        raise Invalid(_("Choose what to do with the webhook."))
    messages.success(request, actions[action]())
    return redirect("webhook-list", slug=request.project.slug) if action == "remove" else redirect(webhook)


def _test(request: PageRequest, webhook: Webhook) -> str:
    deliveries.send_test(actor=request.user, webhook=webhook)
    return _("A test is sent. Reload the page to see the result.")


def _switch(request: PageRequest, webhook: Webhook, *, active: bool) -> str:
    hooks.change_webhook(actor=request.user, webhook=webhook, active=active)
    return _("The webhook is on.") if active else _("The webhook is off. Messages that still wait are kept.")


def _remove(request: PageRequest, webhook: Webhook) -> str:
    hooks.remove_webhook(actor=request.user, webhook=webhook)
    return _("%(name)s was removed, with its secret.") % {"name": webhook}


def _settings(request: PageRequest) -> tuple[str, str]:
    return (_("Settings"), reverse("project-settings", args=[request.project.slug]))


def _trail(request: PageRequest, *pages: tuple[str, str]) -> list[tuple[str, str]]:
    project = request.project
    webhooks = (_("Webhooks"), reverse("webhook-list", args=[project.slug]))
    return [(project.name, project.get_absolute_url()), _settings(request), webhooks, *pages]
