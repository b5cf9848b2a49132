"""The workbench of one validator: its constraint, its code or built-in validator, and its trials.

Nothing runs in this process: trials are jobs. The page starts them and shows the stored results.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.comparison.anchors import position
from annotator.core.findings import Finding
from annotator.core.forms.fields import Field
from annotator.core.forms.validators import form_fields, read_form_fields
from annotator.core.schema import SchemaProblem
from annotator.core.validators import FORMS, Subject, read_form, subject_of
from annotator.core.validators.trial import FUNCTION, reference_of
from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Draft, Job
from annotator.presentation.case import CaseView, ConstraintView
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.document import present
from annotator.services.database.filters import one_of
from annotator.services.dialogues import drafts, trials
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.submission.workbench import Workbench
from reviews.views.workspace.case_editor import posted_fields
from reviews.views.workspace.context import seen_version
from reviews.views.workspace.graph import open_bench
from reviews.views.workspace.revision_pages import revision_page
from reviews.views.workspace.validator_rows import described, forms_to_choose, row_views, same_as, text_views

Document = dict[str, Any]
_START = """def validate(response):
    if not response.strip():
        return False, "Say what is missing."
    return True, ""
"""
_EMPTY: Document = {"code": None, "function": None, "form": None, "parameters": None, "good": [], "bad": []}


@project_page
@require_safe
@takes("revision", "job", "form")
def validator(request: PageRequest, public_id: str, constraint: str) -> HttpResponse:
    """Show the validator of a constraint in a dialogue's newest revision, or in the one named; read-only."""
    revision, context = revision_page(request, public_id, _("Validator"))
    context |= {"back": f"{context['home']}#{dom_id(f'/constraints/{constraint}')}", "editable": False}
    return _page(request, revision.document(), constraint, context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@takes("job", "form")
def workspace_validator(request: PageRequest, slot: str, constraint: str) -> HttpResponse:
    """Edit and try the validator of a constraint in the draft of a claimed slot."""
    bench = open_bench(request, slot)
    request.project = bench.work.slot.project
    _constraint(bench.document, constraint)
    refused: DomainError | None = None
    if request.method == "POST":
        try:
            job = _act(request, bench, constraint)
        except DomainError as error:
            refused = error
            # The edit may be stored although its trial was refused: the next request needs the new draft version.
            bench = open_bench(request, slot)
        else:
            query = f"?{urlencode({'job': job.public_id})}" if job else ""
            return HttpResponseRedirect(f"{request.path}{query}#{'typed' if _do(request) == 'text' else 'matrix'}")
    home = reverse("workspace", args=[slot])
    anchor = f"/constraints/{constraint}"
    context = {
        "title": bench.dialogue.external_id,
        "home": home,
        "trail": [(_("My work"), reverse("home")), (bench.dialogue.external_id, home), (_("Validator"), "")],
        "back": f"{home}?{urlencode({'at': anchor})}",
        "editable": True,
        "fixed": "",
        "newest": "",
        "draft": bench.draft,
        "heartbeat_url": reverse("workspace-heartbeat", args=[slot]),
        "refused": refused.sentence if refused else "",
    }
    return _page(request, bench.document, constraint, context, status=refused.status if refused else 200)


# --- what is asked for ------------------------------------------------------------------------------------------------


def _act(request: PageRequest, bench: Workbench, constraint: str) -> Job | None:
    """Do what was posted and return the trial that it started, if any. Raises DomainError."""
    posted, do = request.POST, _do(request)
    document = bench.document
    if do == "text":
        text = posted.get("text", "").replace("\r\n", "\n")
        if isinstance(why := subject_of(document, _constraint(document, constraint)), str):
            raise Invalid(why)
        return _start(request, bench, document, constraint, [text])
    if do != "try":
        document = _edit(request, bench, constraint, do).document()
    if do != "try" and "then" not in posted:
        return None
    if isinstance(why := subject_of(document, _constraint(document, constraint)), str):
        if do == "try":
            raise Invalid(why)
        # The edit stays: a draft may hold code that does not work yet.
        messages.warning(request, _("Saved, but not tried: %(reason)s") % {"reason": why})
        return None
    return _start(request, bench, document, constraint, [])


def _do(request: PageRequest) -> str:
    return request.POST.get("do", "")


def _start(request: PageRequest, bench: Workbench, document: Document, constraint: str, texts: list[str]) -> Job | None:
    return trials.start_trials(
        actor=request.user,
        project=bench.work.slot.project,
        document=document,
        dialogue=bench.dialogue,
        constraint=constraint,
        texts=texts,
    )


def _edit(request: PageRequest, bench: Workbench, constraint: str, do: str) -> Draft:
    """Apply the posted edit as one step of the draft."""
    anchor = f"/constraints/{constraint}/validator"
    held = _constraint(bench.document, constraint)["validator"] or _EMPTY
    if do == "code":
        operation: Document = {
            "op": "set_code",
            "anchor": anchor,
            "text": request.POST.get("text", ""),
            "function": request.POST.get("function", ""),
        }
    else:
        operation = {"op": "set_json", "anchor": anchor, "value": _changed(request, bench, constraint, do, held)}
    edited = drafts.edit_draft(
        actor=request.user, draft=bench.draft, operation=operation, seen=seen_version(request, bench.draft)
    )
    return edited.draft


def _changed(request: PageRequest, bench: Workbench, constraint: str, do: str, held: Document) -> Document:
    posted = request.POST
    examples = {"good": list(held["good"]), "bad": list(held["bad"])}
    if do in ("keep", "drop") and held is _EMPTY:
        raise Invalid(_("Add a validator before you add examples."))
    side = posted.get("as", "")
    match do:
        case "form":
            key = posted.get("form", "")
            if key not in FORMS:
                raise Invalid(_("Choose a built-in validator."))
            parameters, _errors = read_form_fields(FORMS[key], posted_fields(posted, "p:"), _held_by(key, held))
            return _EMPTY | examples | {"form": key, "parameters": _read(key, parameters)}
        case "use":
            found = _same(bench.document, constraint)
            chosen = next((one for one in found if one.form.key == posted.get("form")), None)
            if chosen is None:
                raise Conflict(_("The code and this built-in validator no longer agree. Try the code again."))
            return _EMPTY | examples | {"form": chosen.form.key, "parameters": dict(chosen.parameters)}
        case "to_code" if held["form"]:
            form, parameters = FORMS.get(held["form"]), held["parameters"] or {}
            if form is None:
                raise Invalid(_("This built-in validator doesn’t exist. Choose another one."))
            source = form.source(_read(form.key, parameters), FUNCTION)
            return _EMPTY | examples | {"code": source, "function": FUNCTION}
        case "keep" if side in examples:
            text = _response(request, bench.document, constraint)
            if "row" not in posted and len(text) > trials.MAX_TEXT_LENGTH:
                raise Invalid(
                    _("The response has %(length)s characters; at most %(limit)s are allowed.")
                    % {"length": f"{len(text):,}", "limit": f"{trials.MAX_TEXT_LENGTH:,}"}
                )
            if text in examples["good"] or text in examples["bad"]:
                raise Invalid(_("This response is already an example."))
            examples[side].append(text)
            return held | examples
        case "drop" if side in examples:
            index = posted.get("index", "")
            if (place := position(index, len(examples[side]))) < 0:
                raise Conflict(_("This example has already been removed."))
            del examples[side][place]
            return held | examples
    raise Invalid(_("There is no such edit of a validator. Reload the page and try again."))


def _held_by(key: str, held: Document) -> Document | None:
    """Return a validator's parameters for the built-in validator ``key``."""
    return held["parameters"] if key == held["form"] else None


def _fields(request: PageRequest, key: str, held: Document, *, refused: bool) -> list[Field]:
    """Return the fields of a built-in validator; after a refusal with what was typed and the errors."""
    if key not in FORMS:
        return []
    parameters = _held_by(key, held)
    errors: dict[str, str] = {}
    if refused:
        parameters, errors = read_form_fields(FORMS[key], posted_fields(request.POST, "p:"), parameters)
    return form_fields(FORMS[key], parameters, errors)


def _read(key: str, parameters: Document) -> Document:
    try:
        return read_form(key, parameters)[1]
    except SchemaProblem as problem:
        raise Invalid(_("Check the parameters: %(problem)s") % {"problem": problem}) from None


def _response(request: PageRequest, document: Document, constraint: str) -> str:
    """Return the response to save: a row of the matrix exactly as it was tried, or the typed text."""
    key = request.POST.get("row", "")
    if not key:
        return request.POST.get("text", "").replace("\r\n", "\n")
    subject = subject_of(document, _constraint(document, constraint))
    row = next((one for one in subject.rows() if one.key == key), None) if isinstance(subject, Subject) else None
    if row is None:
        raise Conflict(_("This response no longer exists because the reference response or an example has changed."))
    return row.text


def _same(document: Document, constraint: str) -> list[Any]:
    """Return the built-in validators that agree with a validator's code on every response tried."""
    found = _constraint(document, constraint)
    subject = subject_of(document, found)
    if not isinstance(subject, Subject) or subject.code is None:
        return []
    return same_as(subject.text, trials.read_trial(subject))


def _constraint(document: Document, key: str) -> Document:
    found: Document | None = next((one for one in document.get("constraints", ()) if one["id"] == key), None)
    if found is None:
        raise Hidden(_("This dialogue has no such constraint."))
    return found


# --- what is shown ----------------------------------------------------------------------------------------------------


def _page(
    request: PageRequest, document: Document, key: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    constraint = _constraint(document, key)
    job = trials.load_trial_job(actor=request.user, public_id=request.GET.get("job", ""))
    if job is not None and (request.htmx.target or "").endswith(f"job-{job.public_id}"):
        if job.ended:
            return HttpResponseClientRefresh()
        return render(request, "components/job.html", _job(request, job))
    subject = subject_of(document, constraint)
    trial = trials.read_trial(subject) if isinstance(subject, Subject) else None
    held = constraint["validator"] or _EMPTY
    chosen = request.POST.get("form") or one_of(request.GET, "form", FORMS) or held["form"] or ""
    is_code = held["code"] is not None
    view = present(document, _said(key, trial))
    assert isinstance(view, CaseView)  # noqa: S101 - it has a constraint
    one: ConstraintView = next(each for each in view.constraints if each.data["id"] == key)
    # The refused text by its action.
    refused = {_do(request): request.POST.get("text", "")} if context.get("refused") else {}
    context |= {
        "one": one,
        "language": document.get("language") or "",
        "pieces": [piece for n, piece in enumerate(view.pieces) if _near(view, n, one)],
        "reference": reference_of(document),
        "held": held,
        "is_code": is_code,
        "form_name": FORMS[held["form"]].title if held["form"] in FORMS else "",
        "code": refused["code"] if "code" in refused else held["code"] or _START,
        "text_to_try": refused.get("text", ""),
        "text_to_keep": refused.get("keep", ""),
        "function": request.POST.get("function", "")
        if "code" in refused
        else held["function"] or (FUNCTION if not is_code else ""),
        "edits_form": bool(chosen) and (not is_code or "form" in request.GET or _do(request) == "form"),
        "chosen": chosen,
        "fields": _fields(request, chosen, held, refused="form" in refused),
        "forms": forms_to_choose(constraint["text"] or "", chosen),
        "why": subject if isinstance(subject, str) else "",
        "trial": trial,
        "rows": row_views(trial) if trial else [],
        "same": [(found, described(found)) for found in _same(document, key)] if trial and is_code else [],
        "job": job,
        "job_url": request.get_full_path() if job and not job.ended else "",
        "typed": text_views(job.result.get("texts", [])) if job and job.result.get("constraint") == key else [],
        "left": job.result.get("left", 0) if job else 0,
        "examples": [("good", _("Must be accepted"), held["good"]), ("bad", _("Must be rejected"), held["bad"])],
    }
    return render(request, "reviews/workspace/validator.html", context, status=status)


def _job(request: PageRequest, job: Job) -> dict[str, Any]:
    from annotator.templatetags.components import job_progress

    return job_progress(job, request.get_full_path())


def _said(key: str, trial: Any) -> list[Finding]:
    """Return the results of the trial as findings."""
    if trial is None:
        return []
    anchor = f"/constraints/{key}/validator"
    errors = [Finding("validator.matrix", "error", anchor, sentence, "") for sentence in trial.errors]
    return errors + [Finding("validator.doubt", "warning", anchor, sentence, "") for sentence in trial.warnings]


def _near(view: CaseView, n: int, one: ConstraintView) -> bool:
    """Return whether a piece of the prompt states the constraint, or is next to one that does."""
    return any(one in view.pieces[m].constraints for m in (n - 1, n, n + 1) if 0 <= m < len(view.pieces))
