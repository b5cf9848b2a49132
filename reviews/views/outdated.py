"""The page of outdated work: mark it, preview it, send it back."""

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotator.errors import DomainError, Hidden, Invalid
from annotator.models import Guideline
from annotator.presentation.dialogue import POLICY_LABELS
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of
from annotator.services.dialogues.revisions import latest_guideline
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.cycles import outdated
from reviews.services.protocols.versions import current_protocol


@project_page
@require_http_methods(["GET", "POST"])
@takes("version", "policy", "kind", "reason", "preview", "send")
def outdated_work(request: PageRequest) -> HttpResponse:
    """Choose, preview and mark dialogues; then send them back or remove the marks, for each change."""
    project, actor = request.project, request.user
    require_administrator(actor=actor, project=project)
    newest = latest_guideline(project)
    protocol = current_protocol(project)
    data, refusal, preview = request.GET, "", None
    if request.method == "POST" and "change" in request.POST:
        return _of_change(request)
    if request.method == "POST":
        data = request.POST
    if request.method != "POST":
        for name, known in (("policy", list(POLICY_LABELS)), ("kind", protocol.error_type_keys() if protocol else ())):
            for value in data.getlist(name):
                one_of({name: value}, name, known)
    chosen = {"policies": data.getlist("policy"), "error_types": data.getlist("kind")}
    number = _number(data, newest.number if newest else 0)
    try:
        if request.method == "POST":
            scope = outdated.read_scope(project=project, number=number, **chosen)
            change = outdated.mark_outdated(actor=actor, project=project, scope=scope, reason=data.get("reason", ""))
            messages.success(request, _("Dialogues marked. Check the list before you send them back."))
            return redirect(f"{request.path}?send={change.public_id}")
        if "preview" in data:
            scope = outdated.read_scope(project=project, number=number, **chosen)
            preview = outdated.preview_change(actor=actor, project=project, scope=scope)
    except DomainError as error:
        if isinstance(error, Hidden):
            raise
        refusal, status = error.sentence, error.status
    else:
        status = 200
    sending = request.GET.get("send", "")
    change_sent = outdated.load_change(actor=actor, project=project, public_id=sending) if sending else None
    taxonomy = protocol.taxonomy if protocol else ()
    context = {
        "newest": newest,
        "number": number,
        "versions": [_version(one) for one in project.guidelines.defer("text").order_by("-number")[:50]],
        "policies": [(key, _(label), key in chosen["policies"]) for key, label in POLICY_LABELS.items()],
        "error_types": [(one.key, one.label, one.key in chosen["error_types"]) for one in taxonomy],
        "reason": data.get("reason", ""),
        "refusal": refusal,
        "preview": preview,
        "changes": outdated.list_changes(actor=actor, project=project),
        "sending": change_sent,
        "moving": outdated.preview_send_back(actor=actor, project=project, change=change_sent) if change_sent else None,
    }
    return render(request, "reviews/project/outdated.html", context, status=status)


def _version(guideline: Guideline) -> tuple[int, str]:
    """Return the number of a guideline's version, and what it is called in a list."""
    note = f": {Truncator(guideline.note).chars(50)}" if guideline.note else ""
    return guideline.number, f"{guideline.number}{note}"


def _of_change(request: PageRequest) -> HttpResponse:
    project, actor = request.project, request.user
    change = outdated.load_change(actor=actor, project=project, public_id=request.POST["change"])
    action = request.POST.get("action", "")
    if action == "send_back":
        job = outdated.start_send_back(actor=actor, project=project, change=change)
        messages.success(request, _("Assay is sending the dialogues back. You will get a notice when it is done."))
        return redirect(job)
    if action != "withdraw":
        raise Invalid(_("Choose an action: send back or withdraw."))
    count = outdated.withdraw_change(actor=actor, project=project, change=change)
    sentence = ngettext("Mark removed from %(count)s dialogue.", "Marks removed from %(count)s dialogues.", count)
    messages.success(request, sentence % {"count": count})
    return redirect("guideline-outdated", slug=project.slug)


def _number(data: QueryDict, otherwise: int) -> int:
    raw = data.get("version", "")
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 9 else otherwise
