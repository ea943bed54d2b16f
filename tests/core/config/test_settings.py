"""Secrets of the settings show as a mask."""

from __future__ import annotations

from overbrainer_core.config.settings import Provider, SecretText


def test_a_secret_never_shows() -> None:
    secret = SecretText("hidden")
    assert f"{secret}{secret!r}{[secret]}{Provider(name='a', protocol='openai', api_key=secret)}".count("hidden") == 0
    assert str(secret) == "***"
    assert secret.reveal() == "hidden"


def test_secrets_compare_by_text_and_know_a_reference() -> None:
    assert SecretText("a") == SecretText("a")
    assert SecretText("a") != SecretText("b")
    assert SecretText("a") != "a"
    assert len({SecretText("a"), SecretText("a")}) == 1
    assert SecretText("vault:a/b#c").is_reference
    assert not SecretText(" vault:a/b#c").is_reference
