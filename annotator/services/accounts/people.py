"""Accounts of the installation, for operators: who there is, deactivation, lost second factors, operators."""

from allauth.account.adapter import get_adapter
from allauth.mfa.models import Authenticator
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import Membership, Project, Role, User
from annotator.services.access.operators import is_operator, require_operator
from annotator.services.accounts.sessions import end_all_sessions
from annotator.services.members import RELEASE_LOST_WORK, lost_work
from annotator.services.security_log import log_security

STATES = ("active", "deactivated", "operators")


def list_people(*, actor: User, text: str = "", state: str = "") -> QuerySet[User]:
    """Return the accounts whose name, username or address contains ``text``. Raises Hidden.

    ``state``: one of STATES; blank: all.
    """
    require_operator(actor)
    people = User.objects.annotate(created_at=F("date_joined"))
    if text:
        named = Q(display_name__icontains=text) | Q(username__icontains=text) | Q(email__icontains=text)
        people = people.filter(named)
    if state == "operators":
        return people.filter(is_staff=True, is_active=True)
    return people.filter(is_active=state == "active") if state else people


def load_account(*, actor: User, public_id: str) -> User:
    """Return an account. Raises Hidden."""
    require_operator(actor)
    person = User.objects.filter(public_id=public_id).first()
    if person is None:
        raise Hidden(_("This account doesn’t exist."))
    return person


def projects_of(person: User) -> list[tuple[Project, list[str]]]:
    """Return the projects in which a person has roles, and the roles."""
    held: dict[Project, list[str]] = {}
    for one in Membership.objects.live().filter(user=person).select_related("project").order_by("project__name"):
        held.setdefault(one.project, []).append(one.role)
    return list(held.items())


def work_in_progress(person: User) -> list[str]:
    """Return a sentence for each item in progress that goes back if the account is deactivated."""
    projects = [project for project, _roles in projects_of(person) if project.archived_at is None]
    return [line for project in projects for line in lost_work(project=project, user=person, left=frozenset())]


def deactivate_account(*, actor: User, public_id: str) -> User:
    """Close an account: claims go back, sessions and API tokens end, invitations that they sent stop working.

    Their work stays under their name, and their roles wait for them: an activated account has them again. Raises
    Conflict for the actor's own account, the only administrator of a project, and the last operator.
    """
    with transaction.atomic():
        person = locked_account(actor, public_id)
        if person.pk == actor.pk:
            raise Conflict(_("You can’t deactivate your own account. Ask another operator."))
        if not person.is_active:
            return person
        projects = [project for project, _roles in projects_of(person)]
        _require_other_administrators(person, projects)
        # Nothing can be changed in an archived project.
        for project in (one for one in projects if one.archived_at is None):
            for release in RELEASE_LOST_WORK:
                release(actor, project, person, frozenset())
        person.is_active = False
        person.save(update_fields=["is_active"])
        end_all_sessions(person)
        log_security("account_deactivated", person=person, actor=actor)
    return person


def _require_other_administrators(person: User, projects: list[Project]) -> None:
    """Raise Conflict if a project would have no administrator who can sign in."""
    held = Membership.objects.live().filter(Q(role=Role.ADMINISTRATOR) | Q(user=person), project__in=projects)
    # Locked, so that two deactivations don't rely on each other; then read again, with what the other one wrote.
    list(held.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    rows = held.filter(role=Role.ADMINISTRATOR)
    others = set(rows.exclude(user=person).filter(user__is_active=True).values_list("project", flat=True))
    own = set(rows.filter(user=person).values_list("project", flat=True))
    # An archived project would refuse another administrator.
    alone = sorted(one.name for one in projects if one.pk in own - others and one.archived_at is None)
    if alone:
        sentence = _("%(person)s is the only administrator of %(projects)s. Make somebody else an administrator first.")
        raise Conflict(sentence % {"person": person, "projects": ", ".join(alone)})


def activate_account(*, actor: User, public_id: str) -> User:
    """Open a deactivated account again, with the roles it had. Its API tokens stay void."""
    with transaction.atomic():
        person = locked_account(actor, public_id)
        if not person.is_active:
            person.is_active = True
            person.save(update_fields=["is_active"])
            log_security("account_activated", person=person, actor=actor)
    return person


def set_operator(*, actor: User, public_id: str, operator: bool) -> User:
    """Make a person an operator, or no longer one. Raises Conflict for the last operator, and a closed account."""
    with transaction.atomic():
        person = locked_account(actor, public_id)
        if person.is_staff == operator:
            return person
        if operator and not person.is_active:
            raise Conflict(_("This account is deactivated. Activate it first."))
        if not operator and not User.objects.filter(is_staff=True, is_active=True).exclude(pk=person.pk).exists():
            sentence = _("%(person)s is the last operator. Make somebody else an operator first.")
            raise Conflict(sentence % {"person": person})
        person.is_staff = operator
        person.save(update_fields=["is_staff"])
        log_security("operator_granted" if operator else "operator_ended", person=person, actor=actor)
    return person


def remove_factors(*, actor: User, public_id: str) -> User:
    """Remove the second factors of a person who has lost them, end their sessions, and tell them by mail."""
    with transaction.atomic():
        person = locked_account(actor, public_id)
        if Authenticator.objects.filter(user=person).delete()[0]:
            log_security("factor_removed", person=person, actor=actor, factor="all")
            if person.email:
                get_adapter().send_mail("account/email/factors_removed", person.email, {"user": person})
        end_all_sessions(person)
    return person


def end_sessions_of(*, actor: User, public_id: str) -> User:
    """Sign a person out everywhere."""
    with transaction.atomic():
        person = locked_account(actor, public_id)
        if count := end_all_sessions(person):
            log_security("session_ended", person=person, actor=actor, sessions=count)
    return person


def locked_account(actor: User, public_id: str) -> User:
    """Return an account whose row is locked, with those of all operators: so the last two can't remove each other."""
    person = load_account(actor=actor, public_id=public_id)
    rows = User.objects.select_for_update(no_key=True).filter(Q(is_staff=True) | Q(pk=person.pk)).order_by("pk")
    people = {one.pk: one for one in rows}
    if actor.pk not in people or not is_operator(people[actor.pk]):
        raise Hidden(_("This page doesn’t exist."))
    return people[person.pk]
