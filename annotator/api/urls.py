"""Addresses of projects, dialogues and revisions."""

from django.urls import path

from annotator.api import (
    archiving,
    fields,
    guidelines,
    jobs,
    members,
    notices,
    replays,
    runs,
    settings,
    suggestions,
    tags,
    trials,
    variants,
    views,
    webhooks,
)
from annotator.api.schema_view import SchemaView

_P = "projects/<slug:slug>/"
_DIALOGUE = "projects/<slug:slug>/dialogues/<str:public_id>/"
_WEBHOOK = "projects/<slug:slug>/webhooks/<str:public_id>/"

urlpatterns = [
    path("schema/", SchemaView.as_view(), name="api-schema"),
    path("docs/", views.api_docs, name="api-docs"),
    path("notices/", notices.Notices.as_view(), name="api-notice-list"),
    path("notices/settings/", notices.NoticeSettingsView.as_view(), name="api-notice-settings"),
    path("notices/<str:public_id>/read/", notices.NoticeRead.as_view(), name="api-notice-read"),
    path("projects/", views.ProjectList.as_view(), name="api-project-list"),
    path("projects/<slug:slug>/", views.ProjectDetail.as_view(), name="api-project"),
    path("projects/<slug:slug>/suggestions/", suggestions.Suggestions.as_view(), name="api-suggestion-list"),
    path("projects/<slug:slug>/fields/", fields.CustomFields.as_view(), name="api-field-list"),
    path(_P + "settings/", settings.ProjectSettings.as_view(), name="api-project-settings"),
    path(_P + "archive/", archiving.Archive.as_view(), name="api-project-archive"),
    path(_P + "restore/", archiving.Restore.as_view(), name="api-project-restore"),
    path(_P + "members/", members.MemberList.as_view(), name="api-member-list"),
    path(_P + "members/<str:public_id>/", members.MemberDetail.as_view(), name="api-member"),
    path(_P + "members/<str:public_id>/abilities/", members.MemberAbilities.as_view(), name="api-member-abilities"),
    path(_P + "members/<str:public_id>/roles/<str:role>/", members.MemberRole.as_view(), name="api-member-role"),
    path(_P + "invitations/", members.InvitationList.as_view(), name="api-invitation-list"),
    path(_P + "invitations/<str:public_id>/revoke/", members.InvitationRevoke.as_view(), name="api-invitation-revoke"),
    path(_P + "guideline/", guidelines.GuidelineCurrent.as_view(), name="api-guideline"),
    path(
        _P + "guideline/acceptances/", guidelines.GuidelineAcceptances.as_view(), name="api-guideline-acceptance-list"
    ),
    path(
        _P + "guideline/acceptance/",
        guidelines.GuidelineAcceptanceSetting.as_view(),
        name="api-guideline-acceptance-setting",
    ),
    path(_P + "guideline/versions/", guidelines.GuidelineVersions.as_view(), name="api-guideline-version-list"),
    path(_P + "guideline/versions/<str:number>/", guidelines.GuidelineVersion.as_view(), name="api-guideline-version"),
    path(_P + "jobs/", jobs.Jobs.as_view(), name="api-job-list"),
    path(_P + "jobs/<str:public_id>/", jobs.JobDetail.as_view(), name="api-job"),
    path(_P + "jobs/<str:public_id>/cancel/", jobs.JobCancel.as_view(), name="api-job-cancel"),
    path(_DIALOGUE, views.DialogueDetail.as_view(), name="api-dialogue"),
    path(_DIALOGUE + "replays/", replays.ReplayStart.as_view(), name="api-replay-list"),
    path(_DIALOGUE + "replays/<str:replay>/", replays.ReplayDetail.as_view(), name="api-replay"),
    path(_DIALOGUE + "revisions/", views.RevisionList.as_view(), name="api-revision-list"),
    path(_DIALOGUE + "revisions/<str:revision_id>/", views.RevisionDetail.as_view(), name="api-revision"),
    path(
        _DIALOGUE + "revisions/<str:revision_id>/diff/<str:other_id>/",
        views.RevisionDiff.as_view(),
        name="api-revision-diff",
    ),
    path(_DIALOGUE + "run/", runs.Run.as_view(), name="api-run"),
    path(_DIALOGUE + "tags/", tags.DialogueTags.as_view(), name="api-dialogue-tags"),
    path(_DIALOGUE + "trials/", trials.TrialStart.as_view(), name="api-trial-list"),
    path(_DIALOGUE + "trials/<str:trial>/", trials.TrialDetail.as_view(), name="api-trial"),
    path(_DIALOGUE + "variants/", variants.Variants.as_view(), name="api-variant-list"),
    path(_DIALOGUE + "validators/<str:constraint>/", trials.ValidatorDetail.as_view(), name="api-validator"),
    path("projects/<slug:slug>/webhooks/", webhooks.WebhookList.as_view(), name="api-webhook-list"),
    path(_WEBHOOK, webhooks.WebhookDetail.as_view(), name="api-webhook"),
    path(_WEBHOOK + "rotate/", webhooks.WebhookRotate.as_view(), name="api-webhook-rotate"),
    path(_WEBHOOK + "test/", webhooks.WebhookTest.as_view(), name="api-webhook-test"),
    path(_WEBHOOK + "deliveries/", webhooks.DeliveryList.as_view(), name="api-webhook-delivery-list"),
    path(_WEBHOOK + "deliveries/<str:delivery>/", webhooks.DeliveryDetail.as_view(), name="api-webhook-delivery"),
    path(
        _WEBHOOK + "deliveries/<str:delivery>/send-again/", webhooks.DeliveryAgain.as_view(), name="api-webhook-again"
    ),
]
