"""The public links of a release, as their pages switch them: its leaderboard, and reports of errors."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictBooleanField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services.notices.addresses import absolute_url
from benchmark.models import ErrataLink, Release, SharedBoard
from benchmark.services.releases import errata as reports
from benchmark.services.releases.requests import load_release
from benchmark.services.runs import sharing

_ON_OFF = {status: REFUSALS[status] for status in (403, 404)}


class PublicLinkInputSerializer(Input):
    """How to switch a link on."""

    renew = StrictBooleanField(
        default=False, allow_null=False, help_text="If it is on: another link; the earlier one ends."
    )


class PublicLinkSerializer(serializers.Serializer[Any]):
    """A public link. Everybody who knows it can use it."""

    on = serializers.BooleanField()
    link = serializers.CharField(allow_null=True, help_text="Null if it is off.")
    requester = serializers.CharField(allow_null=True, help_text="Who switched it on.")
    created_at = serializers.DateTimeField(allow_null=True)


class SharedScoresSerializer(PublicLinkSerializer):
    """The public link to a leaderboard, and its pictures."""

    table = serializers.CharField(allow_null=True, help_text="The best runs as SVG.")
    badge = serializers.CharField(allow_null=True, help_text="The best run as a badge, SVG.")


class SharedScores(APIView):
    """The public link to the leaderboard of a release."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: SharedScoresSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="shared_scores_read"
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _release(request, slug, public_id)
        return Response(_scores(sharing.find_shared(actor=actor(request), release=release)))

    @extend_schema(
        request=PublicLinkInputSerializer,
        responses={200: SharedScoresSerializer, **REFUSALS},
        operation_id="shared_scores_open",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Make the leaderboard public: figures only, no answers and no references."""
        release = _release(request, slug, public_id)
        sent = read_fields(PublicLinkInputSerializer, request)
        return Response(_scores(sharing.share_board(actor=actor(request), release=release, renew=sent["renew"])))

    @extend_schema(
        request=None,
        responses={204: None, **_ON_OFF, 409: REFUSALS[409]},
        operation_id="shared_scores_close",
    )
    def delete(self, request: Request, slug: str, public_id: str) -> Response:
        """End the public link."""
        sharing.unshare_board(actor=actor(request), release=_release(request, slug, public_id))
        return Response(status=204)


class SharedErrata(APIView):
    """The public link under which everybody can report errors in a release."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: PublicLinkSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="errata_link_read"
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _release(request, slug, public_id)
        return Response(_errata(reports.find_link(actor=actor(request), release=release)))

    @extend_schema(
        request=PublicLinkInputSerializer,
        responses={200: PublicLinkSerializer, **REFUSALS},
        operation_id="errata_link_open",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Switch the link on."""
        release = _release(request, slug, public_id)
        sent = read_fields(PublicLinkInputSerializer, request)
        return Response(_errata(reports.open_link(actor=actor(request), release=release, renew=sent["renew"])))

    @extend_schema(
        request=None,
        responses={204: None, **_ON_OFF, 409: REFUSALS[409]},
        operation_id="errata_link_close",
    )
    def delete(self, request: Request, slug: str, public_id: str) -> Response:
        """Switch the link off."""
        reports.close_link(actor=actor(request), release=_release(request, slug, public_id))
        return Response(status=204)


def _release(request: Request, slug: str, public_id: str) -> Release:
    """Return the release. Raises Hidden, or Denied for everyone but administrators."""
    project = administered_project(request, slug)
    return load_release(actor=actor(request), project=project, public_id=public_id)


def _scores(shared: SharedBoard | None) -> Any:
    pages = {"link": "shared-scores", "table": "shared-table", "badge": "shared-badge"}
    return SharedScoresSerializer(_state(shared, pages)).data


def _errata(link: ErrataLink | None) -> Any:
    return PublicLinkSerializer(_state(link, {"link": "shared-errata"})).data


def _state(found: SharedBoard | ErrataLink | None, pages: dict[str, str]) -> dict[str, Any]:
    """Return what a serializer shows of a link. ``pages``: field → the page that opens by the token."""
    links = {name: absolute_url(reverse(page, args=[found.token])) if found else None for name, page in pages.items()}
    requester = found.requester.public_id if found and found.requester else None
    return {"on": found is not None, "requester": requester, "created_at": found and found.created_at, **links}
