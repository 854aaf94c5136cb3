// GitHub as far as a login sees it: the page where the user agrees, the exchange of the code (single use, ten minutes are not
// needed here, PKCE enforced as GitHub does it), and the profile.
import { createHash, randomBytes } from "node:crypto";
import { type HttpEmulator, startHttpEmulator } from "./http-emulator.ts";

export interface GithubUser {
  readonly id: number;
  readonly login: string;
  readonly name?: string | null;
  readonly email?: string | null;
}

export interface GithubEmulator extends HttpEmulator {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The user opens the authorisation page and agrees; returns what GitHub sends back to the site. */
  agree(authorizeUrl: string, user: GithubUser): { code: string; state: string };
  /** The next exchange meets a server in trouble. */
  failOnce(): void;
}

interface Grant {
  readonly user: GithubUser;
  readonly challenge: string;
}

export async function startGithub(): Promise<GithubEmulator> {
  const clientId = "Iv1.tollgate";
  const clientSecret = "github-secret-canary";
  const grants = new Map<string, Grant>();
  const tokens = new Map<string, GithubUser>();
  let isFailing = false;

  function exchange(body: string) {
    const asked = JSON.parse(body);
    if (asked.client_id !== clientId || asked.client_secret !== clientSecret)
      return { error: "incorrect_client_credentials" };
    const grant = grants.get(asked.code);
    grants.delete(asked.code);
    if (!grant) return { error: "bad_verification_code" };
    const hash = createHash("sha256")
      .update(String(asked.code_verifier ?? ""))
      .digest("base64url");
    if (grant.challenge !== hash) return { error: "bad_verification_code", error_description: "PKCE" };
    const token = `gho_${randomBytes(18).toString("base64url")}`;
    tokens.set(token, grant.user);
    return { access_token: token, token_type: "bearer", scope: "user:email" };
  }

  const server = await startHttpEmulator(({ method, path, headers, body }) => {
    if (method === "POST" && path === "/login/oauth/access_token") {
      const wasFailing = isFailing;
      isFailing = false;
      return wasFailing ? { status: 502, json: {} } : { json: exchange(body) };
    }
    if (method === "GET" && path === "/user") {
      // The real one refuses calls without a name.
      if (!headers["user-agent"]) return { status: 403, json: { message: "user agent required" } };
      const user = tokens.get(String(headers.authorization).replace("Bearer ", ""));
      return user ? { json: user } : { status: 401, json: { message: "Bad credentials" } };
    }
    return { status: 404, json: { message: "Not Found" } };
  });

  return {
    ...server,
    clientId,
    clientSecret,
    failOnce() {
      isFailing = true;
    },
    agree(authorizeUrl, user) {
      const url = new URL(authorizeUrl);
      if (url.pathname !== "/login/oauth/authorize")
        throw new Error(`not the page of GitHub: ${url.pathname}`);
      if (url.searchParams.get("client_id") !== clientId) throw new Error("unknown application");
      if (url.searchParams.get("code_challenge_method") !== "S256") throw new Error("only S256 is accepted");
      const code = randomBytes(10).toString("hex");
      grants.set(code, { user, challenge: url.searchParams.get("code_challenge") ?? "" });
      return { code, state: url.searchParams.get("state") ?? "" };
    },
  };
}
