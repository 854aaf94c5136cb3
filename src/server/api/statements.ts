// Handlers: monthly statements of users and of teams' wallets (requirements Y59).
import { lastClosedMonth, monthAfter, monthStart } from "#contract/month.ts";
import { type Statement, type StatementHead, type StatementList, statementApi } from "#contract/statement.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import {
  closeMonths,
  findOpenMonth,
  type MonthSums,
  readOpenMonth,
  type StatementBody,
} from "#server/money/statement.ts";
import {
  findStatement,
  listStatements,
  nameInstances,
  nameTokens,
  type StatementRow,
} from "#server/store/statements.ts";
import { getUser } from "#server/store/users.ts";
import type { Handlers } from "./call.ts";
import { enterTeam } from "./token-reach.ts";

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
  async get(ctx, { actor, params }) {
    const { username } = await getUser(ctx.db, actor.id);
    return monthOfAccount(
      ctx,
      { userId: actor.id, id: actor.id, name: username, isTeam: false },
      params.month,
    );
  },
  async listOfTeam(ctx, call) {
    return listOf(ctx, (await enterTeam(ctx, call, statementApi.listOfTeam)).wallet_id);
  },
  async getOfTeam(ctx, call) {
    const { wallet_id, id, name } = await enterTeam(ctx, call, statementApi.getOfTeam);
    return monthOfAccount(ctx, { userId: wallet_id, id, name, isTeam: true }, call.params.month);
  },
};

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
