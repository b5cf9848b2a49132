"""Makes a project with one stage, an administrator and a reviewer; prints their tokens as JSON.

It runs in Assay's own environment, on the database of the check.
"""

import json
import os
import sys
from pathlib import Path

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")
django.setup()

from annotator.core.roles import Role  # noqa: E402
from annotator.models import Project, User  # noqa: E402
from annotator.services.accounts.tokens import create_token  # noqa: E402
from annotator.services.members import grant_role  # noqa: E402
from reviews.core.protocols import AuthorRule, Eligible, Protocol, Stage, StageKind  # noqa: E402
from reviews.core.protocols.presets import EXPERT, TAXONOMY  # noqa: E402
from reviews.services.protocols.versions import adopt_protocol  # noqa: E402


def main() -> None:
    """Write the project and print what the client needs."""
    project = Project.objects.create(slug="clients", name="Clients")
    tokens = {}
    for name, role, scopes in (
        ("administrator", Role.ADMINISTRATOR, ["import", "administer"]),
        ("reviewer", Role.SENIOR_REVIEWER, ["annotate"]),
    ):
        person = User.objects.create_user(name)
        grant_role(actor=None, project=project, user=person, role=role)
        made = create_token(actor=person, name=name, expires_at=None, scopes=scopes, projects=[project.public_id])
        tokens[name] = made[1]
    stage = Stage(
        key="check",
        title="Check",
        kind=StageKind.EXPERT,
        eligible=Eligible(roles=(Role.SENIOR_REVIEWER,), author=AuthorRule.NOT_AUTHOR),
        outcomes=EXPERT,
    )
    protocol = Protocol(name="One stage", preset="", stages=(stage,), taxonomy=TAXONOMY)
    adopt_protocol(actor=None, project=project, protocol=protocol)
    print(json.dumps({"slug": project.slug, **tokens}))


main()
