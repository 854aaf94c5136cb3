// GitHub's part of a login: exchanges the code for a token, reads the profile with it, and forgets it (requirements W4.5).
// Source: docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
import type { Egress } from "./dispatcher.ts";
import { fetchJson, type JsonResult } from "./fetch-json.ts";
import { SMALL_CALL, textField, type Unreached, unreached } from "./small-call.ts";

/** The account at GitHub. `id` never changes; `login` may pass to another account (requirements A16). */
export interface GithubProfile {
  readonly id: string;
  readonly login: string;
  /** "" when the account publishes none. */
  readonly name: string;
  readonly email: string;
}

export interface GithubExchange {
  /** Addresses of the site and of the API, without a trailing slash. */
  readonly url: string;
  readonly apiUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly code: string;
  /** The verifier of the challenge that the login began with (PKCE, S256). */
  readonly verifier: string;
}

export type GithubResult =
  | { readonly kind: "profile"; readonly profile: GithubProfile }
  /** `isPassing` = GitHub has not checked the code, which is still valid. */
  | ({ readonly kind: "problem"; readonly isPassing: boolean } & Unreached);

/** The URL at which a login begins; its query is for GitHub only. */
export function githubAuthorizeUrl(
  url: string,
  args: { clientId: string; state: string; challenge: string },
): string {
  const query = new URLSearchParams({
    client_id: args.clientId,
    state: args.state,
    scope: "user:email",
    code_challenge: args.challenge,
    code_challenge_method: "S256",
  });
  return `${url}/login/oauth/authorize?${query}`;
}

/** Exchanges a code and reads the profile. Never throws. */
export async function readGithubProfile(
  egress: Pick<Egress, "send">,
  exchange: GithubExchange,
): Promise<GithubResult> {
  const answer = await fetchJson(egress, {
    ...SMALL_CALL,
    method: "POST",
    url: `${exchange.url}/login/oauth/access_token`,
    headers: ["content-type", "application/json"],
    body: JSON.stringify({
      client_id: exchange.clientId,
      client_secret: exchange.clientSecret,
      code: exchange.code,
      code_verifier: exchange.verifier,
    }),
  });
  const token = textOf(answer, "access_token");
  if (!/^[\x21-\x7e]{1,512}$/.test(token))
    return { kind: "problem", ...problemOf("no token", answer), isPassing: isPassing(answer) };
  const user = await fetchJson(egress, {
    ...SMALL_CALL,
    url: `${exchange.apiUrl}/user`,
    headers: ["authorization", `Bearer ${token}`],
  });
  const profile = profileOf(user);
  return profile === undefined
    ? { kind: "problem", ...problemOf("no profile", user), isPassing: false }
    : { kind: "profile", profile };
}

function textOf(result: JsonResult, name: string): string {
  return result.kind === "answer" && result.status === 200 ? textField(result.body, name) : "";
}

function profileOf(result: JsonResult): GithubProfile | undefined {
  const login = textOf(result, "login");
  if (login === "" || result.kind !== "answer") return undefined;
  const { body } = result;
  const id: unknown = typeof body === "object" && body !== null && "id" in body ? body.id : undefined;
  if (typeof id !== "number" || !Number.isSafeInteger(id) || id <= 0) return undefined;
  return { id: String(id), login, name: textField(body, "name"), email: textField(body, "email") };
}

function isPassing(result: JsonResult): boolean {
  return result.kind === "fault" || result.status >= 500;
}

function problemOf(what: string, result: JsonResult): Unreached {
  if (result.kind === "fault") {
    const { problem, isProxy } = unreached(result);
    return { problem: `${what}: ${problem}`, isProxy };
  }
  const error = textField(result.body, "error");
  const told = /^[a-z_]{1,40}$/.test(error) ? error : `status ${result.status}`;
  return { problem: `${what}: ${told}`, isProxy: false };
}
