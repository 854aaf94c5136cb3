// Handlers: payouts of commission. Only the ledger takes from a balance, once for each payout; the row says how far it is (requirements Y54).
import type { Payout, PayoutDesk, PayoutDraft, PayoutState, payoutApi } from "#contract/payout.ts";
import { microOf, yuanText } from "#contract/yuan.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { commissionHeld } from "#server/money/commission-hold.ts";
import { leastWithdrawal } from "#server/money/commission-terms.ts";
import { quotaDisplay } from "#server/money/signup.ts";
import { LogType } from "#server/money/states.ts";
import { isTaken } from "#server/store/fault.ts";
import {
  countPayouts,
  findPayout,
  hasEntry,
  insertPayout,
  listOpenPayouts,
  listPayouts,
  listPayoutsOf,
  movePayout,
  type NamedPayout,
  sumOpenPayouts,
} from "#server/store/payouts.ts";
import { commissionDebtOf, findUserById, getUser } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { masked } from "./masked.ts";
import { subject } from "./user-admin.ts";
import { leastText, noteRefused, refuseUnbooked } from "./user-amounts.ts";

const SEAL = "payouts.account";
/** As many of a user's stand on the page. */
const NEWEST = 20;
const EXPORTED = 1_000;

export const payout: Handlers<{ payout: typeof payoutApi }>["payout"] = {
  desk: (ctx, { actor }) => deskOf(ctx, actor.id),

  async ask(ctx, { actor, body }) {
    const micro = Number(microOf(body.amount) ?? 0n);
    const early = await amountFault(ctx, actor.id, micro);
    if (early !== undefined) throw faults.refused(early);
    const asked = { ...rowOf(ctx, body), user_id: actor.id, micro };
    const id = await insertPayout(ctx.db, asked).catch((error: unknown) => {
      throw isTaken(error) ? faults.refused("您有一笔提现申请还未处理") : error;
    });
    // Judged again with the row in place: no second one can be made meanwhile.
    const fault = await amountFault(ctx, actor.id, micro);
    if (fault === undefined) return present(ctx, await getPayout(ctx, id));
    await movePayout(ctx.db, { id, from: ["requested"] }, { state: "cancelled", note: fault });
    throw faults.refused(fault);
  },

  async cancel(ctx, { actor, params }) {
    const row = await getPayout(ctx, params.id);
    if (row.user_id !== actor.id) throw faults.notFound("找不到该提现申请");
    await refuseBooked(ctx, row);
    const change = { state: "cancelled", decided_at: ctx.clock.seconds() } as const;
    if (!(await movePayout(ctx.db, { id: row.id, from: ["requested"] }, change))) throw decided();
    return null;
  },

  async list(ctx, { query }) {
    const rows = await listPayouts(ctx.db, query.open, { page: query.p, size: query.size });
    return { data: rows.map((row) => present(ctx, row)), total: await countPayouts(ctx.db, query.open) };
  },

  async export(ctx, call) {
    const rows = await listOpenPayouts(ctx.db, EXPORTED);
    const detail = { rows: rows.length };
    await audit(ctx, ctx.db, call, { action: "payout.export", target: "open", detail });
    return rows.map((row) => ({ ...present(ctx, row), ...accountOf(ctx, row) }));
  },

  async pay(ctx, call) {
    const { actor, params, body } = call;
    const row = await getPayout(ctx, params.id);
    const target = subject(actor, await findUserById(ctx.db, row.user_id));
    const begun = { state: "paying", actor_id: actor.id } as const;
    await move(ctx, call, {
      row,
      from: ["requested", "paying"],
      verb: "pay",
      note: body.note,
      change: begun,
    });
    const outcome = await withdraw(ctx, call, { row, note: body.note });
    if (outcome !== "done" && outcome !== "repeated") {
      await movePayout(ctx.db, { id: row.id, from: ["paying"] }, { state: "requested", actor_id: 0 });
      await noteRefused(ctx, call, { of: "user", id: target.id }, { what: "withdrawal", outcome });
      if (outcome === "held") throw faults.refused("可提现金额不足：一部分返现仍在冻结期，或已被退款收回");
      refuseUnbooked({ outcome });
    }
    const paid = { state: "paid", note: body.note, decided_at: ctx.clock.seconds() } as const;
    await movePayout(ctx.db, { id: row.id, from: ["paying", "requested"] }, paid);
    return yuanText((await getUser(ctx.db, target.id)).invite_commission_micro);
  },

  async reject(ctx, call) {
    const { actor, params, body } = call;
    const row = await getPayout(ctx, params.id);
    subject(actor, await findUserById(ctx.db, row.user_id));
    await refuseBooked(ctx, row);
    const change = {
      state: "rejected",
      note: body.note,
      actor_id: actor.id,
      decided_at: ctx.clock.seconds(),
    } as const;
    await move(ctx, call, { row, from: ["requested"], verb: "reject", note: body.note, change });
    return null;
  },
};

function decided() {
  return faults.refused("该提现申请已处理");
}

function keyOf({ id }: { readonly id: number }): string {
  return `payout-${id}`;
}

/** A payment that the ledger has is not undone: a server that was killed did not get to note it in the row. */
async function refuseBooked({ db }: Context, row: NamedPayout): Promise<void> {
  if (await hasEntry(db, keyOf(row))) throw faults.refused("该笔提现已从余额中扣除，只能登记为已支付");
}

interface Move {
  readonly row: NamedPayout;
  readonly from: readonly PayoutState[];
  readonly verb: "pay" | "reject";
  readonly note: string;
  readonly change: Parameters<typeof movePayout>[2];
}

/** A step of an administrator, in one transaction with its row of the audit log. Throws: when another one was faster. */
async function move(ctx: Context, call: ActCall, { row, from, verb, note, change }: Move): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    if (!(await movePayout(tx, { id: row.id, from }, change))) throw decided();
    const detail = { user: row.user_id, amount: yuanText(row.micro), note };
    await audit(ctx, tx, call, { action: `payout.${verb}`, target: row.id, detail });
  });
}

/** Takes the amount from the balance, once however often it is asked; what is held stays. */
async function withdraw(
  ctx: Context,
  { actor }: ActCall,
  { row, note }: { readonly row: NamedPayout; readonly note: string },
): Promise<string> {
  const { outcome } = await ctx.ledger.changeCommission({
    userId: row.user_id,
    kind: "withdraw",
    micro: { delta: -BigInt(row.micro) },
    keepMicro: await commissionHeld(ctx, row.user_id),
    leastMicro: leastWithdrawal(ctx.options),
    actorId: actor.id,
    reason: note,
    operationId: keyOf(row),
    log: {
      type: LogType.system,
      content: "提现 {amount} 已支付，返现余额从 {before} 变为 {after}",
      display: quotaDisplay(ctx.options),
    },
  });
  return outcome;
}

async function amountFault(ctx: Context, userId: number, micro: number): Promise<string | undefined> {
  if (micro < leastWithdrawal(ctx.options)) return leastText(ctx.options);
  const { invite_commission_micro } = await getUser(ctx.db, userId);
  const held = Number(await commissionHeld(ctx, userId));
  const owed = await commissionDebtOf(ctx.db, userId);
  return micro > invite_commission_micro - held - owed ? "可提现金额不足" : undefined;
}

async function getPayout({ db }: Context, id: number): Promise<NamedPayout> {
  const row = await findPayout(db, id);
  if (!row) throw faults.notFound("找不到该提现申请");
  return row;
}

function rowOf({ secrets, clock }: Context, { way, account, name }: PayoutDraft) {
  return {
    way,
    account_sealed: secrets.seal(account, SEAL),
    name_sealed: secrets.seal(name, SEAL),
    state: "requested",
    note: "",
    actor_id: 0,
    created_at: clock.seconds(),
    decided_at: 0,
  } as const;
}

function accountOf({ secrets }: Context, row: NamedPayout): Pick<Payout, "account" | "name"> {
  if (row.account_sealed === "") return { account: "", name: "" };
  return { account: secrets.open(row.account_sealed, SEAL), name: secrets.open(row.name_sealed, SEAL) };
}

function present(ctx: Context, row: NamedPayout): Payout {
  const { account, name } = accountOf(ctx, row);
  const { id, user_id, username, way, state, note, created_at, decided_at } = row;
  return {
    id,
    user_id,
    username,
    amount: yuanText(row.micro),
    owed: yuanText(row.commission_debt_micro),
    way,
    account: masked(account),
    name: masked(name),
    state,
    note,
    created_at,
    decided_at,
  };
}

async function deskOf(ctx: Context, userId: number): Promise<PayoutDesk> {
  const { invite_commission_micro: balance } = await getUser(ctx.db, userId);
  const held = Number(await commissionHeld(ctx, userId));
  const open = await sumOpenPayouts(ctx.db, userId);
  const owed = await commissionDebtOf(ctx.db, userId);
  const rows = await listPayoutsOf(ctx.db, userId, NEWEST);
  return {
    balance: yuanText(balance),
    held: yuanText(held),
    owed: yuanText(owed),
    available: yuanText(Math.max(0, balance - held - owed - open)),
    least: yuanText(leastWithdrawal(ctx.options)),
    hold_days: ctx.options.get("CommissionHoldDays"),
    rows: rows.map((row) => present(ctx, row)),
  };
}
