// Keys after they were made: shown once, rotated with an overlap, with tags and notes (requirements K11, K12, K14).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FORGET_WORDS } from "#contract/token.ts";
import { fakeClock } from "#server/clock.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

const HINT = /^[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$/;

describe.each(databases)("keys of tokens on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let url = "";
  let alice: SeededUser;
  let bob: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    url = await app.listen();
    alice = await seedUser(app.ctx, "alice");
    bob = await seedUser(app.ctx, "bob");
  });
  afterAll(() => app.close());

  const create = async (body: object) =>
    (await app.call(alice.who, "POST", "/api/token/", { name: "t", ...body })).data;
  const read = async (id: number) => (await app.call(alice.who, "GET", `/api/token/${id}`)).data;
  const rotate = (id: number, overlap?: number, who = alice.who) =>
    app.call(who, "POST", `/api/token/${id}/rotate`, { overlap });
  const rowOf = (id: number) =>
    app.ctx.db.selectFrom("tokens").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  /** The status of a call with this key. */
  const use = async (key: string) => {
    const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer sk-${key}` } });
    await answer.text();
    return answer.status;
  };

  describe("shown once", () => {
    test("the key is in the answer that makes it and nowhere else, and it works", async () => {
      const made = await create({ shown_once: true });
      expect(made).toMatchObject({ shown_once: true, key: expect.stringMatching(/^\w{48}$/) });
      expect(await rowOf(made.id)).toMatchObject({ key_sealed: "" });
      const seen = [
        await read(made.id),
        (await app.call(alice.who, "GET", "/api/token/")).data.find(
          ({ id }: { id: number }) => id === made.id,
        ),
        (await app.call(alice.who, "GET", "/api/token/search?keyword=t")).data[0],
        (await app.call(alice.who, "GET", "/api/token/?export=true")).data.find(
          ({ id }: { id: number }) => id === made.id,
        ),
        (await app.call(alice.who, "PUT", "/api/token/", { id: made.id, name: "t2" })).data,
      ];
      for (const token of seen)
        expect(token).toMatchObject({ key: "", shown_once: true, key_hint: made.key_hint });
      expect(made.key_hint).toMatch(HINT);
      expect(await use(made.key)).toBe(200);
    });

    test("the option makes all new keys so; off again it brings none back", async () => {
      await app.ctx.options.set("TokenShownOnceEnabled", "true");
      const made = await create({ shown_once: false });
      const batch = await app.call(alice.who, "POST", "/api/token/batch", { name: "b", count: 2 });
      await app.ctx.options.set("TokenShownOnceEnabled", "false");
      for (const token of [made, ...batch.data]) {
        expect(token).toMatchObject({ shown_once: true, key: expect.stringMatching(/^\w{48}$/) });
        expect(await read(token.id)).toMatchObject({ key: "", shown_once: true });
      }
    });

    test("a token becomes so for ever, and its rotated key is shown once too", async () => {
      const made = await create({});
      const update = (shown_once: boolean) =>
        app.call(alice.who, "PUT", "/api/token/", { id: made.id, shown_once });
      expect((await update(false)).data).toMatchObject({ key: made.key, shown_once: false });
      expect((await update(true)).data).toMatchObject({ key: "", shown_once: true });
      expect((await update(false)).data).toMatchObject({ key: "", shown_once: true });
      expect(await use(made.key)).toBe(200);
      const next = (await rotate(made.id)).data;
      expect(next.key).toMatch(/^\w{48}$/);
      expect((await rowOf(made.id)).key_sealed).toBe("");
    });

    test("all keys are forgotten after the typed words, by super administrators alone", async () => {
      const made = await create({});
      const forget = (who: typeof asRoot, confirm: string) =>
        app.call(who, "POST", "/api/token/forget", { confirm });
      expect(await forget(alice.who, FORGET_WORDS)).toMatchObject({ success: false });
      expect(await forget(asRoot, "yes")).toMatchObject({ success: false });
      expect((await read(made.id)).key).toBe(made.key);
      expect((await forget(asRoot, FORGET_WORDS)).data).toBeGreaterThan(0);
      const sealed = app.ctx.db.selectFrom("tokens").select("id").where("key_sealed", "!=", "");
      expect(await sealed.where("deleted_at", "=", 0).execute()).toEqual([]);
      expect(await read(made.id)).toMatchObject({
        key: "",
        key_hint: `${made.key.slice(0, 4)}…${made.key.slice(-4)}`,
      });
      expect(await use(made.key)).toBe(200);
      expect((await forget(asRoot, FORGET_WORDS)).data).toBe(0);
    });
  });

  describe("rotation", () => {
    test("both keys work until the overlap ends, then the old one gets 401; the row stays", async () => {
      const made = await create({ remain_quota: 700 });
      expect(await use(made.key)).toBe(200);
      const next = (await rotate(made.id, 3_600)).data;
      expect(next).toMatchObject({ id: made.id, remain_quota: 700, old_key_until: clock.seconds() + 3_600 });
      expect(next.key).not.toBe(made.key);
      expect(await use(next.key)).toBe(200);
      expect(await use(made.key)).toBe(200);
      clock.advance(3_599_000);
      expect(await use(made.key)).toBe(200);
      // Its use is noted beside the call, which does not wait for it.
      await expect.poll(async () => (await read(made.id)).old_key_used).toBe(clock.seconds());
      clock.advance(1_000);
      expect(await use(made.key)).toBe(401);
      expect(await use(next.key)).toBe(200);
      expect(await read(made.id)).toMatchObject({ key: next.key, old_key_until: 0, old_key_used: 0 });
    });

    test("without an overlap the old key ends at once; a second rotation ends the first overlap", async () => {
      const first = await create({});
      const second = (await rotate(first.id)).data;
      expect(second.old_key_until).toBe(clock.seconds() + 86_400);
      const third = (await rotate(first.id, 60)).data;
      expect(await Promise.all([first, second, third].map(({ key }) => use(key)))).toEqual([401, 200, 200]);
      const fourth = (await rotate(first.id, 0)).data;
      expect(fourth.old_key_until).toBe(0);
      expect(await Promise.all([second, third, fourth].map(({ key }) => use(key)))).toEqual([401, 401, 200]);
    });

    test("of parallel rotations each that succeeds counts once, and one old key works at most", async () => {
      const made = await create({});
      const turns = await Promise.all(Array.from({ length: 6 }, () => rotate(made.id, 600)));
      const keys = turns.filter(({ success }) => success).map(({ data }) => data.key);
      expect(keys.length).toBeGreaterThan(0);
      for (const { success, message } of turns)
        if (!success) expect(message).toBe("该令牌的密钥刚刚被轮换，请刷新后重试");
      const current = (await read(made.id)).key;
      expect(keys).toContain(current);
      const works = await Promise.all([made.key, ...keys].map(use));
      expect(works.filter((status) => status === 200)).toHaveLength(2);
      expect(await use(current)).toBe(200);
    });

    test.each([-1, 30 * 86_400 + 1, 1.5, "soon"])("an overlap of %j is refused", async (overlap) => {
      const made = await create({});
      const answer = await app.call(alice.who, "POST", `/api/token/${made.id}/rotate`, { overlap });
      expect(answer.success).toBe(false);
      expect((await read(made.id)).key).toBe(made.key);
    });

    test("another user's token is not there; a token that is off or gone lets neither key in", async () => {
      const made = await create({});
      expect(await rotate(made.id, 60, bob.who)).toMatchObject({ success: false, message: "找不到该令牌" });
      const next = (await rotate(made.id, 60)).data;
      await app.call(alice.who, "PUT", "/api/token/?status_only=true", { id: made.id, status: 2 });
      expect([await use(made.key), await use(next.key)]).toEqual([401, 401]);
      await app.call(alice.who, "PUT", "/api/token/?status_only=true", { id: made.id, status: 1 });
      expect([await use(made.key), await use(next.key)]).toEqual([200, 200]);
      await app.call(alice.who, "DELETE", `/api/token/${made.id}`);
      expect([await use(made.key), await use(next.key)]).toEqual([401, 401]);
    });

    test("a leaked old key leads to its token; it reads its own balance", async () => {
      const made = await create({ name: "leaky" });
      await rotate(made.id, 60);
      const found = await app.call(asRoot, "POST", "/api/token/find", { key: `sk-${made.key}` });
      expect(found.data).toMatchObject({ token_id: made.id, token_name: "leaky" });
      const own = await fetch(`${url}/v1/key`, { headers: { authorization: `Bearer sk-${made.key}` } });
      expect(own.status).toBe(200);
      await own.text();
    });
  });

  describe("tags and notes", () => {
    test("tags are cleaned, come back, and filter lists and searches by the whole tag", async () => {
      const made = await create({
        name: "tagged",
        tags: " prod，团队_a, prod ,",
        metadata: { 负责人: "小李" },
      });
      expect(made).toMatchObject({ tags: "prod,团队_a", metadata: { 负责人: "小李" } });
      await create({ name: "other", tags: "production" });
      const names = async (path: string) =>
        (await app.call(alice.who, "GET", path)).data.map(({ name }: { name: string }) => name);
      expect(await names("/api/token/?tag=prod")).toEqual(["tagged"]);
      expect(await names(`/api/token/?tag=${encodeURIComponent("团队_a")}`)).toEqual(["tagged"]);
      expect(await names("/api/token/search?keyword=other&tag=prod")).toEqual([]);
      // Nothing in a tag is a wildcard.
      expect(await names("/api/token/?tag=%25")).toEqual([]);
      expect((await app.call(alice.who, "GET", "/api/token/?tag=prod")).total).toBe(1);
      const update = { id: made.id, tags: "", metadata: {} };
      expect((await app.call(alice.who, "PUT", "/api/token/", update)).data).toMatchObject({
        tags: "",
        metadata: {},
      });
    });

    test.each([
      [{ tags: Array.from({ length: 21 }, (_, index) => `t${index}`).join(",") }, "最多 20 个标签"],
      [{ tags: "x".repeat(41) }, "每个标签最多 40 个字符"],
      [{ tags: "a\nb" }, "标签不能含有换行或控制字符"],
      [{ metadata: { "a b": "x" } }, "备注的名称须为 1 到 40 个字符，不含空格与等号"],
      [{ metadata: { __x: "x" } }, "备注的名称须为 1 到 40 个字符，不含空格与等号"],
      [{ metadata: { a: "x".repeat(1_001) } }, "每条备注最多 1,000 个字符"],
      [{ metadata: { a: 1 } }, "请求参数有误"],
      [
        {
          metadata: Object.fromEntries(
            Array.from({ length: 5 }, (_, index) => [`k${index}`, "x".repeat(900)]),
          ),
        },
        "备注合计最多 4,096 个字符",
      ],
    ])("%j is refused", async (change, message) => {
      const answer = await app.call(alice.who, "POST", "/api/token/", { name: "t", ...change });
      expect(answer).toMatchObject({ success: false, message });
    });
  });
});
