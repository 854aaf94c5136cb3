// Handler: the receipt of one call. The ledger says what was charged; the log, which may be off or cleared, says how it was computed.
import type { Language } from "#contract/language.ts";
import { LogType } from "#contract/log.ts";
import type { Receipt, ReceiptReason, receiptApi } from "#contract/receipt.ts";
import { kindsOf } from "#contract/token-kinds.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import type { Db } from "#server/store/db.ts";
import type { LogRow } from "#server/store/logs.ts";
import { findPriceVersionAt } from "#server/store/price-versions.ts";
import { findCallLog, findCharge, findReservation, tokenNameOf } from "#server/store/receipts.ts";
import type { Handlers } from "./call.ts";

/** A failed call's entry is written when the call ends: so long after the moment in its id it is looked for. */
const LONGEST_SEC = 6 * 3_600;
/** Clocks of nodes differ, and an hour comes twice a year. */
const EARLY_SEC = 3_600 + 600;

export const receipt: Handlers<{ receipt: typeof receiptApi }>["receipt"] = {
  async get({ db }, { actor, params, language }) {
    const call = { userId: actor.id, requestId: params.request_id };
    const charge = await findCharge(db, call);
    if (charge) {
      const at = charge.created_at;
      const log = await findCallLog(db, call, { from: at, to: at });
      const name = log?.token_name ?? (await tokenNameOf(db, charge.token_id));
      const quota = charge.plan_amount - charge.amount;
      const parts = { quota, plan_quota: charge.plan_amount };
      const booked = { created_at: at, ...parts, shortfall: charge.shortfall, model_name: charge.detail };
      const price_version = log ? await versionOf(db, call.requestId, log) : 0;
      return { ...receiptOf(call.requestId, log, language), ...booked, price_version, token_name: name };
    }
    const open = await findReservation(db, call);
    if (open)
      return {
        ...receiptOf(call.requestId, undefined, language),
        created_at: open.created_at,
        model_name: open.model_name,
        token_name: await tokenNameOf(db, open.token_id),
        reason: "open" as const,
        price_version: await onlyVersion(db, open.created_at - READ_SEC, open.created_at),
        reserved: open.amount,
      };
    const at = secondOf(call.requestId);
    const failed =
      at === undefined
        ? undefined
        : await findCallLog(db, call, { from: at - EARLY_SEC, to: at + LONGEST_SEC });
    // Another user's call is as unknown as none.
    if (!failed) throw faults.notFound("找不到该请求");
    return receiptOf(call.requestId, failed, language);
  },
};

/** A process reads what another one published so much later at the most. */
const READ_SEC = 2;

/** As it was noted with the call; of those that older programs booked, what stood when they began. */
async function versionOf(db: Db, requestId: string, log: LogRow): Promise<number> {
  const { price_version, created_at, elapsed_time } = log;
  if (price_version >= 0) return price_version;
  if (reasonOf(log) !== "interrupted") return findPriceVersionAt(db, created_at - elapsed_time / 1_000);
  // Its process died with what it had noted.
  const at = secondOf(requestId);
  return at === undefined ? 0 : onlyVersion(db, at - EARLY_SEC, created_at);
}

/** The version that stood all the time between two moments, seconds; 0 = there was another one, or none. */
async function onlyVersion(db: Db, from: number, to: number): Promise<number> {
  const [first, last] = [await findPriceVersionAt(db, from), await findPriceVersionAt(db, to)];
  return first === last ? first : 0;
}

/** The moment that a request id begins with, seconds; undefined = it is none of ours. */
function secondOf(requestId: string): number | undefined {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\d{17}$/.exec(requestId) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map(Number);
  return parts.length === 0
    ? undefined
    : Math.floor(new Date(year, month - 1, day, hour, minute, second).getTime() / 1000);
}

function receiptOf(requestId: string, log: LogRow | undefined, language: Language): Receipt {
  const content = log?.content ?? "";
  const isFailed = log?.type === LogType.error;
  return {
    request_id: requestId,
    created_at: log?.created_at ?? 0,
    model_name: log?.model_name ?? "",
    token_name: log?.token_name ?? "",
    group: groupOf(content),
    reason: reasonOf(log),
    quota: log?.quota ?? 0,
    plan_quota: 0,
    shortfall: 0,
    reserved: 0,
    prompt_tokens: log?.prompt_tokens ?? 0,
    cached_tokens: log?.cached_tokens ?? 0,
    completion_tokens: log?.completion_tokens ?? 0,
    token_kinds: kindsOf(log?.token_kinds ?? ""),
    price_version: 0,
    estimated: log?.estimated === 1,
    is_stream: log?.is_stream === 1,
    elapsed_time: log?.elapsed_time ?? 0,
    first_byte_time: log?.first_byte_time ?? 0,
    ratios: isFailed ? [] : ratiosOf(content, language),
    formula: say(isFailed ? content : formulaOf(content), language),
  };
}

/** The remarks of pricing-text.ts, pricing-media.ts, realtime/account.ts and of recovery, each by words that no other has. */
const REMARKS: readonly (readonly [RegExp, ReceiptReason])[] = [
  [/^服务中断/, "interrupted"],
  [/（上游用量异常/, "impossible"],
  [/（客户端[^）]*断开/, "disconnected"],
  [/（会话提前结束/, "ended"],
];

function reasonOf(log: LogRow | undefined): ReceiptReason {
  if (log === undefined) return "unlogged";
  if (log.type === LogType.error) return "failed";
  const known = REMARKS.find(([words]) => words.test(log.content));
  if (known) return known[1];
  return log.estimated === 1 ? "estimated" : "complete";
}

/** `模型倍率 1.25，补全倍率 4`: names and values before the formula. */
function ratiosOf(content: string, language: Language): Receipt["ratios"] {
  const [head = ""] = content.split("；");
  return [...head.matchAll(/([\p{Script=Han}]+倍率) ([\d.]+)/gu)].map(([, name = "", value = ""]) => ({
    name: say(name, language),
    value,
  }));
}

/** The computation without its remarks; of an entry without ratios the whole sentence. */
function formulaOf(content: string): string {
  const at = content.indexOf("；");
  return at === -1 ? content : content.slice(at + 1).replace(/（[^）]*）/gu, "");
}

/** As relay/billing/account.ts writes it, behind all else. */
function groupOf(content: string): string {
  return /（分组 ([^）]+)）$/u.exec(content)?.[1] ?? "";
}
