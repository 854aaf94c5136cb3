// An OpenID Connect provider that we did not write: `oidc-provider` on a port of its own, which lets in the person of the login hint.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

interface OidcPerson {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly groups?: readonly string[];
}

interface OidcWorld {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who is known, by subject; tests add theirs. */
  readonly people: Map<string, OidcPerson>;
  /** Form bodies that the token endpoint got. */
  readonly exchanges: URLSearchParams[];
  /** Goes through the pages as a browser does; returns the address that leads back to us. */
  agree(authorizeUrl: string, subject: string, browser?: Browser): Promise<URL>;
  /** Logs out at the provider itself, in a browser that has agreed there. */
  leave(browser: Browser): Promise<void>;
  close(): Promise<void>;
}

/** The cookies that the provider has set. */
type Browser = Map<string, string>;

interface OidcWorldOptions {
  readonly redirectUrl: string;
  /** Where it tells of logouts; absent = nowhere. */
  readonly logoutUrl?: string;
  /** Claims stand in the ID token; else in the profile alone. */
  readonly isInToken: boolean;
}

export async function startOidcWorld({
  redirectUrl,
  logoutUrl,
  isInToken,
}: OidcWorldOptions): Promise<OidcWorld> {
  const people = new Map<string, OidcPerson>();
  const exchanges: URLSearchParams[] = [];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientId = "tollgate";
  const clientSecret = "oidc-secret-canary-0123456789abcdef";
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUrl],
        token_endpoint_auth_method: "client_secret_post",
        ...(logoutUrl && { backchannel_logout_uri: logoutUrl, backchannel_logout_session_required: true }),
      },
    ],
    cookies: { keys: ["a key of the emulator"] },
    jwks: { keys: [signingKey()] },
    claims: { openid: ["sub"], profile: ["name", "groups"], email: ["email", "email_verified"] },
    conformIdTokenClaims: !isInToken,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    // Without its guard against loopback addresses, where the tests live.
    fetch: (url: string, { dispatcher: _, ...init }: Record<string, unknown>) => fetch(url, init),
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_ctx: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...people.get(id) }),
    }),
  });
  const callback = provider.callback();
  server.on("request", (req, res) => {
    if (req.url?.startsWith("/interaction/")) {
      void interact(provider, req, res);
      return;
    }
    if (req.url === "/token") {
      const chunks: Buffer[] = [];
      req.on("data", (chunk: Buffer) => chunks.push(chunk));
      req.on("end", () => exchanges.push(new URLSearchParams(Buffer.concat(chunks).toString())));
    }
    callback(req, res);
  });
  return {
    issuer,
    clientId,
    clientSecret,
    people,
    exchanges,
    agree: (authorizeUrl, subject, browser = new Map()) =>
      walk(authorizeUrl, { subject, redirectUrl, browser }),
    async leave(browser) {
      const page = await (await step(browser, new URL(`${issuer}/session/end`))).text();
      const xsrf = /name="xsrf" value="(\w+)"/.exec(page)?.[1];
      if (xsrf === undefined) throw new Error(`no form: ${page}`);
      const body = new URLSearchParams({ xsrf, logout: "yes" });
      await step(browser, new URL(`${issuer}/session/end/confirm`), { method: "POST", body });
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "emulator" };
}

/** What the provider's own pages would ask. */
async function interact(
  provider: Provider,
  req: Parameters<Provider["interactionDetails"]>[0],
  res: Parameters<Provider["interactionDetails"]>[1],
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(req, res);
  if (prompt.name === "login") {
    await provider.interactionFinished(req, res, {
      login: { accountId: params["login_hint"] ?? "somebody" },
    });
    return;
  }
  const grant = new provider.Grant({
    accountId: session?.accountId ?? "",
    clientId: params["client_id"] ?? "",
  });
  grant.addOIDCScope(params["scope"] ?? "openid");
  await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } });
}

/** One call of a browser, which keeps the cookies. */
async function step(browser: Browser, url: URL, init: RequestInit = {}): Promise<Response> {
  const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await fetch(url, { ...init, redirect: "manual", headers: { cookie } });
  for (const line of response.headers.getSetCookie()) {
    const [pair = ""] = line.split(";");
    const at = pair.indexOf("=");
    browser.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return response;
}

/** Follows redirects with cookies until one leads back. */
async function walk(
  authorizeUrl: string,
  { subject, redirectUrl, browser }: { subject: string; redirectUrl: string; browser: Browser },
): Promise<URL> {
  let next = new URL(authorizeUrl);
  next.searchParams.set("login_hint", subject);
  for (let count = 0; count < 10; count += 1) {
    const response = await step(browser, next);
    const location = response.headers.get("location");
    if (location === null) throw new Error(`status ${response.status}: ${await response.text()}`);
    next = new URL(location, next);
    if (next.href.startsWith(redirectUrl)) return next;
  }
  throw new Error("the pages of the provider lead nowhere");
}
