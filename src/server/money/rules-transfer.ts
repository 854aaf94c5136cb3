// Transfers between two accounts: a person's and a team's wallet (requirements O05). Pure, part of rules.ts: what leaves the one arrives at
// the other, by two entries of one transaction.

import { MAX_AMOUNT } from "./amount.ts";
import { negated, partOf } from "./bought.ts";
import type { Transfer, Transferred } from "./partner-operations.ts";
import type { Desk } from "./rules-booking.ts";
import { credit } from "./rules-entries.ts";
import { amountText, note } from "./rules-notes.ts";
import { payDebt } from "./rules-partner.ts";
import { LogType, UserStatus } from "./states.ts";

/** Moves quota once; a repetition gets the answer of the first time. */
export function transfer(desk: Desk, order: Transfer): Transferred {
  const booked = desk.booked.get(order.operationId);
  if (booked) return { outcome: "done", amount: -booked.amount };
  const from = desk.users.get(order.fromId);
  const to = desk.users.get(order.toId);
  // Nothing may be put into an account that is not there, or was deleted.
  if (!from || !to || from.id === to.id || to.status === UserStatus.deleted) return { outcome: "not_found" };
  const amount = order.amount ?? from.quota;
  if (amount <= 0n || from.quota < amount) return { outcome: "short" };
  if (to.quota + amount > MAX_AMOUNT) return { outcome: "too_large" };
  const { operationId, actorId, display } = order;
  const by = { kind: "transfer", actorId };
  const bought = partOf(from.bought, amount);
  credit(desk, from, { ...by, operationId, amount: -amount, bought: negated(bought), detail: order.sent });
  credit(desk, to, { ...by, operationId: `${operationId}/to`, amount, bought, detail: order.received });
  const tell = { type: LogType.system, quota: 0n };
  note(desk, from, { ...tell, content: `${order.sent} ${amountText(amount, display)}` });
  note(desk, to, { ...tell, content: `${order.received} ${amountText(amount, display)}` });
  payDebt(desk, to, { operationId, display });
  return { outcome: "done", amount };
}
