// The server with a mail server beside it, and users at browsers that read their mail.
import { expect } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import type { Clock } from "#server/clock.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { createAppOn, type TestApp, type TestDatabase } from "./app.ts";
import { type Visitor, visit } from "./visitor.ts";

export interface MailApp {
  readonly app: TestApp;
  readonly smtp: SmtpEmulator;
  set(values: Partial<Record<OptionKey, string>>): Promise<void>;
  /** Asks for a code and reads the mail. */
  codeFor(who: Visitor, email: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts both; mails come from `noreply@gate.example` of a site called River at https://gate.example. */
export async function startMailApp(
  database: TestDatabase,
  clock: Clock,
  env: Record<string, string> = {},
): Promise<MailApp> {
  const smtp = await startSmtp();
  const app = await createAppOn(database, {
    clock,
    env: { TRUSTED_PROXIES: "127.0.0.1", ...env },
  });
  async function set(values: Partial<Record<OptionKey, string>>): Promise<void> {
    for (const [key, value] of Object.entries(values)) {
      // The keys of the argument are option keys.
      await app.ctx.options.set(key as OptionKey, value);
    }
  }
  await set({
    ServerAddress: "https://gate.example",
    SystemName: "River",
    SMTPServer: "127.0.0.1",
    SMTPPort: String(smtp.port),
    SMTPFrom: "noreply@gate.example",
  });
  return {
    app,
    smtp,
    set,
    async codeFor(who, email) {
      const answer = await who.call("GET", `/api/verification?email=${encodeURIComponent(email)}`);
      expect(answer).toMatchObject({ success: true, message: "", data: null });
      const { html } = await smtp.take(email.toLowerCase());
      return /<strong>(\d{6})<\/strong>/.exec(html)?.[1] ?? "";
    },
    async close() {
      await app.close();
      await smtp.close();
    },
  };
}

/** A new user at a browser, signed in with the password. */
export async function signInNew(
  app: TestApp,
  username: string,
  kind: { role?: number } = {},
): Promise<Visitor> {
  await seedUser(app.ctx, username, kind);
  const who = visit(app);
  const answer = await who.call("POST", "/api/user/login", { username, password: seedPassword });
  expect(answer.success).toBe(true);
  return who;
}

/** A code of six digits that is not this one. */
export function otherCode(code: string): string {
  return String((Number(code) + 1) % 1_000_000).padStart(6, "0");
}
