"""The editor of the protocol: a form or JSON, a dry run, and the changes before they are adopted."""

import orjson
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.core.schema import canonical, content_hash
from annotator.core.schema.canonical import without_kinds
from annotator.core.schema.errors import Problem
from annotator.core.schema.exact_json import JsonError, dumps, loads
from annotator.errors import Conflict, Invalid
from annotator.models.content import DialogueStatus
from annotator.presentation.components.anchors import dom_id
from annotator.services.access.permissions import require_administrator
from annotator.services.database.filters import one_of, refuse_unknown_names
from annotator.views.pages import PageRequest, project_page, takes
from annotator.views.uploads import takes_files
from reviews.core.protocols import PRESETS, Protocol
from reviews.core.protocols.differences import describe_protocol_changes, percent
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
from reviews.models import ProtocolVersion
from reviews.services.cycles import migration
from reviews.services.protocols import versions as protocols
from reviews.services.protocols.definitions import too_long, too_many_values
from reviews.services.statistics.counters import stored_counters
from reviews.views.protocol.dry_run import read_dry_run
from reviews.views.protocol.form import Complaints, form_of, shaped
from reviews.views.protocol.pages import (
    as_json,
    find_version,
    group_changes,
    list_versions,
    pretty,
    rule_it_brings,
    start_move,
)
from reviews.views.protocol.preset_form import parameters_of, preset_cards, preset_from

_UNDER_WAY = (DialogueStatus.IN_REVIEW, DialogueStatus.ESCALATED, DialogueStatus.POOLED)


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
            draft = as_json(protocols.parse(current) if current else protocols.translated_preset(request.GET["preset"]))
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
        "json_text": pretty(complete(draft)) if json_text is None else json_text,
        "json_problems": json_problems or [],
        "draft_state": _draft_state(request, draft, current),
        "run": read_dry_run(request, found) if found and not problems else None,
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
    return "unsaved" if typed or current is None or draft != as_json(protocols.parse(current)) else "same"


def _typed_json(posted: QueryDict) -> str | None:
    """Return the JSON of the form if somebody typed in it; the page showed the draft that the form started with."""
    text = posted.get("json", "").replace("\r\n", "\n")
    return None if not text or text == pretty(complete(_posted_draft(posted))) else text


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
                + rule_it_brings(version),
            )
            if request.POST.get("under_way") == "move":
                start_move(request, version, request.POST.get("reason", ""))
            return redirect("protocol", slug=request.project.slug)
    counts = stored_counters(request.project)
    changes = describe_protocol_changes(protocols.parse(current), found) if current else []
    moving = None
    if current is not None and changes:
        text = canonical(without_kinds(as_json(found)))
        unsaved = ProtocolVersion(
            project=request.project, number=current.number + 1, definition=text, content_hash=content_hash(text)
        )
        moving = migration.preview_migration(actor=request.user, project=request.project, version=unsaved)
    context = {
        "protocol": found,
        "base": dumps(draft).decode(),
        "seen": seen,
        "current": current,
        "groups": group_changes(changes),
        "same": current is not None and not changes,
        "under_way": sum(counts.get(f"status:{status}", 0) for status in _UNDER_WAY),
        "moving": moving,
        "changed_draws": _changed_draws(protocols.parse(current), found) if current else [],
        "short": short,
        "refused": refused,
        "run": read_dry_run(request, found),
    }
    return render(request, "reviews/protocol/review.html", context, status=409 if refused else 200)


def _changed_draws(before: Protocol, after: Protocol) -> list[tuple[str, str]]:
    """Return title and share of the stages that both versions have and that now draw another share."""
    shares = {stage.key: stage.entry.fraction for stage in before.stages}
    return [
        (stage.title, percent(stage.entry.fraction))
        for stage in after.stages
        if stage.entry.fraction and shares.get(stage.key, stage.entry.fraction) != stage.entry.fraction
    ]


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
                return _editor(request, as_json(found), seen=seen)
    return _editor(request, draft, seen=seen, json_text=text, json_problems=problems)


def _beginning(request: PageRequest, current: ProtocolVersion | None) -> Draft:
    """Return what the editor opens with: a preset with its options, an earlier version, or the current one."""
    preset = one_of(request.GET, "preset", PRESETS)
    refuse_unknown_names((name for name, value in request.GET.items() if value), parameters_of(preset))
    if preset:
        return as_json(preset_from(preset, request.GET))
    wanted = request.GET.get("version", "")
    if wanted:
        return as_json(protocols.parse(find_version(list_versions(request.project), wanted)))
    return as_json(protocols.parse(current) if current else protocols.translated_preset(next(iter(PRESETS))))


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
