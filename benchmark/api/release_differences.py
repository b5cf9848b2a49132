"""The API of the difference of two releases."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.pagination import MAX_SIZE, SINCE, SINCE_MEANING, KeysetPagination
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import one_of
from benchmark.api.views import CONFLICT
from benchmark.core.archives.change_categories import Category
from benchmark.core.archives.dialogue_changes import DialogueChange, Limits
from benchmark.core.archives.difference import suggestion_values
from benchmark.core.archives.next_version import Level
from benchmark.models import ReleaseItem
from benchmark.services.releases import differences
from benchmark.services.releases.requests import items_changed_since, load_release

#: How much of each dialogue's changes a page has.
_LIMITS = Limits(changes=50, characters=2_000)
_ITEMS_SINCE = "Dialogues of two releases: all of them if one of the two was frozen since, else none."
CATEGORIES = [str(category) for category in Category]


class DialogueCountsSerializer(serializers.Serializer[Any]):
    """Dialogues by what happened to them."""

    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class SuggestionSerializer(serializers.Serializer[Any]):
    """The version that fits after the older release."""

    level = serializers.ChoiceField(choices=[str(level) for level in Level])
    version = serializers.CharField(allow_null=True, help_text="Null if the older one is not X.Y or X.Y.Z.")
    reason = serializers.CharField()


class FieldChangeSerializer(serializers.Serializer[Any]):
    """One change of a dialogue; a text is null if the field is absent."""

    category = serializers.ChoiceField(choices=CATEGORIES)
    reference = serializers.BooleanField(help_text="Whether a score or a model uses the field.")
    kind = serializers.ChoiceField(choices=["added", "removed", "changed", "moved"])
    anchor = serializers.CharField(allow_blank=True)
    place = serializers.CharField(help_text="The place in words.")
    before = serializers.CharField(allow_null=True, allow_blank=True)
    after = serializers.CharField(allow_null=True, allow_blank=True)


class ReviewFactSerializer(serializers.Serializer[Any]):
    """A review that the newer release lists in items.jsonl."""

    stage = serializers.CharField()
    round = serializers.IntegerField(allow_null=True)
    outcome = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True, help_text="Why the round was broken off.")
    reviewer = serializers.CharField(help_text="A pseudonym.")
    verdict = serializers.CharField(allow_blank=True)
    edited = serializers.BooleanField(help_text="Whether the reviewer edited the dialogue.")


class DialogueChangeSerializer(serializers.Serializer[Any]):
    """A dialogue that was changed, added or removed; only a changed one has changes and reviews."""

    id = serializers.CharField()
    dialogue = serializers.CharField(help_text="The dialogue's public id.")
    show = serializers.ChoiceField(choices=differences.SHOWN)
    categories = serializers.ListField(child=serializers.ChoiceField(choices=CATEGORIES))
    reference = serializers.BooleanField(help_text="Whether the reference changed.")
    total = serializers.IntegerField(help_text="The number of changes.")
    changes = FieldChangeSerializer(many=True, help_text=f"The first {_LIMITS.changes} changes.")
    reviews = ReviewFactSerializer(many=True)


class ReleaseDifferenceSerializer(serializers.Serializer[Any]):
    """A page of the difference of two releases."""

    next = serializers.URLField(allow_null=True)
    counts = DialogueCountsSerializer()
    categories = serializers.DictField(
        child=serializers.IntegerField(), help_text="Category → examined dialogues with such a change."
    )
    examined = serializers.IntegerField(help_text="Changed dialogues that were examined for categories.")
    suggestion = SuggestionSerializer()
    results = DialogueChangeSerializer(many=True)


class ReleaseDiff(APIView):
    """What changed from this release to another."""

    @extend_schema(
        parameters=[
            OpenApiParameter("to", {"type": "string", "minLength": 1}, required=True, description="The other release."),
            OpenApiParameter("show", str, enum=differences.SHOWN, description="By default changed dialogues."),
            OpenApiParameter("category", str, enum=CATEGORIES, description="Only dialogues with such a change."),
            OpenApiParameter("cursor", str, description="From “next” of the previous page."),
            OpenApiParameter("size", {"type": "integer", "minimum": 1, "maximum": MAX_SIZE}),
            OpenApiParameter(SINCE, OpenApiTypes.DATETIME, description=f"{SINCE_MEANING} {_ITEMS_SINCE}"),
        ],
        responses={
            200: ReleaseDifferenceSerializer, 400: OpenApiResponse(ErrorSerializer, "A filter is missing or unknown."),
            404: NOT_FOUND, 409: CONFLICT,
        },
        operation_id="releases_diff",
    )  # fmt: skip
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        """Return the counts, the version that fits after this release, and a page of dialogues."""
        project = load_project(actor=actor(request), slug=slug)
        release = load_release(actor=actor(request), project=project, public_id=public_id)
        frozen = differences.list_frozen(actor=actor(request), project=project)
        others = {one.public_id: one for one in frozen if one.pk != release.pk}
        pair = differences.compare(release, others[one_of(request.query_params, "to", others, required=True)])
        shown = one_of(request.query_params, "show", differences.SHOWN, otherwise=differences.CHANGED)
        category = one_of(request.query_params, "category", CATEGORIES)
        paginator = KeysetPagination()
        items = differences.list_items(pair, shown=shown, category=category)
        rows = paginator.paginate_queryset(items, request, self, since=items_changed_since(pair.before, pair.after))
        following = paginator.get_paginated_response([]).data["next"]
        found = {
            "next": following,
            "counts": asdict(pair.counts),
            "categories": {str(name): count for name, count in pair.categories.items()},
            "examined": pair.examined,
            "suggestion": suggestion_values(pair.suggestion),
            "results": _results(pair, rows, differences.CHANGED if category else shown),
        }
        return Response(ReleaseDifferenceSerializer(found).data)


def _results(pair: differences.Pair, rows: list[ReleaseItem], shown: str) -> list[dict[str, Any]]:
    changes: list[DialogueChange]
    if shown == differences.CHANGED:
        changes = differences.read_changes(pair, rows, _LIMITS)
    else:
        changes = [
            {"id": row.dialogue.external_id, "categories": [], "reference": True, "total": 0, "changes": [],
             "reviews": []}
            for row in rows
        ]  # fmt: skip
    return [one | {"dialogue": row.dialogue.public_id, "show": shown} for row, one in zip(rows, changes, strict=True)]
