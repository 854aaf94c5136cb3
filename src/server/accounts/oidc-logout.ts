// What a provider of OpenID Connect says of a person who has logged out there: a signed token, judged by the provider's own public keys
// (vendors/oidc-logout, requirements I64). Ends nothing itself.
import type * as Jose from "jose";
import type { Egress } from "#server/egress/dispatcher.ts";
import { fetchResponse } from "#server/egress/fetch-response.ts";
import { subjectOf } from "./claims.ts";
import { type OutsideLogout, ProviderError } from "./outside-person.ts";

/** Finds the key that a token names. */
export type LogoutKeys = Jose.JWTVerifyGetKey;

const EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Public keys alone: with a shared secret, or none, an attacker who knows the public key could sign. */
const ALGORITHMS = [
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
].flat();
const TIMEOUT_MS = 5_000;
/** How old a token may be. Unit: seconds. */
export const LOGOUT_AGE_SEC = 300;
/** How far the clocks may differ. Unit: seconds. */
const TOLERANCE_SEC = 30;

/** The provider's keys, asked for when a token names one that is not known. */
export async function logoutKeys(egress: Pick<Egress, "send">, address: string): Promise<LogoutKeys> {
  const { createRemoteJWKSet, customFetch } = await import("jose");
  const ask: Jose.FetchImplementation = (url, { headers }) =>
    fetchResponse(egress, url, { method: "GET", headers: Object.fromEntries(headers) });
  return createRemoteJWKSet(new URL(address), { timeoutDuration: TIMEOUT_MS, [customFetch]: ask });
}

/** Reads a logout token. Throws: ProviderError. */
export async function readLogout(
  token: string,
  keys: LogoutKeys,
  { issuer, audience, nowMs }: { issuer: string; audience: string; nowMs: number },
): Promise<OutsideLogout> {
  const { jwtVerify } = await import("jose");
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    currentDate: new Date(nowMs),
    maxTokenAge: LOGOUT_AGE_SEC,
    clockTolerance: TOLERANCE_SEC,
    requiredClaims: ["iat", "jti", "events"],
  });
  const type = protectedHeader.typ?.toLowerCase() ?? "jwt";
  if (!["jwt", "logout+jwt"].includes(type.replace(/^application\//, ""))) throw new ProviderError("typ");
  const { events, jti, sub, sid } = payload;
  const isLogout = typeof events === "object" && events !== null && Object.hasOwn(events, EVENT);
  if (!isLogout) throw new ProviderError("no logout event");
  // An ID token has one: it must never pass for a logout.
  if (Object.hasOwn(payload, "nonce")) throw new ProviderError("nonce in a logout token");
  const tokenId = subjectOf(jti);
  const told = { subject: subjectOf(sub) ?? "", sid: subjectOf(sid) ?? "" };
  if (tokenId === undefined) throw new ProviderError("no jti");
  if (told.subject === "" && told.sid === "") throw new ProviderError("neither sub nor sid");
  return { ...told, tokenId };
}
