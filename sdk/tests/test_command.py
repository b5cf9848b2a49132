"""The command ``assay``."""

from assay.__main__ import main


def test_a_missing_token_and_a_damaged_archive_have_their_exit_codes(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("ASSAY_TOKEN", raising=False)
    assert main(["projects"]) == 2
    (tmp_path / "a.zip").write_bytes(b"no zip")
    assert main(["load", str(tmp_path / "a.zip")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "ASSAY_TOKEN" in printed.err
    assert "zip archive" in printed.err
