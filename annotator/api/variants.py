"""Language variants for programs: whether they agree, and the confirmation that they do."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, requested_dialogue
from annotator.core.scopes import Scope
from annotator.models import Dialogue
from annotator.services.access.permissions import require_role
from annotator.services.database.filters import one_of
from annotator.services.dialogues.variants import MATCHERS, match_variants, variants_of


class VariantSerializer(serializers.Serializer[Any]):
    """Another variant of a dialogue."""

    public_id = serializers.CharField(source="dialogue.public_id")
    external_id = serializers.CharField(source="dialogue.external_id")
    language = serializers.CharField(source="dialogue.language")
    revision = serializers.CharField(source="dialogue.head.public_id", help_text="Its newest revision.")
    why = serializers.CharField(help_text="Why the two do not agree; blank if they do.")
    shared = serializers.BooleanField(
        help_text="Whether a part differs that must be the same. Edit one of them; a match is refused."
    )


class VariantsSerializer(serializers.Serializer[Any]):
    """The other variants of a dialogue."""

    revision = serializers.CharField(allow_null=True, help_text="The newest revision of the dialogue.")
    variants = VariantSerializer(many=True)


class VariantMatchSerializer(Input):
    variant = StrictCharField(max_length=12, help_text="The public id of the other dialogue.")
    revision = StrictCharField(max_length=12, help_text="The newest revision of the dialogue, as you compared it.")
    variant_revision = StrictCharField(max_length=12, help_text="The newest revision of the other one.")


class Variants(APIView):
    """The language variants of a dialogue."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: VariantsSerializer, 404: NOT_FOUND}, operation_id="variants_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(_shown(request, requested_dialogue(request, slug, public_id)))

    @extend_schema(
        request=VariantMatchSerializer, responses={200: VariantsSerializer, **REFUSALS}, operation_id="variants_match"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Record that the newest revisions of two variants say the same. For administrators and senior reviewers.

        The same request again changes nothing. If one of the two has changed since, you get 409.
        """
        dialogue = requested_dialogue(request, slug, public_id)
        require_role(actor=actor(request), project=dialogue.project, roles=MATCHERS)
        sent = read_fields(VariantMatchSerializer, request)
        known = variants_of(actor=actor(request), dialogue=dialogue)
        other = one_of(sent, "variant", [one.dialogue.public_id for one in known], required=True)
        seen = (sent["revision"], sent["variant_revision"])
        match_variants(actor=actor(request), dialogue=dialogue, other=other, seen=seen)
        return Response(_shown(request, dialogue))


def _shown(request: Request, dialogue: Dialogue) -> Any:
    found = {
        "revision": dialogue.head.public_id if dialogue.head else None,
        "variants": variants_of(actor=actor(request), dialogue=dialogue),
    }
    return VariantsSerializer(found).data
