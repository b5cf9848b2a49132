"""Pages of projects, people, guidelines and the site itself."""

from django.conf import settings
from django.urls import path

from annotator.views import (
    acceptance,
    account,
    custom_fields,
    invitations,
    keys,
    languages,
    metrics,
    notices,
    operations,
    operators,
    projects,
    provider_sign_in,
    security_log,
    sessions,
    site,
    webhooks,
)

urlpatterns = [
    path("livez", site.healthz, name="livez"),
    path("healthz", site.healthz, name="healthz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("operator/operations/", operations.operations, name="operator-operations"),
    path("operator/operations/<str:public_id>/retry/", operations.retry, name="operator-operations-retry"),
    path("jsi18n/", languages.script_texts, name="javascript-catalog"),
    path("language/", languages.language_settings, name="language-settings"),
    path("theme/", site.set_theme, name="theme"),
    path("tour/", site.tour, name="tour"),
    path("signed-in/", site.signed_in, name="signed-in"),
    path("notices/", notices.notice_list, name="notice-list"),
    path("notices/settings/", notices.notice_settings, name="notice-settings"),
    path("notices/<str:public_id>/", notices.notice_read, name="notice-read"),
    path("palette/", keys.palette, name="palette"),
    path("keys/", keys.key_settings, name="key-settings"),
    path("account/app-code.svg", account.app_code, name="account-app-code"),
    path("account/sessions/", sessions.session_list, name="account-sessions"),
    path("account/sessions/end/", sessions.session_end_others, name="account-sessions-end"),
    path("account/sessions/<str:key>/end/", sessions.session_end, name="account-session-end"),
    path("operator/security-log/", security_log.security_log_page, name="operator-security-log"),
    path("operator/security-log.jsonl", security_log.security_log_file, name="operator-security-log-file"),
    path("tokens/", account.token_list, name="token-list"),
    path("tokens/<str:public_id>/revoke/", account.token_revoke, name="token-revoke"),
    path("sign-in/<str:provider_id>/", provider_sign_in.provider_sign_in, name="provider-sign-in"),
    path("invitation/<str:secret>/", projects.invitation, name="invitation"),
    path("projects/", projects.project_list, name="project-list"),
    path("projects/new/", projects.project_create, name="project-create"),
    path("operator/projects/", operators.project_list, name="operator-project-list"),
    path("operator/projects/<slug:slug>/quota/", operators.project_quota, name="operator-project-quota"),
    path("p/<slug:slug>/settings/", projects.project_settings, name="project-settings"),
    path("p/<slug:slug>/fields/", custom_fields.field_list, name="field-list"),
    path("p/<slug:slug>/fields/new/", custom_fields.field_create, name="field-create"),
    path("p/<slug:slug>/fields/<str:field>/edit/", custom_fields.field_change, name="field-change"),
    path("p/<slug:slug>/people/", projects.member_list, name="member-list"),
    path("p/<slug:slug>/invitations/", invitations.invite_many, name="invite-many"),
    path("p/<slug:slug>/people/<str:public_id>/", projects.member_change, name="member-change"),
    path("p/<slug:slug>/invitations/<str:public_id>/revoke/", projects.invitation_revoke, name="invitation-revoke"),
    path("p/<slug:slug>/webhooks/", webhooks.webhook_list, name="webhook-list"),
    path("p/<slug:slug>/webhooks/<str:public_id>/", webhooks.webhook_detail, name="webhook"),
    path(
        "p/<slug:slug>/webhooks/<str:public_id>/<str:delivery>/",
        webhooks.webhook_delivery,
        name="webhook-delivery",
    ),
    path("p/<slug:slug>/guideline/", projects.guideline, name="guideline"),
    path("p/<slug:slug>/guideline/accept/", acceptance.guideline_acceptance, name="guideline-acceptance"),
    path("p/<slug:slug>/guideline/acceptance/", acceptance.acceptance_setting, name="guideline-acceptance-setting"),
    path("p/<slug:slug>/guideline/edit/", projects.guideline_edit, name="guideline-edit"),
]

if settings.DEMO:
    urlpatterns.append(path("demo/sign-in/", account.demo_sign_in, name="demo-sign-in"))
if settings.DEBUG:
    urlpatterns.append(path("styleguide/", site.styleguide, name="styleguide"))
