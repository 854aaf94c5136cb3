// A provider of OpenID Connect that lies: every part of what it says can be forged for one login. Signs with node:crypto alone, so that it
// shares nothing with what judges it.
import { createHmac, createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import { type HttpEmulator, startHttpEmulator } from "./http-emulator.ts";

/** What is wrong this time; all absent = nothing. */
export interface Lies {
  /** Put over the claims; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly signedBy?: "itself" | "stranger" | "nobody" | "hs256";
  readonly profile?: Readonly<Record<string, unknown>>;
  readonly tokenAnswer?: { readonly status?: number; readonly json?: unknown };
  /** The code is taken, and no answer comes. */
  readonly hangs?: boolean;
}

/** What a provider says of itself. */
export function discoveryOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/profile`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  };
}

export interface Forger extends HttpEmulator {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The person agrees at the address; returns what comes back. */
  agree(authorizeUrl: string, sub: string, lies?: Lies): { code: string; state: string; iss: string };
  /** A token as it tells of a logout; what is in `claims` is put over it. */
  tellLogout(claims: Readonly<Record<string, unknown>>, signedBy?: Lies["signedBy"]): string;
  /** What discovery answers; undefined = the truth. */
  discovery: ((url: string) => { status?: number; json?: unknown }) | undefined;
}

interface Grant {
  readonly sub: string;
  readonly nonce: string | null;
  readonly lies: Lies;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

export async function startForger(): Promise<Forger> {
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const clientId = "client-1";
  const clientSecret = "forger-secret-canary";
  const grants = new Map<string, Grant>();
  const profiles = new Map<string, object>();

  function sign(claims: object, by: NonNullable<Lies["signedBy"]>): string {
    const alg = by === "nobody" ? "none" : by === "hs256" ? "HS256" : "RS256";
    const body = `${encode({ alg, kid: "one", typ: "JWT" })}.${encode(claims)}`;
    if (by === "nobody") return `${body}.`;
    if (by === "hs256") {
      const pem = own.publicKey.export({ type: "spki", format: "pem" });
      return `${body}.${createHmac("sha256", pem).update(body).digest("base64url")}`;
    }
    const key = by === "stranger" ? stranger.privateKey : own.privateKey;
    return `${body}.${createSign("RSA-SHA256").update(body).sign(key, "base64url")}`;
  }

  function exchange(form: URLSearchParams, issuer: string) {
    const code = form.get("code") ?? "";
    const grant = grants.get(code);
    grants.delete(code);
    if (!grant) return { status: 400, json: { error: "invalid_grant" } };
    const { sub, nonce, lies } = grant;
    if (lies.hangs) return undefined;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: clientId, sub, nonce, iat: now, exp: now + 300, ...lies.claims };
    const access_token = randomBytes(12).toString("hex");
    profiles.set(access_token, { sub, ...lies.profile });
    const truth = { access_token, token_type: "Bearer", id_token: sign(claims, lies.signedBy ?? "itself") };
    return { json: truth, ...lies.tokenAnswer };
  }

  const server: HttpEmulator = await startHttpEmulator(({ method, path, headers, body }) => {
    const issuer = server.url;
    if (path === "/.well-known/openid-configuration")
      return (
        forger.discovery?.(issuer) ?? {
          json: { ...discoveryOf(issuer), authorization_response_iss_parameter_supported: true },
        }
      );
    if (path === "/jwks")
      return {
        json: {
          keys: [{ ...own.publicKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "one" }],
        },
      };
    if (method === "POST" && path === "/token") return exchange(new URLSearchParams(body), issuer);
    const profile = profiles.get(String(headers.authorization).replace("Bearer ", ""));
    return path === "/profile" && profile ? { json: profile } : { status: 401, json: {} };
  });

  const forger: Forger = {
    ...server,
    clientId,
    clientSecret,
    discovery: undefined,
    tellLogout(claims, signedBy = "itself") {
      const truth = {
        iss: server.url,
        aud: clientId,
        iat: Math.floor(Date.now() / 1000),
        jti: randomBytes(12).toString("hex"),
        events: { "http://schemas.openid.net/event/backchannel-logout": {} },
      };
      return sign({ ...truth, ...claims }, signedBy);
    },
    agree(authorizeUrl, sub, lies = {}) {
      const { searchParams } = new URL(authorizeUrl);
      const code = randomBytes(10).toString("hex");
      grants.set(code, { sub, nonce: searchParams.get("nonce"), lies });
      return { code, state: searchParams.get("state") ?? "", iss: server.url };
    },
  };
  return forger;
}
