// A merchant account is tested by a question about an order that does not exist: what the five providers say to right and to wrong keys, and
// where nothing clear comes back. On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { paymentProviderNames } from "#contract/payment-provider.ts";
import { keyPair, type PayMode } from "#test/emulators/pay-desk.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { DesksWorld } from "#test/worlds/desks-world.ts";

describe.each(databases)("the test of a merchant account on $name", (database) => {
  const world = new DesksWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());
  const probe = async (id: number) =>
    (await world.app.call(asRoot, "POST", `/api/payment/instance/${id}/probe`, {})).data;
  const unclearOf = async (id: number) =>
    (await world.app.call(asRoot, "GET", "/api/payment/instance")).data.find(
      (one: { id: number }) => one.id === id,
    ).unclear;

  /** Keys that are in order, and not those of the merchant. */
  const wrong = {
    "epay-v1": { fields: { key: "another-key" }, problem: "code -3" },
    "epay-v2": { fields: { private_key: keyPair("another merchant").privatePem }, problem: "code -3" },
    stripe: { fields: { secret_key: "sk_other_1" }, problem: "status 401" },
    alipay: {
      fields: { private_key: keyPair("another merchant").privatePem },
      problem: "isv.invalid-signature",
    },
    wechat: { fields: { private_key: keyPair("another merchant").privatePem }, problem: "SIGN_ERROR" },
  };

  test.each(paymentProviderNames)("%s: right keys, wrong keys, no clear answer", async (name) => {
    const draft: { fields?: object } = world.desks.draftOf(name);
    const { id } = await world.account(draft);
    expect(await probe(id)).toEqual({ verdict: "accepted", problem: "" });
    const { fields, problem } = wrong[name];
    const other = await world.account({ ...draft, fields: { ...draft.fields, ...fields } });
    expect(await probe(other.id)).toEqual({ verdict: "refused", problem });
    const desk = world.desks.desks.find(({ provider }) => provider === name)?.desk;
    if (!desk) throw new Error(`no desk of ${name}`);
    const modes: PayMode[] = ["500", "html", "truncated", "redirect"];
    for (const mode of modes) {
      desk.mode = mode;
      expect([mode, (await probe(id)).verdict]).toEqual([mode, "unclear"]);
    }
    expect(await unclearOf(id)).toBe(modes.length);
    desk.mode = "ok";
    expect((await probe(id)).verdict).toBe("accepted");
    // The account is out of trouble, and no order was made by any of it.
    expect([await unclearOf(id), desk.orders.size]).toEqual([0, 0]);
  });

  test("an answer that another key signed is none", async () => {
    const { id } = await world.account(world.desks.draftOf("alipay"));
    world.desks.alipay.faults.isWronglySigned = true;
    expect(await probe(id)).toEqual({ verdict: "unclear", problem: "signature" });
    world.desks.alipay.faults.isWronglySigned = false;
  });

  test("one without its keys is not asked about, and stands in the audit log all the same", async () => {
    const made = await world.app.call(asRoot, "POST", "/api/payment/instance", {
      name: "空",
      is_enabled: true,
      ...world.desks.draftOf("epay-v1"),
      fields: { base_url: world.desks.epay.desk.url },
    });
    const before = world.desks.epay.desk.heard.length;
    expect(await probe(made.data.id)).toEqual({ verdict: "incomplete", problem: "" });
    expect(world.desks.epay.desk.heard.length).toBe(before);
    const { db } = world.app.ctx;
    const rows = await db
      .selectFrom("audit")
      .select("target")
      .where("action", "=", "payment.instance.probe")
      .execute();
    expect(rows.at(-1)?.target).toBe(String(made.data.id));
  });
});
