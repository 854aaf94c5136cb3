// The decision that is kept with each call, read by its number in the log, on both databases (requirements C47).
import { describe, expect, test } from "vitest";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { seedToken } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { createRouteWorld, verdictsOf } from "#test/worlds/route-world.ts";

describe.each(databases)("the decision of a call on $name", (database) => {
  const world = createRouteWorld(database);
  const channel = (name: string, draft?: object) => world.channel(name, draft);

  /** Makes a call and waits for its entry in the log. */
  async function callLogged(key = world.token.key, model = "gpt-4"): Promise<{ status: number; id: number }> {
    let status = 0;
    const id = await world.logged(async () => {
      const response = await fetch(`${world.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer sk-${key}` },
        body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], max_tokens: 5 }),
      });
      await response.text();
      ({ status } = response);
    });
    return { status, id };
  }

  test("says why this channel: what failed, was full, rests, or has a lower priority", async () => {
    await channel("full", { priority: 9, limits: { rpm: 1 } });
    await channel("broken", { priority: 8 });
    await channel("good", { priority: 5 });
    await channel("lower", { priority: 1 });
    world.upstream.script((res, asked) =>
      asked.headers.authorization === "Bearer broken"
        ? json({ error: { message: "no" } }, 429, { "retry-after": "60" })(res, asked)
        : json(chatReply("hi"))(res, asked),
    );
    const first = await world.decision((await callLogged()).id);
    expect(first).toMatchObject({ user_id: world.user?.id, model: "gpt-4", served: true });
    expect(verdictsOf(first)).toEqual([
      [
        "default",
        { full: "chosen", broken: "priority_lower", good: "priority_lower", lower: "priority_lower" },
      ],
    ]);
    const second = await world.decision((await callLogged()).id);
    expect(verdictsOf(second)).toEqual([
      ["default", { full: "limited", broken: "tried", good: "chosen", lower: "priority_lower" }],
    ]);
    const tried = second.groups[0]?.candidates.find(({ name }) => name === "broken");
    expect(tried).toMatchObject({ error: "upstream_429" });
    expect(second.groups[0]).toMatchObject({ strategy: "weight", native_first: false, more: 0 });
    const third = await world.decision((await callLogged()).id);
    expect(verdictsOf(third)).toEqual([
      ["default", { full: "limited", broken: "resting", good: "chosen", lower: "priority_lower" }],
    ]);
    expect(third.channel).toBe(third.groups[0]?.candidates.find(({ verdict }) => verdict === "chosen")?.id);
  });

  test("says why none: the channels that have the model and what bars them", async () => {
    await channel("off", { status: 2 });
    await channel("others", { group: "vip" });
    await channel("else", { models: "gpt-4o" });
    const { status, id } = await callLogged();
    expect(status).toBe(503);
    const told = await world.decision(id);
    expect(told).toMatchObject({ served: false, channel: 0 });
    expect(verdictsOf(told)).toEqual([["default", { off: "disabled", others: "group" }]]);
    const unknown = await world.decision((await callLogged(world.token.key, "unheard-of")).id);
    expect(unknown.groups).toMatchObject([{ group: "default", candidates: [] }]);
  });

  test("says why all of them failed", async () => {
    await channel("one");
    await channel("two");
    world.upstream.script(json({ error: { message: "no" } }, 500));
    const { status, id } = await callLogged();
    expect(status).toBe(500);
    expect(verdictsOf(await world.decision(id))).toEqual([["default", { one: "tried", two: "tried" }]]);
  });

  test("walks the groups of a token in their order", async () => {
    await world.app.ctx.options.set("UserUsableGroups", '{"vip":"","svip":""}');
    await channel("first", { group: "vip" });
    await channel("second", { group: "default" });
    const several = await seedToken(world.app.ctx, world.user?.id ?? 0);
    const groups = "svip,vip,default";
    await world.app.ctx.db.updateTable("tokens").set({ groups }).where("id", "=", several.id).execute();
    world.upstream.script((res, asked) =>
      asked.headers.authorization === "Bearer first"
        ? json({ error: { message: "no" } }, 500)(res, asked)
        : json(chatReply("hi"))(res, asked),
    );
    const { status, id } = await callLogged(several.key);
    expect(status).toBe(200);
    expect(verdictsOf(await world.decision(id))).toEqual([
      ["vip", { first: "tried" }],
      ["default", { second: "chosen" }],
    ]);
    const answer = await world.app.call(
      asRoot,
      "GET",
      `/api/route/explain?token_id=${several.id}&model=gpt-4`,
    );
    const told = [answer.data, ...answer.further] as readonly { group: string }[]; // Rows of the contract.
    expect(told.map(({ group }) => group)).toEqual(["svip", "vip", "default"]);
  });

  test("is for administrators alone, and no user's log has a word of it", async () => {
    await channel("secret-name");
    await channel("other-secret");
    world.upstream.script(json(chatReply("hi")));
    const { id } = await callLogged();
    const who = world.user?.who ?? expect.fail("no user");
    for (const path of [`/api/route/call/${id}`, "/api/route/explain?model=gpt-4"]) {
      const refused = await world.app.call(who, "GET", path);
      expect(refused).toMatchObject({ success: false, message: "权限不够，无法执行该操作" });
      expect(refused.data ?? null).toBeNull();
    }
    const own = await world.app.call(who, "GET", "/api/log/self/");
    expect(own.data[0]).toMatchObject({ id, channel: 0, trail: [] });
    expect(JSON.stringify(own)).not.toMatch(/secret|default\/w/);
    const all = await world.app.call(asRoot, "GET", "/api/log/");
    expect(all.data[0]).toMatchObject({ id, trail: [] });
    expect((await world.app.call(asRoot, "GET", "/api/route/call/999999999")).message).toBe("找不到该调用");
  });
});
