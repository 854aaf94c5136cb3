// A login through GitHub, from the state that begins it to the identity it proves (requirements W4.5, A16, A17). A state
// works once, for ten minutes, in the browser it was given to, for the user who was signed in there.
import { Email } from "#contract/auth.ts";
import { githubAuthorizeUrl, readGithubProfile } from "#server/egress/github.ts";
import { faults } from "#server/errors.ts";
import { randomId, sha256Url } from "#server/secrets.ts";
import { importedGithubId } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { type CodeRef, type CodeTools, issueCode, redeemCode } from "./codes.ts";
import type { Person } from "./external.ts";

export type GithubTools = CodeTools & Pick<Tools, "options" | "egress" | "config" | "events">;

/** A browser, and the user who is signed in there; 0 = none. */
export interface Visitor {
  readonly browserId: string | undefined;
  readonly userId: number;
}

function refOf(state: string): CodeRef {
  return { purpose: "oauth", subject: state };
}

/** Begins a login or a binding. `url` leads to GitHub with the challenge of PKCE; "" while GitHub is not set up. */
export async function beginOAuth(
  tools: GithubTools,
  visitor: { browserId: string; userId: number },
): Promise<{ state: string; url: string }> {
  const state = randomId();
  const verifier = randomId();
  await keepState(tools, visitor, { state, verifier });
  const clientId = tools.options.get("GitHubClientId");
  if (clientId === "") return { state, url: "" };
  const challenge = sha256Url(verifier);
  return { state, url: githubAuthorizeUrl(tools.config.githubUrl, { clientId, state, challenge }) };
}

/**
 * Ends it: takes the state and asks GitHub for the identity. When GitHub cannot be reached the state is given back, since the console
 * tries again with it (requirements B4). Throws: 403 for a state that is not this visitor's; AppError.
 */
export async function finishGithub(
  tools: GithubTools,
  visitor: Visitor,
  answer: { code: string; state: string },
): Promise<Person> {
  const verifier = await takeState(tools, visitor, answer.state);
  if (!tools.options.get("GitHubOAuthEnabled")) throw faults.refused("管理员未启用该登录方式");
  const result = await readGithubProfile(tools.egress, {
    url: tools.config.githubUrl,
    apiUrl: tools.config.githubApiUrl,
    clientId: tools.options.get("GitHubClientId"),
    clientSecret: tools.options.get("GitHubClientSecret"),
    code: answer.code,
    verifier,
  });
  if (result.kind === "problem") {
    const { problem, isProxy } = result;
    tools.events.externalFailed({ service: "github", problem, isProxy });
    if (result.isPassing) await keepState(tools, visitor, { state: answer.state, verifier });
    if (isProxy) throw faults.proxyFailed("GitHub 登录失败", problem);
    throw faults.refused("GitHub 登录失败，请重新发起", problem);
  }
  const { id, login, name, email } = result.profile;
  // The address in a profile is one of the owner's proven addresses (docs.github.com, "email" of a user).
  const address = Email.safeParse(email);
  return {
    identity: "github_id",
    id,
    importedId: importedGithubId(login),
    displayName: name,
    email: address.success ? address.data : "",
  };
}

function keepState(
  tools: GithubTools,
  { browserId = "", userId }: Visitor,
  { state, verifier }: { state: string; verifier: string },
): Promise<void> {
  return issueCode(tools, refOf(state), { text: browserId, userId, detail: verifier });
}

/** Takes a state and returns the verifier that belongs to it. Throws: 403. */
async function takeState(tools: GithubTools, visitor: Visitor, state: string): Promise<string> {
  if (state === "" || visitor.browserId === undefined) throw faults.stateMismatch();
  const found = await redeemCode(tools, tools.db, refOf(state), visitor.browserId);
  if (!found || found.user_id !== visitor.userId) throw faults.stateMismatch();
  return found.detail;
}
