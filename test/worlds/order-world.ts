// A ledger with orders in it, and what tests do to them.
import type { OrderAct, OrderVerdict } from "#server/money/order-operations.ts";
import type { OrderRow } from "#server/store/orders.ts";
import { getUser } from "#server/store/users.ts";
import { useLedgerWorld } from "./ledger-world.ts";
import { orderChange, proofOf, seedInstance, seedOrder } from "./order-rows.ts";
import { type Engine, seedUser } from "./stores.ts";

/** Registers the hooks of a ledger world and gives its acts on orders; each takes the row of the order. */
export function useOrderWorld(engine: Engine) {
  const world = useLedgerWorld(engine);
  const act = (order: OrderRow, what: OrderAct, key?: string): Promise<OrderVerdict> =>
    world.ledger.changeOrder(orderChange(order, what, key));
  return {
    world,
    act,
    quotaOf: async (id: number) => (await getUser(world.db, id)).quota,
    prove: (order: OrderRow, change = {}, key?: string) => act(order, proofOf(order, change), key),
    fresh: async (parts: Partial<Parameters<typeof seedOrder>[1]> = {}) => {
      const user_id = await seedUser(world.db);
      const instance_id = await seedInstance(world.db);
      return seedOrder(world.db, { user_id, instance_id, ...parts });
    },
    hold: (order: OrderRow, refundNo: string, amountMinor: number | null) =>
      act(order, { verb: "hold", refundNo, amountMinor, actorId: 1, reason: "asked" }),
    finish: (order: OrderRow, refundNo: string, isDone: boolean) =>
      act(order, { verb: "finish", refundNo, isDone, providerId: "" }),
    claw: (order: OrderRow, source: "elsewhere" | "dispute", refundNo: string, amountMinor: number) =>
      act(order, { verb: "claw", source, refundNo, providerId: refundNo, tradeNo: "", amountMinor }),
    drain: (userId: number, quota: bigint) =>
      world.ledger.adjust({ userId, kind: "adjust", quota: { target: quota }, actorId: 1, reason: "spent" }),
  };
}
