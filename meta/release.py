"""Order of releases: the least one that may serve a database."""

from packaging.version import InvalidVersion, Version


def refusal(least_release: str, release: str) -> str:
    """Return the reason that a release may not serve a database, "" if it may.

    `least_release` is the one of the database, "" = any release may. Releases are ordered as in
    PEP 440. A least release that this build cannot read was written by a later one.

    >>> refusal("0.4.0.dev0", "0.3.0")
    'the database needs release 0.4.0.dev0 or later, this is 0.3.0: install a later release'
    >>> refusal("0.3.0", "0.3.1")
    ''
    """
    if not least_release:
        return ""
    try:
        may_serve = Version(least_release) <= Version(release)
    except InvalidVersion:
        may_serve = False
    if may_serve:
        return ""
    return (
        f"the database needs release {least_release} or later, this is {release}: install a later"
        " release"
    )
