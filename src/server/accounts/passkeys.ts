// Passkeys (WebAuthn, docs/decisions/037). Whose site this is comes from ServerAddress, never from a request; a challenge works once,
// for five minutes, for one purpose, in the browser or session it was made for (requirements I22–I26).
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { AssertionAnswer, RegistrationAnswer } from "#contract/factor.ts";
import { parseAddress } from "#server/address.ts";
import { faults } from "#server/errors.ts";
import { constantTimeEqual, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { distrustDevices } from "#server/store/devices.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  advancePasskey,
  findPasskey,
  insertPasskey,
  listPasskeys,
  type PasskeyRow,
  suspectPasskey,
} from "#server/store/passkeys.ts";
import type { SessionRow } from "#server/store/sessions.ts";
import type { Tools } from "#server/tools.ts";
import type { Actor } from "./actors.ts";
import { type CodePurpose, type CodeTools, issueCode, redeemCode } from "./codes.ts";
import { codesForFirst, trustedFrom } from "./enrolment.ts";
import { siteUrl } from "./mailer.ts";

export type PasskeyTools = CodeTools & Pick<Tools, "options" | "config" | "events">;

/** Loaded with the first passkey: it is 6 MB, and most processes never see one. */
const library = () => import("@simplewebauthn/server");

/** Until runtimes call newer ones stable: what these cannot verify would lock its owner out. Ed25519, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];
const CHALLENGE_SEC = 300;
const MAX_PASSKEYS = 20;

/** Whose site this is. Undefined when it is known by an address instead of a name: browsers make no passkeys for one. */
export function relyingParty(
  tools: Pick<Tools, "options" | "config">,
): { id: string; origins: string[] } | undefined {
  const site = siteUrl(tools);
  if (!URL.canParse(site)) return undefined;
  const { hostname, origin } = new URL(site);
  if (parseAddress(hostname.replace(/^\[|\]$/g, "")) !== undefined) return undefined;
  const others = tools.options
    .get("PasskeyOrigins")
    .filter((other) => URL.canParse(other) && isPartOf(new URL(other).hostname, hostname));
  return { id: hostname, origins: [origin, ...others] };
}

function isPartOf(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

function party(tools: PasskeyTools) {
  const found = relyingParty(tools);
  if (!found) throw faults.refused("通行密钥需要域名：请管理员在系统设置中把“服务器地址”设为带域名的地址");
  return found;
}

/** What an authenticator knows an account by: tells nothing, and is the same for all passkeys of the account. */
function handleOf(secrets: Secrets, userId: number): string {
  return secrets.hash(`passkey handle ${userId}`);
}

interface ChallengeRef {
  readonly purpose: Extract<CodePurpose, `passkey-${string}`>;
  /** The browser, or the session, that it was made for. */
  readonly holder: string;
}

function keepChallenge(
  tools: CodeTools,
  { purpose, holder }: ChallengeRef,
  challenge: string,
): Promise<void> {
  const detail = `${tools.clock.seconds()} ${challenge}`;
  return issueCode(tools, { purpose, subject: holder }, { text: holder, detail });
}

/** Takes it: whatever comes of the answer, it is of no use again. Throws: AppError. */
async function takeChallenge(
  tools: CodeTools,
  { purpose, holder }: { purpose: ChallengeRef["purpose"]; holder: string | undefined },
): Promise<string> {
  const found =
    holder === undefined
      ? undefined
      : await redeemCode(tools, tools.db, { purpose, subject: holder }, holder);
  const [since = "", challenge = ""] = found?.detail.split(" ") ?? [];
  if (challenge === "" || tools.clock.seconds() - Number(since) > CHALLENGE_SEC)
    throw faults.refused("通行密钥验证已超时，请重试");
  return challenge;
}

/** Begins adding a passkey to the actor's account. */
export async function beginPasskey(
  tools: PasskeyTools,
  actor: Pick<Actor, "id" | "username">,
  sessionId: string,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { id } = party(tools);
  const known = await listPasskeys(tools.db, actor.id);
  if (known.length >= MAX_PASSKEYS) throw faults.refused(`最多添加 ${MAX_PASSKEYS} 个通行密钥`);
  const options = await (await library()).generateRegistrationOptions({
    rpName: tools.options.get("SystemName"),
    rpID: id,
    userName: actor.username,
    userID: new Uint8Array(Buffer.from(handleOf(tools.secrets, actor.id), "base64url")),
    userDisplayName: actor.username,
    attestationType: "none",
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    excludeCredentials: known.map(({ credential_id }) => ({ id: credential_id })),
    supportedAlgorithmIDs: ALGORITHMS,
  });
  await keepChallenge(tools, { purpose: "passkey-new", holder: sessionId }, options.challenge);
  return options;
}

/**
 * Ends it: keeps the passkey that the browser made. Returns recovery codes when the account had none, else an empty list. `beside` is
 * written last in the transaction. Throws: AppError.
 */
export async function finishPasskey(
  tools: PasskeyTools,
  asked: {
    userId: number;
    sessionId: string;
    session: SessionRow;
    name: string;
    response: RegistrationAnswer;
  },
  beside: (tx: Db) => Promise<void>,
): Promise<string[]> {
  const { userId, sessionId, session, name, response } = asked;
  const { id, origins } = party(tools);
  const expectedChallenge = await takeChallenge(tools, { purpose: "passkey-new", holder: sessionId });
  const result = await (await library())
    .verifyRegistrationResponse({
      // The same fields; ours may be undefined where the library's are absent.
      response: response as RegistrationResponseJSON,
      expectedChallenge,
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    .catch(refuse);
  if (!result.verified) throw faults.refused(REFUSAL);
  const { credential, credentialDeviceType } = result.registrationInfo;
  const now = tools.clock.seconds();
  try {
    return await tools.db.transaction().execute(async (tx) => {
      await insertPasskey(tx, {
        user_id: userId,
        credential_id: credential.id,
        public_key: Buffer.from(credential.publicKey).toString("base64url"),
        counter: credential.counter,
        transports: (credential.transports ?? []).join(",").slice(0, 200),
        is_synced: credentialDeviceType === "multiDevice" ? 1 : 0,
        name,
        created_at: now,
        last_used_at: now,
        trusted_from: trustedFrom(session, now),
      });
      const codes = await codesForFirst(tools, tx, userId);
      await distrustDevices(tx, userId);
      await beside(tx);
      return codes;
    });
  } catch (error) {
    throw isTaken(error) ? faults.refused("这个通行密钥已经添加过") : error;
  }
}

const REFUSAL = "通行密钥验证失败，请重试";

/** What the library throws names what did not fit; clients are told one sentence. */
function refuse(error: unknown): never {
  throw faults.refused(REFUSAL, error instanceof Error ? error.message.slice(0, 200) : "");
}

/** Begins a proof by passkey: one of this account, or, for a login that has none yet, whichever the device offers. */
export async function askPasskey(
  tools: PasskeyTools,
  ref: ChallengeRef,
  userId: number | undefined,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { id } = party(tools);
  const known = userId === undefined ? [] : await listPasskeys(tools.db, userId);
  if (userId !== undefined && known.length === 0) throw faults.refused("这个账户没有通行密钥");
  const options = await (await library()).generateAuthenticationOptions({
    rpID: id,
    userVerification: "required",
    ...(userId === undefined ? {} : { allowCredentials: known.map((row) => ({ id: row.credential_id })) }),
  });
  await keepChallenge(tools, ref, options.challenge);
  return options;
}

/** A passkey whose proof was right; `use` notes it in a transaction and tells whether it still was the first to. */
export interface UsedPasskey {
  readonly row: PasskeyRow;
  use(tx: Db): Promise<boolean>;
}

/**
 * Ends it. `userId` undefined = the passkey says whose login it is. Throws: AppError; `onFallback` is told when the counter is not
 * ahead of the stored one, as it would be after the key was copied (requirements I25).
 */
export async function judgePasskey(
  tools: PasskeyTools,
  asked: {
    purpose: ChallengeRef["purpose"];
    holder: string | undefined;
    userId: number | undefined;
    response: AssertionAnswer;
  },
  onFallback: (row: PasskeyRow) => Promise<void>,
): Promise<UsedPasskey> {
  const { id, origins } = party(tools);
  const { response } = asked;
  const expectedChallenge = await takeChallenge(tools, asked);
  const row = await findPasskey(tools.db, response.id);
  if (!row || (asked.userId !== undefined && row.user_id !== asked.userId)) throw faults.refused(REFUSAL);
  const handle = response.response.userHandle ?? "";
  // Where the account is known the browser may leave the handle out.
  const isHandleOptional = asked.userId !== undefined && handle === "";
  if (!isHandleOptional && !constantTimeEqual(handle, handleOf(tools.secrets, row.user_id)))
    throw faults.refused(REFUSAL, "the handle is another user's");
  const result = await (await library())
    .verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge,
      expectedOrigin: origins,
      expectedRPID: id,
      requireUserVerification: true,
      credential: {
        id: row.credential_id,
        publicKey: new Uint8Array(Buffer.from(row.public_key, "base64url")),
        // The counter is judged below, where a fallback can be told from other faults.
        counter: 0,
      },
    })
    .catch(refuse);
  if (!result.verified) throw faults.refused(REFUSAL, "wrong signature");
  const { newCounter } = result.authenticationInfo;
  const isBehind = (newCounter > 0 || row.counter > 0) && newCounter <= row.counter;
  if (isBehind) {
    await suspectPasskey(tools.db, row.id);
    await onFallback(row);
    throw faults.refused("这个通行密钥的计数器异常，可能已被复制，请改用其他验证方式", "counter fell back");
  }
  const now = tools.clock.seconds();
  return {
    row,
    use: (tx) => advancePasskey(tx, { id: row.id, before: row.counter, after: newCounter, now }),
  };
}
