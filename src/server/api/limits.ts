// Handlers: limits. Of a token by its owner, of users, groups and models by administrators; everybody sees what holds for him.
import type { LimitDraft, LimitUpdate, limitApi, SubjectLimitDraft } from "#contract/limit.ts";
import { isManaged } from "#contract/limit-words.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import {
  countBindingLimits,
  countManagedLimits,
  findLimit,
  hasGroupMember,
  insertLimit,
  type LimitRow,
  listBindingLimits,
  listLimits,
  listManagedLimits,
  type NewLimit,
  updateLimit,
} from "#server/store/limits.ts";
import { lockRows } from "#server/store/row-locks.ts";
import { findUserById, findUserByName } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { boostLimit, boostOwned } from "./limit-boosts.ts";
import {
  limitsOfToken,
  type OwnedSubject,
  present,
  presentOne,
  whoseOf,
  withoutOthers,
} from "./limit-view.ts";
import { reachToken, teamsOf } from "./token-reach.ts";
import { subject as lowerUser } from "./user-admin.ts";

export const limit: Handlers<{ limit: typeof limitApi }>["limit"] = {
  async list(ctx, { query }) {
    const { subject, subject_id, id, p: page, size } = query;
    const filter = { id, userId: subject === "user" ? Number(subject_id) || 0 : undefined };
    const rows = await listManagedLimits(ctx.db, { ...filter, page, size });
    return { data: await present(ctx, rows, 0), total: await countManagedLimits(ctx.db, filter) };
  },

  async self(ctx, { actor, query }) {
    const { p: page, size } = query;
    const user = await findUserById(ctx.db, actor.id);
    const bound = { userId: actor.id, group: user?.group || "default" };
    const rows = await listBindingLimits(ctx.db, { ...bound, page, size });
    const nowSec = ctx.clock.seconds();
    const data = (await present(ctx, rows, actor.id)).map((row) => withoutOthers(row, nowSec));
    return { data, total: await countBindingLimits(ctx.db, bound) };
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
      const detail = { ...whoseOf(row), ...change };
      await audit(ctx, tx, call, { action: "limit.update", target: row.id, detail, before: row });
    });
    await tell(ctx, row);
    return presentOne(ctx, row.id);
  },

  async remove(ctx, call) {
    const row = await administered(ctx, call.actor, call.params.id);
    await ctx.db.transaction().execute(async (tx) => {
      await updateLimit(tx, row.id, { deleted_at: ctx.clock.seconds() });
      const detail = { ...whoseOf(row), ...fieldsOf(row) };
      await audit(ctx, tx, call, { action: "limit.delete", target: row.id, detail });
    });
    await tell(ctx, row);
    return null;
  },

  async boost(ctx, call) {
    const { actor, params, body } = call;
    const row = await administered(ctx, actor, params.id);
    await boostLimit(ctx, call, row, body);
    await tell(ctx, row);
    return presentOne(ctx, row.id);
  },

  async ofToken(ctx, { actor, params }) {
    await reachToken(ctx, actor, params.id);
    return limitsOfToken(ctx, params.id, actor.id);
  },

  async setOfToken(ctx, call) {
    const { actor, params, body } = call;
    const teams = teamsOf(await reachToken(ctx, actor, params.id));
    await setLimitsOfToken(ctx, call, { id: params.id, teams }, body.limits);
    return limitsOfToken(ctx, params.id, actor.id);
  },

  async boostOfToken(ctx, call) {
    const { id } = call.params;
    const teams = teamsOf(await reachToken(ctx, call.actor, id));
    return boostOwned(ctx, call, { subject: "token", id, teams }, { topic: "tokens", id });
  },
};

/** Brings the limits of a token to those that were sent, and tells all nodes. */
export async function setLimitsOfToken(
  ctx: Context,
  call: ActCall,
  { id, teams = [] }: { readonly id: number; readonly teams?: readonly number[] },
  limits: readonly LimitDraft[],
): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    await lockRows(tx, "tokens", [id]);
    const { before, ...detail } = await replaceLimits(ctx, tx, { subject: "token", id }, limits);
    await audit(ctx, tx, call, { action: "token.limit", target: id, detail, before, teams });
  });
  await ctx.coord.publish("tokens", String(id));
}

/** The limits that a change made, changed or removed, as they are now and as they were; for the audit log. */
export interface LimitsChange {
  readonly limits: readonly LimitDraft[];
  readonly before: { readonly limits: readonly LimitDraft[] };
}

/** Brings the limits of a token, member, project or team to those that were sent; no other call may do so until the transaction ends. */
export async function replaceLimits(
  ctx: Context,
  tx: Db,
  { subject, id: subjectId }: OwnedSubject,
  drafts: readonly LimitDraft[],
): Promise<LimitsChange> {
  const nowSec = ctx.clock.seconds();
  const rows = await listLimits(tx, { subject, ids: [subjectId] });
  // Those that calls use, whatever the order of the drafts.
  await lockRows(
    tx,
    "limits",
    rows.map(({ id }) => id),
  );
  const kept = new Set<number>();
  const [now, then]: [LimitDraft[], LimitDraft[]] = [[], []];
  for (const draft of drafts) {
    const row = rows.find(({ id }) => id === draft.id);
    if (draft.id !== undefined && (row === undefined || kept.has(row.id)))
      throw faults.notFound("找不到该限额");
    if (row === undefined) {
      const whose = { subject, subject_id: subjectId, subject_name: "" };
      const id = await insertLimit(tx, { ...fieldsOf(draft), ...whose, created_at: nowSec });
      now.push({ id, ...fieldsOf(draft) });
      continue;
    }
    kept.add(row.id);
    const [old, next] = [fieldsOf(row), fieldsOf(draft)];
    if (JSON.stringify(old) === JSON.stringify(next)) continue;
    await updateLimit(tx, row.id, changeOf(ctx, row, draft));
    now.push({ id: row.id, ...next });
    then.push({ id: row.id, ...old });
  }
  for (const row of rows) {
    if (kept.has(row.id)) continue;
    await updateLimit(tx, row.id, { deleted_at: nowSec });
    then.push({ id: row.id, ...fieldsOf(row) });
  }
  return { limits: now, before: { limits: then } };
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
