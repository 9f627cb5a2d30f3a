"""A bucket behind a proxy for each process, which refuses what a policy of docs does not allow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.support.object_store.faulty_proxy import FaultyProxy, Forward, ProxyAnswer, Request
from tests.support.object_store.policed import PATH

GET, CREATE, DELETE, LIST = "Get", "Create", "Delete", "List"


@dataclass(frozen=True)
class CloudPolicy:
    """The rules of one cloud."""

    # Location of the objects behind an address.
    location: Callable[[str], str]
    # The role and the resource that a request needs; None = refused without a note. Else raises.
    needed: Callable[[Request], tuple[str, str] | None]
    # True if a process has a role for a resource.
    is_allowed: Callable[[str, str, str], bool]
    # Before the bucket's base path in a resource.
    objects: str


class PolicedCloud:
    """The bucket as each process meets it."""

    def __init__(self, policy: CloudPolicy, proxies: Mapping[str, FaultyProxy]) -> None:
        self._policy = policy
        self._proxies = proxies
        self.refused: list[str] = []
        self.used: set[tuple[str, str, str]] = set()
        for process, proxy in proxies.items():
            proxy.fault = lambda request, forward, process=process: self._pass(  # type: ignore[misc]
                process, request, forward
            )

    def url(self, process: str) -> str:
        """The location of the objects for a process."""
        return self._policy.location(self._proxies[process].url)

    def _pass(self, process: str, request: Request, forward: Forward) -> ProxyAnswer:
        try:
            need = self._policy.needed(request)
        except AssertionError as error:
            self.refused.append(f"{process}: {error}")
            return ProxyAnswer(403)
        if need is None:
            return ProxyAnswer(403)
        role, resource = need
        if not self._policy.is_allowed(process, role, resource):
            self.refused.append(f"{process}: {role} {resource}")
            return ProxyAnswer(403)
        root = resource.removeprefix(f"{self._policy.objects}{PATH}/").split("/")[0]
        self.used.add((process, role, "" if role == LIST else f"{root}/"))
        return forward(request)
