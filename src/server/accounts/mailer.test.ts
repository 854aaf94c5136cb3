import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";

describe("letters", () => {
  let app: TestApp;
  let smtp: SmtpEmulator;
  const text = { subject: "s", paragraphs: ["h"] };

  beforeEach(async () => {
    smtp = await startSmtp();
    app = await createTestApp();
    await app.ctx.options.set("SMTPServer", "127.0.0.1");
    await app.ctx.options.set("SMTPPort", String(smtp.port));
    await app.ctx.options.set("SMTPFrom", "Gate <noreply@gate.example>");
  });
  afterEach(async () => {
    vi.useRealTimers();
    await app.close();
    await smtp.close();
  });

  test("that a server delays are tried again, after 5 and then 30 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    smtp.refusal = "451 later";
    const { mailer } = app.ctx;
    expect(await mailer.post("late@example.com", text)).toBe("queued");
    vi.advanceTimersByTime(5_000);
    await mailer.idle();
    smtp.refusal = undefined;
    vi.advanceTimersByTime(29_000);
    await mailer.idle();
    expect(smtp.letters).toEqual([]);
    vi.advanceTimersByTime(1_000);
    await mailer.idle();
    expect(smtp.letters).toHaveLength(1);
    vi.advanceTimersByTime(600_000);
    await mailer.idle();
    expect(smtp.letters).toHaveLength(1);
    // Each letter has one id, however often it is tried.
    expect(smtp.letters[0]?.headers["message-id"]).toMatch(/@gate\.example>$/);
  });

  test("that a server refuses are given up, and so are those that no server takes for minutes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { mailer } = app.ctx;
    smtp.refusal = "550 no";
    expect(await mailer.post("gone@example.com", text)).toBe("failed");
    smtp.refusal = "451 later";
    expect(await mailer.post("never@example.com", text)).toBe("queued");
    for (const ms of [5_000, 30_000, 120_000]) {
      vi.advanceTimersByTime(ms);
      await mailer.idle();
    }
    smtp.refusal = undefined;
    vi.advanceTimersByTime(3_600_000);
    await mailer.idle();
    expect(smtp.letters).toEqual([]);
  });

  test("go to every address between semicolons, over few connections, and do not hold up the caller", async () => {
    const { mailer } = app.ctx;
    expect(await mailer.post("a@example.com; b@example.com", text)).toBe("sent");
    expect(smtp.letters[0]?.to).toEqual(["a@example.com", "b@example.com"]);
    const posted = await Promise.all(
      Array.from({ length: 30 }, (_, index) => mailer.post(`n${index}@example.com`, text)),
    );
    expect(new Set(posted)).toEqual(new Set(["sent", "queued"]));
    await mailer.idle();
    expect(smtp.letters).toHaveLength(31);
    // Four, and connections whose end the server has not noticed yet.
    expect(smtp.mostConnections).toBeLessThanOrEqual(8);
  });

  test("on their way when the server stops are finished, waiting ones are not", async () => {
    smtp.refusal = "451 later";
    await app.ctx.mailer.post("waiting@example.com", text);
    smtp.refusal = undefined;
    void app.ctx.mailer.post("running@example.com", text);
    await app.ctx.mailer.close();
    expect(smtp.letters.map(({ to }) => to[0])).toEqual(["running@example.com"]);
  });
});
