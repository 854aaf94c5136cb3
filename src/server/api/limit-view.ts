// Limits as who may see them does: with what is used of them now.
import type { Limit } from "#contract/limit.ts";
import { isCalendar, isWindowKind } from "#contract/limit-words.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { stateOf } from "#server/money/limit-state.ts";
import { calendarSpan } from "#server/money/windows.ts";
import { findLimit, findWindows, type LimitRow, listLimits, subjectLabels } from "#server/store/limits.ts";

/** What limits belong to. */
export interface OwnedSubject {
  readonly subject: "token" | "seat" | "project" | "team";
  readonly id: number;
}

/** Whose a limit is, for the audit log. */
export function whoseOf({
  subject,
  subject_id,
  subject_name,
}: Pick<LimitRow, "subject" | "subject_id" | "subject_name">) {
  return { subject, ...(subject_name === "" ? { subject_id } : { subject_name }) };
}

/** The limits of a token with what is used of them. */
export async function limitsOfToken(ctx: Context, tokenId: number, userId: number): Promise<Limit[]> {
  return limitsOf(ctx, { subject: "token", ids: [tokenId] }, userId);
}

/** The limits of some subjects, with what is used of them. */
export async function limitsOf(
  ctx: Context,
  of: { subject: LimitRow["subject"]; ids: readonly number[] },
  userId: number,
): Promise<Limit[]> {
  return present(ctx, await listLimits(ctx.db, of), userId);
}

/** Throws: when it is gone. */
export async function presentOne(ctx: Context, id: number): Promise<Limit> {
  const row = await findLimit(ctx.db, id);
  const [shown] = row ? await present(ctx, [row], 0) : [];
  if (!shown) throw faults.notFound("找不到该限额");
  return shown;
}

/** A limit as a user whom it binds sees it: what a whole group, or everybody, has used of theirs is not told (requirements L11). */
export function withoutOthers(row: Limit, nowSec: number): Limit {
  return row.subject === "group" || row.subject === "all" ? withoutUse(row, nowSec) : row;
}

/** A limit as who may not see what others use of it does: what it allows, and when it begins anew (requirements O04). */
export function withoutUse(row: Limit, nowSec: number): Limit {
  const { kind, time_window: window, anchor, time_zone: zone } = row;
  // When a day ends says nothing of others; when a window began or forgets does.
  const isKnown = isWindowKind(kind) && isCalendar(window);
  const resets_at = isKnown ? calendarSpan(window, { zone, anchor }, nowSec).end : 0;
  return { ...row, used: null, reserved: 0, resets_at };
}

/** Limits with what is used of them; of members' limits by this user. */
export async function present(ctx: Context, rows: readonly LimitRow[], userId: number): Promise<Limit[]> {
  const counted = rows.filter(({ kind }) => isWindowKind(kind)).map(({ id }) => id);
  const windows = await findWindows(ctx.db, counted, userId);
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
