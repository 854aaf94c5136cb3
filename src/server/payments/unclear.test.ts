// Answers that say nothing, of every provider and to every call: nothing is closed, refused or given back because of them, and what was paid
// or refunded meanwhile is found later (requirements Y17, Y34). On both databases.
import { describe, expect, test, vi } from "vitest";
import { paymentProviderNames } from "#contract/payment-provider.ts";
import { listRefunds } from "#server/store/order-refunds.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { useDesksWorld } from "#test/worlds/desks-world.ts";
import { CREDITED } from "#test/worlds/payment-world.ts";

/** After which a provider that is silent is given up, and after which it is here. Unit: ms. */
const [PATIENCE_MS, HERE_MS] = [15_000, 250];
/** The call takes effect at the provider although its answer says nothing. */
const TAKES_EFFECT = ["html", "truncated", "lost", "huge", "silent"];
/** They know a refund by the number we gave it, and can be asked about it. */
const ASKED_BY_NUMBER = ["stripe", "alipay", "wechat"];

describe.each(databases)("answers that say nothing on $name", (database) => {
  const world = useDesksWorld(database);

  /** The server waits as long as ever, by a clock that is faster. */
  function hurry(): void {
    const wait = globalThis.setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((act: () => void, ms?: number) =>
      wait(act, ms === PATIENCE_MS ? HERE_MS : ms)) as typeof setTimeout);
  }

  const cases = paymentProviderNames.flatMap((provider) =>
    (["500", "html", "truncated", "lost", "redirect", "huge", "silent"] as const).map((mode) => ({
      provider,
      mode,
    })),
  );

  test.each(cases)(
    "$provider, $mode: to making, asking, closing and refunding",
    async ({ provider, mode }) => {
      const { desk, account, method, notice } = world.at(provider);
      const ordered = () => world.ordered(account, { method });
      const [asked, closed, refunded] = [await ordered(), await ordered(), await ordered()];
      desk.pay(refunded.order.order_no);
      await world.notify(account, notice(refunded.order.order_no));
      expect(await world.gained(refunded.user)).toBe(CREDITED);
      desk.pay(asked.order.order_no);
      world.clock.advance(6_000);

      desk.mode = mode;
      if (mode === "silent") hurry();
      const manage = (no: string, act: string, body: object) =>
        world.app.call(asRoot, "POST", `/api/payment/manage/${no}/${act}`, body);
      const made = await ordered();
      const question = await manage(asked.order.order_no, "ask", {});
      const cancel = `/api/payment/order/${closed.order.order_no}/cancel`;
      const closing = await world.app.call(closed.user.who, "POST", cancel, {});
      const refund = await manage(refunded.order.order_no, "refund", { amount: "30.00", reason: "测试" });
      vi.restoreAllMocks();
      desk.mode = "ok";

      const statusOf = async (no: string) => {
        const { status, review } = await world.row(no);
        return [status, review];
      };
      expect(await statusOf(made.order.order_no)).toEqual(["created", ""]);
      expect([question.success, await statusOf(asked.order.order_no)]).toEqual([false, ["pending", ""]]);
      expect([closing.success, await statusOf(closed.order.order_no)]).toEqual([false, ["pending", ""]]);
      const states = async () =>
        (await listRefunds(world.app.ctx.db, refunded.order.order_no)).map(({ state }) => state);
      // The quota is held until it is known what became of the money.
      expect([refund.success, await states()]).toEqual([true, ["unknown"]]);
      expect(await world.gained(refunded.user)).toBe(0);

      const isMade = desk.orders.has(made.order.order_no);
      expect(isMade).toBe(TAKES_EFFECT.includes(mode));
      if (isMade) desk.pay(made.order.order_no);
      await world.pass(65);
      await world.pass(65);
      expect(await statusOf(asked.order.order_no)).toEqual(["credited", ""]);
      if (isMade) expect(await world.gained(made.user)).toBe(CREDITED);
      expect((await world.app.call(closed.user.who, "POST", cancel, {})).success).toBe(true);
      expect(await statusOf(closed.order.order_no)).toEqual(["closed", ""]);
      const isDone = isMade && ASKED_BY_NUMBER.includes(provider);
      expect(desk.order(refunded.order.order_no).refunded).toBe(isMade ? 3_000 : 0);
      expect(await states()).toEqual([isDone ? "done" : "unknown"]);
      expect(await world.gained(refunded.user)).toBe(0);
    },
  );
});
