// The human check (requirements W4.1, A21): one proof per protected call, asked of Turnstile each time, refused when
// Turnstile does not answer. Only registration after an e-mail code uses the proof that the code was sent for.
import { authApi } from "#contract/auth.ts";
import { verifyTurnstile } from "#server/egress/turnstile.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import type { Tools } from "#server/tools.ts";
import { type CodeTools, dropCode, issueCode, spendUse } from "./codes.ts";

/** A protected call before it is decoded. */
export interface ProtectedCall {
  /** Path of the endpoint. */
  readonly path: string;
  /** The `turnstile` of the query; "" = none. */
  readonly proof: string;
  readonly address: string;
  readonly browserId: string | undefined;
}

type HumanTools = CodeTools & Pick<Tools, "options" | "egress" | "config" | "events">;

/** A longer proof is not Turnstile's. */
const MAX_PROOF = 2048;

const MISSING = "请先完成人机验证";

/**
 * Passes when the check is off or the proof is valid. Returns whether the call needs a credit instead, which it has to take
 * in the transaction of what it does. Throws: AppError.
 */
export async function confirmHuman(tools: HumanTools, visit: ProtectedCall): Promise<boolean> {
  if (!tools.options.get("TurnstileCheckEnabled")) return false;
  if (visit.path === authApi.register.path && (await hasCredit(tools, visit.browserId))) return true;
  if (visit.proof === "") throw faults.refused(MISSING);
  if (isSiteUnnamed(tools)) {
    tools.events.humanRefused({ reason: "ServerAddress is empty", address: visit.address });
    throw faults.refused("人机验证暂不可用：请管理员先填写“服务器地址”");
  }
  const reason = visit.proof.length > MAX_PROOF ? "too long" : await findFlaw(tools, visit);
  if (reason === undefined) return false;
  tools.events.humanRefused({ reason, address: visit.address });
  throw faults.refused("人机验证未通过，请重试", reason);
}

/**
 * Remembers that the browser was found human when an e-mail code was sent to it: a proof counts once, and the registration
 * that follows has none left. Ten minutes, a few tries, ended by `takeCredit`.
 */
export async function grantCredit(tools: HumanTools, browserId: string): Promise<void> {
  if (!tools.options.get("TurnstileCheckEnabled")) return;
  await issueCode(tools, { purpose: "human", subject: browserId }, { text: browserId });
}

/**
 * Takes the credit of a registration, in the transaction of the account: of several that began with one credit, one
 * makes an account (requirements A21). Throws: AppError when it is taken.
 */
export async function takeCredit(tools: CodeTools, tx: Db, browserId: string | undefined): Promise<void> {
  const isTaken =
    browserId !== undefined && (await dropCode(tools, tx, { purpose: "human", subject: browserId }));
  if (!isTaken) throw faults.refused(MISSING);
}

async function hasCredit(tools: HumanTools, browserId: string | undefined): Promise<boolean> {
  return browserId !== undefined && spendUse(tools, { purpose: "human", subject: browserId }, browserId);
}

/** What is wrong with a proof; undefined = nothing. Throws: AppError when it cannot be asked for. */
async function findFlaw(tools: HumanTools, visit: ProtectedCall): Promise<string | undefined> {
  const answer = await verifyTurnstile(tools.egress, {
    url: tools.config.turnstileUrl,
    secret: tools.options.get("TurnstileSecretKey"),
    proof: visit.proof,
    address: visit.address,
  });
  if (!answer.isGood && answer.isProxy === true) {
    tools.events.externalFailed({ service: "turnstile", problem: answer.reason, isProxy: true });
    throw faults.proxyFailed("无法完成人机验证", answer.reason);
  }
  if (!answer.isGood) return answer.reason;
  if (answer.hostname !== new URL(tools.options.get("ServerAddress")).hostname)
    return "solved for another host";
  // Consoles of the family send no action.
  if (answer.action !== "" && !actionsOf(visit.path).includes(answer.action))
    return "solved for another action";
  return undefined;
}

/**
 * The check is on, but no host name says which proofs are ours: the Host of a request is the client's to choose
 * (requirements Z12). Options refuse this state; an older database may hold it. Until a name is set no call passes.
 */
export function isSiteUnnamed({ options }: Pick<HumanTools, "options">): boolean {
  return options.get("TurnstileCheckEnabled") && options.get("ServerAddress") === "";
}

/** A widget names its action after the call it is for; the one of the registration page serves both of its calls. */
function actionsOf(path: string): readonly string[] {
  const own = path.replace(/\/$/, "").split("/").at(-1) ?? "";
  return path === authApi.sendCode.path ? [own, "register"] : [own];
}
