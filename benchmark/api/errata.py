"""The API of errata: report an error in a released item, decide a report, get the errata log."""

from typing import Any

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.rendering import FileNegotiation
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import FILE, NOT_FOUND, actor
from annotator.core.scopes import Scope
from annotator.errors import Invalid
from annotator.services.access.permissions import load_project, require_administrator
from annotator.services.database.filters import one_of
from benchmark.api.views import CONFLICT, DENIED, INVALID, MALFORMED
from benchmark.core.archives.errata import MAX_EVIDENCE, MAX_PLACE, MAX_REASON, Severity
from benchmark.models import ErratumReport, Release, ReportState
from benchmark.services.releases import errata as reports
from benchmark.services.releases.requests import load_release
from benchmark.services.runs import errata as decisions
from benchmark.services.runs import suspects
from benchmark.services.runs.evidence import fill_from_entry

SEVERITIES = [one.value for one in Severity]
OVERSEERS = OpenApiResponse(ErrorSerializer, "Administrators and senior reviewers only.")


class ReportInputSerializer(Input):
    """An error in a released item."""

    item = StrictCharField(max_length=200, help_text="The item’s id in the release, as in items.jsonl.")
    text = StrictCharField(max_length=reports.MAX_TEXT, help_text="What is wrong.")
    place = StrictCharField(
        max_length=MAX_PLACE, required=False, allow_blank=True, default="", help_text="A field or a JSON pointer."
    )


class ConfirmErratumInputSerializer(Input):
    """What the errata log says about a reported error."""

    severity = serializers.ChoiceField(choices=SEVERITIES)
    reason = StrictCharField(max_length=MAX_REASON, help_text="What is wrong. The log has it.")
    evidence = StrictCharField(
        max_length=MAX_EVIDENCE, required=False, allow_blank=True, default="", help_text="The log has it."
    )
    place = StrictCharField(
        max_length=MAX_PLACE, required=False, allow_blank=True, help_text="Without it, that of the report."
    )


class NewErratumInputSerializer(Input):
    """An erratum without a report: of an item, or of an entry whose reference the runs show to be wrong."""

    item = StrictCharField(
        max_length=200, required=False, help_text="The item’s id in the release; by default that of the entry."
    )
    entry = StrictCharField(max_length=20, required=False, help_text="Key of an entry of the release.")
    answer = StrictCharField(
        max_length=20, required=False, help_text="With an entry: key of what one run earned on it, as evidence."
    )
    severity = serializers.ChoiceField(choices=SEVERITIES)
    reason = StrictCharField(max_length=MAX_REASON, help_text="What is wrong. The log has it.")
    evidence = StrictCharField(
        max_length=MAX_EVIDENCE, required=False, allow_blank=True,
        help_text="The log has it. By default what the runs answered to the entry.",
    )  # fmt: skip
    place = StrictCharField(
        max_length=MAX_PLACE, required=False, allow_blank=True, default="", help_text="A field or a JSON pointer."
    )


class DeclineErratumInputSerializer(Input):
    """Why a reported error is none."""

    reason = StrictCharField(max_length=MAX_REASON)


class ReportReceiptSerializer(serializers.ModelSerializer[ErratumReport]):
    """A report as it was received."""

    item = serializers.CharField(source="item.dialogue.external_id")

    class Meta:
        model = ErratumReport
        fields = ["public_id", "item", "place", "text", "created_at"]


class ErratumReportSerializer(ReportReceiptSerializer):
    """A report with its decision, and the line of the errata log if it was confirmed."""

    reporter = serializers.CharField(
        source="reporter.public_id", default=None, allow_null=True, help_text="Null for the public link."
    )
    state = serializers.ChoiceField(choices=ReportState.choices)
    decided_by = serializers.CharField(source="decided_by.public_id", default=None, allow_null=True)
    not_reopened = serializers.CharField(
        source="why_not_reopened", help_text="Why the item was not sent back to review; blank if it was."
    )
    erratum = serializers.SerializerMethodField(help_text="Null unless it was confirmed.")

    class Meta(ReportReceiptSerializer.Meta):
        fields = [
            *ReportReceiptSerializer.Meta.fields, "reporter", "state", "decided_by", "decided_at", "reason", "reopened",
            "not_reopened", "erratum",
        ]  # fmt: skip

    @extend_schema_field({"type": "object", "nullable": True, "additionalProperties": {}})
    def get_erratum(self, report: ErratumReport) -> dict[str, Any] | None:
        return report.erratum.record if report.state == ReportState.CONFIRMED else None


class ReportList(APIView):
    """The reports of errors in a release, oldest first, for administrators and senior reviewers; POST a report."""

    scope = Scope.ANNOTATE
    pagination_class = KeysetPagination
    since_meaning = "Reports: those that were made or decided since."

    @extend_schema(
        parameters=[OpenApiParameter("state", enum=ReportState.values, description="Only reports in this state.")],
        responses={200: ErratumReportSerializer(many=True), 403: OVERSEERS, 404: NOT_FOUND},
        operation_id="erratum_reports_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _release(request, slug, public_id)
        state = one_of(request.query_params, "state", ReportState.values)
        rows = reports.list_reports(actor=actor(request), release=release, state=state)
        return answer_page(self, request, rows, ErratumReportSerializer, since=reports.changed_since)

    @extend_schema(
        request=ReportInputSerializer,
        responses={201: ReportReceiptSerializer, 400: MALFORMED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID},
        operation_id="erratum_reports_create",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Report an error in a released item. Every member may."""
        release = _release(request, slug, public_id)
        report = reports.report_item(
            actor=actor(request), release=release, **read_fields(ReportInputSerializer, request)
        )
        return Response(ReportReceiptSerializer(report).data, status=status.HTTP_201_CREATED)


class ErratumAdd(APIView):
    """Errata without a report."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=NewErratumInputSerializer,
        responses={
            201: ErratumReportSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID,
        },
        operation_id="errata_add",
    )  # fmt: skip
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Report and confirm an error in one step, perhaps from an entry of the release."""
        release = _release(request, slug, public_id)
        require_administrator(actor=actor(request), project=release.project)
        sent = read_fields(NewErratumInputSerializer, request)
        entry, answer = sent.pop("entry", ""), sent.pop("answer", "")
        statistic = suspects.load_statistic(release, entry) if entry or answer else None
        given = fill_from_entry(statistic, answer) | sent
        if "item" not in given:
            raise Invalid(_("Name an item of the release, or an entry that belongs to one."), field="item")
        erratum = decisions.add_erratum(actor=actor(request), release=release, statistic=statistic, **given)
        return Response(ErratumReportSerializer(erratum.report).data, status=status.HTTP_201_CREATED)


class ReportDetail(APIView):
    """One report, for administrators and senior reviewers."""

    @extend_schema(
        responses={200: ErratumReportSerializer, 403: OVERSEERS, 404: NOT_FOUND}, operation_id="erratum_reports_read"
    )
    def get(self, request: Request, slug: str, public_id: str, report: str) -> Response:
        return Response(ErratumReportSerializer(_report(request, slug, public_id, report)).data)


class Confirm(APIView):
    """Confirm a report."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=ConfirmErratumInputSerializer,
        responses={
            200: ErratumReportSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID,
        },
        operation_id="erratum_reports_confirm",
    )  # fmt: skip
    def post(self, request: Request, slug: str, public_id: str, report: str) -> Response:
        """Add a line to the errata log and send the item back to review, if it is verified as it was released."""
        found = _to_decide(request, slug, public_id, report)
        sent = read_fields(ConfirmErratumInputSerializer, request)
        erratum = decisions.confirm_report(actor=actor(request), report=found, **sent)
        return Response(ErratumReportSerializer(erratum.report).data)


class Decline(APIView):
    """Decline a report."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=DeclineErratumInputSerializer,
        responses={
            200: ErratumReportSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 422: INVALID,
        },
        operation_id="erratum_reports_decline",
    )  # fmt: skip
    def post(self, request: Request, slug: str, public_id: str, report: str) -> Response:
        """Close a report without an erratum."""
        found = _to_decide(request, slug, public_id, report)
        sent = read_fields(DeclineErratumInputSerializer, request)
        return Response(
            ErratumReportSerializer(decisions.decline_report(actor=actor(request), report=found, **sent)).data
        )


class ErrataLog(APIView):
    """The errata log of a release as JSON lines. While one of its items is in review, reviewers get 409."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        responses={(200, "application/jsonl"): FILE, 404: NOT_FOUND, 409: CONFLICT}, operation_id="errata_log"
    )
    def get(self, request: Request, slug: str, public_id: str) -> StreamingHttpResponse:
        release = _release(request, slug, public_id)
        return StreamingHttpResponse(
            reports.read_log(actor=actor(request), release=release), content_type="application/jsonl"
        )


def _release(request: Request, slug: str, public_id: str) -> Release:
    project = load_project(actor=actor(request), slug=slug)
    return load_release(actor=actor(request), project=project, public_id=public_id)


def _report(request: Request, slug: str, public_id: str, report: str) -> ErratumReport:
    release = _release(request, slug, public_id)
    return reports.load_report(actor=actor(request), release=release, public_id=report)


def _to_decide(request: Request, slug: str, public_id: str, report: str) -> ErratumReport:
    found = _report(request, slug, public_id, report)
    require_administrator(actor=actor(request), project=found.release.project)
    return found
