"""Login by OpenID Connect: authorization code with PKCE (RFC 7636), renewal and its end.

Authlib builds the request and checks the ID token; documents are read as `segplane login` reads
them: bounded, without redirections, over https beyond loopback.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from segplane.gateway.console.sessions.readings import SharedReading
from segplane.gateway.console.sessions.session import LoginAttempt
from segplane.gateway.console.settings import OidcSettings
from segplane.login import issuer as issuers
from segplane.login.issuer import expiry_of
from segplane.login.saved import LoginError

_LEEWAY_SECS = 60
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """The token that meta is shown, its end, and what renews it; "" = nothing does."""

    token: str = field(repr=False)
    ends_at: float
    refresh_token: str = field(default="", repr=False)


class IssuerClient:
    """The console as a client of an issuer; its calls block.

    They raise IssuerAway, IssuerRefused, and LoginError for an issuer or an answer not to be used.
    """

    def __init__(
        self,
        settings: OidcSettings,
        public_address: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.issuer = settings.issuer
        self._settings = settings
        self._redirect_uri = f"{public_address}/ui/login/callback"
        self._login_page = f"{public_address}/ui/login"
        self._clock = clock
        self._endpoints = SharedReading(lambda: issuers.discover(settings.issuer))
        self._keys = SharedReading(self._read_keys)

    def address_of(self, attempt: LoginAttempt) -> str:
        """Return the issuer's address at which a person consents."""
        endpoint = self._endpoints.get().authorization
        if not endpoint:
            raise LoginError(f"{self._settings.issuer} has no authorization endpoint")
        return str(
            prepare_grant_uri(
                endpoint,
                self._settings.client_id,
                "code",
                self._redirect_uri,
                self._settings.scope,
                attempt.state,
                nonce=attempt.nonce,
                audience=self._settings.audience or None,
                code_challenge=create_s256_code_challenge(attempt.verifier),
                code_challenge_method="S256",
            )
        )

    def exchange(self, attempt: LoginAttempt, code: str) -> IssuedTokens:
        """Exchange the code of a callback for tokens, and check the ID token."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": attempt.verifier,
        }
        document = self._post(self._endpoints.get().token, form)
        self._check(document, attempt.nonce)
        return self._tokens(document)

    def renew(self, refresh_token: str) -> IssuedTokens:
        """Exchange a refresh token; the answer may have another."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        document = self._post(self._endpoints.get().token, form)
        return self._tokens({"refresh_token": refresh_token, **document})

    def end(self, refresh_token: str) -> str:
        """Revoke a refresh token; return the address that ends the issuer's session, "" = none."""
        endpoints = self._endpoints.get()
        if endpoints.revocation and refresh_token:
            form = {"token": refresh_token, "token_type_hint": "refresh_token"}
            self._post(endpoints.revocation, form)
        if not endpoints.end_session:
            return ""
        parameters = {
            "client_id": self._settings.client_id,
            "post_logout_redirect_uri": self._login_page,
        }
        return str(add_params_to_uri(endpoints.end_session, list(parameters.items())))

    def _post(self, url: str, form: Mapping[str, str]) -> Mapping[str, Any]:
        client_id, secret = self._settings.client_id, self._settings.client_secret
        return issuers.post(url, {**form, "client_id": client_id}, secret)

    def _read_keys(self) -> KeySet:
        keys = issuers.get(self._endpoints.get().keys)
        return KeySet.import_key_set(keys)  # type: ignore[arg-type]

    def _decoded(self, id_token: str) -> jwt.Token:
        """Verify the signature, by the issuer's newest keys if the kept ones do not."""
        try:
            return jwt.decode(id_token, self._keys.get(), algorithms=_ALGORITHMS)
        except (JoseError, ValueError):
            self._keys.forget()
            return jwt.decode(id_token, self._keys.get(), algorithms=_ALGORITHMS)

    def _check(self, document: Mapping[str, Any], nonce: str) -> None:
        """Verify the ID token's signature, issuer, audience, times and nonce."""
        settings = self._settings
        try:
            decoded = self._decoded(str(document.get("id_token", "")))
            CodeIDToken(
                decoded.claims,
                decoded.header,
                {
                    "iss": {"essential": True, "value": settings.issuer},
                    "aud": {"essential": True, "value": settings.client_id},
                },
                {
                    "nonce": nonce,
                    "client_id": settings.client_id,
                    "access_token": document.get("access_token"),
                },
            ).validate(round(self._clock()), _LEEWAY_SECS)
        except (AuthlibBaseError, JoseError, ValueError, TypeError, KeyError) as error:
            raise LoginError(
                f"the issuer's ID token is not valid: {type(error).__name__}"
            ) from error

    def _tokens(self, document: Mapping[str, Any]) -> IssuedTokens:
        name = "id_token" if self._settings.shows_id_token else "access_token"
        token, refresh_token = document.get(name), document.get("refresh_token", "")
        if not isinstance(token, str) or not isinstance(refresh_token, str):
            # A renewal at some issuers has no ID token (OpenID Connect Core, 12.2).
            raise LoginError(f"the issuer's answer has no {name}: log in again")
        ends_at = expiry_of(token)
        if ends_at is None:
            raise LoginError(f"the issuer's {name} is not a JSON Web Token with an end")
        return IssuedTokens(token, ends_at, refresh_token)
