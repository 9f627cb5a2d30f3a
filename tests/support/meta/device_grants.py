"""The device authorization grant (RFC 8628) of a test's issuer, with refresh tokens."""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from typing import Any, Protocol

Answer = tuple[HTTPStatus, dict[str, Any]]
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class TokenSigner(Protocol):
    """The part of an issuer that grants need."""

    @property
    def url(self) -> str:
        """Its URL."""

    def token(self, **changed: Any) -> str:
        """Sign a token."""


@dataclass
class DeviceGrants:
    """Codes that a person approves by `decide`; each refresh token is good for one use.

    `decision` is what a person does with each code at once, by default nothing. Without
    `has_device_endpoint` the issuer does not offer the grant. `errors` are given once each in place
    of the next answers of the token endpoint, for example `slow_down`.
    """

    issuer: TokenSigner
    has_device_endpoint: bool = True
    token_secs: float = 600.0
    expires_secs: float = 60.0
    interval_secs: float = 0.05
    is_opaque: bool = False
    # An answer to a refresh token may lack the ID token.
    renews_id_token: bool = True
    decision: str = "authorization_pending"
    errors: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    refresh_tokens: set[str] = field(default_factory=set)
    _decisions: dict[str, str] = field(default_factory=dict)
    _serial: "count[int]" = field(default_factory=count)

    def endpoints(self) -> dict[str, str]:
        """Part of the discovery document."""
        url = self.issuer.url
        found = {"token_endpoint": f"{url}/token", "revocation_endpoint": f"{url}/revoke"}
        if self.has_device_endpoint:
            found["device_authorization_endpoint"] = f"{url}/device"
        return found

    def decide(self, user_code: str, decision: str = "approved") -> None:
        """Decide as the person: `approved`, or an error of RFC 8628."""
        assert f"device-{user_code}" in self._decisions
        self._decisions[f"device-{user_code}"] = decision

    def answer(self, path: str, form: dict[str, str]) -> Answer:
        """Answer a request to one of the endpoints."""
        self.forms.append({"path": path, **form})
        endpoints: dict[str, Callable[[dict[str, str]], Answer]] = {
            "/device": self._device,
            "/token": self._token,
            "/revoke": self._revoke,
        }
        return endpoints[path](form)

    def _device(self, form: dict[str, str]) -> Answer:
        if form.get("client_id") != "segplane":
            return _refusal("invalid_client")
        user_code = f"ABCD-{next(self._serial):04}"
        self._decisions[f"device-{user_code}"] = self.decision
        url = f"{self.issuer.url}/activate"
        return HTTPStatus.OK, {
            "device_code": f"device-{user_code}",
            "user_code": user_code,
            "verification_uri": url,
            "verification_uri_complete": f"{url}?user_code={user_code}",
            "expires_in": self.expires_secs,
            "interval": self.interval_secs,
        }

    def _token(self, form: dict[str, str]) -> Answer:
        if self.errors:
            return _refusal(self.errors.pop(0))
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return _refusal("invalid_grant")
            self.refresh_tokens.remove(form["refresh_token"])
            status, document = self.tokens()
            return status, document if self.renews_id_token else {**document, "id_token": None}
        assert form["grant_type"] == _DEVICE_GRANT
        decision = self._decisions.get(form["device_code"], "expired_token")
        if decision != "approved":
            return _refusal(decision)
        del self._decisions[form["device_code"]]
        return self.tokens()

    def tokens(self) -> Answer:
        """Issue tokens."""
        refresh_token = f"refresh-{next(self._serial)}"
        self.refresh_tokens.add(refresh_token)
        signed = self.issuer.token(exp_secs=self.token_secs)
        return HTTPStatus.OK, {
            "access_token": "opaque" if self.is_opaque else signed,
            "id_token": signed,
            "refresh_token": refresh_token,
            "token_type": "Bearer",
            "expires_in": self.token_secs,
        }

    def _revoke(self, form: dict[str, str]) -> Answer:
        self.refresh_tokens.discard(form["token"])
        return HTTPStatus.OK, {}


def _refusal(error: str) -> Answer:
    return HTTPStatus.BAD_REQUEST, {"error": error}
