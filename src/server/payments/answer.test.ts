// A provider hears that a notice was taken after the commit, never before (requirements Y05): its answer waits for the ledger, and who dies
// in between is told again and credits nothing twice.
import { beforeAll, describe, expect, test } from "vitest";
import type { Ledger } from "#server/money/ledger.ts";
import { findOrder, listEvents } from "#server/store/orders.ts";
import { databases } from "#test/worlds/app.ts";
import { type Account, useEpayWorld } from "#test/worlds/payment-world.ts";
import { forgetOldBodies } from "./poller.ts";

const DAY_MS = 86_400_000;

/** Something that a test lets go on. */
function gate() {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

describe.each(databases)("the answer to a notice on $name", (database) => {
  const world = useEpayWorld(database);
  let account: Account;
  let change: Ledger["changeOrder"];

  beforeAll(async () => {
    account = await world.site();
    change = world.app.ctx.ledger.changeOrder.bind(world.app.ctx.ledger);
  });

  /** A notice of a new order, and what has become of its answer. */
  async function noticed() {
    const { user, order } = await world.ordered(account);
    const query = world.epay.noticeV1(world.epay.desk.pay(order.order_no));
    const tell = () => world.notify(account, { query });
    return { user, no: order.order_no, tell };
  }
  const statusOf = async (no: string) => (await findOrder(world.app.ctx.db, no))?.status;

  test("waits for a slow commit, and comes when it is there", async () => {
    const { user, no, tell } = await noticed();
    const [asked, disk] = [gate(), gate()];
    world.app.ctx.ledger.changeOrder = async (operation) => {
      asked.open();
      await disk.passed;
      return change(operation);
    };
    const trace: string[] = [];
    const answer = tell().then(({ text }) => trace.push(`answer ${text}`));
    await asked.passed;
    // Everything else that the server could do by itself is done.
    await world.app.request("/api/status");
    expect([trace, await statusOf(no)]).toEqual([[], "pending"]);
    world.app.ctx.ledger.changeOrder = change;
    disk.open();
    await answer;
    expect([trace, await statusOf(no), await world.gained(user)]).toEqual([
      ["answer success"],
      "credited",
      25_000_000,
    ]);
  });

  test("a process that dies after the commit has not answered; told again, the notice is a duplicate", async () => {
    const { user, no, tell } = await noticed();
    const committed = gate();
    world.app.ctx.ledger.changeOrder = async (operation) => {
      await change(operation);
      committed.open();
      // Here the process dies: nothing goes on.
      return new Promise(() => undefined);
    };
    const trace: string[] = [];
    void tell().then(({ text }) => trace.push(text));
    await committed.passed;
    world.app.ctx.ledger.changeOrder = change;
    expect([trace, await statusOf(no)]).toEqual([[], "credited"]);
    expect(await tell()).toEqual({ status: 200, text: "success" });
    expect(await world.gained(user)).toBe(25_000_000);
    const credits = await world.app.ctx.db
      .selectFrom("ledger")
      .select("amount")
      .where("request_id", "=", `order/${no}/credit`)
      .execute();
    expect(credits).toHaveLength(1);
    expect(trace).toEqual([]);
  });

  test("a commit that fails is no success; told again, it is credited", async () => {
    const { user, no, tell } = await noticed();
    world.app.ctx.ledger.changeOrder = () => Promise.reject(new Error("the disk is full"));
    const { status, text } = await tell();
    world.app.ctx.ledger.changeOrder = change;
    expect([status, text, await statusOf(no)]).toEqual([503, "", "pending"]);
    expect(await tell()).toEqual({ status: 200, text: "success" });
    expect([await statusOf(no), await world.gained(user)]).toEqual(["credited", 25_000_000]);
  });

  test("is about a notice that is kept sealed as it came, for ninety days", async () => {
    const { no, tell } = await noticed();
    await tell();
    const { db, secrets } = world.app.ctx;
    const kept = async () => (await listEvents(db, no)).map(({ body_sealed }) => body_sealed);
    const [body = ""] = await kept();
    expect(body).not.toContain(no);
    expect(secrets.open(body, "payment_events.body")).toContain(`out_trade_no=${no}`);
    world.clock.advance(90 * DAY_MS);
    await forgetOldBodies(world.app.ctx);
    expect(await kept()).toEqual([body]);
    world.clock.advance(1_000);
    await forgetOldBodies(world.app.ctx);
    expect(await kept()).toEqual([""]);
  });
});
