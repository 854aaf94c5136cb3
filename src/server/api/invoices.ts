// Handlers: invoices that users ask for and administrators issue, refuse or reverse (requirements Y62).
import {
  INVOICE_STATES,
  type Invoice,
  type InvoiceDesk,
  type InvoiceProfile,
  type InvoiceState,
  type InvoiceSums,
  type invoiceApi,
} from "#contract/invoice.ts";
import { minorOf, minorText } from "#contract/money.ts";
import { mayInTeam, TEAM_RIGHTS } from "#contract/team-words.ts";
import { UserStatus } from "#contract/user.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { invoiceLetter } from "#server/accounts/letters.ts";
import { siteUrl } from "#server/accounts/mailer.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { availableOf, issueAlone, openProfile, requestInvoice } from "#server/payments/invoices.ts";
import {
  countInvoices,
  findInvoice,
  findInvoiceProfile,
  type InvoiceRow,
  listInvoiceReaders,
  listInvoices,
  listInvoicesOf,
  moveInvoice,
  type NamedInvoice,
  type PaidSum,
  sumPaid,
} from "#server/store/invoices.ts";
import { findMembership } from "#server/store/teams.ts";
import { findUserById } from "#server/store/users.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { profileFor } from "./masked.ts";
import { accountOf } from "./token-reach.ts";
import { subject } from "./user-admin.ts";

/** As many of a user's stand on the page. */
const NEWEST = 50;

/** Of who has saved none, or whose account was deleted. */
const NOBODY: InvoiceProfile = {
  buyer: "company",
  kind: "normal",
  title: "",
  tax_number: "",
  address: "",
  telephone: "",
  bank_name: "",
  bank_account: "",
  mail: "",
};

export const invoice: Handlers<{ invoice: typeof invoiceApi }>["invoice"] = {
  async desk(ctx, { actor, query }): Promise<InvoiceDesk> {
    const { userId } = await accountOf(ctx, actor, { team: query.team_id, right: "invoice" });
    const sums = await sumPaid(ctx.db, userId);
    const rows = await listInvoicesOf(ctx.db, userId, NEWEST);
    const saved = openProfile(ctx, await findInvoiceProfile(ctx.db, userId));
    return {
      profile: profileFor(actor, saved ?? NOBODY),
      sums: sums.map(presentSums),
      rows: rows.map((row) => {
        const shown = present(ctx, row);
        return { ...shown, profile: profileFor(actor, shown.profile) };
      }),
    };
  },

  async ask(ctx, { actor, body }) {
    const { currency, amount, profile, team_id: team } = body;
    const account = await accountOf(ctx, actor, { team, right: "invoice" });
    const amountMinor = minorOf(amount) ?? 0;
    const id = await requestInvoice(ctx, { ...account, currency, amountMinor, profile });
    return present(ctx, await getInvoice(ctx, id));
  },

  async cancel(ctx, { actor, params }) {
    const row = await getInvoice(ctx, params.id);
    if (row.user_id !== actor.id && !(await isOfTeam(ctx, actor, row))) throw missing();
    const change = { state: "cancelled", decided_at: ctx.clock.seconds() } as const;
    if (!(await moveInvoice(ctx.db, { id: row.id, from: "requested" }, change))) throw decided();
    return null;
  },

  async list(ctx, { query }) {
    const state = INVOICE_STATES.find((name) => name === query.state);
    const filter = { isOpen: query.open, state, userId: query.user_id };
    const rows = await listInvoices(ctx.db, filter, { page: query.p, size: query.size });
    return { data: rows.map((row) => present(ctx, row)), total: await countInvoices(ctx.db, filter) };
  },

  async issue(ctx, call) {
    const row = await subjectOf(ctx, call);
    const { number, link, note } = call.body;
    const change = { state: "issued", number, link, note } as const;
    await issueAlone(ctx, row, () => move(ctx, call, { row, from: "requested", verb: "issue", change }));
    await tell(ctx, row, {
      what: "已开具",
      lines: [`发票号码：${number}`, ...(link === "" ? [] : [link]), note],
    });
    return null;
  },

  async refuse(ctx, call) {
    const row = await subjectOf(ctx, call);
    const change = { state: "refused", note: call.body.note } as const;
    await move(ctx, call, { row, from: "requested", verb: "refuse", change });
    await tell(ctx, row, { what: "未能开具", lines: [call.body.note] });
    return null;
  },

  async reverse(ctx, call) {
    const row = await subjectOf(ctx, call);
    const change = { state: "reversed", note: call.body.note, reverse_asked_at: 0 } as const;
    await move(ctx, call, { row, from: "issued", verb: "reverse", change });
    await tell(ctx, row, { what: "已红冲", lines: [call.body.note] });
    return null;
  },
};

function decided() {
  return faults.refused("该发票申请已处理");
}

async function getInvoice({ db }: Context, id: number): Promise<NamedInvoice> {
  const row = await findInvoice(db, id);
  if (!row) throw missing();
  return row;
}

function missing() {
  return faults.notFound("找不到该发票申请");
}

/** Whether it is of a team whose invoices the actor may ask for. */
async function isOfTeam({ db }: Context, actor: Actor, row: NamedInvoice): Promise<boolean> {
  const team = await findMembership(db, actor.id, { wallet: row.user_id });
  return team !== undefined && mayInTeam(team.role, "invoice");
}

/** The invoice of a call by an administrator. Throws: when its user's rank is not lower. */
async function subjectOf(
  ctx: Context,
  { actor, params }: { readonly actor: Actor; readonly params: { readonly id: number } },
): Promise<NamedInvoice> {
  const row = await getInvoice(ctx, params.id);
  const user = await findUserById(ctx.db, row.user_id);
  // Of a deleted user an invoice can still be reversed.
  if (user && user.status !== UserStatus.deleted) subject(actor, user);
  return row;
}

interface Move {
  readonly row: NamedInvoice;
  readonly from: InvoiceState;
  readonly verb: "issue" | "refuse" | "reverse";
  readonly change: Partial<Pick<InvoiceRow, "state" | "number" | "link" | "note" | "reverse_asked_at">>;
}

/** A step of an administrator, in one transaction with its row of the audit log. Throws: when another one was faster. */
async function move(ctx: Context, call: ActCall, { row, from, verb, change }: Move): Promise<void> {
  const { state: _, reverse_asked_at: __, ...told } = change;
  await ctx.db.transaction().execute(async (tx) => {
    const full = { ...change, actor_id: call.actor.id, decided_at: ctx.clock.seconds() };
    if (!(await moveInvoice(tx, { id: row.id, from }, full))) throw decided();
    const detail = { user: row.user_id, amount: `${minorText(row.amount_minor)} ${row.currency}`, ...told };
    await audit(ctx, tx, call, { action: `invoice.${verb}`, target: row.id, detail });
  });
}

/** In the background, to the account's own address, which was proved; for a team to those who may ask for its invoices. */
async function tell(
  ctx: Context,
  { id, user_id, amount_minor, currency }: NamedInvoice,
  { what, lines }: { readonly what: string; readonly lines: readonly string[] },
): Promise<void> {
  if (!ctx.mailer.isReady()) return;
  for (const { email, team_id } of await listInvoiceReaders(ctx.db, user_id, TEAM_RIGHTS.invoice)) {
    const letter = invoiceLetter(ctx.options.get("SystemName"), {
      name: `FP${id}`,
      amount: `${minorText(amount_minor)} ${currency}`,
      what,
      lines: lines.filter((line) => line !== ""),
      url: `${siteUrl(ctx)}${team_id === 0 ? "" : `/t/${team_id}`}/invoice`,
    });
    void ctx.mailer.post(email, letter);
  }
}

function presentSums(sum: PaidSum): InvoiceSums {
  const { currency, paid, back, invoiced } = sum;
  return {
    // Only instances of these can be made.
    currency: currency as InvoiceSums["currency"],
    paid: minorText(paid),
    refunded: minorText(back),
    invoiced: minorText(invoiced),
    available: minorText(availableOf(sum)),
  };
}

function present(ctx: Context, row: NamedInvoice): Invoice {
  const { id, user_id, username, state, number, link, note, created_at, decided_at } = row;
  return {
    ...{ id, user_id, username, state, number, link, note, created_at, decided_at },
    // As above.
    currency: row.currency as Invoice["currency"],
    amount: minorText(row.amount_minor),
    profile: openProfile(ctx, row.profile_sealed) ?? { ...NOBODY, title: "—" },
    must_reverse: state === "issued" && row.reverse_asked_at > 0,
  };
}
