"""The protocol pages: the current version, earlier ones and their differences."""

import orjson
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotator.core.schema.exact_json import dumps
from annotator.errors import Conflict, Hidden
from annotator.models import Project, Role
from annotator.services.access.permissions import require_administrator
from annotator.views.pages import PageRequest, project_page, takes
from reviews.core.protocols import Protocol
from reviews.core.protocols.differences import Difference, describe_protocol_changes
from reviews.core.protocols.drafting import (
    Draft,
)
from reviews.models import ProtocolVersion
from reviews.services.cycles import migration
from reviews.services.protocols import versions as protocols
from reviews.views.protocol.preset_form import preset_cards


@project_page
@require_http_methods(["GET", "POST"])
@takes("version")
def protocol(request: PageRequest) -> HttpResponse:
    """Show a version of the protocol, by default the current one, and the list of all; adopt a first preset."""
    versions = list_versions(request.project)
    if request.method == "POST":
        require_administrator(actor=request.user, project=request.project)
        preset = request.POST.get("preset", "")
        if [(one.author, one.preset) for one in versions] == [(request.user, preset)]:
            # A second click.
            return redirect("protocol", slug=request.project.slug)
        if versions:
            raise Conflict(_("This project already has a protocol. Use the editor to change it."))
        adopted = protocols.adopt_preset(actor=request.user, project=request.project, preset=preset)
        messages.success(request, f"{_('Protocol adopted.')}{rule_it_brings(adopted)}")
        return redirect("protocol", slug=request.project.slug)
    wanted = request.GET.get("version", "")
    version = find_version(versions, wanted) if wanted else versions[0] if versions else None
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
    versions = list_versions(request.project)
    if not versions:
        raise Hidden(_("This project has no protocol yet."))
    after = find_version(versions, request.GET.get("b") or str(versions[0].number))
    earlier = [one for one in versions if one.number < after.number]
    before = find_version(versions, request.GET.get("a") or str((earlier or [after])[0].number))
    context = {
        "versions": versions,
        "sides": [("a", _("From"), before), ("b", _("To"), after)],
        "before": before,
        "after": after,
        "groups": group_changes(describe_protocol_changes(protocols.parse(before), protocols.parse(after))),
    }
    return render(request, "reviews/protocol/changes.html", context)


@project_page
@require_safe
@takes("version")
def protocol_json(request: PageRequest) -> HttpResponse:
    """Return a version as a JSON file, by default the current one."""
    versions = list_versions(request.project)
    if not versions:
        raise Hidden(_("This project has no protocol yet."))
    version = find_version(versions, request.GET.get("version") or str(versions[0].number))
    response = HttpResponse(pretty(as_json(protocols.parse(version))), content_type="application/json")
    name = f"protocol-{request.project.slug}-{version.number}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@project_page
@require_http_methods(["GET", "POST"])
def protocol_move(request: PageRequest) -> HttpResponse:
    """Preview and start the move of items that still follow an earlier version to the current one."""
    require_administrator(actor=request.user, project=request.project)
    versions = list_versions(request.project)
    if not versions:
        raise Hidden(_("This project has no protocol yet."))
    if request.method == "POST":
        seen = find_version(versions, request.POST.get("seen", ""))
        start_move(request, seen, request.POST.get("reason", ""))
        return redirect("protocol", slug=request.project.slug)
    moving = migration.preview_migration(actor=request.user, project=request.project)
    return render(request, "reviews/protocol/migration.html", {"current": versions[0], "moving": moving})


def start_move(request: PageRequest, version: ProtocolVersion, reason: str) -> None:
    """Start the job, or say why it can't start; the adopted version stays adopted."""
    try:
        migration.start_migration(actor=request.user, project=request.project, version=version, reason=reason)
    except Conflict as error:
        messages.warning(request, error.sentence)
    else:
        sentence = _("Assay is moving the items in progress to version %(number)s.")
        messages.success(request, sentence % {"number": version.number})


def rule_it_brings(version: ProtocolVersion) -> str:
    if version.number > 1 or version.preset != "wild":
        return ""
    sentence = _("Labels now follow WildToolBench’s long-range rule. You can change this in the project’s settings.")
    return f" {sentence}"


def list_versions(project: Project) -> list[ProtocolVersion]:
    """Return all versions, newest first, with their authors but without their definitions."""
    return list(
        ProtocolVersion.objects.filter(project=project).select_related("author").defer("definition").order_by("-number")
    )


def find_version(versions: list[ProtocolVersion], number: str) -> ProtocolVersion:
    for version in versions:
        if str(version.number) == number:
            return version
    raise Hidden(_("This version of the protocol doesn’t exist."))


def group_changes(changes: list[Difference]) -> list[tuple[str, list[Difference]]]:
    groups: dict[str, list[Difference]] = {}
    for change in changes:
        groups.setdefault(change.place, []).append(change)
    return list(groups.items())


def as_json(protocol: Protocol) -> Draft:
    return protocol.model_dump(mode="json")


def pretty(draft: Draft) -> str:
    return dumps(draft, option=orjson.OPT_INDENT_2).decode()
