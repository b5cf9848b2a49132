"""Making language variants, for programs."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.views import REFUSALS, actor, requested_dialogue
from annotator.core.scopes import Scope
from annotator.models import Dialogue
from annotator.services.access.permissions import require_administrator
from reviews.services.variant_creation import LANGUAGES, make_variant


class NewVariantSerializer(Input):
    language = StrictCharField(max_length=8, help_text=f"One of: {', '.join(LANGUAGES)}.")


class MadeVariantSerializer(serializers.ModelSerializer[Dialogue]):
    class Meta:
        model = Dialogue
        fields = ("public_id", "external_id", "language", "variant_group", "status")


class MakeVariant(APIView):
    """Make a language variant of a dialogue: a copy to be translated."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=NewVariantSerializer, responses={201: MadeVariantSerializer, **REFUSALS}, operation_id="variants_make"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Copy the newest revision into a new dialogue, which is reviewed like any other candidate.

        For administrators. You get 409 if the dialogue has a variant in that language, or if its id is taken.
        """
        dialogue = requested_dialogue(request, slug, public_id)
        require_administrator(actor=actor(request), project=dialogue.project)
        language = read_fields(NewVariantSerializer, request)["language"]
        made = make_variant(actor=actor(request), dialogue=dialogue, language=language)
        return Response(MadeVariantSerializer(made).data, status=201)
