// The balance of a channel's account at its provider, queried as the catalogue's row says (vendors/balances). Short typed failures;
// the provider's own words are not passed on (requirements S07).

import type { Balance } from "#contract/provider.ts";
import { cleanKey } from "#contract/provider-key.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { fetchJson } from "#server/egress/fetch-json.ts";
import type { Tools } from "#server/tools.ts";
import { aboutAccount, outgoing } from "#server/upstream/call/outgoing.ts";
import { withKey } from "./candidates.ts";
import type { LiveChannel } from "./live-channel.ts";

export type BalanceParts = Pick<Tools, "egress" | "clock" | "credentials">;

/** The currency is "" where the provider names none. */
export type BalanceAnswer =
  | { readonly ok: true; readonly balance: number; readonly currency: string }
  | { readonly ok: false; readonly message: string };

const TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
/** Accounts without a payment method were billed for this long (requirements W9.7). */
const UNPAID_DAYS = 100;

/** A failure whose message is for administrators. */
class BalanceFault extends Error {
  override readonly name = "BalanceFault";
}

/** Queries the balance of a channel, in the unit of its type. */
export async function queryBalance(parts: BalanceParts, listed: LiveChannel): Promise<BalanceAnswer> {
  const channel = withKey(listed);
  const { balance } = channel.provider;
  if (!balance) return { ok: false, message: "该渠道类型不支持查询余额" };
  try {
    const { amount, currency } =
      balance.probe === "openai-billing"
        ? { amount: await askBilling(parts, channel), currency: "" }
        : await askField(parts, channel, balance);
    // Rounds away the binary error of the subtraction.
    return { ok: true, balance: Math.round(amount * 1e6) / 1e6, currency };
  } catch (error) {
    if (error instanceof BalanceFault) return { ok: false, message: error.message };
    throw error;
  }
}

/** The old billing API of OpenAI and everything that mimics it (vendors/balances). */
async function askBilling(parts: BalanceParts, channel: LiveChannel): Promise<number> {
  const base = "/v1/dashboard/billing";
  const subscription = await ask(parts, channel, { url: `${base}/subscription` });
  const limit = numberAt(subscription, "hard_limit_usd");
  const nowMs = parts.clock.now();
  const isPaid = valueAt(subscription, "has_payment_method") === true;
  const from = isPaid ? `${day(nowMs).slice(0, 7)}-01` : day(nowMs - UNPAID_DAYS * DAY_MS);
  const usage = await ask(parts, channel, {
    url: `${base}/usage?start_date=${from}&end_date=${day(nowMs + DAY_MS)}`,
  });
  return limit - numberAt(usage, "total_usage") / 100;
}

async function askField(
  parts: BalanceParts,
  channel: LiveChannel,
  balance: Extract<Balance, { probe: "field" }>,
): Promise<{ readonly amount: number; readonly currency: string }> {
  const answer = await ask(parts, channel, balance);
  const { field, minus } = balance;
  const amount = numberAt(answer, field) - (minus === undefined ? 0 : numberAt(answer, minus));
  return { amount, currency: currencyAt(answer, field) };
}

/** `2026-11-20`, in UTC. */
function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** One GET with the channel's key where the row wants it. Throws: BalanceFault. */
async function ask(
  { egress, credentials, clock }: BalanceParts,
  channel: LiveChannel,
  { url, key: place }: { readonly url: string; readonly key?: "query:api_key" | "header:Api-Key" },
): Promise<unknown> {
  const key = cleanKey(channel.key);
  const address = new URL(addressOf(channel, url));
  if (place === "query:api_key") address.searchParams.set("api_key", key);
  const headers = place === "header:Api-Key" ? ["Api-Key", key] : ["Authorization", `Bearer ${key}`];
  const draft = {
    method: "GET",
    url: address.href,
    headers: ["accept", "application/json", "user-agent", "Tollgate", ...headers],
  } as const;
  const tools = { credentials, now: clock.now };
  const ready = await outgoing(tools, channel, draft, aboutAccount("balance", clock.now()));
  if (ready.kind === "fault") throw new BalanceFault(ready.publicMessage);
  const result = await fetchJson(egress, {
    url: ready.url,
    headers: ready.headers,
    isComplete: true,
    timeoutMs: TIMEOUT_MS,
    route: channel.route,
  });
  if (result.kind === "fault") throw new BalanceFault(`查询余额失败（${result.code}）`);
  if (result.status !== 200) throw new BalanceFault(`查询余额失败，上游返回状态码 ${result.status}`);
  return result.body;
}

/** A path goes under the channel's base; a base that ends in a version already has the path's first part. */
function addressOf(channel: LiveChannel, url: string): string {
  if (!url.startsWith("/")) return url;
  const base = withoutEndSlashes(channel.baseUrl || channel.provider.baseUrl);
  const address = base + (/\/v\d+$/.test(base) ? url.replace(/^\/v\d+(?=\/)/, "") : url);
  if (!URL.canParse(address)) throw new BalanceFault("渠道地址配置有误");
  return address;
}

function valueAt(body: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => {
    if (Array.isArray(value) && name.includes("=")) return entryOf(value, name);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    // Just seen to be an object that owns this key.
    return (value as Record<string, unknown>)[name];
  }, body);
}

/** What the entry that was taken at `….currency=CNY.…` says of its own currency; "" = nothing. */
function currencyAt(body: unknown, path: string): string {
  const [, entry] = /^(.+\.currency=[^.]+)\./.exec(path) ?? [];
  const told = entry === undefined ? "" : valueAt(body, `${entry}.currency`);
  return typeof told === "string" && /^[A-Z]{3}$/.test(told) ? told : "";
}

/** The entry of which `name=value` is true, else the first. */
function entryOf(entries: readonly unknown[], step: string): unknown {
  const [name = "", wanted] = step.split("=");
  return entries.find((entry) => valueAt(entry, name) === wanted) ?? entries[0];
}

/** The number, or the number in a text, at a dotted path. Throws: BalanceFault when there is none. */
function numberAt(body: unknown, path: string): number {
  const value = valueAt(body, path);
  const isText = typeof value === "string" && value.trim() !== "";
  const number = isText || typeof value === "number" ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) throw new BalanceFault("上游没有返回余额");
  return number;
}
