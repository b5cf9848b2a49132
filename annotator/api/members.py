"""Members and invitations of a project, with the same services as the page of people."""

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.abilities import MAX_LANGUAGES, MAX_SKILLS, Abilities
from annotator.core.scopes import Scope
from annotator.errors import Hidden
from annotator.models import Invitation, Project, Role, User
from annotator.services import members
from annotator.services.abilities import abilities_of, set_abilities
from annotator.services.access.permissions import load_project, roles_in
from annotator.services.dialogues.listing import LANGUAGES
from annotator.services.notices.addresses import absolute_url

_ROLES = [(role.value, role.value) for role in Role]


class MemberSerializer(serializers.Serializer[Any]):
    """A person and their roles in the project."""

    public_id = serializers.CharField()
    name = serializers.CharField(source="__str__")
    active = serializers.BooleanField(source="is_active", help_text="Whether they can sign in.")
    roles = serializers.SerializerMethodField()

    def get_roles(self, person: User) -> list[str]:
        return [membership.role for membership in person.live_roles]  # type: ignore[attr-defined]


class AbilitiesInputSerializer(Input):
    """What a person is given: dialogues in these languages whose tags ask for no other skills. Empty: everything."""

    languages = BoundedListField(child=serializers.ChoiceField(choices=[*LANGUAGES.items()]), max_length=MAX_LANGUAGES)
    skills = BoundedListField(
        child=StrictCharField(max_length=40),
        max_length=MAX_SKILLS,
        help_text="A dialogue with the tag “skill-medicine” needs the skill “medicine”.",
    )


class AbilitiesSerializer(serializers.Serializer[Any]):
    languages = serializers.ListField(child=serializers.ChoiceField(choices=[*LANGUAGES.items()]))
    skills = serializers.ListField(child=serializers.CharField())


class EndedRolesSerializer(serializers.Serializer[Any]):
    """What the end of a role, or of all roles, has released."""

    released = serializers.ListField(
        child=serializers.CharField(), help_text="A sentence for each item in progress that went back; drafts are kept."
    )


class NewInvitationSerializer(Input):
    roles = BoundedListField(child=serializers.ChoiceField(choices=_ROLES), allow_empty=False, max_length=len(_ROLES))
    note = StrictCharField(
        max_length=120, required=False, allow_blank=True, default="", help_text="Only administrators see it."
    )
    address = StrictCharField(
        max_length=members.MAX_ADDRESS,
        required=False,
        allow_blank=True,
        default="",
        help_text="Only a person who has confirmed this email address can use the link. Blank: anybody with the link.",
    )


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    """An invitation, without the secret of its link."""

    roles = serializers.ListField(child=serializers.ChoiceField(choices=_ROLES))
    created_by = serializers.CharField(source="created_by.public_id")

    class Meta:
        model = Invitation
        fields = ["public_id", "roles", "note", "address", "created_by", "created_at", "expires_at", "revoked_at"]


class InvitationWithLinkSerializer(InvitationSerializer):
    """A new invitation with its link."""

    link = serializers.SerializerMethodField(help_text="The link for one person. It is shown only this once.")

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "link"]

    def get_link(self, invitation: Invitation) -> str:
        return absolute_url(reverse("invitation", args=[self.context["secret"]]))


class MemberList(APIView):
    """The members of the project, those with the oldest accounts first."""

    pagination_class = KeysetPagination
    since_meaning = "Members: those who got or lost a role since."

    @extend_schema(responses={200: MemberSerializer(many=True), 404: NOT_FOUND}, operation_id="members_list")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        since = members.members_changed_since(project)
        return answer_page(self, request, members.list_members(project=project), MemberSerializer, since=since)


class MemberDetail(APIView):
    """One member."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: MemberSerializer, 404: NOT_FOUND}, operation_id="members_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        person = members.list_members(project=project).filter(public_id=public_id).first()
        if person is None:
            raise Hidden(_("This person isn’t a member of this project."))
        return Response(MemberSerializer(person).data)

    @extend_schema(request=None, responses={200: EndedRolesSerializer, **REFUSALS}, operation_id="members_remove")
    def delete(self, request: Request, slug: str, public_id: str) -> Response:
        """End all roles of a person in the project. Their work stays under their name."""
        project = administered_project(request, slug)
        person = members.load_person(project=project, public_id=public_id)
        released = members.lost_work(project=project, user=person, left=frozenset())
        members.deactivate_person(actor=actor(request), project=project, user=person)
        return Response(EndedRolesSerializer({"released": released}).data)


class MemberRole(APIView):
    """One role of a person."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={204: None, **REFUSALS}, operation_id="member_roles_grant")
    def put(self, request: Request, slug: str, public_id: str, role: str) -> Response:
        """Give a role to a person who is or was a member. A role that they have stays as it is."""
        project, person, wanted = _role(request, slug, public_id, role)
        members.grant_role(actor=actor(request), project=project, user=person, role=wanted)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={200: EndedRolesSerializer, **REFUSALS}, operation_id="member_roles_end")
    def delete(self, request: Request, slug: str, public_id: str, role: str) -> Response:
        """End a role. Items in progress that the person may not continue are released; drafts are kept."""
        project, person, wanted = _role(request, slug, public_id, role)
        left = roles_in(project, person) - {wanted}
        released = members.lost_work(project=project, user=person, left=left)
        members.end_role(actor=actor(request), project=project, user=person, role=wanted)
        return Response(EndedRolesSerializer({"released": released}).data)


class MemberAbilities(APIView):
    """The languages and skills of a person, which restrict what they are given."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: AbilitiesSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="member_abilities_read"
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        """Return them; empty lists restrict nothing. Only administrators may."""
        project = administered_project(request, slug)
        person = members.load_person(project=project, public_id=public_id)
        return Response(_abilities(abilities_of(project, person)))

    @extend_schema(
        request=AbilitiesInputSerializer,
        responses={200: AbilitiesSerializer, **REFUSALS},
        operation_id="member_abilities_set",
    )
    def put(self, request: Request, slug: str, public_id: str) -> Response:
        """Replace them. What the person has claimed, and what is assigned to them, stays theirs."""
        project = administered_project(request, slug)
        person = members.load_person(project=project, public_id=public_id)
        sent = read_fields(AbilitiesInputSerializer, request)
        return Response(_abilities(set_abilities(actor=actor(request), project=project, user=person, **sent)))


def _abilities(abilities: Abilities) -> dict[str, Any]:
    found = {"languages": sorted(abilities.languages), "skills": sorted(abilities.skills)}
    return AbilitiesSerializer(found).data


class InvitationList(APIView):
    """The open invitations, oldest first; POST to invite somebody."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination

    @extend_schema(
        responses={200: InvitationSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="invitations_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = members.list_invitations(actor=actor(request), project=project)
        return answer_page(self, request, rows, InvitationSerializer)

    @extend_schema(
        request=NewInvitationSerializer,
        responses={201: InvitationWithLinkSerializer, **REFUSALS},
        operation_id="invitations_create",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Invite one person. The answer has the link, which is shown only this once."""
        project = administered_project(request, slug)
        sent = read_fields(NewInvitationSerializer, request)
        invitation, secret = members.create_invitation(actor=actor(request), project=project, **sent)
        found = InvitationWithLinkSerializer(invitation, context={"secret": secret}).data
        return Response(found, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})


class InvitationRevoke(APIView):
    """The end of an invitation."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={204: None, **REFUSALS}, operation_id="invitations_revoke")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Revoke an invitation, so that its link no longer works."""
        project = load_project(actor=actor(request), slug=slug)
        members.revoke_invitation(actor=actor(request), project=project, public_id=public_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _role(request: Request, slug: str, public_id: str, role: str) -> tuple[Project, User, Role]:
    project = administered_project(request, slug)
    person = members.load_person(project=project, public_id=public_id)
    if role not in set(Role):
        known = ", ".join(f"“{one.value}”" for one in Role)
        raise Hidden(_("There is no role “%(role)s”. Use one of: %(known)s.") % {"role": role[:40], "known": known})
    return project, person, Role(role)
