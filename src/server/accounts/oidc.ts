// OpenID Connect: discovery, the way to the provider, and what it answers. The library verifies (decision 039); it is loaded at the first
// login, and what it learnt of a provider is kept for an hour.
import type * as Client from "openid-client";
import { Email } from "#contract/auth.ts";
import { fetchResponse, UnreachedError } from "#server/egress/fetch-response.ts";
import { isLoopbackHost } from "#server/egress/policy.ts";
import type { Tools } from "#server/tools.ts";
import { type Claims, isTrue, subjectOf, textAt } from "./claims.ts";
import { type Provider, redirectUrl } from "./login-providers.ts";
import { type LogoutKeys, logoutKeys, readLogout } from "./oidc-logout.ts";
import { type OutsidePerson, type Protocol, ProviderError } from "./outside-person.ts";

type OidcTools = Pick<Tools, "egress" | "options" | "clock">;

const KEPT_MS = 3_600_000;
const TIMEOUT_SEC = 5;

interface Kept {
  readonly version: string;
  readonly atMs: number;
  readonly config: Promise<Client.Configuration>;
  /** Its public keys, from the first logout it told of. */
  keys?: LogoutKeys;
}

/** Providers as they were discovered, by process; a cache that a change of the row empties. */
export type Discovered = Map<number, Kept>;

/** The protocol of one provider. */
export function oidc(tools: OidcTools, provider: Provider, discovered: Discovered): Protocol {
  const known = () => discover(tools, provider, discovered);
  return {
    async begin({ state, verifier, nonce }) {
      const client = await import("openid-client");
      const config = await known();
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUrl(tools, provider.slug),
        scope: provider.settings.scopes,
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
      return url.href;
    },

    async finish({ state, verifier, nonce }, { code, iss, error }) {
      const client = await import("openid-client");
      const config = await known();
      const back = new URL(redirectUrl(tools, provider.slug));
      const told = { code, iss, error, state };
      for (const [name, value] of Object.entries(told)) if (value !== "") back.searchParams.set(name, value);
      return judged(async () => {
        const tokens = await client.authorizationCodeGrant(config, back, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) throw new ProviderError("no ID token");
        const hasProfile = config.serverMetadata().userinfo_endpoint !== undefined;
        const profile = hasProfile ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {};
        return personOf(claims, profile, tokens.id_token ?? "");
      });
    },

    async probe() {
      discovered.delete(provider.id);
      await known();
    },

    async logout(token) {
      const { issuer, jwks_uri } = (await known()).serverMetadata();
      const kept = discovered.get(provider.id);
      if (jwks_uri === undefined || kept === undefined) throw new ProviderError("no keys");
      return judged(async () => {
        kept.keys ??= await logoutKeys(tools.egress, jwks_uri);
        const expected = { issuer, audience: provider.settings.client_id, nowMs: tools.clock.now() };
        return readLogout(token, kept.keys, expected);
      });
    },
  };
}

function personOf(claims: Claims, profile: Claims, idToken: string): OutsidePerson {
  const subject = subjectOf(claims["sub"]);
  if (subject === undefined) throw new ProviderError("no usable sub");
  // Address and flag come from one place: two places may mean two addresses.
  const source = textAt(claims, "email") === "" ? profile : claims;
  const email = Email.safeParse(textAt(source, "email"));
  const methods = claims["amr"];
  return {
    subject,
    email: email.success ? email.data : "",
    isEmailProved: email.success && isTrue(source["email_verified"]),
    displayName:
      [claims, profile]
        .flatMap((one) => [textAt(one, "name"), textAt(one, "preferred_username")])
        .find((name) => name !== "") ?? "",
    sources: [claims, profile],
    sid: subjectOf(claims["sid"]) ?? "",
    idToken,
    hadSecondFactor: Array.isArray(methods) && methods.includes("mfa"),
  };
}

/** In single flight; what failed is forgotten, so that the next login tries again. */
function discover(tools: OidcTools, provider: Provider, discovered: Discovered) {
  const nowMs = tools.clock.now();
  const kept = discovered.get(provider.id);
  if (kept?.version === provider.version && Math.abs(nowMs - kept.atMs) < KEPT_MS) return kept.config;
  const config = judged(() => ask(tools, provider));
  discovered.set(provider.id, { version: provider.version, atMs: nowMs, config });
  config.catch(() => {
    if (discovered.get(provider.id)?.config === config) discovered.delete(provider.id);
  });
  return config;
}

async function ask({ egress }: OidcTools, provider: Provider): Promise<Client.Configuration> {
  const client = await import("openid-client");
  const { settings, secret } = provider;
  const issuer = new URL(settings.issuer);
  // Without TLS to this machine alone, and only where the address policy lets it.
  const isPlain = issuer.protocol === "http:" && isLoopbackHost(issuer.hostname.replace(/^\[|\]$/g, ""));
  const auth =
    secret === ""
      ? client.None()
      : settings.auth_style === "basic"
        ? client.ClientSecretBasic(secret)
        : client.ClientSecretPost(secret);
  return client.discovery(issuer, settings.client_id, undefined, auth, {
    timeout: TIMEOUT_SEC,
    [client.customFetch]: (url, init) => fetchResponse(egress, url, init),
    // The signature of the ID token is checked too, although it comes from the provider itself.
    execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
  });
}

/** Runs a step; whatever it throws becomes a ProviderError with the library's code. */
async function judged<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    const isProxy = causesOf(error).some((one) => one instanceof UnreachedError && one.isProxy);
    throw new ProviderError(problemOf(error), { cause: error, isProxy });
  }
}

/** The error, and what it came of. */
function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, error.cause].filter((one) => one instanceof Error) : [];
}

/** `egress refused`, `OAUTH_…`, with the provider's own error word where it has one. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const egress = causesOf(error).find(({ message }) => /^(egress [a-z_]+|status \d+)$/.test(message));
  if (egress) return egress.message;
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name;
  const word = "error" in error && typeof error.error === "string" ? error.error : "";
  return /^[a-z_]{1,40}$/.test(word) ? `${code} ${word}` : code;
}
