// Who reads English: the account's choice, else the browser's; refusals, letters and the log follow it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { insertLog } from "#server/store/logs.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { databases, type TestApp } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { newLog } from "#test/worlds/stores.ts";
import { visit } from "#test/worlds/visitor.ts";

const CHINESE = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
const ENGLISH = { "accept-language": "en-US,en;q=0.9" };

describe.each(databases)("languages on $name", (database) => {
  let mail: MailApp;
  let app: TestApp;
  beforeAll(async () => {
    mail = await startMailApp(database, fakeClock());
    app = mail.app;
  });
  afterAll(() => mail.close());

  test("refusals are in the language of the request, and in Chinese for programs", async () => {
    const who = visit(app);
    const refused = async (headers: Record<string, string>) =>
      String((await who.call("GET", "/api/user/self", undefined, headers))["message"]);
    expect(await refused(ENGLISH)).not.toMatch(CHINESE);
    expect(await refused({})).toMatch(CHINESE);
    expect(await refused({ "accept-language": "*" })).toMatch(CHINESE);
    expect(await refused({ ...ENGLISH, cookie: "language=zh" })).toMatch(CHINESE);
  });

  test("an account keeps its choice, and takes no language that the server does not speak", async () => {
    const { who } = await seedUser(app.ctx, "chooser");
    expect(await app.call(who, "GET", "/api/user/self")).toMatchObject({ data: { language: "" } });
    expect(await app.call(who, "PUT", "/api/user/self", { language: "fr" })).toMatchObject({
      success: false,
    });
    expect(await app.call(who, "PUT", "/api/user/self", { language: "en" })).toMatchObject({ success: true });
    expect(await app.call(who, "GET", "/api/user/self")).toMatchObject({
      data: { language: "en", username: "chooser", display_name: "chooser" },
    });
  });

  test("a letter is in the language of its reader, not of the caller that caused it", async () => {
    const guest = visit(app);
    await guest.call("GET", "/api/verification?email=new@example.com", undefined, ENGLISH);
    const code = await mail.smtp.take("new@example.com");
    expect(code.subject + code.html).not.toMatch(CHINESE);
    expect(code.html).toMatch(/<html lang="en">.*<strong>\d{6}<\/strong>/s);

    const { who } = await seedUser(app.ctx, "reader");
    await app.call(who, "PUT", "/api/user/self", { language: "en" });
    await visit(app).call("GET", "/api/reset_password?email=reader@example.com");
    await app.ctx.resets.idle();
    const reset = await mail.smtp.take("reader@example.com");
    expect(reset.subject + reset.html).not.toMatch(CHINESE);

    await seedUser(app.ctx, "stranger");
    await visit(app).call("GET", "/api/reset_password?email=stranger@example.com");
    await app.ctx.resets.idle();
    expect((await mail.smtp.take("stranger@example.com")).subject).toMatch(CHINESE);
  });

  test("the log says in English what it keeps in Chinese", async () => {
    const { id, who } = await seedUser(app.ctx, "logged");
    const content = "模型倍率 0.5，补全倍率 4，分组倍率 1；(2 + 8 × 4) × 0.5 × 1 = 17";
    await insertLog(app.ctx.db, newLog({ user_id: id, content }));
    const read = async (headers: Record<string, string>) =>
      (await app.call({ ...who, ...headers }, "GET", "/api/log/self")).data as { content: string }[];
    expect((await read({}))[0]?.content).toBe(content);
    expect((await read(ENGLISH))[0]?.content).toBe(
      "Model ratio 0.5, completion ratio 4, group ratio 1; (2 + 8 × 4) × 0.5 × 1 = 17",
    );
  });
});
