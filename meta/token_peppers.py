"""The peppers of tokens, as the settings name them."""

from collections.abc import Iterator

from meta.process import ConfigError, Environment, production
from meta.store.access.token_secrets import DATABASE_PEPPER, Peppers


def load(env: Environment) -> Peppers:
    """Read the peppers. Raises ConfigError."""
    peppers = Peppers(
        env.secret("TOKEN_PEPPER").encode(),
        env.secret("TOKEN_PEPPER_NEXT").encode(),
        env.secret("TOKEN_PEPPER_PREVIOUS").encode(),
    )
    if peppers.previous == DATABASE_PEPPER and not peppers.current:
        raise ConfigError(
            "META_TOKEN_PEPPER_PREVIOUS is the database's own pepper: set META_TOKEN_PEPPER"
        )
    return peppers


def weak(peppers: Peppers) -> Iterator[str]:
    """Return the names of the peppers that could be guessed."""
    for suffix, pepper in (
        ("", peppers.current),
        ("_NEXT", peppers.upcoming),
        ("_PREVIOUS", peppers.previous),
    ):
        if pepper != DATABASE_PEPPER:
            yield from production.weak_secret(f"META_TOKEN_PEPPER{suffix}", pepper.decode())
