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
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import {
  closeMonths,
  findOpenMonth,
  type MonthSums,
  readOpenMonth,
  type StatementBody,
} from "#server/money/statement.ts";
import { makePdf } from "#server/pdf/pdf.ts";
import {
  findStatement,
  listStatements,
  nameInstances,
  nameTokens,
  type StatementRow,
} from "#server/store/statements.ts";
import { findUserById, getUser, type UserRow } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { statementPaper } from "./statement-paper.ts";
import { enterTeam } from "./token-reach.ts";
import { subject } from "./user-admin.ts";

/** Who is waiting gets what can be closed with so many entries; the job closes the rest. */
const MAX_ENTRIES = 60_000;

const PENDING = "记录较多，账单正在汇总，请稍后再看";

/** Whose statement: the account of the ledger, and who that is for people. */
interface Account {
  readonly userId: number;
  readonly id: number;
  readonly name: string;
  readonly isTeam: boolean;
}

export const statement: Handlers<{ statement: typeof statementApi }>["statement"] = {
  list: (ctx, { actor }) => listOf(ctx, actor.id),
  get: async (ctx, { actor, params }) => monthOfAccount(ctx, await own(ctx, actor), params.month),
  file: async (ctx, { actor, params, language }) =>
    fileOf(ctx, { account: await own(ctx, actor), month: params.month, language }),

  listOfTeam: async (ctx, call) =>
    listOf(ctx, (await enterTeam(ctx, call, statementApi.listOfTeam)).wallet_id),
  getOfTeam: async (ctx, call) =>
    monthOfAccount(ctx, ofTeam(await enterTeam(ctx, call, statementApi.getOfTeam)), call.params.month),
  async fileOfTeam(ctx, call) {
    const account = ofTeam(await enterTeam(ctx, call, statementApi.fileOfTeam));
    return fileOf(ctx, { account, month: call.params.month, language: call.language });
  },

  listOfUser: async (ctx, call) => listOf(ctx, (await seen(ctx, call, {})).id),
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

async function own({ db }: Context, { id }: Actor): Promise<Account> {
  return ofUser(await getUser(db, id));
}

function ofUser({ id, username }: Pick<UserRow, "id" | "username">): Account {
  return { userId: id, id, name: username, isTeam: false };
}

function ofTeam({
  wallet_id,
  id,
  name,
}: {
  readonly wallet_id: number;
  readonly id: number;
  readonly name: string;
}): Account {
  return { userId: wallet_id, id, name, isTeam: true };
}

/** The account of a user that an administrator looks into, which is told in the audit log. */
async function seen(
  ctx: Context,
  call: ActCall & { readonly actor: Actor; readonly params: { readonly id: number } },
  detail: { readonly month?: string; readonly file?: boolean },
): Promise<Account> {
  const user = subject(call.actor, await findUserById(ctx.db, call.params.id));
  await audit(ctx, ctx.db, call, { action: "statement.read", target: user.id, detail });
  return ofUser(user);
}

async function fileOf(
  ctx: Context,
  what: { readonly account: Account; readonly month: string; readonly language: Language },
): Promise<StatementFile> {
  const { account, month, language } = what;
  const statement = await monthOfAccount(ctx, account, month);
  const display = {
    quotaPerUnit: ctx.options.get("QuotaPerUnit"),
    inCurrency: ctx.options.get("DisplayInCurrencyEnabled"),
  };
  const issuer = ctx.options.get("SystemName");
  const bytes = await makePdf(statementPaper(statement, { display, issuer, language }));
  const of = account.isTeam ? `team-${account.id}` : String(account.id);
  return { name: `statement-${month}-${of}.pdf`, content: bytes.toString("base64") };
}

function bodyOf({ body }: Pick<StatementRow, "body">): StatementBody {
  // Written by money/statement.ts.
  return JSON.parse(body) as StatementBody;
}

/** Also for a month that is not closed: its number is empty. */
function headOf(sums: MonthSums, number: string): StatementHead {
  const { month, opening, closing, body } = sums;
  const spent = body.usage.reduce((sum, { quota }) => sum + quota, 0);
  return { number, month, opening, closing, income: closing - opening + spent, spent };
}

function numberOf({ month, user_id }: Pick<StatementRow, "month" | "user_id">): string {
  return `ST-${month.replace("-", "")}-${user_id}`;
}

async function listOf({ db, clock }: Context, userId: number): Promise<StatementList> {
  const nowSec = clock.seconds();
  const isDone = await closeMonths(db, { userId, nowSec, maxEntries: MAX_ENTRIES });
  const rows = await listStatements(db, userId);
  return {
    rows: rows.map((row) => headOf({ ...row, body: bodyOf(row) }, numberOf(row))),
    open_month: isDone ? await findOpenMonth(db, userId) : "",
    is_pending: !isDone,
  };
}

async function monthOfAccount(ctx: Context, account: Account, month: string): Promise<Statement> {
  const { db, clock } = ctx;
  const { userId } = account;
  const nowSec = clock.seconds();
  const isDone = await closeMonths(db, { userId, nowSec, maxEntries: MAX_ENTRIES });
  if (month <= lastClosedMonth(nowSec)) {
    const row = await findStatement(db, userId, month);
    if (!row) throw isDone ? faults.notFound("该月没有账单") : faults.refused(PENDING);
    const { trail_hash, created_at } = row;
    const sums = { ...row, body: bodyOf(row) };
    return { ...(await named(ctx, account, sums)), ...headOf(sums, numberOf(row)), trail_hash, created_at };
  }
  if (month !== (await findOpenMonth(db, userId))) throw faults.notFound("该月没有账单");
  const sums = isDone ? await readOpenMonth(db, { userId, nowSec, maxEntries: MAX_ENTRIES }) : undefined;
  if (!sums) throw faults.refused(PENDING);
  return { ...(await named(ctx, account, sums)), ...headOf(sums, ""), trail_hash: "", created_at: nowSec };
}

/** What a statement holds beside its totals, with the names of the moment. */
async function named(
  { db }: Context,
  { id, name, isTeam }: Account,
  { month, from_row, to_row, body }: MonthSums,
): Promise<Omit<Statement, keyof StatementHead | "trail_hash" | "created_at">> {
  const tokens = await nameTokens(db, [...new Set(body.usage.map(({ token_id }) => token_id))]);
  const instances = body.payments.length === 0 ? new Map() : await nameInstances(db);
  return {
    account_id: id,
    account_name: name,
    is_team: isTeam,
    starts_at: monthStart(month),
    ends_at: monthStart(monthAfter(month)),
    from_row,
    to_row,
    sums: [...body.sums],
    usage: body.usage.map((row) => ({
      ...row,
      token_name: tokens.get(row.token_id)?.name ?? "",
      tags: tokens.get(row.token_id)?.tags ?? "",
    })),
    tokens: [...body.tokens],
    payments: body.payments.map((row) => ({ ...row, name: instances.get(row.instance_id) ?? "" })),
  };
}
