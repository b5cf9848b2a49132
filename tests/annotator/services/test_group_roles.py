"""Groups of identity providers as roles, and the file that describes the providers."""

from pathlib import Path

import pytest
from allauth.socialaccount.models import SocialAccount
from django.core.exceptions import ImproperlyConfigured

from annotator.config.providers import GroupRole, IdentityProvider, read_providers
from annotator.models import Event, Membership, Role
from annotator.services.access.permissions import roles_in
from annotator.services.accounts.providers import apply_groups, groups_of
from annotator.services.archiving import archive_project
from annotator.services.members import grant_role
from reviews.services.queue.claims import claim_next
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_document, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def provider(*groups: GroupRole) -> IdentityProvider:
    return IdentityProvider(kind="openid_connect", id="sso", name="SSO", client_id="a", secret="b", groups=groups)


def test_groups_give_roles_and_take_back_only_those_that_they_gave(team: Team) -> None:
    project, person = team.project, make_user("lena")
    labels = GroupRole("labels", project.slug, Role.ANNOTATOR)
    seniors = GroupRole("seniors", project.slug, Role.SENIOR_REVIEWER)
    chiefs = GroupRole("chiefs", project.slug, Role.ADMINISTRATOR)
    unknown = GroupRole("labels", "no-such-project", Role.ANNOTATOR)
    sso = provider(labels, seniors, chiefs, unknown)
    apply_groups(person, sso, frozenset({"labels", "seniors", "others"}))
    assert roles_in(project, person) == {Role.ANNOTATOR, Role.SENIOR_REVIEWER}
    assert Event.objects.filter(kind="membership.granted", after__provider="sso").count() == 2
    grant_role(actor=team.administrator, project=project, user=person, role=Role.ADMINISTRATOR)
    apply_groups(person, sso, frozenset({"seniors"}))
    assert roles_in(project, person) == {Role.SENIOR_REVIEWER, Role.ADMINISTRATOR}
    apply_groups(person, sso, frozenset({"chiefs"}))
    assert roles_in(project, person) == {Role.ADMINISTRATOR}
    apply_groups(person, sso, frozenset())
    # A person gave this one.
    assert roles_in(project, person) == {Role.ADMINISTRATOR}


def test_a_role_that_a_person_gives_too_stays(team: Team) -> None:
    person, sso = make_user("lena"), provider(GroupRole("labels", team.project.slug, Role.ANNOTATOR))
    apply_groups(person, sso, frozenset({"labels"}))
    grant_role(actor=team.administrator, project=team.project, user=person, role=Role.ANNOTATOR)
    apply_groups(person, sso, frozenset())
    assert roles_in(team.project, person) == {Role.ANNOTATOR}


def test_roles_in_an_archived_project_stay_as_they_are(team: Team) -> None:
    person, sso = make_user("lena"), provider(GroupRole("labels", team.project.slug, Role.ANNOTATOR))
    apply_groups(person, sso, frozenset({"labels"}))
    archive_project(actor=team.administrator, project=team.project)
    apply_groups(person, sso, frozenset())
    assert Membership.objects.live().filter(user=person).count() == 1
    apply_groups(make_user("ida"), sso, frozenset({"labels"}))
    assert not Membership.objects.filter(user__username="ida").exists()


def test_the_last_administrator_stays_one(team: Team, caplog: pytest.LogCaptureFixture) -> None:
    sso = provider(GroupRole("chiefs", team.project.slug, Role.ADMINISTRATOR))
    Membership.objects.filter(user=team.administrator, role=Role.ADMINISTRATOR).update(provider="sso")
    apply_groups(team.administrator, sso, frozenset())
    assert Role.ADMINISTRATOR in roles_in(team.project, team.administrator)
    assert "only administrator" in caplog.text


def test_work_in_progress_goes_back_with_the_group(team: Team) -> None:
    adopt_c3(team)
    begin(team.project, [make_dialogue(team.project, make_document("one"))])
    person = make_user("lena")
    sso = provider(GroupRole("labels", team.project.slug, Role.ANNOTATOR))
    apply_groups(person, sso, frozenset({"labels"}))
    claim = claim_next(actor=person, project=team.project, stage="self_check_single")
    assert claim is not None
    apply_groups(person, sso, frozenset())
    assert roles_in(team.project, person) == frozenset()
    claim.refresh_from_db()
    assert claim.state == "withdrawn"


@pytest.mark.parametrize(
    ("data", "groups"),
    [
        ({"userinfo": {"groups": ["a", "b", 3]}, "id_token": {"groups": ["c"]}}, {"a", "b"}),
        ({"userinfo": {"sub": "1"}, "id_token": {"groups": "c"}}, {"c"}),
        ({"groups": ["d"]}, {"d"}),
        ({"userinfo": {"groups": {"x": 1}}}, set()),
        ({}, set()),
    ],
)
def test_groups_are_read_wherever_the_provider_puts_them(data: dict[str, object], groups: set[str]) -> None:
    assert groups_of(SocialAccount(extra_data=data), "groups") == groups


WHOLE = """
providers:
  - kind: openid_connect
    id: lab
    name: The lab
    issuer: https://sso.example.org/realms/lab/
    client_id: assay
    client_secret_file: {folder}/secret
    sign_up: true
    groups:
      - {{group: labels, project: boats, role: annotator}}
  - kind: github
    client_id: abc
    client_secret: def
"""


def test_the_file_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("hush\n")
    (tmp_path / "providers.yaml").write_text(WHOLE.format(folder=tmp_path))
    monkeypatch.setenv("SIGN_IN_FILE", str(tmp_path / "providers.yaml"))
    lab, github = read_providers()
    assert (lab.name, lab.issuer, lab.secret) == ("The lab", "https://sso.example.org/realms/lab", "hush")
    assert (lab.sign_up, lab.link_by_email) == (True, False)
    assert lab.groups == (GroupRole("labels", "boats", Role.ANNOTATOR),)
    assert lab.as_app()["provider_id"] == "lab"
    assert (github.id, github.name) == ("github", "GitHub")
    monkeypatch.delenv("SIGN_IN_FILE")
    assert read_providers() == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("providers:", "provider:"), "one key, “providers”"),
        (("  - kind: openid_connect", "  - kind: ldap"), "“kind” must be one of"),
        (("    id: lab", "    id: The Lab"), "“id” must be"),
        (("    issuer: https://sso.example.org/realms/lab/\n", ""), "“issuer” must be the address"),
        (("client_id: assay", "client_id: ''"), "“client_id” is missing"),
        (("/secret", "/no-such-file"), "can't be read"),
        (("sign_up: true", "sign_up: 'yes'"), "“sign_up” must be true or false"),
        (("role: annotator", "role: boss"), "no role “boss”"),
        (("group: labels, ", ""), "each of “groups”"),
        (("client_id: assay", "client_id: assay\n    colour: red"), "unknown key “colour”"),
        (("client_id: abc", "client_id: abc\n    id: lab"), "“id” must be “github”, or left out"),
        (("kind: github", "kind: [github"), "is not YAML"),
        (("    id: lab", "    id: google"), "not a kind"),
        (
            ("client_secret: def", "client_secret: def\n    groups: [x]"),
            "only providers",
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_said(
    change: tuple[str, str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("hush")
    assert change[0] in WHOLE
    (tmp_path / "providers.yaml").write_text(WHOLE.replace(*change, 1).format(folder=tmp_path))
    monkeypatch.setenv("SIGN_IN_FILE", str(tmp_path / "providers.yaml"))
    with pytest.raises(ImproperlyConfigured, match=sentence):
        read_providers()
