// Handlers: limits. Of a token by its owner, of users, groups and models by administrators; everybody sees what holds for him.
import type { Limit, LimitDraft, LimitUpdate, limitApi, SubjectLimitDraft } from "#contract/limit.ts";
import { isManaged, isWindowKind } from "#contract/limit-words.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { stateOf } from "#server/money/limit-state.ts";
import type { Db } from "#server/store/db.ts";
import {
  findCallerLimits,
  findLimit,
  findOwnTokenLimits,
  findWindows,
  hasGroupMember,
  insertLimit,
  type LimitRow,
  listLimits,
  type NewLimit,
  subjectLabels,
  updateLimit,
} from "#server/store/limits.ts";
import { findUserById, findUserByName } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { reachToken } from "./token-reach.ts";
import { subject as lowerUser } from "./user-admin.ts";

export const limit: Handlers<{ limit: typeof limitApi }>["limit"] = {
  async list(ctx, { query }) {
    const isOfUser = query.subject === "user";
    const of = isOfUser ? ({ subject: "user", ids: [Number(query.subject_id) || 0] } as const) : undefined;
    return present(ctx, await listLimits(ctx.db, of), 0);
  },

  async self(ctx, { actor }) {
    const user = await findUserById(ctx.db, actor.id);
    const group = user?.group || "default";
    const rows = await findCallerLimits(ctx.db, { tokenId: 0, userId: actor.id, group });
    return present(ctx, [...rows, ...(await findOwnTokenLimits(ctx.db, actor.id))], actor.id);
  },

  async create(ctx, call) {
    const { actor } = call;
    const body = await named(ctx, call.body);
    await checkSubject(ctx, actor, body);
    const { subject, subject_id, subject_name } = body;
    const isOfGroup = subject === "group" || subject === "member";
    const whose = {
      subject,
      subject_id: subject === "user" ? subject_id : 0,
      subject_name: isOfGroup ? subject_name : "",
    };
    const row = { ...fieldsOf(body), ...whose, created_at: ctx.clock.seconds() };
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertLimit(tx, row);
      await audit(ctx, tx, call, { action: "limit.create", target: made, detail: row });
      return made;
    });
    await tell(ctx, row);
    return presentOne(ctx, id);
  },

  async update(ctx, call) {
    const { body, actor } = call;
    const row = await administered(ctx, actor, body.id);
    const change = changeOf(ctx, row, body);
    await ctx.db.transaction().execute(async (tx) => {
      await updateLimit(tx, row.id, change);
      await audit(ctx, tx, call, { action: "limit.update", target: row.id, detail: change, before: row });
    });
    await tell(ctx, row);
    return presentOne(ctx, row.id);
  },

  async remove(ctx, call) {
    const row = await administered(ctx, call.actor, call.params.id);
    await ctx.db.transaction().execute(async (tx) => {
      await updateLimit(tx, row.id, { deleted_at: ctx.clock.seconds() });
      await audit(ctx, tx, call, { action: "limit.delete", target: row.id });
    });
    await tell(ctx, row);
    return null;
  },

  async boost(ctx, call) {
    const { actor, params, body } = call;
    const row = await administered(ctx, actor, params.id);
    const nowSec = ctx.clock.seconds();
    const isEnd = body.amount === 0;
    if (!isEnd && body.until <= nowSec) throw faults.refused("结束时间须在将来");
    if (!isEnd && row.boost_until > nowSec) throw faults.refused("该限额已在临时提高中，请先结束");
    const change = {
      boost_amount: body.amount,
      boost_until: isEnd ? 0 : body.until,
      boost_reason: isEnd ? "" : body.reason,
    };
    await ctx.db.transaction().execute(async (tx) => {
      await updateLimit(tx, row.id, change);
      const { amount, until, reason } = body;
      await audit(ctx, tx, call, {
        action: "limit.boost",
        target: row.id,
        detail: { amount, until, reason },
      });
    });
    await tell(ctx, row);
    return presentOne(ctx, row.id);
  },

  async ofToken(ctx, { actor, params }) {
    await reachToken(ctx, actor, params.id);
    return limitsOfToken(ctx, params.id, actor.id);
  },

  async setOfToken(ctx, call) {
    const { actor, params, body } = call;
    await reachToken(ctx, actor, params.id);
    await setLimitsOfToken(ctx, call, params.id, body.limits);
    return limitsOfToken(ctx, params.id, actor.id);
  },
};

/** The limits of a token with what is used of them. */
export async function limitsOfToken(ctx: Context, tokenId: number, userId: number): Promise<Limit[]> {
  return limitsOf(ctx, { subject: "token", ids: [tokenId] }, userId);
}

/** Brings the limits of a token to those that were sent, and tells all nodes. */
export async function setLimitsOfToken(
  ctx: Context,
  call: ActCall,
  tokenId: number,
  limits: readonly LimitDraft[],
): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    await replaceLimits(ctx, tx, { subject: "token", id: tokenId }, limits);
    await audit(ctx, tx, call, { action: "token.limit", target: tokenId, detail: { limits } });
  });
  await ctx.coord.publish("tokens", String(tokenId));
}

/** Brings the limits of a token, member, project or team to those that were sent. */
export async function replaceLimits(
  ctx: Context,
  tx: Db,
  { subject, id: subjectId }: { subject: "token" | "seat" | "project" | "team"; id: number },
  drafts: readonly LimitDraft[],
): Promise<void> {
  const nowSec = ctx.clock.seconds();
  const rows = await listLimits(tx, { subject, ids: [subjectId] });
  const kept = new Set<number>();
  for (const draft of drafts) {
    const row = rows.find(({ id }) => id === draft.id);
    if (draft.id !== undefined && (row === undefined || kept.has(row.id)))
      throw faults.notFound("找不到该限额");
    if (row === undefined) {
      const whose = { subject, subject_id: subjectId, subject_name: "" };
      await insertLimit(tx, { ...fieldsOf(draft), ...whose, created_at: nowSec });
      continue;
    }
    kept.add(row.id);
    await updateLimit(tx, row.id, changeOf(ctx, row, draft));
  }
  for (const row of rows) if (!kept.has(row.id)) await updateLimit(tx, row.id, { deleted_at: nowSec });
}

type Fields = Pick<NewLimit, "model_pattern" | "kind" | "amount" | "time_window" | "anchor" | "mode">;

function fieldsOf({ model_pattern, kind, amount, time_window, anchor, mode }: Fields): Fields {
  return { model_pattern, kind, amount, time_window, anchor, mode };
}

/** What is counted in another way begins anew: what was counted before must not fill it. */
function changeOf(ctx: Context, row: LimitRow, body: LimitUpdate | LimitDraft) {
  const change = fieldsOf(body);
  const names = ["model_pattern", "kind", "time_window", "anchor"] as const;
  const isOther = names.some((name) => change[name] !== row[name]);
  return isOther ? { ...change, since: ctx.clock.seconds() } : change;
}

/** The limits of some subjects, with what is used of them. */
export async function limitsOf(
  ctx: Context,
  of: { subject: LimitRow["subject"]; ids: readonly number[] },
  userId: number,
): Promise<Limit[]> {
  return present(ctx, await listLimits(ctx.db, of), userId);
}

/** A user that is meant by name, with the id. Throws: when there is none. */
async function named(ctx: Context, draft: SubjectLimitDraft): Promise<SubjectLimitDraft> {
  if (draft.subject !== "user" || draft.subject_id !== 0) return draft;
  const user = await findUserByName(ctx.db, draft.subject_name);
  if (!user) throw faults.notFound("找不到该用户");
  return { ...draft, subject_id: user.id };
}

/** A limit that administrators set. Throws: when there is none, or its user's rank is not lower. */
async function administered(ctx: Context, actor: Actor, id: number): Promise<LimitRow> {
  const row = await findLimit(ctx.db, id);
  if (!row || !isManaged(row.subject)) throw faults.notFound("找不到该限额");
  await checkSubject(ctx, actor, row);
  return row;
}

/** Throws: when there is no such user or group, or the user's rank is not lower. */
async function checkSubject(
  ctx: Context,
  actor: Actor,
  { subject, subject_id, subject_name }: Pick<LimitRow, "subject" | "subject_id" | "subject_name">,
): Promise<void> {
  if (subject === "user") lowerUser(actor, await findUserById(ctx.db, subject_id));
  const isOfGroup = subject === "group" || subject === "member";
  if (!isOfGroup) return;
  if (subject_name === "") throw faults.refused("请选择分组");
  const isKnown = subject_name === "default" || Object.hasOwn(ctx.options.get("GroupRatio"), subject_name);
  // A typing error would limit no user, and its administrator would not notice.
  if (!isKnown && !(await hasGroupMember(ctx.db, subject_name)))
    throw faults.refused(`没有名为“${subject_name}”的分组，也没有用户属于它`);
}

/** All nodes compile the limits of these callers anew. */
function tell(
  ctx: Context,
  { subject, subject_id }: Pick<LimitRow, "subject" | "subject_id">,
): Promise<void> {
  return ctx.coord.publish("users", subject === "user" ? String(subject_id) : "");
}

async function presentOne(ctx: Context, id: number): Promise<Limit> {
  const row = await findLimit(ctx.db, id);
  const [shown] = row ? await present(ctx, [row], 0) : [];
  if (!shown) throw faults.notFound("找不到该限额");
  return shown;
}

/** Limits with what is used of them; of members' limits by this user. */
async function present(ctx: Context, rows: readonly LimitRow[], userId: number): Promise<Limit[]> {
  const counted = rows.filter(({ kind }) => isWindowKind(kind)).map(({ id }) => id);
  const windows = await findWindows(ctx.db, counted);
  const labels = await subjectLabels(ctx.db, rows);
  const least = ctx.options.get("PreConsumedQuota");
  const moment = { userId, zone: ctx.options.get("BudgetTimeZone"), nowSec: ctx.clock.seconds() };
  return rows.map((row) => {
    const state = stateOf(row, windows, moment);
    const isOthers = row.subject === "member" && userId === 0;
    const used = state === undefined || isOthers ? null : Number(state.used);
    const amount = Number(state?.amount ?? row.amount);
    return {
      ...row,
      used,
      reserved: used === null ? 0 : Number(state?.reserved ?? 0n),
      resets_at: state?.resetsAt ?? 0,
      subject_label: labels.get(`${row.subject} ${row.subject_id}`) ?? "",
      time_zone: moment.zone,
      is_small: (row.kind === "quota" || row.kind === "cost") && row.mode === "hard" && amount < least,
    };
  });
}
