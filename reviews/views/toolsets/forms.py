"""Forms of toolsets: a description to read, the details, the functions and the code."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotator.core.tags import MAX_LENGTH, MAX_TAGS
from annotator.core.tools.sources.reading import SourceKind
from annotator.models import Project
from annotator.services.toolsets.details import MAX_LICENCE, MAX_SOURCE, Details
from annotator.services.toolsets.storing import MAX_NAME
from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField

KIND_TITLES = {
    SourceKind.OPENAI: _("OpenAI functions"),
    SourceKind.MCP: _("Tools of an MCP server (tools/list)"),
    SourceKind.OPENAPI: _("OpenAPI 3 document"),
    SourceKind.PYTHON: _("Python functions"),
}
SEPARATORS = re.compile(r"[,，、;\s]+")


class SourceForm(forms.Form):
    """A description of tools: a file or a text."""

    file = forms.FileField(
        required=False,
        allow_empty_file=True,
        label=_("File"),
        help_text=_("JSON, YAML or Python, at most 10 MB."),
    )
    text = TextField(
        required=False,
        strip=False,
        label=_("Or paste it here"),
        widget=forms.Textarea(attrs={"rows": 12, "class": "mono", "spellcheck": "false"}),
    )
    kind = forms.ChoiceField(required=False, label=_("Kind"), choices=[("", _("Recognise it")), *KIND_TITLES.items()])

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        file = data.get("file")
        if file is not None:
            try:
                data["text"] = file.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", _now("The file is not text in UTF-8. Save it as UTF-8, and choose it again."))
        elif not data.get("text", "").strip():
            self.add_error("text", _now("Choose a file, or paste the description of the tools."))
        return data


def category_choices(project: Project) -> list[tuple[str, str]]:
    """Return the categories of a project for a field that may be blank."""
    names = project.toolset_categories.order_by("name").values_list("name", flat=True)
    return [("", _now("None")), *((name, _now(name)) for name in names)]


class DetailsForm(forms.Form):
    """The details of a toolset."""

    name = forms.CharField(max_length=MAX_NAME, label=_("Name"))
    category = forms.ChoiceField(required=False, label=_("Category"))
    tags = forms.CharField(
        required=False,
        max_length=MAX_TAGS * (MAX_LENGTH + 2),
        label=_("Tags"),
        help_text=_("Separated by commas or spaces."),
    )
    licence = forms.CharField(
        required=False, max_length=MAX_LICENCE, label=_("Licence"), help_text=_("For example CC BY 4.0, or Apache-2.0.")
    )
    source = forms.CharField(
        required=False,
        max_length=MAX_SOURCE,
        label=_("Source"),
        help_text=_("Where the tools come from: an address, or a few words."),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        category: Any = self.fields["category"]
        category.choices = category_choices(project)

    def details(self) -> Details:
        """Return what was entered."""
        data = self.cleaned_data
        tags = [tag for tag in SEPARATORS.split(data["tags"]) if tag]
        return Details(data["name"], data["category"], tags, data["licence"], data["source"])


def entered(details: Details) -> dict[str, str]:
    """Return the initial values of the form of details."""
    return {
        "name": details.name, "category": details.category, "tags": ", ".join(details.tags), "licence": details.licence,
        "source": details.source,
    }  # fmt: skip


class ToolsetForm(forms.Form):
    """The functions and the code of a toolset. ``seen``: the number of the revision that the page showed."""

    tools = forms.CharField(label=_("Functions as JSON"), strip=False)
    source = forms.CharField(label=_("Code"), required=False, strip=False)
    class_name = forms.CharField(label=_("Class"), required=False, max_length=200)
    load = forms.CharField(label=_("Method that loads the state"), required=False, max_length=200)
    seen = WholeNumberField(min_value=1)
    #: The hash of what the person has seen the effects of.
    previewed = forms.CharField(required=False, max_length=64)

    def implementation(self) -> dict[str, Any] | None:
        """Return the code with what names its parts; None if there is no code."""
        data = self.cleaned_data
        source = data["source"].replace("\r\n", "\n")
        if not source.strip():
            return None
        return {"source": source, "class": data["class_name"] or None, "load": data["load"] or None}
