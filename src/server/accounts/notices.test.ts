import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { updateUserProfile } from "#server/store/users.ts";
import { type PusherEmulator, startPusher } from "#test/emulators/service-emulators.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("notices to the super administrator on $name", (database) => {
  let app: TestApp;
  let pusher: PusherEmulator;
  let smtp: SmtpEmulator;

  beforeAll(async () => {
    [pusher, smtp] = await Promise.all([startPusher(), startSmtp()]);
    app = await createAppOn(database);
    const { options, db } = app.ctx;
    await options.set("ServerAddress", "https://gate.example");
    await options.set("SMTPServer", "127.0.0.1");
    await options.set("SMTPPort", String(smtp.port));
    await options.set("SMTPAccount", "account@gate.example");
    await updateUserProfile(db, 1, { email: "root@example.com" });
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([pusher.close(), smtp.close()]);
  });
  afterEach(() => {
    pusher.isBroken = false;
  });

  const notice = {
    event: "key_disabled",
    about: "key 1",
    title: "渠道“<b>”已被禁用",
    content: "第一行\n第二行 <script>",
  } as const;

  test("go by mail while there is no pusher, from the account when no sender is set", async () => {
    app.ctx.notify(notice);
    const letter = await smtp.take("root@example.com");
    expect(letter.subject).toBe("Tollgate 渠道“<b>”已被禁用");
    expect(letter.html).toContain("<p>第二行 &lt;script&gt;</p>");
    expect(letter.from).toBe("account@gate.example");
  });

  test("go to the pusher when there is one, and to it alone", async () => {
    await app.call(asRoot, "PUT", "/api/option/", { key: "MessagePusherAddress", value: pusher.url });
    await app.call(asRoot, "PUT", "/api/option/", { key: "MessagePusherToken", value: pusher.token });
    app.ctx.notify(notice);
    await expect
      .poll(() => pusher.messages)
      .toEqual([
        {
          title: notice.title,
          description: notice.content,
          content: notice.content,
          url: "https://gate.example",
          channel: "",
        },
      ]);
    expect(smtp.letters).toHaveLength(1);
  });

  test("go by mail when the pusher does not accept them", async () => {
    pusher.isBroken = true;
    app.ctx.notify(notice);
    expect((await smtp.take("root@example.com")).subject).toContain("已被禁用");
  });

  test("the pusher's token does not go to another address", async () => {
    await app.call(asRoot, "PUT", "/api/option/", { key: "MessagePusherAddress", value: `${smtp.port}` });
    expect(app.ctx.options.get("MessagePusherAddress")).toBe(pusher.url);
    const other = await startPusher();
    await app.call(asRoot, "PUT", "/api/option/", { key: "MessagePusherAddress", value: other.url });
    app.ctx.notify(notice);
    await expect.poll(() => other.heard.length).toBe(1);
    expect(other.heard[0]?.body).not.toContain(pusher.token);
    await other.close();
  });
});
