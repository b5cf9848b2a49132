"""Projects: list, create, settings, people, guideline."""

from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.core.abilities import ANYTHING, Abilities
from annotator.core.checks import all_checks
from annotator.core.schema.exact_json import dumps
from annotator.errors import Conflict, Invalid
from annotator.models import Guideline, Invitation, Project, Role, User
from annotator.presentation.components.labels import words_of
from annotator.presentation.markdown import render_markdown
from annotator.services import guests, members, projects
from annotator.services.abilities import read_abilities, set_abilities
from annotator.services.acceptance import newest_accepted, version_to_accept
from annotator.services.access.permissions import require_administrator, roles_in
from annotator.services.accounts.sign_up import SESSION_KEY
from annotator.services.dialogues.listing import LANGUAGES
from annotator.services.dialogues.revisions import latest_guideline
from annotator.services.hand_over import possible_successors
from annotator.services.notices.addresses import absolute_url
from annotator.services.quotas import storage_of
from annotator.views.forms import GuidelineForm, InvitationForm, ProjectForm, SettingsForm
from annotator.views.pages import PageRequest, posted, project_page, takes


@login_required
@require_safe
def project_list(request: PageRequest) -> HttpResponse:
    """Show the person's projects."""
    rows = Project.objects.visible_to(request.user).order_by("name")
    held: dict[int, list[str]] = {}
    for membership in request.user.memberships.live().order_by("role"):
        held.setdefault(membership.project_id, []).append(words_of("role", membership.role))
    return render(
        request,
        "annotator/project_list.html",
        {
            "projects": [(project, held.get(project.pk, [])) for project in rows],
            "may_create": projects.may_create_projects(request.user),
        },
    )


@login_required
@require_http_methods(["GET", "POST"])
def project_create(request: PageRequest) -> HttpResponse:
    """Create a project; its creator becomes its administrator."""
    projects.require_project_creator(actor=request.user)
    form = ProjectForm(posted(request))
    if form.is_valid():
        try:
            project = projects.create_project(actor=request.user, **form.cleaned_data)
        except (Conflict, Invalid) as error:
            form.add_error(error.details.get("field"), error.sentence)
        else:
            sentence = _("Created %(project)s. Choose its protocol, invite people and import candidates.")
            messages.success(request, sentence % {"project": project.name})
            return redirect(settings.NEW_PROJECT_PAGE, slug=project.slug)
    status = 422 if form.is_bound else 200
    return render(request, "annotator/project_create.html", {"form": form}, status=status)


@project_page
@require_http_methods(["GET", "POST"])
def project_settings(request: PageRequest) -> HttpResponse:
    """Show and change the name, the rules and the severities of checks."""
    require_administrator(actor=request.user, project=request.project)
    project = request.project
    seen = projects.settings_of(project)
    chosen = dict(project.check_settings)
    form = SettingsForm(posted(request), initial=seen | {"seen": dumps(seen).decode()})
    refused, status = "", 422 if form.is_bound else 200
    if request.method == "POST":
        chosen = {
            check.id: request.POST[f"check-{check.id}"]
            for check in all_checks()
            if request.POST.get(f"check-{check.id}", "") not in ("", "default")
        }
        if form.is_valid():
            try:
                projects.change_project(actor=request.user, project=project, check_settings=chosen, **form.cleaned_data)
            except Conflict as error:
                # The next save starts from the current settings, so it overwrites nothing unseen.
                refused, status, mine = error.sentence, 409, error.details["mine"]
                form = SettingsForm(initial=mine | {"seen": dumps(error.details["now"]).decode()})
                chosen = mine["check_settings"]
            else:
                messages.success(request, _("Settings saved. Checks use them the next time a dialogue is saved."))
                return redirect("project-settings", slug=project.slug)
    rows = [
        {"check": check, "family": check.id.partition(".")[0], "chosen": chosen.get(check.id, "default")}
        for check in sorted(all_checks(), key=lambda check: check.id)
    ]
    context = {
        "project": project,
        "form": form,
        "checks": rows,
        "changed_families": {check.partition(".")[0] for check in chosen},
        "severities": projects.SEVERITIES,
        "refused": refused,
        "storage": storage_of(project),
    }
    return render(request, "annotator/project_settings.html", context, status=status)


@never_cache  # going back in the browser does not show the link again
@project_page
@require_http_methods(["GET", "POST"])
def member_list(request: PageRequest) -> HttpResponse:
    """Show the project's members; for administrators also invitations and roles."""
    project, link = request.project, ""
    is_admin = Role.ADMINISTRATOR in request.roles
    form = InvitationForm(posted(request))
    status = 200
    if form.is_bound:
        require_administrator(actor=request.user, project=project)
        if form.is_valid():
            try:
                day = form.cleaned_data["until"]
                __, secret = members.create_invitation(
                    actor=request.user,
                    project=project,
                    roles=form.cleaned_data["roles"],
                    note=form.cleaned_data["note"],
                    address=form.cleaned_data["address"],
                    until=day and guests.end_of_day(project, day),
                )
            except Invalid as error:
                form.add_error(error.details.get("field"), error.sentence)
                status = 422
            else:
                link = absolute_url(reverse("invitation", args=[secret]))
                form = InvitationForm()
        else:
            status = 422
    people: dict[User, list[Role]] = {}
    last_days: dict[int, date] = {}
    abilities: dict[int, Abilities] = {}
    for membership in project.memberships.live().select_related("user").order_by("user_id", "role"):
        people.setdefault(membership.user, []).append(Role(membership.role))
        if membership.expires_at is not None:
            last_days[membership.user_id] = guests.last_day(project, membership.expires_at)
    if is_admin:
        abilities = read_abilities(project, [user.pk for user in people])
    accepted = newest_accepted(project=project, people=people) if is_admin and project.requires_acceptance else {}
    context = {
        "project": project,
        "is_admin": is_admin,
        "shows_acceptance": is_admin and bool(project.requires_acceptance),
        "link": link,
        "form": form,
        "people": [
            (
                user,
                [(role, role in held) for role in Role],
                accepted.get(user.pk),
                _ability_fields(abilities.get(user.pk, ANYTHING)),
                last_days.get(user.pk),
                Role.ADMINISTRATOR in held,
            )
            for user, held in people.items()
        ],
        "successors": possible_successors(actor=request.user, project=project) if is_admin else [],
        "invitations": _open_invitations(project) if is_admin else [],
        "days": members.INVITATION_DAYS,
    }
    return render(request, "annotator/member_list.html", context, status=status)


def _open_invitations(project: Project) -> list[tuple[Invitation, list[str]]]:
    rows = members.open_invitations(project=project).select_related("created_by")
    return [(invitation, _labels(invitation)) for invitation in rows]


def _labels(invitation: Invitation) -> list[str]:
    return [words_of("role", role) for role in invitation.roles]


@project_page
@require_POST
def member_change(request: PageRequest, public_id: str) -> HttpResponse:
    """Add or remove a role, remove them all, or set languages and skills.

    Asks first if the person leaves or has work in progress.
    """
    project = request.project
    require_administrator(actor=request.user, project=project)
    user = members.load_person(project=project, public_id=public_id)
    role, action = request.POST.get("role", ""), request.POST.get("action", "")
    if action == "guest":
        day = _day(request.POST.get("until", ""))
        until = guests.end_of_day(project, day) if day else None
        guests.set_end_of_access(actor=request.user, project=project, user=user, until=until)
        messages.success(request, _("Saved the last day of %(person)s.") % {"person": user})
        return redirect("member-list", slug=project.slug)
    if action == "abilities":
        languages, skills = request.POST.getlist("language"), request.POST.get("skills", "").replace(",", " ").split()
        set_abilities(actor=request.user, project=project, user=user, languages=languages, skills=skills)
        messages.success(request, _("Saved the languages and skills of %(person)s.") % {"person": user})
        return redirect("member-list", slug=project.slug)
    held = roles_in(project, user)
    if user != request.user and "confirmed" not in request.POST and (action == "deactivate" or role in held):
        left = frozenset() if action == "deactivate" else held - {Role(role)}
        lost_work = members.lost_work(project=project, user=user, left=left)
        if action in ("deactivate", "end") and held and (lost_work or not left):
            context = {"person": user, "action": action, "role": role, "lost_work": lost_work, "leaves": not left}
            if role in set(Role):
                context["label"] = words_of("role", role).lower()
            return render(request, "annotator/member_leave.html", context)
    if action == "deactivate":
        members.deactivate_person(actor=request.user, project=project, user=user)
        messages.success(request, _("Removed %(person)s from the project. Their work is kept.") % {"person": user})
    elif role in set(Role) and action == "grant":
        members.grant_role(actor=request.user, project=project, user=user, role=Role(role))
        names = {"person": user, "role": words_of("role", role).lower()}
        messages.success(request, _("%(person)s now has the role “%(role)s”.") % names)
    elif role in set(Role) and action == "end":
        members.end_role(actor=request.user, project=project, user=user, role=Role(role))
        names = {"person": user, "role": words_of("role", role).lower()}
        messages.success(request, _("%(person)s no longer has the role “%(role)s”.") % names)
    else:
        raise Invalid(_("Choose a role to add or remove."))
    return redirect("member-list", slug=project.slug)


def _day(text: str) -> date | None:
    """Return a day of a form; None if it is left empty. Raises Invalid."""
    try:
        return date.fromisoformat(text.strip()) if text.strip() else None
    except ValueError:
        raise Invalid(_("Write the day as 2026-12-31.")) from None


def _ability_fields(abilities: Abilities) -> dict[str, Any]:
    """Return the fields of a person's languages and skills; ``words`` is blank if nothing is restricted."""
    languages = [(key, label, key in abilities.languages) for key, label in LANGUAGES.items()]
    words = [str(label) for _key, label, chosen in languages if chosen] + sorted(abilities.skills)
    return {"languages": languages, "skills": ", ".join(sorted(abilities.skills)), "words": ", ".join(words)}


@project_page
@require_POST
def invitation_revoke(request: PageRequest, public_id: str) -> HttpResponse:
    """Close an invitation's link."""
    members.revoke_invitation(actor=request.user, project=request.project, public_id=public_id)
    messages.success(request, _("Invitation revoked."))
    return redirect("member-list", slug=request.project.slug)


@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Show the page behind an invitation link: join, after signing in or up if necessary."""
    if request.method == "POST" and isinstance(request.user, User):
        project = members.accept_invitation(actor=request.user, secret=secret)
        messages.success(request, _("You joined %(project)s.") % {"project": project.name})
        return redirect(project)
    found = members.find_invitation(secret)
    here = reverse("invitation", args=[secret])
    if request.method == "POST":
        if "sign_in" in request.POST:
            return HttpResponseRedirect(f"{reverse('account_login')}?{urlencode({'next': here})}")
        request.session[SESSION_KEY] = secret
        return redirect("account_signup")
    held = roles_in(found.project, request.user) if isinstance(request.user, User) else frozenset()
    return render(
        request,
        "annotator/invitation.html",
        {
            "invitation": found,
            "role_names": _labels(found),
            "here": here,
            "is_member": set(found.roles) <= held,
            "fits": not isinstance(request.user, User) or members.fits_address(request.user, found),
        },
    )


@project_page
@require_safe
@takes("version")
def guideline(request: PageRequest) -> HttpResponse:
    """Show the current guideline, or an earlier version."""
    project = request.project
    wanted = request.GET.get("version", "")
    found = projects.load_guideline(project=project, number=wanted) if wanted else latest_guideline(project)
    context = {
        "project": project,
        "guideline": found,
        "versions": Guideline.objects.filter(project=project).select_related("author").defer("text"),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "to_accept": version_to_accept(actor=request.user, project=project),
    }
    template = "annotator/guideline.html#body" if request.htmx else "annotator/guideline.html"
    return render(request, template, context)


@project_page
@require_http_methods(["GET", "POST"])
def guideline_edit(request: PageRequest) -> HttpResponse:
    """Edit the guideline: write its next version."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    last = latest_guideline(project)
    form = GuidelineForm(
        posted(request), initial={"text": last.text if last else "", "seen": last.number if last else 0}
    )
    context: dict[str, Any] = {"project": project, "refused": "", "preview": "", "newer": None, "restored": False}
    context["draft_state"] = "unsaved" if form.is_bound else "fresh"
    status = 422 if form.is_bound else 200
    if request.POST.get("do") == "restore":
        # Input that the browser kept. Nothing is published over a version that its author has not seen.
        number = last.number if last else 0
        context |= {"restored": True, "newer": last if request.POST.get("seen") != str(number) else None}
        form, status = GuidelineForm(initial=request.POST.dict() | {"seen": number}), 200
    elif form.is_valid():
        if "preview" in request.POST:
            context["preview"], status = render_markdown(form.cleaned_data["text"]), 200
        else:
            try:
                projects.publish_guideline(actor=request.user, project=project, **form.cleaned_data)
            except Invalid as error:
                form.add_error(error.details.get("field"), error.sentence)
            except Conflict as error:
                # The newer text is shown and the next try starts from it, so nothing is overwritten unseen.
                newer, status = latest_guideline(project), 409
                context |= {"refused": error.sentence, "newer": newer}
                form = GuidelineForm(initial=form.cleaned_data | {"seen": newer.number if newer else 0})
            else:
                messages.success(request, _("Guideline published."))
                return redirect("guideline", slug=project.slug)
    return render(request, "annotator/guideline_edit.html", context | {"form": form}, status=status)
