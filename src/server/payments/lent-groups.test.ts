// Groups that plans lend: derived from the periods that run, whatever is bought, renewed, paid back or edited in between; the user's own is
// never written (requirements Y51). On both databases.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { getUser } from "#server/store/users.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedToken } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type Account, EpayWorld } from "#test/worlds/payment-world.ts";
import { PLAN_DRAFT } from "#test/worlds/renewal-world.ts";

const DAY_MS = 86_400_000;
const GROUPS = ["default", "vip", "svip", "gold"];
const RATIOS = JSON.stringify(Object.fromEntries(GROUPS.map((group) => [group, 1])));

interface Plan {
  readonly id: number;
  readonly version_id: number;
}

describe.each(databases)("lent groups on $name", (database) => {
  const world = new EpayWorld();
  let account: Account;
  let upstream: FakeUpstream;
  let url = "";
  let [vip, svip]: Plan[] = [];
  let serial = 0;

  beforeAll(async () => {
    await world.start(database);
    account = await world.site();
    upstream = await createFakeUpstream();
    url = await world.app.listen();
    // Each group has a channel of its own, so that its key tells whose turn it was.
    for (const group of GROUPS) {
      const channel = {
        type: 8,
        name: group,
        key: `k-${group}`,
        base_url: upstream.url,
        models: "gpt-4",
        group,
      };
      await world.app.call(asRoot, "POST", "/api/channel/", channel);
    }
    const { options } = world.app.ctx;
    await options.set("MfaRequiredFor", "none");
    await options.set("PreConsumedQuota", "0");
    await options.set("ModelRatio", '{"gpt-4":15}');
    await options.set("GroupRatio", RATIOS);
    upstream.script(
      json({ ...chatReply("hi"), usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } }),
    );
    [vip, svip] = [await plan("vip"), await plan("svip")];
  });
  afterAll(async () => {
    await upstream.close();
    await world.stop();
  });

  async function plan(group: string): Promise<Plan> {
    const draft = { ...PLAN_DRAFT, name: group, unit: "day", count: 30, windows: [] };
    const made = await world.app.call(asRoot, "POST", "/api/plan/", {
      ...draft,
      lent_group: group,
      groups: [group],
    });
    expect(made.message).toBe("");
    return made.data;
  }

  async function caller() {
    const user = await world.buyer();
    const { key } = await seedToken(world.app.ctx, user.id);
    return { user, key };
  }

  /** Buys a plan and pays. Returns the order's number. */
  async function buy(user: SeededUser, bought: Plan | undefined): Promise<string> {
    const wish = {
      plan_id: bought?.id,
      version_id: bought?.version_id,
      instance_id: account.id,
      method: "alipay",
    };
    const { data, message } = await world.app.call(user.who, "POST", "/api/plan/order", wish);
    expect(message).toBe("");
    expect((await world.pay(account, data.order_no)).text).toBe("success");
    return data.order_no;
  }

  const refund = async (orderNo: string) => {
    const body = { amount: null, reason: "退款" };
    const { message } = await world.app.call(asRoot, "POST", `/api/payment/manage/${orderNo}/refund`, body);
    expect(message).toBe("");
  };

  /** The group of the channel that a call went to, and the user's own. */
  async function groupOf({
    user,
    key,
  }: {
    user: SeededUser;
    key: string;
  }): Promise<readonly [string, string]> {
    serial += 1;
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-4",
        messages: [{ role: "user", content: `call ${serial}` }],
        max_tokens: 5,
      }),
    });
    expect(response.status).toBe(200);
    await response.text();
    const sent = upstream.journal.at(-1)?.headers.authorization ?? "";
    return [sent.replace("Bearer k-", ""), (await getUser(world.app.ctx.db, user.id)).group];
  }

  const days = (count: number) => world.clock.advance(count * DAY_MS);

  test("stacked: the one that runs out leaves the other, whichever was bought first", async () => {
    for (const [first, second] of [
      ["vip", "svip"],
      ["svip", "vip"],
    ] as const) {
      const one = await caller();
      await buy(one.user, first === "vip" ? vip : svip);
      expect(await groupOf(one)).toEqual([first, "default"]);
      days(10);
      await buy(one.user, second === "vip" ? vip : svip);
      const [both] = await groupOf(one);
      expect([first, second]).toContain(both);
      days(21);
      expect(await groupOf(one)).toEqual([second, "default"]);
      days(10);
      expect(await groupOf(one)).toEqual(["default", "default"]);
    }
  });

  test("renewed before its end it lends without a gap, and ends with the second period", async () => {
    const one = await caller();
    await buy(one.user, vip);
    days(20);
    await buy(one.user, vip);
    for (const [passed, group] of [
      [9, "vip"],
      [2, "vip"],
      [28, "vip"],
      [2, "default"],
    ] as const) {
      days(passed);
      expect(await groupOf(one)).toEqual([group, "default"]);
    }
  });

  test("paid back, it lends nothing from that moment on, and another one that runs still does", async () => {
    const one = await caller();
    await buy(one.user, vip);
    const dear = await buy(one.user, svip);
    await refund(dear);
    expect(await groupOf(one)).toEqual(["vip", "default"]);
    const alone = await caller();
    await refund(await buy(alone.user, vip));
    expect(await groupOf(alone)).toEqual(["default", "default"]);
  });

  test("an administrator's edit of the user's own group stays, through renewal, refund and the end", async () => {
    const one = await caller();
    const edit = async (group: string) => {
      const body = { id: one.user.id, username: one.user.username, group };
      expect((await world.app.call(asRoot, "PUT", "/api/user/", body)).message).toBe("");
    };
    await buy(one.user, vip);
    await edit("gold");
    expect(await groupOf(one)).toEqual(["vip", "gold"]);
    days(20);
    const renewed = await buy(one.user, vip);
    expect(await groupOf(one)).toEqual(["vip", "gold"]);
    days(11);
    await refund(renewed);
    expect(await groupOf(one)).toEqual(["gold", "gold"]);
    // An edit to the very group that is lent is his own, too.
    await buy(one.user, vip);
    await edit("vip");
    days(31);
    expect(await groupOf(one)).toEqual(["vip", "vip"]);
  });

  test("a group that is deleted while it is lent: calls go on in it, then in the own one, and nothing is written", async () => {
    const one = await caller();
    await buy(one.user, svip);
    const { options } = world.app.ctx;
    await options.set("GroupRatio", '{"default":1,"vip":1,"gold":1}');
    expect(await groupOf(one)).toEqual(["svip", "default"]);
    days(31);
    expect(await groupOf(one)).toEqual(["default", "default"]);
    await options.set("GroupRatio", RATIOS);
  });
});
