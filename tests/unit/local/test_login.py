"""The login of the UI: generated once, kept where only its owner reads it."""

import pytest

from cumulus_ops.local.airflow import Login, airflow_environment
from cumulus_ops.project.errors import SetupProblem


def test_it_is_generated_once_and_readable_by_its_owner_only(tmp_path):
    first = Login.kept_in(tmp_path / "airflow" / "passwords.json")
    assert Login.kept_in(first.file) == first
    assert len(first.password) >= 16
    assert first.file.stat().st_mode & 0o077 == 0
    assert Login.kept_in(tmp_path / "other.json").password != first.password


@pytest.mark.parametrize("text", ["", "[]", '{"somebody": "x"}'])
def test_a_damaged_file_is_a_problem_with_a_hint(tmp_path, text):
    (tmp_path / "passwords.json").write_text(text)
    with pytest.raises(SetupProblem) as caught:
        Login.kept_in(tmp_path / "passwords.json")
    assert "remove it" in caught.value.hint


def test_secrets_are_new_for_each_run_and_the_password_is_in_none_of_the_settings(tmp_path):
    login = Login.kept_in(tmp_path / "passwords.json")
    one, other = (airflow_environment(tmp_path, 8080, tmp_path, login) for _ in range(2))
    assert one["AIRFLOW__API_AUTH__JWT_SECRET"] != other["AIRFLOW__API_AUTH__JWT_SECRET"]
    assert "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS" not in one
    assert login.password not in " ".join(one.values())
    assert one["AIRFLOW__API__HOST"] == "127.0.0.1"
