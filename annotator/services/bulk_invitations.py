"""Invite many people at once, each with a link of their own."""

import re
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models.functions import Lower
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotator.core.people_lines import PersonLine, read_people
from annotator.core.roles import Role
from annotator.errors import Invalid
from annotator.models import Invitation, Membership, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.members import (
    MAX_NOTE,
    MAX_OPEN_INVITATIONS,
    close_invitation,
    lock_invitations,
    open_invitations,
    too_many_open,
    write_invitation,
)
from annotator.translation import translated

MAX_LINES = 200
"""Lines with people that one request takes."""

REPLACE = gettext_noop("Replace open invitations")
"""The label of the choice to replace."""

_IN_BRACKETS = re.compile(r"<([^<>]*)>$")


@dataclass(frozen=True)
class Invited:
    """A person who got a link, and the secret of the link, which is shown once."""

    line: PersonLine
    invitation: Invitation
    secret: str


@dataclass(frozen=True)
class NotInvited:
    """A line without an invitation, and the sentence that says why."""

    line: PersonLine
    sentence: str


@dataclass
class Invitations:
    """What became of the lines, in their order."""

    header: str = ""
    invited: list[Invited] = field(default_factory=list)
    refused: list[NotInvited] = field(default_factory=list)


def invite_many(
    *, actor: User, project: Project, roles: list[str], text: str, replace: bool = False, only_address: bool = False
) -> Invitations:
    """Create an invitation for each line of `text` that names a person; the other lines are refused one by one.

    `roles` are for the lines that name none. `replace`: revoke the open invitations of an address that gets a new one;
    otherwise such a line is refused. `only_address`: each link works only for the address in its line. Raises Denied;
    Invalid if no line names a person, if there are more than `MAX_LINES`, or if a role is unknown.
    """
    require_administrator(actor=actor, project=project)
    read = read_people(text)
    lines = read.lines
    if not lines:
        raise Invalid(_("Paste at least one line with a person."))
    if len(lines) > MAX_LINES:
        sentence = ngettext("%(count)d line is too many.", "%(count)d lines are too many.", len(lines))
        rule = _("Paste at most %(limit)d at once.")
        raise Invalid(f"{sentence} {rule}" % {"count": len(lines), "limit": MAX_LINES})
    unknown = [role for role in roles if role not in set(Role)]
    if unknown:
        raise Invalid(_("There is no role “%(role)s”.") % {"role": unknown[0]})
    result = Invitations(read.header)
    with transaction.atomic():
        lock_invitations(project)
        known = _Known(project, lines)
        room = MAX_OPEN_INVITATIONS - known.count
        for line in lines:
            wanted = sorted({role.value for role in line.roles} or set(roles))
            sentence = _refusal(line, wanted, known, replace)
            earlier = known.invited.get(line.address.casefold(), [])
            if not sentence and room + len(earlier) < 1:
                sentence = too_many_open()
            if sentence:
                result.refused.append(NotInvited(line, sentence))
                continue
            for invitation in earlier:
                close_invitation(actor=actor, invitation=invitation)
            room += len(earlier) - 1
            address = line.address if only_address else ""
            written = write_invitation(actor=actor, project=project, roles=wanted, note=line.label, address=address)
            result.invited.append(Invited(line, *written))
    return result


class _Known:
    """What the project already has: its open invitations and the roles of its members, by address."""

    def __init__(self, project: Project, lines: list[PersonLine]) -> None:
        # Locked before the roles are read: a person who accepts at this moment is a member, or has to wait.
        rows = list(open_invitations(project=project).select_for_update(of=("self",)))
        self.count = len(rows)
        self.invited: dict[str, list[Invitation]] = {}
        for invitation in rows:
            self.invited.setdefault(_address_in(invitation.note), []).append(invitation)
        self.roles: dict[str, set[str]] = {}
        addresses = {line.address.casefold() for line in lines if line.address}
        held = (
            Membership.objects.live()
            .filter(project=project)
            .annotate(address=Lower("user__email"))
            .filter(address__in=addresses)
        )
        for address, role in held.values_list("address", "role"):
            self.roles.setdefault(address, set()).add(role)


def _address_in(note: str) -> str:
    found = _IN_BRACKETS.search(note)
    return (found[1] if found else note).strip().casefold()


def _refusal(line: PersonLine, roles: list[str], known: _Known, replace: bool) -> str:
    """Return the sentence that says why a line gets no invitation, or an empty text."""
    if line.problem is not None:
        return translated(line.problem)
    if not roles:
        return _("This line names no role. Choose at least one role for all lines.")
    if len(line.label) > MAX_NOTE:
        return _("Name and address are longer than %(limit)d characters. Shorten the name.") % {"limit": MAX_NOTE}
    key = line.address.casefold()
    if set(roles) <= known.roles.get(key, set()):
        return _("%(address)s already has these roles.") % {"address": line.address}
    if key in known.invited and not replace:
        sentence = _("%(address)s already has an open invitation. To send another link, tick “%(box)s”.")
        return sentence % {"address": line.address, "box": _(REPLACE)}
    return ""
