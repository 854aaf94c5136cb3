// Job: tells once that four fifths of a budget are spent (requirements L10). What running calls have set aside does not count: most of it
// comes back. The mark is set first, so that no two processes send the letter; one that is lost with its process is not sent again.
import { LIMIT_WINDOW_LABELS } from "#contract/limit-words.ts";
import { formatQuota } from "#contract/quota.ts";
import { Role, UserStatus } from "#contract/user.ts";
import { limitLetter } from "#server/accounts/letters.ts";
import { siteUrl } from "#server/accounts/mailer.ts";
import type { Context } from "#server/context.ts";
import { type LimitState, stateOf } from "#server/money/limit-state.ts";
import { rollingOf } from "#server/money/windows.ts";
import {
  findAddresses,
  findTeamOwner,
  findTokenOwner,
  findWatchedWindows,
  markTold,
  type WatchedWindow,
} from "#server/store/limit-warnings.ts";
import type { LimitRow } from "#server/store/limits.ts";
import { findUserById } from "#server/store/users.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;

export const limitWarnings: Job = {
  name: "limit-warnings",
  periodMs: () => MINUTE_MS,
  async run(ctx) {
    let sent = 0;
    for (let watched = await findWatchedWindows(ctx.db); watched.length > 0; ) {
      for (const one of watched) sent += await judge(ctx, one);
      watched = await findWatchedWindows(ctx.db, watched.at(-1)?.window);
    }
    return `${sent} letters`;
  },
};

/** Sets or takes back the mark of a window, and tells what is due. Returns the number of letters. */
async function judge(ctx: Context, { limit, window }: WatchedWindow): Promise<number> {
  const moment = {
    userId: window.holder,
    zone: ctx.options.get("BudgetTimeZone"),
    nowSec: ctx.clock.seconds(),
  };
  const state = stateOf(limit, [window], moment);
  if (state === undefined) return 0;
  const spent = state.used - state.reserved;
  // Nothing was looked at in time, for all jobs stood: the next window has a mark of its own.
  const isOver = state.used === 0n && rollingOf(limit.time_window) === undefined;
  if (window.told === 1) {
    if (!isOver && spent * 2n < state.amount) await markTold(ctx.db, window, 0);
    return 0;
  }
  if (!isOver && spent * 5n < state.amount * 4n) return 0;
  const isOurs = await markTold(ctx.db, window, 1);
  return isOurs && !isOver ? tell(ctx, { limit, window }, { state, spent, zone: moment.zone }) : 0;
}

interface Standing {
  readonly state: LimitState;
  readonly spent: bigint;
  readonly zone: string;
}

/** Sends the letters, and an alert of what administrators have set. Returns the number of letters. */
async function tell(
  ctx: Context,
  { limit, window }: WatchedWindow,
  { state, spent, zone }: Standing,
): Promise<number> {
  const told = await whoIsTold(ctx, limit, window.holder);
  if (told.whose === "") return 0;
  const warning = {
    budget: `${told.whose}的${LIMIT_WINDOW_LABELS[limit.time_window]}${limit.kind === "calls" ? "请求数" : "额度"}${modelsOf(limit)}`,
    spent: amountText(ctx, limit, spent),
    amount: amountText(ctx, limit, state.amount),
    resets: resetText(state, zone),
    // A channel's refuses calls, though it never ends one that runs.
    isSoft: limit.mode === "soft" && !limit.subject.startsWith("channel"),
    url: `${siteUrl(ctx)}${told.path}`,
  };
  if (limit.subject !== "token") {
    ctx.notify({
      event: "budget_spent",
      about: `limit ${limit.id} ${window.holder} ${window.start}`,
      title: `${warning.budget}已用 80% 以上`,
      content: `已用 ${warning.spent}，限额为 ${warning.amount}。\n${warning.resets}`,
    });
  }
  if (!ctx.mailer.isReady() || told.addresses.length === 0) return 0;
  const letter = limitLetter(ctx.options.get("SystemName"), warning);
  // Each gets his own letter, and no slow mail server holds up the others: not awaited.
  for (const address of told.addresses) void ctx.mailer.post(address, letter);
  return told.addresses.length;
}

interface Told {
  readonly whose: string;
  /** The page of the console where the limit stands. */
  readonly path: string;
  readonly addresses: readonly string[];
}

/** Budgets of one are told to him; those that many share to the administrators, who alone can change them. */
async function whoIsTold(ctx: Context, limit: LimitRow, holder: number): Promise<Told> {
  const whoseAll = sharedBy(limit);
  if (whoseAll !== undefined) {
    const addresses = await findAddresses(ctx.db, { role: Role.admin, status: UserStatus.enabled });
    return { whose: whoseAll, path: pathOfShared(limit), addresses };
  }
  const owner = await ownerOfLimit(ctx, limit, holder);
  const user = owner && (await findUserById(ctx.db, owner.userId));
  const isReachable = user !== undefined && user.status === UserStatus.enabled && user.email !== "";
  const whose = owner?.whose ?? `账户“${user?.username ?? ""}”`;
  return { whose, path: owner?.path ?? LIMITS, addresses: isReachable ? [user.email] : [] };
}

const LIMITS = "/limit";

function pathOfShared({ subject, subject_id }: LimitRow): string {
  if (subject === "channel") return `/channel/edit/${subject_id}`;
  return subject === "channel_key" ? "/channel" : LIMITS;
}

/** Whose the limit is that many share; undefined = one has it for himself. */
function sharedBy({ subject, subject_name, subject_id }: LimitRow): string | undefined {
  if (subject === "all") return "全站";
  if (subject === "group") return `分组“${subject_name}”`;
  if (subject === "channel") return `渠道 #${subject_id} `;
  return subject === "channel_key" ? `渠道密钥 #${subject_id} ` : undefined;
}

/** Whose a limit in a team is, behind the team's name. */
const OF_TEAM = { seat: "给您", project: "的项目", team: "" } as const;

/** The one who is told, and what the limit is on and where it stands where it is not his account's. */
export async function ownerOfLimit(
  { db }: Context,
  { subject, subject_id }: Pick<LimitRow, "subject" | "subject_id">,
  holder: number,
): Promise<{ readonly userId: number; readonly whose?: string; readonly path?: string } | undefined> {
  if (subject === "seat" || subject === "project" || subject === "team") {
    const told = await findTeamOwner(db, subject, subject_id);
    if (told === undefined) return undefined;
    const path = `/team/${told.teamId}${subject === "project" ? "?tab=project" : ""}`;
    return { userId: told.userId, whose: `团队“${told.name}”${OF_TEAM[subject]}`, path };
  }
  if (subject !== "token") return { userId: subject === "member" ? holder : subject_id };
  const token = await findTokenOwner(db, subject_id);
  if (token === undefined) return undefined;
  const path = `${token.teamId === 0 ? "" : `/t/${token.teamId}`}/token/limit/${subject_id}`;
  return { userId: token.userId, whose: `令牌“${token.name}”`, path };
}

function modelsOf({ model_pattern }: LimitRow): string {
  return model_pattern === "" || model_pattern === "*" ? "" : `（模型 ${model_pattern}）`;
}

function amountText({ options }: Context, { kind }: LimitRow, amount: bigint): string {
  if (kind === "calls") return `${amount} 次`;
  const display = {
    quotaPerUnit: options.get("QuotaPerUnit"),
    inCurrency: options.get("DisplayInCurrencyEnabled"),
  };
  return formatQuota(Number(amount), display, 6);
}

/** In the zone it is counted by. */
function resetText({ resetsAt }: LimitState, zone: string): string {
  if (resetsAt === 0) return "这个限额不会自动重置。";
  const format = { dateStyle: "medium", timeStyle: "short", timeZone: zone } as const;
  return `重置时间：${new Intl.DateTimeFormat("zh-CN", format).format(resetsAt * 1_000)}（${zone}）`;
}
