// Alerts on their way: entered for each target that wants them, sent within what its vendor allows, tried again, merged when many wait.
// One process at a time sends to a target (requirements I50–I52).
import { alertEventRow } from "#contract/alert-events.ts";
import { fetchText } from "#server/egress/fetch-text.ts";
import {
  type AlertDeliveryRow,
  beginCondition,
  changeWaiting,
  endCondition,
  findWaiting,
  insertDeliveries,
  listAlertTargets,
  type NewAlertDelivery,
  updateAlertTarget,
} from "#server/store/alerts.ts";
import type { Db } from "#server/store/db.ts";
import type { Notice } from "#server/tools.ts";
import { cleanContent, cleanTitle, type Level, type Message, messageOf, type Part } from "./message.ts";
import type { AlertParts } from "./parts.ts";
import { quietUntil } from "./quiet.ts";
import { openTarget, type Target } from "./targets.ts";
import { type Outcome, verdictOf } from "./verdict.ts";
import { type PostKind, postOf } from "./wire.ts";

/** What happens once is told once in so long. */
const ONCE_MS = 10 * 60_000;
/** So many may wait and are still sent one by one. */
const ONE_BY_ONE = 5;
/** What waits and is looked at in one go. */
const LOOKED_AT = 500;
/** Pauses before the second and the third try; there is no fourth. Unit: ms. */
const RETRY_MS = [30_000, 120_000];
const CALL = { timeoutMs: 5_000, limitBytes: 64 * 1024 } as const;
/** Nothing waits longer: what says so was written while the clock was wrong (requirements F08). */
const LONGEST_WAIT_MS = 26 * 3_600_000;

/** So many in a burst, refilled in so long: four fifths of what each vendor takes in a minute, and in a second. */
const PACES: Readonly<Record<Target["kind"], { readonly burst: number; readonly refillMs: number }>> = {
  feishu: { burst: 4, refillMs: 4_000 },
  dingtalk: { burst: 4, refillMs: 20_000 },
  wecom: { burst: 4, refillMs: 20_000 },
  telegram: { burst: 1, refillMs: 4_000 },
  slack: { burst: 1, refillMs: 1_250 },
  bark: { burst: 4, refillMs: 4_000 },
  mail: { burst: 4, refillMs: 40_000 },
  webhook: { burst: 4, refillMs: 4_000 },
};

/** Writes notices down for the targets that want them. Returns how many messages were made. */
export async function enter(tools: AlertParts, notices: readonly Notice[]): Promise<number> {
  const told: Notice[] = [];
  for (const notice of notices) if (await isFirst(tools, notice)) told.push(notice);
  if (told.length === 0) return 0;
  const targets = await enabledTargets(tools);
  return tools.db.transaction().execute(async (tx) => {
    const rows: NewAlertDelivery[] = [];
    for (const notice of told) {
      if (!(await isTurn(tx, notice, tools.clock.seconds()))) continue;
      const part = partOf(notice, tools.clock.seconds());
      for (const target of targets) if (wants(target, notice)) rows.push(deliveryOf(target, part));
    }
    await insertDeliveries(tx, rows);
    return rows.length;
  });
}

async function isFirst({ coord }: AlertParts, { event, about }: Notice): Promise<boolean> {
  return alertEventRow(event).lasts === true || coord.remember(`alert:${event}:${about}`, ONCE_MS);
}

/** Of what lasts, only its begin and its end are told, and what is worth telling again. */
async function isTurn(tx: Db, notice: Notice, since: number): Promise<boolean> {
  const { event, about, title } = notice;
  if (alertEventRow(event).lasts !== true) return true;
  if (notice.isOver === true) return endCondition(tx, event, about);
  const begins = await beginCondition(tx, { event, about, title: cleanTitle(title), since });
  return begins || notice.isAgain === true;
}

function wants({ events, tells_end }: Target, { event, isOver }: Notice): boolean {
  return events.includes(event) && (isOver !== true || tells_end);
}

function partOf({ event, about, title, content, isOver }: Notice, now: number): Part {
  const level: Level = isOver === true ? "over" : alertEventRow(event).level;
  return { event, about, level, title: cleanTitle(title), content: cleanContent(content), created_at: now };
}

function deliveryOf({ id }: Target, part: Part): NewAlertDelivery {
  return { ...part, target_id: id, state: "waiting", tries: 0, problem: "", next_ms: 0, done_at: 0 };
}

async function enabledTargets(tools: AlertParts): Promise<Target[]> {
  const rows = await listAlertTargets(tools.db);
  return rows.filter((row) => row.is_enabled === 1).map((row) => openTarget(tools, row));
}

/** Sends what is due to all targets. Returns when the next is, ms; Infinity = nothing waits. */
export async function deliverAll(tools: AlertParts): Promise<number> {
  const targets = await enabledTargets(tools);
  const due = targets.map(async (target) => {
    const next = await tools.coord.lock(`alert-target:${target.id}`, () => deliverTo(tools, target));
    // Another process sends to it: it is looked at again, since that one may be ending.
    return next ?? tools.clock.now() + 1_000;
  });
  return Math.min(Number.POSITIVE_INFINITY, ...(await Promise.all(due)));
}

async function deliverTo(tools: AlertParts, target: Target): Promise<number> {
  for (;;) {
    if (tools.stopping.aborted) return Number.POSITIVE_INFINITY;
    const nowMs = tools.clock.now();
    const waiting = await holdBack(tools, target, await findWaiting(tools.db, target.id, LOOKED_AT));
    const due = waiting.filter(({ next_ms }) => next_ms <= nowMs || next_ms > nowMs + LONGEST_WAIT_MS);
    const [first] = due;
    if (first === undefined)
      return Math.min(Number.POSITIVE_INFINITY, ...waiting.map(({ next_ms }) => next_ms));
    const { burst, refillMs } = PACES[target.kind];
    const turn = await tools.coord.count(`alert-pace:${target.id}`, refillMs, burst);
    if (!turn.allowed) return nowMs + turn.retryAfterMs;
    const batch = due.length > ONE_BY_ONE ? due : [first];
    await settle(tools, target, { batch, outcome: await sendTo(tools, target, batch) });
  }
}

/** In quiet hours what is not critical waits for their end. Returns the rows as they are then. */
async function holdBack(
  { db, clock, options }: AlertParts,
  { quiet_from: from, quiet_to: to }: Target,
  rows: readonly AlertDeliveryRow[],
): Promise<readonly AlertDeliveryRow[]> {
  const until = quietUntil({ from, to }, clock.now(), options.get("BudgetTimeZone"));
  const held =
    until === 0 ? [] : rows.filter(({ level, next_ms }) => level !== "critical" && next_ms < until);
  if (held.length === 0) return rows;
  const ids = held.map(({ id }) => id);
  await changeWaiting(db, ids, { next_ms: until });
  return rows.map((row) => (held.includes(row) ? { ...row, next_ms: until } : row));
}

/** Sends alerts as one message. `id` defaults to what names them. Never throws. */
export async function sendTo(
  tools: AlertParts,
  target: Target,
  parts: readonly (Part & { readonly id?: number })[],
): Promise<Outcome> {
  const { options, clock, config } = tools;
  const message = messageOf(parts, {
    link: options.get("ServerAddress"),
    zone: options.get("BudgetTimeZone"),
    system: options.get("SystemName"),
    language: target.language,
  });
  const { kind } = target;
  if (kind === "mail") return sendMail(tools, target, message);
  const nowMs = clock.now();
  const id = `alert_${target.id}_${parts[0]?.id ?? nowMs}_${parts.at(-1)?.id ?? 0}`;
  const post = postOf(kind satisfies PostKind, target, message, {
    nowMs,
    id,
    vendorUrl: config.chatVendorUrl,
  });
  return verdictOf(kind, await fetchText(tools.egress, { ...CALL, method: "POST", ...post }), nowMs);
}

async function sendMail(
  tools: AlertParts,
  { to, language }: Target,
  { title, lines, link }: Message,
): Promise<Outcome> {
  const content = [...lines, ...(link === "" ? [] : [link])].join("\n");
  const result = await tools.mail(to, { title, content, language });
  if (result === undefined)
    return { isSent: false, problem: "还没有配置发信服务器", mayRetry: false, afterMs: 0 };
  if (result.isSent) return result;
  return { isSent: false, problem: `发信失败（${result.problem}）`, mayRetry: result.mayRetry, afterMs: 0 };
}

/** Writes down what became of a message. */
async function settle(
  { db, clock, events }: AlertParts,
  target: Target,
  { batch, outcome }: { readonly batch: readonly AlertDeliveryRow[]; readonly outcome: Outcome },
): Promise<void> {
  const ids = batch.map(({ id }) => id);
  const tries = Math.max(...batch.map((row) => row.tries)) + 1;
  const done_at = clock.seconds();
  if (outcome.isSent) return changeWaiting(db, ids, { state: "sent", tries, problem: "", done_at });
  const { problem, mayRetry, afterMs, isGone } = outcome;
  events.alertFailed({ target: target.id, kind: target.kind, tries, problem });
  const pauseMs = RETRY_MS[tries - 1];
  if (mayRetry && pauseMs !== undefined) {
    await changeWaiting(db, ids, { tries, problem, next_ms: clock.now() + Math.max(pauseMs, afterMs) });
    return;
  }
  await changeWaiting(db, ids, { state: "failed", tries, problem, done_at });
  if (isGone === true) await updateAlertTarget(db, target.id, { is_enabled: 0, updated_at: done_at });
}

/** The database takes nothing: tells what it can at once, and keeps nothing of it. */
export async function tellUnstored(tools: AlertParts, notices: readonly Notice[]): Promise<void> {
  const now = tools.clock.seconds();
  for (const target of await enabledTargets(tools)) {
    const wanted = notices.filter((notice) => wants(target, notice));
    if (wanted.length > 0)
      await sendTo(
        tools,
        target,
        wanted.map((notice) => partOf(notice, now)),
      );
  }
}

/** Sends one message to a target and writes it down as done. */
export async function sendTest(tools: AlertParts, target: Target): Promise<Outcome> {
  const now = tools.clock.seconds();
  const part: Part = {
    event: "test",
    about: "",
    level: "info",
    title: "测试消息",
    content: "收到这条消息，说明通知对象配置正确。",
    created_at: now,
  };
  const outcome = await sendTo(tools, target, [part]);
  const problem = outcome.isSent ? "" : outcome.problem;
  const state = outcome.isSent ? "sent" : "failed";
  await insertDeliveries(tools.db, [
    { ...deliveryOf(target, part), state, tries: 1, problem, done_at: tools.clock.seconds() },
  ]);
  return outcome;
}
