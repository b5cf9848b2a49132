"""Pages of work and review."""

from django.urls import path

from reviews.views import (
    adjudication,
    dialogues,
    feedback,
    graph,
    paths,
    project,
    protocol,
    remarks,
    submission,
    workspace,
)

_WORK = "work/<str:slot>/"

urlpatterns = [
    path("", project.home, name="home"),
    path("p/<slug:slug>/", project.project, name="project"),
    path("p/<slug:slug>/protocol/", protocol.protocol, name="protocol"),
    path("p/<slug:slug>/protocol/edit/", protocol.protocol_edit, name="protocol-edit"),
    path("p/<slug:slug>/protocol/changes/", protocol.protocol_changes, name="protocol-changes"),
    path("p/<slug:slug>/protocol/json/", protocol.protocol_json, name="protocol-json"),
    path("p/<slug:slug>/draw/", project.draw, name="draw"),
    path("p/<slug:slug>/feedback/", feedback.feedback_list, name="feedback-list"),
    path("p/<slug:slug>/next/", workspace.work_next, name="work-next"),
    path("p/<slug:slug>/dialogues/", dialogues.dialogue_list, name="dialogue-list"),
    path("p/<slug:slug>/dialogues/<str:public_id>/", dialogues.dialogue_detail, name="dialogue"),
    path("p/<slug:slug>/dialogues/<str:public_id>/comments/", remarks.dialogue_comment, name="dialogue-comment"),
    path(
        "p/<slug:slug>/dialogues/<str:public_id>/comments/<str:comment>/",
        remarks.comment_resolve,
        name="comment-resolve",
    ),
    path("p/<slug:slug>/dialogues/<str:public_id>/changes/", dialogues.revision_diff, name="revision-diff"),
    path("p/<slug:slug>/dialogues/<str:public_id>/tasks/<str:task>/paths/", paths.decision_tree, name="decision-tree"),
    path(_WORK, workspace.workspace, name="workspace"),
    path(_WORK + "tasks/<str:task>/paths/", paths.workspace_decision_tree, name="workspace-decision-tree"),
    path(_WORK + "look/", graph.look, name="workspace-look"),
    path(_WORK + "edit/", workspace.edit, name="workspace-edit"),
    path(_WORK + "undo/", workspace.history, {"action": "undo"}, name="workspace-undo"),
    path(_WORK + "redo/", workspace.history, {"action": "redo"}, name="workspace-redo"),
    path(_WORK + "reset/", workspace.history, {"action": "reset"}, name="workspace-reset"),
    path(_WORK + "heartbeat/", workspace.heartbeat, name="workspace-heartbeat"),
    path(_WORK + "release/", workspace.leave, {"action": "release"}, name="workspace-release"),
    path(_WORK + "skip/", workspace.leave, {"action": "skip"}, name="workspace-skip"),
    path(_WORK + "waive/", workspace.waive, name="workspace-waive"),
    path(_WORK + "comment/", workspace.comment, name="workspace-comment"),
    path(_WORK + "form/", submission.review_form, name="workspace-form"),
    path(_WORK + "submit/", submission.submit, name="workspace-submit"),
    path(_WORK + "settle/", adjudication.settle, name="workspace-settle"),
    path(_WORK + "settle/keep/", adjudication.keep, name="workspace-settle-keep"),
    path(_WORK + "merge/", submission.merge, name="workspace-merge"),
]
