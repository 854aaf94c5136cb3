// What may be a user name, and that no two new ones look alike to an administrator who grants access or money to a name.
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashPassword } from "#server/secrets.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { newUser } from "#test/worlds/stores.ts";
import { visit } from "#test/worlds/visitor.ts";

const password = "harbour-lamp-9";
const LETTERS = "用户名只能由同一种文字的字母、数字和 . _ - 组成（汉字可以和拉丁字母同用）";
const HIDDEN = "用户名不能含有看不见的字符";
const TAKEN = "用户名已被使用";

const refused = [
  ["r\u043e\u043et", LETTERS],
  ["\u0391lice", LETTERS],
  ["my name", LETTERS],
  ["a@b.cn", LETTERS],
  ["🙂", LETTERS],
  ["ad\u200bmin", HIDDEN],
  ["\u200d\u200d", HIDDEN],
  ["nimda\u202e", HIDDEN],
  ["a\u0007b", HIDDEN],
  ["a\r\nb", HIDDEN],
  ["\u3164", HIDDEN],
  ["...", "用户名至少要有一个字母或数字"],
] as const;

describe.each(databases)("user names on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  const register = (username: string) =>
    visit(app).call("POST", "/api/user/register", { username, password });
  const create = (username: string, who = asRoot) =>
    app.call(who, "POST", "/api/user/", { username, password });
  const rename = (who: Parameters<TestApp["call"]>[0], username: string) =>
    app.call(who, "PUT", "/api/user/self", { username });
  const names = async () =>
    (await app.ctx.db.selectFrom("users").select("username").execute()).map(({ username }) => username);

  /** An account as one made before names had a rule: its row alone. */
  async function old(username: string, display = ""): Promise<number> {
    const row = newUser({ username, display_name: display, password: await hashPassword(password) });
    const { id } = await app.ctx.db.insertInto("users").values(row).returning("id").executeTakeFirstOrThrow();
    return id;
  }

  test.each(refused)("%j is refused wherever a name is given: %s", async (name, message) => {
    const { id, who } = await seedUser(app.ctx, `asker${refused.findIndex(([text]) => text === name)}`);
    const answer = { success: false, message };
    expect(await register(name)).toMatchObject(answer);
    expect(await create(name)).toMatchObject(answer);
    expect(await rename(who, name)).toMatchObject(answer);
    expect(await app.call(asRoot, "PUT", "/api/user/", { id, username: name })).toMatchObject(answer);
  });

  test("letters of one script, Han beside Latin and what is written together are names", async () => {
    for (const name of [
      "anna.b_c-9",
      "13800138000",
      "张三",
      "张San_1",
      "さくらサクラ花",
      "김철수",
      "Борис",
      "José",
      "สมชาย",
    ])
      expect([name, await register(name)]).toMatchObject([name, { success: true }]);
  });

  test("a name is kept in its composed, plain form, and found by either", async () => {
    expect(await register("Ｗｉｄｅ１")).toMatchObject({ success: true });
    expect(await register("Zoe\u0308")).toMatchObject({ success: true });
    expect(await names()).toEqual(expect.arrayContaining(["Wide1", "Zo\u00eb"]));
    await app.login("Ｗｉｄｅ１", password);
    await app.login("Wide1", password);
    expect(await create("Wide1")).toMatchObject({ success: false, message: TAKEN });
  });

  test("names that differ in case or form only are one, for the second user", async () => {
    await seedUser(app.ctx, "Carol");
    const { id, who } = await seedUser(app.ctx, "other");
    for (const name of ["carol", "CAROL", "ｃａｒｏｌ", "ROOT", "Root"]) {
      const answer = { success: false, message: TAKEN };
      expect([name, await register(name)]).toMatchObject([name, answer]);
      expect(await create(name)).toMatchObject(answer);
      expect(await rename(who, name)).toMatchObject(answer);
      expect(await app.call(asRoot, "PUT", "/api/user/", { id, username: name })).toMatchObject(answer);
    }
    expect(await register("Straße")).toMatchObject({ success: true });
    expect(await register("STRASSE")).toMatchObject({ success: false, message: TAKEN });
    expect(await register("ИВАН")).toMatchObject({ success: true });
    expect(await register("иван")).toMatchObject({ success: false, message: TAKEN });
  });

  test("the own name may change its case; the former one is free then, and so is a deleted user's", async () => {
    const { id, who } = await seedUser(app.ctx, "dora");
    expect(await rename(who, "Dora")).toMatchObject({ success: true });
    expect(await rename(who, "Dorothy")).toMatchObject({ success: true });
    expect(await register("DORA")).toMatchObject({ success: true });
    expect(await app.call(asRoot, "DELETE", `/api/user/${id}`)).toMatchObject({ success: true });
    expect(await register("dorothy")).toMatchObject({ success: true });
  });

  test("of registrations at the same moment one gets the name", async () => {
    const spellings = ["racer", "Racer", "RACER", "rAcEr", "ｒａｃｅｒ", "racER"];
    const answers = await Promise.all(spellings.map(register));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    for (const { success, message } of answers) if (!success) expect(message).toBe(TAKEN);
    const kept = (await names()).filter((name) => name.toLowerCase() === "racer");
    expect(kept).toHaveLength(1);
  });

  test("a user with an odd name keeps it, logs in with it and can change all else", async () => {
    for (const name of [
      "r\u043e\u043et",
      "od\u200bd",
      "ｏｌｄ",
      "my name",
      "a name longer than any new one",
    ]) {
      const display = `old\u202e${name}`;
      const id = await old(name, display);
      const session = await app.login(name, password);
      const body = {
        username: name,
        display_name: display,
        original_password: password,
        password: "another-lamp-9",
      };
      expect([name, await app.call(session, "PUT", "/api/user/self", body)]).toMatchObject([
        name,
        { success: true },
      ]);
      const edit = { id, username: name, display_name: display, group: "vip" };
      expect(await app.call(asRoot, "PUT", "/api/user/", edit)).toMatchObject({ success: true });
      const { data } = await app.call(session, "GET", "/api/user/self");
      expect(data).toMatchObject({ id, username: name, display_name: display, group: "vip" });
      expect(
        await app.call(asRoot, "POST", "/api/user/manage", { username: name, action: "disable" }),
      ).toMatchObject({ success: true, data: { status: 2 } });
    }
  });

  test("old names that differ in case stay valid, each by itself, and a new one matches neither", async () => {
    const ids = [await old("Twin"), await old("twin")];
    for (const [index, name] of ["Twin", "twin"].entries()) {
      const session = await app.login(name, password);
      const edited = await app.call(session, "PUT", "/api/user/self", { username: name, display_name: "双" });
      expect(edited).toMatchObject({ success: true });
      expect((await app.call(session, "GET", "/api/user/self")).data).toMatchObject({ id: ids[index] });
    }
    expect(await register("TWIN")).toMatchObject({ success: false, message: TAKEN });
    await sql`UPDATE users SET status = 2 WHERE id = ${ids[0]}`.execute(app.ctx.db);
    expect(await register("tWin")).toMatchObject({ success: false, message: TAKEN });
  });

  test("a display name has no invisible characters", async () => {
    const { id, who } = await seedUser(app.ctx, "shown");
    for (const display_name of ["a\u202eb", "a\u200bb", "a\nb", "\u3164", "x\u200dy", "a\u0007b"]) {
      const answer = { success: false, message: "显示名称不能含有看不见的字符" };
      expect(await app.call(who, "PUT", "/api/user/self", { display_name })).toMatchObject(answer);
      expect(await app.call(asRoot, "PUT", "/api/user/", { id, display_name })).toMatchObject(answer);
      expect(
        await app.call(asRoot, "POST", "/api/user/", { username: "shown2", password, display_name }),
      ).toMatchObject(answer);
    }
    for (const display_name of ["王 小明 👨‍👩‍👧 ❤️", "Анна & Bob (α)"])
      expect(await app.call(who, "PUT", "/api/user/self", { display_name })).toMatchObject({ success: true });
  });
});
