"""An OpenID Connect issuer of a test, over real HTTP: discovery, keys, tokens, device grants."""

import json
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from tests.support.meta.code_grants import CODE_GRANT, CodeGrants
from tests.support.meta.device_grants import DeviceGrants

AUDIENCE = "segplane"


class Issuer:
    """Serves from the start on; `stop` begins an outage, `start` ends it."""

    def __init__(self) -> None:
        self.requests = 0
        # The credentials that clients showed.
        self.secrets: set[str] = set()
        self.keys: dict[str, ec.EllipticCurvePrivateKey] = {}
        self._port = 0
        self.lock = threading.Lock()
        self.devices = DeviceGrants(self)
        self.codes = CodeGrants(self.devices)
        self.rotate("first")
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def rotate(self, key_id: str) -> None:
        """Replace all keys by a new one."""
        self.keys = {key_id: ec.generate_private_key(ec.SECP256R1())}

    def start(self) -> None:
        """Serve, at the same port as before."""
        issuer = self

        class _Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                if path == "/authorize":
                    self.send_response(HTTPStatus.SEE_OTHER)
                    self.send_header("Location", issuer.codes.authorize(dict(parse_qsl(query))))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                else:
                    self._answer(HTTPStatus.OK, issuer.documents()[path])

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = dict(parse_qsl(text))
                issuer.secrets.add(self.headers.get("Authorization", ""))
                with issuer.lock:
                    if form.get("grant_type") == CODE_GRANT:
                        answer = issuer.codes.token(form)
                    elif "/token" in self.path and form.get("grant_type") == "refresh_token":
                        refusal = issuer.codes.renew(form)
                        answer = refusal or issuer.devices.answer(self.path, form)
                    else:
                        answer = issuer.devices.answer(self.path, form)
                self._answer(*answer)

            def _answer(self, status: HTTPStatus, document: dict[str, Any]) -> None:
                issuer.requests += 1
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), _Handler)
        self._port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def documents(self) -> dict[str, Any]:
        """The served documents, by path."""
        keys = [
            {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}
            for kid, key in self.keys.items()
        ]
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                **self.devices.endpoints(),
                **self.codes.endpoints(),
            },
            "/keys": {"keys": keys},
        }

    def claims(self, exp_secs: float = 600, **changed: Any) -> dict[str, Any]:
        """Claims of a token that expires in `exp_secs`; None leaves one out."""
        exp = time.time() + exp_secs
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "exp": exp, "roles": ["ro"]}
        return {key: value for key, value in {**claims, **changed}.items() if value is not None}

    def token(self, **changed: Any) -> str:
        """Sign a token."""
        ((key_id, key),) = self.keys.items()
        return jwt.encode(self.claims(**changed), key, "ES256", headers={"kid": key_id})
