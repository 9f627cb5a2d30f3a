"""Cookies of the console, encrypted and in parts that proxies take."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.sessions.sealing import Fields, Sealer

PART_BYTES_MAX = 3_800
PARTS_MAX = 2
_LOCAL_PATH = "/ui/"


class CookieTooLarge(Exception):
    """The value does not fit into the parts of a cookie."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """One kind of cookie: `__Host-segplane` behind a public URL, `segplane-<port>` on loopback.

    Cookies know no port, so on loopback the name and the key have it, and the browser sends them
    below /ui/ only: other servers of this machine do not get them with their pages.
    """

    sealer: Sealer
    is_public: bool
    suffix: str
    max_age_secs: int
    # The browser sends it to a page that a link of another site opens.
    follows_links: bool

    def read(self, request: Request) -> Fields | None:
        """Return what the browser's cookie holds, None without a valid one."""
        names = self._names(request)
        parts = [request.cookies.get(name, "") for name in names]
        if len(parts[0]) < PART_BYTES_MAX:
            # A part that an earlier value has left there does not belong to this one.
            parts = parts[:1]
        text = "".join(parts)
        if not text or len(text) > PARTS_MAX * PART_BYTES_MAX:
            return None
        return self.sealer.open(names[0], text)

    def write(self, request: Request, response: Response, fields: Fields) -> None:
        """Keep a value in the browser in place of an earlier one. Raises CookieTooLarge."""
        names = self._names(request)
        text = self.sealer.seal(names[0], fields)
        starts = range(0, len(text), PART_BYTES_MAX)
        if len(starts) > PARTS_MAX:
            raise CookieTooLarge
        parts = [text[start : start + PART_BYTES_MAX] for start in starts]
        for name, part in zip(names, parts, strict=False):
            self._set(response, name, part, self.max_age_secs)
        for name in names[len(parts) :]:
            self._set(response, name, "", 0)

    def is_sent(self, request: Request) -> bool:
        """True if the browser sent a cookie of this kind, valid or not."""
        return self._names(request)[0] in request.cookies

    def delete(self, request: Request, response: Response) -> None:
        """Delete all parts in the browser."""
        for name in self._names(request):
            self._set(response, name, "", 0)

    def _names(self, request: Request) -> list[str]:
        port = (request.scope.get("server") or (None, None))[1]
        prefix = "__Host-segplane" if self.is_public else f"segplane-{port}"
        first = f"{prefix}{self.suffix}"
        return [first, *(f"{first}-{number}" for number in range(2, PARTS_MAX + 1))]

    def _set(self, response: Response, name: str, value: str, max_age_secs: int) -> None:
        response.set_cookie(
            name,
            value,
            max_age=max_age_secs,
            path="/" if self.is_public else _LOCAL_PATH,
            secure=self.is_public,
            httponly=True,
            samesite="lax" if self.is_public or self.follows_links else "strict",
        )
