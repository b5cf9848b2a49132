"""Forms of imports and releases."""

from django import forms

from benchmark.core.formats import READERS
from benchmark.services.releases.requests import FORMATS

FORMAT_TITLES = {
    "wild": "wild: WildToolBench sessions",
    "c3": "c3: C3-Bench dialogues",
    "mmtb": "mmtb: Multi-Mission Tool Bench dialogues",
    "cctu": "cctu: constrained cases with their check_code",
    "neutral": "neutral: Assay’s own documents",
    "openai": "openai: messages with tool calls",
}


class ImportForm(forms.Form):
    file = forms.FileField(
        label="File of candidates",
        help_text="JSON lines (.jsonl), packed too (.jsonl.gz, .zip), or a JSON list (.json). It stays on the server.",
        allow_empty_file=True,
    )
    native_format = forms.ChoiceField(
        label="Format", choices=[(name, FORMAT_TITLES.get(name, name)) for name in READERS]
    )
    dry_run = forms.BooleanField(
        required=False, label="Dry run", help_text="Everything is read, checked and reported; nothing is written."
    )
    revise = forms.BooleanField(
        required=False,
        label="Revise",
        help_text="Records whose id the project has, with other content, become new revisions; else they are refused.",
    )
    reopen = forms.BooleanField(
        required=False,
        label="Reopen what people have worked on",
        help_text="Also dialogues that are verified, reviewed or edited by hand, where a dry run of this file has "
        "named them: their labels and dependencies give way to the record’s, and their review starts again.",
    )


class ReleaseForm(forms.Form):
    version = forms.CharField(
        max_length=40, label="Version", help_text="As in 1.0 or 2026-05. A version is given once and never changes."
    )
    native_format = forms.ChoiceField(
        label="Native format",
        choices=[(name, FORMAT_TITLES.get(name, name)) for name in FORMATS],
        help_text="The neutral documents are in every release.",
    )
    require_all = forms.BooleanField(
        required=False, label="Refuse if anything would be left out", help_text="Else what is left out is listed."
    )
