"""The protocol pages: the current version, earlier ones, their differences, and the editor."""

from dataclasses import fields, replace
from typing import Any

import orjson
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotator.core.schema import canonical, content_hash
from annotator.core.schema.canonical import without_kinds
from annotator.core.schema.errors import Problem
from annotator.core.schema.exact_json import JsonError, dumps, loads
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Project, Role
from annotator.models.content import DialogueStatus
from annotator.presentation.components.anchors import dom_id
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of, refuse_unknown_names
from annotator.views.pages import PageRequest, project_page, takes
from annotator.views.uploads import takes_files
from reviews.core.protocols import PRESETS, Protocol
from reviews.core.protocols.differences import Difference, describe_protocol_changes
from reviews.core.protocols.drafting import (
    MAX_BYTES,
    TABLES,
    Draft,
    check,
    complete,
    has_too_many_values,
    overlay,
    step,
)
from reviews.core.protocols.estimating import Assumption
from reviews.models import ProtocolVersion
from reviews.services.cycles import migration
from reviews.services.protocols import versions as protocols
from reviews.services.protocols.definitions import too_long, too_many_values
from reviews.services.simulation import dry_runs
from reviews.services.statistics.counters import stored_counters
from reviews.views.protocol.form import Complaints, form_of, shaped
from reviews.views.protocol.preset_form import parameters_of, preset_cards, preset_from

#: Items a dry run can be asked for.
MAX_ITEMS = 10_000_000
_UNDER_WAY = (DialogueStatus.IN_REVIEW, DialogueStatus.ESCALATED, DialogueStatus.POOLED)


@project_page
@require_http_methods(["GET", "POST"])
@takes("version")
def protocol(request: PageRequest) -> HttpResponse:
    """Show a version of the protocol, by default the current one, and the list of all; adopt a first preset."""
    versions = _versions(request.project)
    if request.method == "POST":
        require_administrator(actor=request.user, project=request.project)
        preset = request.POST.get("preset", "")
        if [(one.author, one.preset) for one in versions] == [(request.user, preset)]:
            # A second click.
            return redirect("protocol", slug=request.project.slug)
        if versions:
            raise Conflict(_("This project already has a protocol. Use the editor to change it."))
        adopted = protocols.adopt_preset(actor=request.user, project=request.project, preset=preset)
        messages.success(request, f"{_('Protocol adopted.')}{_rule_it_brings(adopted)}")
        return redirect("protocol", slug=request.project.slug)
    wanted = request.GET.get("version", "")
    version = _version(versions, wanted) if wanted else versions[0] if versions else None
    context = {
        "version": version,
        "versions": versions,
        "current": versions[0] if versions else None,
        "protocol": protocols.parse(version) if version else None,
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "presets": [] if versions else preset_cards(),
    }
    return render(request, "reviews/protocol/page.html", context)


@project_page
@require_safe
@takes("a", "b")
def protocol_changes(request: PageRequest) -> HttpResponse:
    """Show the differences between two versions, by default the current one and the one before it."""
    versions = _versions(request.project)
    if not versions:
        raise Hidden(_("This project has no protocol yet."))
    after = _version(versions, request.GET.get("b") or str(versions[0].number))
    earlier = [one for one in versions if one.number < after.number]
    before = _version(versions, request.GET.get("a") or str((earlier or [after])[0].number))
    context = {
        "versions": versions,
        "sides": [("a", _("From"), before), ("b", _("To"), after)],
        "before": before,
        "after": after,
        "groups": _grouped(describe_protocol_changes(protocols.parse(before), protocols.parse(after))),
    }
    return render(request, "reviews/protocol/changes.html", context)


@project_page
@require_safe
@takes("version")
def protocol_json(request: PageRequest) -> HttpResponse:
    """Return a version as a JSON file, by default the current one."""
    versions = _versions(request.project)
    if not versions:
        raise Hidden(_("This project has no protocol yet."))
    version = _version(versions, request.GET.get("version") or str(versions[0].number))
    response = HttpResponse(_pretty(_as_json(protocols.parse(version))), content_type="application/json")
    name = f"protocol-{request.project.slug}-{version.number}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@project_page
@require_http_methods(["GET", "POST"])
def protocol_move(request: PageRequest) -> HttpResponse:
    """Preview and start the move of items that still follow an earlier version to the current one."""
    require_administrator(actor=request.user, project=request.project)
    versions = _versions(request.project)
    if not versions:
        raise Hidden(_("This project has no protocol yet."))
    if request.method == "POST":
        seen = _version(versions, request.POST.get("seen", ""))
        _move(request, seen, request.POST.get("reason", ""))
        return redirect("protocol", slug=request.project.slug)
    moving = migration.preview_migration(actor=request.user, project=request.project)
    return render(request, "reviews/protocol/migration.html", {"current": versions[0], "moving": moving})


def _move(request: PageRequest, version: ProtocolVersion, reason: str) -> None:
    """Start the job, or say why it can't start; the adopted version stays adopted."""
    try:
        migration.start_migration(actor=request.user, project=request.project, version=version, reason=reason)
    except Conflict as error:
        messages.warning(request, error.sentence)
    else:
        sentence = _("Assay is moving the items in progress to version %(number)s.")
        messages.success(request, sentence % {"number": version.number})


@takes_files
@project_page
@require_http_methods(["GET", "POST"])
@takes(*(name for preset in PRESETS for name in parameters_of(preset)))
def protocol_edit(request: PageRequest) -> HttpResponse:
    """Edit the next version as a form or JSON, with a dry run and a review of changes, then adopt it.

    Nothing is stored before. The form itself carries the draft, so every step works without scripts.
    """
    require_administrator(actor=request.user, project=request.project)
    current = protocols.current_version(request.project)
    if request.method == "GET":
        seen = current.number if current else 0
        try:
            return _editor(request, _beginning(request, current), seen=seen)
        except Invalid as refusal:
            # An error page would lead back to the refused address.
            draft = _as_json(
                protocols.parse(current) if current else protocols.translated_preset(request.GET["preset"])
            )
            return _editor(request, draft, seen=seen, quiet=True, preset_refusal=refusal)
    posted = request.POST
    seen = int(posted["seen"]) if posted.get("seen", "").isdecimal() and len(posted["seen"]) < 9 else 0
    draft = overlay(_posted_draft(posted), [(name, posted.getlist(name)) for name in posted])
    if has_too_many_values(draft):
        raise Invalid(too_many_values())
    action = posted.get("do", "")
    name = action.partition(":")[0]
    if name == "json":
        return _take_json(request, draft, seen)
    if name == "restore":
        return _editor(request, draft, seen=seen, quiet=True, json_text=_typed_json(posted))
    if name in ("check", "adopt"):
        return _go_on(request, draft, seen, adopt=name == "adopt")
    return _editor(request, step(draft, action), seen=seen, quiet=name not in ("", "look"))


# --- the editor -------------------------------------------------------------------------------------------------------


def _editor(
    request: PageRequest,
    draft: Draft,
    *,
    seen: int,
    quiet: bool = False,
    refused: bool = False,
    preset_refusal: Invalid | None = None,
    json_text: str | None = None,
    json_problems: list[Problem] | None = None,
) -> HttpResponse:
    """Render the editor. ``quiet``: after a step, show problems beside their fields only, without a summary.
    ``preset_refusal``: why the requested preset was not loaded.
    """
    found, problems = check(complete(draft))
    people = protocols.roles_of_members(request.project)
    short = protocols.staff_problems(found, list(people.values())) if found else []
    complaints = Complaints(problems + short)
    current = protocols.current_version(request.project)
    known = protocols.parse(current).taxonomy if current else ()
    context = {
        "form": form_of(draft, complaints, known_kinds=frozenset(kind.key for kind in known)),
        "base": dumps(draft).decode(),
        "seen": seen,
        "current": current,
        "newer": current if current and current.number != seen else None,
        "summary": [] if quiet else complaints.summary(),
        "problem_count": len(problems),
        "short": short,
        "presets": preset_cards(request.GET, preset_refusal),
        "preset_refusal": preset_refusal,
        "preset_field": dom_id(preset_refusal.details["field"]) if preset_refusal else "",
        "tables": [(name, _(words)) for name, words in TABLES.items()],
        "json_text": _pretty(complete(draft)) if json_text is None else json_text,
        "json_problems": json_problems or [],
        "draft_state": _draft_state(request, draft, current),
        "run": _run(request, found) if found and not problems else None,
    }
    return render(
        request,
        "reviews/protocol/edit.html",
        context,
        status=422 if refused or preset_refusal or json_problems else 200,
    )


def _draft_state(request: PageRequest, draft: Draft, current: ProtocolVersion | None) -> str:
    """Return whether the page shows what is stored: see static/app/form-drafts.js."""
    if request.method != "POST":
        return "fresh"
    typed = _typed_json(request.POST) is not None or request.POST.get("do", "") == "restore"
    return "unsaved" if typed or current is None or draft != _as_json(protocols.parse(current)) else "same"


def _typed_json(posted: QueryDict) -> str | None:
    """Return the JSON of the form if somebody typed in it; the page showed the draft that the form started with."""
    text = posted.get("json", "").replace("\r\n", "\n")
    return None if not text or text == _pretty(complete(_posted_draft(posted))) else text


def _rule_it_brings(version: ProtocolVersion) -> str:
    if version.number > 1 or version.preset != "wild":
        return ""
    sentence = _("Labels now follow WildToolBench’s long-range rule. You can change this in the project’s settings.")
    return f" {sentence}"


def _go_on(request: PageRequest, draft: Draft, seen: int, *, adopt: bool) -> HttpResponse:
    """Review the changes or adopt them; return to the editor if the protocol has problems."""
    draft = complete(draft)
    found, problems = check(draft)
    if found is None or problems:
        return _editor(request, draft, seen=seen, refused=True)
    current, refused = protocols.current_version(request.project), ""
    people = protocols.roles_of_members(request.project)
    short = protocols.staff_problems(found, list(people.values()))
    if adopt:
        try:
            version = protocols.adopt_protocol(
                actor=request.user,
                project=request.project,
                protocol=found,
                seen=seen,
                understaffed="understaffed" in request.POST,
            )
        except Conflict as error:
            # Nothing is overwritten unseen: the changes are now shown against the newer version.
            refused, seen = error.sentence, error.details.get("number", seen)
            current = protocols.current_version(request.project)
        else:
            messages.success(
                request,
                _("Version %(number)s adopted. Items that start from now on follow it.") % {"number": version.number}
                + _rule_it_brings(version),
            )
            if request.POST.get("under_way") == "move":
                _move(request, version, request.POST.get("reason", ""))
            return redirect("protocol", slug=request.project.slug)
    counts = stored_counters(request.project)
    changes = describe_protocol_changes(protocols.parse(current), found) if current else []
    moving = None
    if current is not None and changes:
        text = canonical(without_kinds(_as_json(found)))
        unsaved = ProtocolVersion(
            project=request.project, number=current.number + 1, definition=text, content_hash=content_hash(text)
        )
        moving = migration.preview_migration(actor=request.user, project=request.project, version=unsaved)
    context = {
        "protocol": found,
        "base": dumps(draft).decode(),
        "seen": seen,
        "current": current,
        "groups": _grouped(changes),
        "same": current is not None and not changes,
        "under_way": sum(counts.get(f"status:{status}", 0) for status in _UNDER_WAY),
        "moving": moving,
        "short": short,
        "refused": refused,
        "run": _run(request, found),
    }
    return render(request, "reviews/protocol/review.html", context, status=409 if refused else 200)


def _take_json(request: PageRequest, draft: Draft, seen: int) -> HttpResponse:
    """Replace the draft by what was pasted or uploaded; if that is not a protocol, say why and keep both."""
    upload = request.FILES.get("json_file")
    raw = upload.read(MAX_BYTES + 1) if upload else request.POST.get("json", "").encode()
    text = raw.decode(errors="replace")
    problems: list[Problem] = []
    if len(raw) > MAX_BYTES:
        problems = [Problem("", too_long(MAX_BYTES))]
        text = ""
    else:
        try:
            read = loads(raw)
        except JsonError as error:
            problems = [Problem(error.pointer, error.message)]
        except orjson.JSONDecodeError as error:
            sentence = _("This isn’t valid JSON: %(message)s, line %(line)s, column %(column)s.")
            where = {"message": error.msg, "line": error.lineno, "column": error.colno}
            problems = [Problem("", sentence % where)]
        else:
            if has_too_many_values(read):
                found, problems = None, [Problem("", too_many_values())]
            else:
                found, problems = check(complete(read) if isinstance(read, dict) else read)
            if found is not None:
                # Problems with its rules can be fixed in the form.
                messages.info(request, _("JSON loaded. Nothing is adopted yet."))
                return _editor(request, _as_json(found), seen=seen)
    return _editor(request, draft, seen=seen, json_text=text, json_problems=problems)


def _beginning(request: PageRequest, current: ProtocolVersion | None) -> Draft:
    """Return what the editor opens with: a preset with its options, an earlier version, or the current one."""
    preset = one_of(request.GET, "preset", PRESETS)
    refuse_unknown_names((name for name, value in request.GET.items() if value), parameters_of(preset))
    if preset:
        return _as_json(preset_from(preset, request.GET))
    wanted = request.GET.get("version", "")
    if wanted:
        return _as_json(protocols.parse(_version(_versions(request.project), wanted)))
    return _as_json(protocols.parse(current) if current else protocols.translated_preset(next(iter(PRESETS))))


def _posted_draft(posted: QueryDict) -> Draft:
    # The form adds little to a protocol.
    if len(posted.get("base", "")) > 2 * MAX_BYTES:
        raise Invalid(too_long(2 * MAX_BYTES))
    try:
        draft = loads(posted.get("base", ""))
    except ValueError:
        draft = None
    if not shaped(draft):
        raise Invalid(_("The request contains no protocol. Open the editor again."))
    found: Draft = draft
    return found


# --- the dry run ------------------------------------------------------------------------------------------------------


def _run(request: PageRequest, found: Protocol) -> dict[str, Any]:
    """Return the estimated work for the team and its assumptions, as typed or else as known."""
    posted = request.POST
    known, measured = dry_runs.assumptions_for(project=request.project, protocol=found)
    items = _number(posted.get("run:items"), dry_runs.usual_items(request.project), MAX_ITEMS)
    assumptions: dict[str, Assumption] = {}
    for stage in found.stages:
        typed = {}
        for one in fields(Assumption):
            name, unit = f"run:{stage.key}:{one.name}", 1 if one.name == "minutes" else 100
            value = _number(posted.get(name), None, 100_000 if unit == 1 else 100)
            if value is not None:
                typed[one.name] = value / unit
        assumptions[stage.key] = replace(known[stage.key], **typed)
    result, people = dry_runs.dry_run(
        project=request.project, protocol=found, items=int(items), assumptions=assumptions
    )
    heads = {name: str(label) for name, label in _ASSUMED.items()}
    rows = [
        {
            "stage": stage,
            "measured": stage.key in measured,
            "inputs": [
                {
                    "name": f"run:{stage.key}:{one.name}",
                    "label": f"{heads[one.name]}, {stage.title}",
                    "value": f"{getattr(assumptions[stage.key], one.name) * (1 if one.name == 'minutes' else 100):g}",
                }
                for one in fields(Assumption)
                if one.name in _ASSUMED
            ],
        }
        for stage in result.stages
    ]
    return {"items": int(items), "people": people, "result": result, "rows": rows, "heads": list(heads.values())}


_ASSUMED = {
    "fix": gettext_lazy("Fix (%)"),
    "reject": gettext_lazy("Reject (%)"),
    "escalate": gettext_lazy("Escalate (%)"),
    "minutes": gettext_lazy("Minutes per review"),
}


def _number(text: str | None, otherwise: Any, most: float) -> Any:
    try:
        value = float((text or "").replace(",", "."))
    except ValueError:
        return otherwise
    return min(max(value, 0.0), most) if value == value else otherwise


# --- in detail --------------------------------------------------------------------------------------------------------


def _versions(project: Project) -> list[ProtocolVersion]:
    """Return all versions, newest first, with their authors but without their definitions."""
    return list(
        ProtocolVersion.objects.filter(project=project).select_related("author").defer("definition").order_by("-number")
    )


def _version(versions: list[ProtocolVersion], number: str) -> ProtocolVersion:
    for version in versions:
        if str(version.number) == number:
            return version
    raise Hidden(_("This version of the protocol doesn’t exist."))


def _grouped(changes: list[Difference]) -> list[tuple[str, list[Difference]]]:
    groups: dict[str, list[Difference]] = {}
    for change in changes:
        groups.setdefault(change.place, []).append(change)
    return list(groups.items())


def _as_json(protocol: Protocol) -> Draft:
    return protocol.model_dump(mode="json")


def _pretty(draft: Draft) -> str:
    return dumps(draft, option=orjson.OPT_INDENT_2).decode()
