"""The authorization code grant with PKCE (RFC 7636) of a test's issuer."""

import base64
import hashlib
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from urllib.parse import urlencode

from tests.support.meta.device_grants import Answer, DeviceGrants

CODE_GRANT = "authorization_code"


@dataclass
class CodeGrants:
    """Consents at once, as a person with a session at the issuer does.

    `refusal` is an error of RFC 6749 in place of the consent; `answers` change parameters of the
    way back, and `claims` those of the next ID tokens. A refresh token that comes twice ends all.
    """

    devices: DeviceGrants
    refusal: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    claims: dict[str, object] = field(default_factory=dict)
    requests: list[dict[str, str]] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _serial: "count[int]" = field(default_factory=count)

    def endpoints(self) -> dict[str, str]:
        """Part of the discovery document."""
        url = self.devices.issuer.url
        return {
            "authorization_endpoint": f"{url}/authorize",
            "end_session_endpoint": f"{url}/logout",
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Return the address at the client to which the person is led."""
        self.requests.append(asked)
        code = f"code-{next(self._serial)}"
        self._codes[code] = asked
        answer = {"state": asked["state"], "iss": self.devices.issuer.url}
        answer |= {"error": self.refusal} if self.refusal else {"code": code}
        return f"{asked['redirect_uri']}?{urlencode(answer | self.answers)}"

    def token(self, form: dict[str, str]) -> Answer:
        """Exchange a code once, for the client and the verifier that it was made for."""
        asked = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or asked["code_challenge_method"] != "S256"
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != form["redirect_uri"]
            or asked["client_id"] != form["client_id"]
        ):
            return HTTPStatus.BAD_REQUEST, {"error": "invalid_grant"}
        status, document = self.devices.tokens()
        claims = {"aud": asked["client_id"], "nonce": asked["nonce"], "iat": 0} | self.claims
        return status, document | {"id_token": self.devices.issuer.token(**claims)}

    def renew(self, form: dict[str, str]) -> Answer | None:
        """End all refresh tokens if one comes a second time; None = it is good."""
        if form["refresh_token"] in self.devices.refresh_tokens:
            return None
        self.devices.refresh_tokens.clear()
        return HTTPStatus.BAD_REQUEST, {"error": "invalid_grant"}
