// An OpenID Connect issuer for tests, by oidc-provider: it rotates refresh tokens and detects reuse.
// Arguments: the console's public URL, and the secret of its client. Prints its URL.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { Provider } = await import(require.resolve("oidc-provider"));
const [publicUrl, secret] = process.argv.slice(2);

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const provider = new Provider(`http://127.0.0.1:${server.address().port}`, {
  clients: [
    {
      client_id: "segplane",
      client_secret: secret,
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: [`${publicUrl}/ui/login/callback`],
      post_logout_redirect_uris: [`${publicUrl}/ui/login`],
    },
  ],
  claims: { openid: ["sub", "roles"] },
  conformIdTokenClaims: false,
  cookies: { keys: ["of a test"] },
  features: { revocation: { enabled: true } },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, roles: ["ro"] }) }),
  issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
  rotateRefreshToken: true,
});
server.on("request", provider.callback());
console.log(provider.issuer);
