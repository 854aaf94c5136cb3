// Handlers: monthly statements of users and of teams' wallets (requirements Y59).
import type { Language } from "#contract/language.ts";
import { lastClosedMonth, monthAfter, monthStart } from "#contract/month.ts";
import {
  type Statement,
  type StatementFile,
  type StatementHead,
  type StatementList,
  statementApi,
} from "#contract/statement.ts";
import { displayOf } from "#contract/statement-money.ts";
import { mayInTeam } from "#contract/team-words.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import {
  closeMonths,
  findOpenMonth,
  type MonthSums,
  nameBody,
  readOpenMonth,
  type StatementBody,
  styleNow,
} from "#server/money/statement.ts";
import { openProfile } from "#server/payments/invoices.ts";
import { makePdf } from "#server/pdf/pdf.ts";
import { findInvoiceProfile } from "#server/store/invoices.ts";
import { findStatement, listStatements, type StatementRow } from "#server/store/statements.ts";
import type { Membership } from "#server/store/teams.ts";
import { findUserById, getUser, type UserRow } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { profileFor } from "./masked.ts";
import { statementPaper } from "./statement-paper.ts";
import { enterTeam } from "./token-reach.ts";
import { subject } from "./user-admin.ts";

/** Who is waiting gets what can be closed with so many entries; the job closes the rest. */
const MAX_ENTRIES = 60_000;

/** Who only looks closes nothing. */
function entriesFor({ viewer }: Actor): number {
  return viewer === undefined ? MAX_ENTRIES : 0;
}

const PENDING = "记录较多，账单正在汇总，请稍后再看";

/** Whose statement: the account of the ledger, and who that is for people. */
interface Account {
  readonly userId: number;
  readonly id: number;
  readonly name: string;
  readonly isTeam: boolean;
  /** What may be read to close its months. */
  readonly maxEntries: number;
  /** The reader may see tax number and bank account of whom its invoices are made out to. */
  readonly seesBuyer: boolean;
  /** Who looks in the place of the account's owner. */
  readonly viewer: Actor["viewer"] | undefined;
}

export const statement: Handlers<{ statement: typeof statementApi }>["statement"] = {
  list: async (ctx, { actor }) => listOf(ctx, await own(ctx, actor)),
  get: async (ctx, { actor, params }) => monthOfAccount(ctx, await own(ctx, actor), params.month),
  file: async (ctx, { actor, params, language }) =>
    fileOf(ctx, { account: await own(ctx, actor), month: params.month, language }),

  listOfTeam: async (ctx, call) =>
    listOf(ctx, ofTeam(call.actor, await enterTeam(ctx, call, statementApi.listOfTeam))),
  getOfTeam: async (ctx, call) =>
    monthOfAccount(
      ctx,
      ofTeam(call.actor, await enterTeam(ctx, call, statementApi.getOfTeam)),
      call.params.month,
    ),
  async fileOfTeam(ctx, call) {
    const account = ofTeam(call.actor, await enterTeam(ctx, call, statementApi.fileOfTeam));
    return fileOf(ctx, { account, month: call.params.month, language: call.language });
  },

  listOfUser: async (ctx, call) => listOf(ctx, await seen(ctx, call, {})),
  async getOfUser(ctx, call) {
    const { month } = call.params;
    return monthOfAccount(ctx, await seen(ctx, call, { month }), month);
  },
  async fileOfUser(ctx, call) {
    const { params, language } = call;
    const { month } = params;
    return fileOf(ctx, { account: await seen(ctx, call, { month, file: true }), month, language });
  },
};

async function own({ db }: Context, actor: Actor): Promise<Account> {
  return ofUser(actor, await getUser(db, actor.id));
}

function ofUser(actor: Actor, { id, username }: Pick<UserRow, "id" | "username">): Account {
  const { viewer } = actor;
  const whose = { userId: id, id, name: username, isTeam: false, viewer };
  return { ...whose, maxEntries: entriesFor(actor), seesBuyer: true };
}

function ofTeam(actor: Actor, { wallet_id, id, name, role }: Membership): Account {
  const seesBuyer = mayInTeam(role, "invoice");
  const { viewer } = actor;
  return { userId: wallet_id, id, name, isTeam: true, viewer, maxEntries: entriesFor(actor), seesBuyer };
}

/** The account of a user that an administrator looks into, which is told in the audit log. */
async function seen(
  ctx: Context,
  call: ActCall & { readonly actor: Actor; readonly params: { readonly id: number } },
  detail: { readonly month?: string; readonly file?: boolean },
): Promise<Account> {
  const user = subject(call.actor, await findUserById(ctx.db, call.params.id));
  await audit(ctx, ctx.db, call, { action: "statement.read", target: user.id, detail });
  return ofUser(call.actor, user);
}

async function fileOf(
  ctx: Context,
  what: { readonly account: Account; readonly month: string; readonly language: Language },
): Promise<StatementFile> {
  const { account, month, language } = what;
  const statement = await monthOfAccount(ctx, account, month);
  const display = displayOf(statement);
  const bytes = await makePdf(statementPaper(statement, { display, issuer: statement.issuer, language }));
  const of = account.isTeam ? `team-${account.id}` : String(account.id);
  return { name: `statement-${month}-${of}.pdf`, content: bytes.toString("base64") };
}

function bodyOf({ body }: Pick<StatementRow, "body">): StatementBody {
  // Written by money/statement.ts.
  return JSON.parse(body) as StatementBody;
}

/** Also for a month that is not closed: its number is empty. */
function headOf({ options }: Pick<Context, "options">, sums: MonthSums, number: string): StatementHead {
  const { month, opening, closing, body } = sums;
  const spent = body.usage.reduce((sum, { quota }) => sum + quota, 0);
  const { display } = body.style ?? styleNow(options);
  return {
    ...{ number, month, opening, closing, income: closing - opening + spent, spent },
    ...{ quota_per_unit: display.quotaPerUnit, in_currency: display.inCurrency },
  };
}

function numberOf({ month, user_id }: Pick<StatementRow, "month" | "user_id">): string {
  return `ST-${month.replace("-", "")}-${user_id}`;
}

async function listOf(
  { db, clock, options }: Context,
  { userId, maxEntries }: Pick<Account, "userId" | "maxEntries">,
): Promise<StatementList> {
  const nowSec = clock.seconds();
  const isDone = await closeMonths(db, { userId, nowSec, maxEntries, style: styleNow(options) });
  const rows = await listStatements(db, userId);
  return {
    rows: rows.map((row) => headOf({ options }, { ...row, body: bodyOf(row) }, numberOf(row))),
    open_month: isDone ? await findOpenMonth(db, userId) : "",
    is_pending: !isDone,
  };
}

async function monthOfAccount(ctx: Context, account: Account, month: string): Promise<Statement> {
  const { db, clock, options } = ctx;
  const { userId, maxEntries } = account;
  const nowSec = clock.seconds();
  const isDone = await closeMonths(db, { userId, nowSec, maxEntries, style: styleNow(options) });
  if (month <= lastClosedMonth(nowSec)) {
    const row = await findStatement(db, userId, month);
    if (!row) throw isDone ? faults.notFound("该月没有账单") : faults.refused(PENDING);
    const { trail_hash, created_at } = row;
    const sums = { ...row, body: bodyOf(row) };
    const head = headOf(ctx, sums, numberOf(row));
    return { ...(await named(ctx, account, sums)), ...head, trail_hash, created_at };
  }
  if (month !== (await findOpenMonth(db, userId))) throw faults.notFound("该月没有账单");
  const sums = isDone ? await readOpenMonth(db, { userId, nowSec, maxEntries: MAX_ENTRIES }) : undefined;
  if (!sums) throw faults.refused(PENDING);
  return {
    ...(await named(ctx, account, sums)),
    ...headOf(ctx, sums, ""),
    trail_hash: "",
    created_at: nowSec,
  };
}

/** What a statement holds beside its totals: with the names that it was closed with, else those of the moment. */
async function named(
  ctx: Context,
  account: Omit<Account, "maxEntries">,
  {
    month,
    from_row,
    to_row,
    body: sums,
    ...closed
  }: MonthSums & Partial<Pick<StatementRow, "account_name" | "buyer_sealed">>,
): Promise<Omit<Statement, keyof StatementHead | "trail_hash" | "created_at">> {
  const { db } = ctx;
  const { userId, id, name, isTeam, seesBuyer } = account;
  const body = await nameBody(db, sums);
  const sealed = body.style === undefined ? await findInvoiceProfile(db, userId) : closed.buyer_sealed;
  const buyer = seesBuyer ? openProfile(ctx, sealed ?? "") : undefined;
  return {
    account_id: id,
    account_name: closed.account_name || name,
    issuer: (body.style ?? styleNow(ctx.options)).issuer,
    is_team: isTeam,
    starts_at: monthStart(month),
    ends_at: monthStart(monthAfter(month)),
    from_row,
    to_row,
    sums: [...body.sums],
    usage: [...body.usage],
    tokens: body.tokens.map((row) => ({ ...row, cached_tokens: row.cached_tokens ?? 0 })),
    debt: body.debt ?? 0,
    buyer: buyer === undefined ? null : profileFor(account, buyer),
    payments: [...body.payments],
  };
}
