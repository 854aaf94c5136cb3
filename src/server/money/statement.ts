// Closes months: what an account had, what its entries came to, what it has (requirements Y59). A month's entries are those after the month
// before, up to the last one before its end: each entry stands in one statement, whatever clocks say. Reads the ledger, never writes it.
import { lastClosedMonth, monthAfter, monthOf, monthStart } from "#contract/month.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import type { Options } from "#server/options.ts";
import type { Db } from "#server/store/db.ts";
import { findInvoiceProfile } from "#server/store/invoices.ts";
import {
  type EntrySum,
  findEntryAfter,
  findLastEntryId,
  findNewestStatement,
  findPieceEnd,
  findTrailHead,
  INDEBTING,
  insertStatement,
  type MoneySum,
  nameAccount,
  nameInstances,
  nameTokens,
  sumDebt,
  sumEntries,
  sumMoney,
  sumTokensByKey,
  sumTokensByModel,
} from "#server/store/statements.ts";
import { tokenModelKey } from "./rules-sums.ts";
import { quotaDisplay } from "./signup.ts";

/** Entries that one statement of the database adds up. */
const PIECE = 20_000;

/** How amounts are shown, and who issues the statement. */
export interface StatementStyle {
  readonly display: QuotaDisplay;
  /** The name of the installation. */
  readonly issuer: string;
}

/** By the options of this moment. */
export function styleNow(options: Pick<Options, "get">): StatementStyle {
  return { display: quotaDisplay(options), issuer: options.get("SystemName") };
}

/**
 * What is kept of a month beside its totals. Names, and how it is shown, are kept when it is closed; they are absent in months that run, and
 * in those that older versions closed: there they are what they are when it is read.
 */
export interface StatementBody {
  readonly style?: StatementStyle;
  readonly sums: readonly { readonly kind: string; readonly entries: number; readonly quota: number }[];
  readonly usage: readonly {
    readonly token_id: number;
    readonly token_name?: string;
    readonly tags?: string;
    readonly model_name: string;
    readonly calls: number;
    readonly quota: number;
    readonly plan_quota: number;
    readonly shortfall: number;
    /** Absent where it is not known of all the calls, so in months that older versions closed. */
    readonly tokens?: {
      readonly prompt_tokens: number;
      readonly cached_tokens: number;
      readonly completion_tokens: number;
    };
  }[];
  readonly tokens: readonly {
    readonly model_name: string;
    readonly prompt_tokens: number;
    /** Absent in months that older versions closed. */
    readonly cached_tokens?: number;
    readonly completion_tokens: number;
  }[];
  /** What was owed at the end; absent in months that older versions closed. */
  readonly debt?: number;
  readonly payments: readonly (MoneySum & { readonly name?: string })[];
}

type Named<Row, Names extends keyof Row> = Omit<Row, Names> & Readonly<Record<Names, string>>;

export interface NamedBody extends Omit<StatementBody, "usage" | "payments"> {
  readonly usage: readonly Named<StatementBody["usage"][number], "token_name" | "tags">[];
  readonly payments: readonly Named<StatementBody["payments"][number], "name">[];
}

export interface MonthSums {
  readonly month: string;
  readonly from_row: number;
  readonly to_row: number;
  readonly opening: number;
  readonly closing: number;
  readonly body: StatementBody;
}

/** Where a month begins in the books of an account. */
interface Begin {
  readonly month: string;
  readonly after: number;
  readonly opening: number;
  readonly debt: number;
}

/** How many entries one call may add up before it leaves the rest to the next one. */
interface Allowance {
  left: number;
}

/** How far a month has been added up: what one call has left, the next one goes on with. */
interface Progress {
  readonly month: string;
  readonly at: number;
  readonly found: ReadonlyMap<string, EntrySum>;
}

/** Of the accounts that were looked at last. A cache: without it a month is added up anew. */
const progressOf = new WeakMap<Db, Map<number, Progress>>();
const MAX_PROGRESS = 100;

function keepProgress(db: Db, userId: number, progress: Progress): void {
  const known = progressOf.get(db) ?? new Map<number, Progress>();
  progressOf.set(db, known);
  known.delete(userId);
  known.set(userId, progress);
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size > MAX_PROGRESS) known.delete(oldest);
}

/**
 * Closes the months of an account that have ended and are not closed. Returns whether all are: it stops once `maxEntries` were read, and the
 * next call goes on from there; with 0 it closes none.
 */
export async function closeMonths(
  db: Db,
  account: {
    readonly userId: number;
    readonly nowSec: number;
    readonly maxEntries: number;
    readonly style: StatementStyle;
  },
): Promise<boolean> {
  const { userId, nowSec, style } = account;
  const last = lastClosedMonth(nowSec);
  const allowance: Allowance = { left: account.maxEntries };
  let begin = await beginOf(db, userId);
  while (begin !== undefined && begin.month <= last) {
    if (account.maxEntries === 0) return false;
    const month = await sumMonth(db, { userId, begin, allowance, isClosing: true });
    if (month === undefined) return false;
    const { body, ...sums } = month;
    const trail_hash = await findTrailHead(db);
    await insertStatement(db, {
      ...sums,
      user_id: userId,
      body: JSON.stringify({ ...(await nameBody(db, body)), style }),
      trail_hash,
      created_at: nowSec,
      account_name: await nameAccount(db, userId),
      buyer_sealed: await findInvoiceProfile(db, userId),
    });
    const { debt = 0 } = body;
    begin = { month: monthAfter(begin.month), after: sums.to_row, opening: sums.closing, debt };
  }
  return true;
}

/** With the names of this moment where it has none. */
export async function nameBody(db: Db, body: StatementBody): Promise<NamedBody> {
  const unnamed = body.usage.filter(({ token_name }) => token_name === undefined);
  const tokens = await nameTokens(db, [...new Set(unnamed.map(({ token_id }) => token_id))]);
  const isNamed = body.payments.every(({ name }) => name !== undefined);
  const instances = isNamed ? new Map<number, string>() : await nameInstances(db);
  return {
    ...body,
    usage: body.usage.map((row) => {
      const { name: token_name = "", tags = "" } = tokens.get(row.token_id) ?? {};
      return { token_name, tags, ...row };
    }),
    payments: body.payments.map((row) => ({ name: instances.get(row.instance_id) ?? "", ...row })),
  };
}

/**
 * The running month so far, or the one that waits to be closed; undefined = the account has no entries, months are to be closed first, or
 * there are more entries than this call may read: the next one goes on.
 */
export async function readOpenMonth(
  db: Db,
  account: { readonly userId: number; readonly nowSec: number; readonly maxEntries: number },
): Promise<MonthSums | undefined> {
  const { userId, nowSec, maxEntries } = account;
  const begin = await beginOf(db, userId);
  if (begin === undefined || begin.month <= lastClosedMonth(nowSec)) return undefined;
  return sumMonth(db, { userId, begin, allowance: { left: maxEntries }, isClosing: false });
}

/** The month after the last closed one; "" = the account has no entries. */
export async function findOpenMonth(db: Db, userId: number): Promise<string> {
  return (await beginOf(db, userId))?.month ?? "";
}

/** What comes after the last closed month, or with the first entry of all. */
async function beginOf(db: Db, userId: number): Promise<Begin | undefined> {
  const newest = await findNewestStatement(db, userId);
  if (newest) {
    // Written below.
    const known = (JSON.parse(newest.body) as StatementBody).debt;
    const debt = known ?? (await sumDebt(db, userId, newest.to_row));
    return { month: monthAfter(newest.month), after: newest.to_row, opening: newest.closing, debt };
  }
  const first = await findEntryAfter(db, userId, 0);
  return first && { month: monthOf(first.created_at), after: 0, opening: 0, debt: 0 };
}

/** The id of the last entry before a moment. Entries of one account are numbered in the order of their time, so halves are tried. */
async function lastBefore(
  db: Db,
  { userId, begin, before }: { readonly userId: number; readonly begin: Begin; readonly before: number },
): Promise<number> {
  let low = begin.after;
  let high = await findLastEntryId(db, userId);
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const entry = await findEntryAfter(db, userId, middle);
    if (entry === undefined || entry.id > high) high = middle;
    else if (entry.created_at < before) low = entry.id;
    else high = middle;
  }
  return low;
}

interface MonthSpan {
  readonly userId: number;
  /** Seconds; the month is from the first on and before the second. */
  readonly start: number;
  readonly before: number;
}

interface MonthWork {
  readonly userId: number;
  readonly begin: Begin;
  readonly allowance: Allowance;
  /** No call is booked in it any more. */
  readonly isClosing: boolean;
}

async function sumMonth(db: Db, work: MonthWork): Promise<MonthSums | undefined> {
  const { userId, begin, isClosing } = work;
  const before = monthStart(monthAfter(begin.month));
  const upTo = await lastBefore(db, { userId, begin, before });
  const rows = await addUp(db, work, upTo);
  if (rows === undefined) return undefined;
  const span = { userId, start: monthStart(begin.month), before };
  return {
    month: begin.month,
    from_row: begin.after,
    to_row: upTo,
    opening: begin.opening,
    closing: begin.opening + rows.reduce((sum, { amount }) => sum + amount, 0),
    body: {
      sums: sumsOf(rows),
      usage: await withTokens(db, usageOf(rows), { ...span, isClosing }),
      tokens: await tokensOf(db, rows, span),
      payments: await sumMoney(db, { userId, after: begin.after, upTo }),
      debt: rows.reduce((sum, row) => sum + debtOf(row), begin.debt),
    },
  };
}

/** The entries of a month, piece by piece; undefined = the allowance is used up. */
async function addUp(
  db: Db,
  { userId, begin, allowance }: MonthWork,
  upTo: number,
): Promise<readonly EntrySum[] | undefined> {
  const known = progressOf.get(db)?.get(userId);
  const isOfMonth = known?.month === begin.month;
  // A copy: who looks at the same time adds to his own.
  const found = new Map(isOfMonth ? known.found : []);
  let at = isOfMonth ? known.at : begin.after;
  while (at < upTo && allowance.left > 0) {
    const end = (await findPieceEnd(db, { userId, after: at, upTo }, PIECE)) ?? upTo;
    for (const sum of await sumEntries(db, { userId, after: at, upTo: end })) {
      add(found, sum);
      allowance.left -= sum.entries;
    }
    at = end;
  }
  keepProgress(db, userId, { month: begin.month, at, found });
  return at < upTo ? undefined : [...found.values()];
}

function add(found: Map<string, EntrySum>, sum: EntrySum): void {
  const key = JSON.stringify([sum.kind, sum.token_id, sum.model_name]);
  const known = found.get(key);
  found.set(key, {
    ...sum,
    entries: sum.entries + (known?.entries ?? 0),
    amount: sum.amount + (known?.amount ?? 0),
    plan_amount: sum.plan_amount + (known?.plan_amount ?? 0),
    shortfall: sum.shortfall + (known?.shortfall ?? 0),
  });
}

/** By kind, without those that moved no quota. */
function sumsOf(rows: readonly EntrySum[]): StatementBody["sums"] {
  const sums = new Map<string, { kind: string; entries: number; quota: number }>();
  for (const { kind, entries, amount } of rows) {
    const known = sums.get(kind);
    sums.set(kind, {
      kind,
      entries: entries + (known?.entries ?? 0),
      quota: amount + (known?.quota ?? 0),
    });
  }
  return [...sums.values()].filter(({ quota }) => quota !== 0).sort(byText(({ kind }) => kind));
}

/** What entries add to what is owed, or pay of it. */
function debtOf({ kind, amount, shortfall }: EntrySum): number {
  if (kind === "debt") return amount;
  return INDEBTING.includes(kind) ? shortfall : 0;
}

function usageOf(rows: readonly EntrySum[]): StatementBody["usage"] {
  return rows
    .filter(({ kind }) => kind === "consume")
    .sort((one, other) => one.token_id - other.token_id || byText(modelOf)(one, other))
    .map(({ token_id, model_name, entries, amount, plan_amount, shortfall }) => ({
      token_id,
      model_name,
      calls: entries,
      quota: amount === 0 ? 0 : -amount,
      plan_quota: plan_amount,
      shortfall,
    }));
}

/**
 * What was counted by the hour of each row's calls. Those sums must have as many calls as the ledger: older versions made none, and clocks of
 * nodes that differ put calls at the turn of a month into the hours of another one. While a month runs they may have the newest calls too.
 */
async function withTokens(
  db: Db,
  usage: StatementBody["usage"],
  span: MonthSpan & Pick<MonthWork, "isClosing">,
): Promise<StatementBody["usage"]> {
  const keyOf = ({ token_id, model_name }: StatementBody["usage"][number]) =>
    tokenModelKey(span.userId, { tokenId: token_id, modelName: model_name });
  const found = await sumTokensByKey(db, usage.map(keyOf), span);
  return usage.map((row) => {
    const sums = found.get(keyOf(row));
    if (sums === undefined) return row;
    const { requests, ...tokens } = sums;
    const isWhole = requests === row.calls || (requests > row.calls && !span.isClosing);
    return isWhole ? { ...row, tokens } : row;
  });
}

/** What is summed by the hour of models that the ledger names: calls that were imported are in those sums, but not in the ledger. */
async function tokensOf(
  db: Db,
  rows: readonly EntrySum[],
  span: MonthSpan,
): Promise<StatementBody["tokens"]> {
  const models = new Set(rows.filter(({ kind }) => kind === "consume").map(modelOf));
  if (models.size === 0) return [];
  const tokens = await sumTokensByModel(db, span);
  return tokens.filter((row) => models.has(row.model_name)).sort(byText(modelOf));
}

function modelOf({ model_name }: { readonly model_name: string }): string {
  return model_name;
}

/** By code unit: databases sort texts each in their own way. */
function byText<T>(read: (row: T) => string): (one: T, other: T) => number {
  return (one, other) => (read(one) < read(other) ? -1 : read(one) > read(other) ? 1 : 0);
}
