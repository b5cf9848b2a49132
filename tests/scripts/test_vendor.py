"""The browser's libraries are the ones the lock file names."""

import json

from scripts import vendor


def test_every_file_is_the_one_the_lock_file_names():
    assert vendor.check(vendor.read_lock()) == []


def test_every_package_is_pinned_by_its_hash():
    lock = vendor.read_lock()
    pinned = list(lock["packages"].values())
    for bundle in lock["bundles"].values():
        pinned += bundle["resolved"].values()
    assert pinned
    assert all(package["integrity"].startswith("sha512-") for package in pinned)


def test_a_changed_file_is_named(monkeypatch, tmp_path):
    lock = vendor.read_lock()
    for name in vendor.expected_files(lock):
        (tmp_path / name).write_bytes((vendor.FOLDER / name).read_bytes())
    (tmp_path / "htmx.js").write_text("something else")
    (tmp_path / "stray.js").write_text("")
    (tmp_path / "LICENSE.htmx").unlink()
    monkeypatch.setattr(vendor, "FOLDER", tmp_path)
    problems = vendor.check(lock)
    assert [problem.split()[0] for problem in problems] == ["LICENSE.htmx", "stray.js", "htmx.js"]


def test_the_check_reports_in_one_line(capsys):
    assert vendor.main(["check"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
