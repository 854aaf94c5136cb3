import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { issueCode } from "#server/accounts/codes.ts";
import { codeRef } from "#server/accounts/verification.ts";
import { fakeClock } from "#server/clock.ts";
import { randomPassword } from "#server/secrets.ts";
import type { SmtpEmulator } from "#test/emulators/smtp-emulator.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { databases, type TestApp } from "#test/worlds/app.ts";
import { type MailApp, otherCode, signInNew, startMailApp } from "#test/worlds/mail-app.ts";
import { freshAddress, type Visitor, visit } from "#test/worlds/visitor.ts";

const MINUTE_MS = 60_000;
const password = "harbour-lamp-9";

describe.each(databases)("letters and their codes on $name", (database) => {
  const clock = fakeClock();
  let mail: MailApp;
  let app: TestApp;
  let smtp: SmtpEmulator;

  beforeAll(async () => {
    mail = await startMailApp(database, clock);
    ({ app, smtp } = mail);
  });
  afterAll(() => mail.close());
  afterEach(async () => {
    await mail.set({ EmailVerificationEnabled: "false" });
    // The server's budget of letters fills again.
    clock.advance(3 * 60 * MINUTE_MS);
  });

  const codeFor: MailApp["codeFor"] = (who, email) => mail.codeFor(who, email);
  const register = (who: Visitor, body: object) => who.call("POST", "/api/user/register", body);

  describe("how often letters may be caused", () => {
    test("an address gets a second letter after 30 seconds, then others after minutes; 12 an hour from 100 networks", async () => {
      const startMs = clock.now();
      const sentAt: number[] = [];
      for (let second = 0; second < 3600; second += 10) {
        const answer = await visit(app).call("GET", "/api/reset_password?email=bombed@example.com");
        if (answer.status === 200) sentAt.push((clock.now() - startMs) / 1000);
        else expect(answer.status).toBe(429);
        clock.advance(10_000);
      }
      expect(sentAt.slice(0, 3)).toEqual([0, 30, 330]);
      expect(sentAt.length).toBeGreaterThanOrEqual(10);
      expect(sentAt.length).toBeLessThanOrEqual(12);
    });

    test("one network causes at most 10 an hour, whatever the addresses", async () => {
      const address = freshAddress();
      let sent = 0;
      for (let index = 0; index < 360; index += 1) {
        const answer = await visit(app, address).call(
          "GET",
          `/api/reset_password?email=n${index}@example.com`,
        );
        if (answer.status === 200) sent += 1;
        clock.advance(10_000);
      }
      expect(sent).toBeGreaterThanOrEqual(7);
      expect(sent).toBeLessThanOrEqual(10);
    });
  });

  describe("an address is bound", () => {
    const bind = (who: Visitor, email: string, code: string) =>
      who.call("GET", `/api/oauth/email/bind?email=${email}&code=${code}`);

    test("with a code that was sent to the signed-in user", async () => {
      const who = await signInNew(app, "binder");
      const code = await codeFor(who, "bound@example.com");
      expect((await bind(who, "bound@example.com", otherCode(code))).message).toBe("验证码不正确或已失效");
      const other = await signInNew(app, "thief");
      expect((await bind(other, "bound@example.com", code)).message).toBe("验证码不正确或已失效");
      expect(await bind(who, "Bound@example.com", code)).toMatchObject({
        success: true,
        message: "",
        data: null,
      });
      expect((await who.call("GET", "/api/user/self")).data.email).toBe("bound@example.com");
      expect((await bind(who, "bound@example.com", code)).success).toBe(false);
    });

    test("also by an access token, without a browser", async () => {
      const { who: headers } = await seedUser(app.ctx, "scripted");
      const get = (path: string) => app.call(headers, "GET", path);
      expect((await get("/api/verification?email=script@example.com")).success).toBe(true);
      const code = /<strong>(\d{6})/.exec((await smtp.take("script@example.com")).html)?.[1];
      expect((await get(`/api/oauth/email/bind?email=script@example.com&code=${code}`)).success).toBe(true);
    });

    test("and a code for one purpose is none for the other", async () => {
      await mail.set({ EmailVerificationEnabled: "true" });
      const guest = visit(app);
      const forRegistration = await codeFor(guest, "purpose@example.com");
      const who = await signInNew(app, "purpose");
      expect((await bind(who, "purpose@example.com", forRegistration)).success).toBe(false);
      clock.advance(31_000);
      const forBinding = await codeFor(who, "purpose2@example.com");
      const draft = {
        username: "purpose2",
        password,
        email: "purpose2@example.com",
        verification_code: forBinding,
      };
      expect((await register(guest, draft)).message).toBe("验证码不正确或已失效");
    });

    test("not by 200 guesses at once and then the right one: five are evaluated", async () => {
      const who = await signInNew(app, "guesser");
      const code = await codeFor(who, "guessed@example.com");
      const guesses = Array.from({ length: 200 }, (_, index) => String(index).padStart(6, "x"));
      const answers = await Promise.all(guesses.map((guess) => bind(who, "guessed@example.com", guess)));
      answers.push(await bind(who, "guessed@example.com", code));
      expect(new Set(answers.map(({ message }) => message))).toEqual(new Set(["验证码不正确或已失效"]));
      expect((await who.call("GET", "/api/user/self")).data.email).toBe("guesser@example.com");
      const kept = await app.ctx.db.selectFrom("codes").select("tries").where("user_id", "<>", 0).execute();
      expect(Math.max(...kept.map(({ tries }) => tries))).toBe(5);
    });

    test("to one account only, of 50 that bind it at once", async () => {
      const email = "wanted@example.com";
      const people = await Promise.all(
        Array.from({ length: 50 }, (_, index) => signInNew(app, `mass${index}`)),
      );
      // As if each had been sent one; the limits on letters do not let that happen so fast.
      for (const who of people) {
        const { id } = (await who.call("GET", "/api/user/self")).data;
        await issueCode(app.ctx, codeRef(email, id), { text: "246810", userId: id });
      }
      const answers = await Promise.all(people.map((who) => bind(who, email, "246810")));
      expect(answers.filter(({ success }) => success)).toHaveLength(1);
      expect(new Set(answers.filter(({ success }) => !success).map(({ message }) => message))).toEqual(
        new Set(["该邮箱已被其他账户绑定"]),
      );
      const owners = await app.ctx.db.selectFrom("users").select("id").where("email", "=", email).execute();
      expect(owners).toHaveLength(1);
    });

    test("never by another site's page", async () => {
      const who = await signInNew(app, "victim");
      const code = await codeFor(who, "attacker@example.com");
      const path = `/api/oauth/email/bind?email=attacker@example.com&code=${code}`;
      for (const headers of [
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
        { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors" },
        { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
      ])
        expect((await who.call("GET", path, undefined, headers)).status).toBe(403);
      expect((await who.call("GET", "/api/user/self")).data.email).toBe("victim@example.com");
    });
  });

  describe("a password is reset", () => {
    const ask = (email: string, address?: string) =>
      visit(app, address).call("GET", `/api/reset_password?email=${encodeURIComponent(email)}`);
    const finish = (email: string, token: string) =>
      visit(app).call("POST", "/api/user/reset", { email, token });

    async function tokenFor(email: string): Promise<string> {
      expect(await ask(email)).toEqual({ status: 200, success: true, message: "", data: null });
      await app.ctx.resets.idle();
      const { html } = await smtp.take(email);
      const link = /href="([^"]+)"/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
      const url = new URL(link);
      expect(`${url.origin}${url.pathname}`).toBe("https://gate.example/user/reset");
      expect(url.searchParams.get("email")).toBe(email);
      return url.searchParams.get("token") ?? "";
    }

    test("by the link of the letter, which ends every session and the access token", async () => {
      const user = await seedUser(app.ctx, "forgetful");
      const session = await app.login("forgetful", seedPassword);
      const token = await tokenFor("forgetful@example.com");
      expect(token).toMatch(/^[\w-]{43}$/);
      const response = await app.request("/api/user/reset", {
        method: "POST",
        body: JSON.stringify({ email: "Forgetful@example.com", token }),
      });
      expect(response.headers.get("cache-control")).toBe("no-store");
      const { data } = (await response.json()) as { data: string };
      expect(data).toMatch(/^[2-9A-HJ-NP-Za-km-z]{20}$/);
      await app.login("forgetful", data);
      await expect(app.login("forgetful", seedPassword)).rejects.toThrow("账号或密码不正确");
      expect((await app.call(session, "GET", "/api/user/self")).status).toBe(401);
      expect((await app.call(user.who, "GET", "/api/user/self")).message).toBe("访问凭证无效");
      expect((await smtp.take("forgetful@example.com")).subject).toBe("River 密码已重置");
      expect((await finish("forgetful@example.com", token)).message).toBe("重置链接无效或已失效");
    });

    test("once, in ten minutes, by the newest letter, for its own account", async () => {
      await seedUser(app.ctx, "one");
      await seedUser(app.ctx, "two");
      const first = await tokenFor("one@example.com");
      clock.advance(31_000);
      const second = await tokenFor("one@example.com");
      const refusal = { success: false, message: "重置链接无效或已失效", data: null };
      expect(await finish("one@example.com", first)).toMatchObject(refusal);
      expect(await finish("two@example.com", second)).toMatchObject(refusal);
      expect(await finish("nobody@example.com", second)).toMatchObject(refusal);
      const both = await Promise.all([finish("one@example.com", second), finish("one@example.com", second)]);
      expect(both.map(({ success }) => success).sort()).toEqual([false, true]);
      await app.login("two", seedPassword);
      const late = await tokenFor("two@example.com");
      clock.advance(601_000);
      expect(await finish("two@example.com", late)).toMatchObject(refusal);
      // A code made while the clock was ahead does not count until that time comes.
      clock.advance(MINUTE_MS);
      const ahead = await tokenFor("two@example.com");
      clock.advance(-24 * 60 * MINUTE_MS);
      expect(await finish("two@example.com", ahead)).toMatchObject(refusal);
      clock.advance(24 * 60 * MINUTE_MS);
      expect(await finish("two@example.com", ahead)).toMatchObject({ success: true });
    });

    test("and the request gets the same answer for every address, at once", async () => {
      await seedUser(app.ctx, "known");
      smtp.hang = true;
      const times: Record<string, number[]> = { known: [], unknown: [] };
      for (let index = 0; index < 15; index += 1) {
        for (const name of ["known", "unknown"]) {
          const startMs = performance.now();
          const answer = await ask(`${name}@example.com`);
          times[name]?.push(performance.now() - startMs);
          expect(answer).toEqual({ status: 200, success: true, message: "", data: null });
        }
        clock.advance(6 * MINUTE_MS);
      }
      smtp.hang = false;
      smtp.drop();
      // The quickest of each: the others include other work of the machine.
      const [known = 0, unknown = 0] = Object.values(times).map((list) => Math.min(...list));
      expect(Math.abs(known - unknown)).toBeLessThan(Math.max(10, Math.min(known, unknown)));
      // A second request at once is too early for both.
      expect((await ask("known@example.com")).status).toBe((await ask("unknown@example.com")).status);
      expect((await ask("known@example.com")).status).toBe(429);
      expect((await ask("unknown@example.com")).status).toBe(429);
      expect((await ask("no address")).message).toBe("邮箱地址格式不正确");
    });

    test("but not of a super administrator, nor of a banned user", async () => {
      await seedUser(app.ctx, "chief", { role: 100 });
      await seedUser(app.ctx, "outlaw", { status: 2 });
      for (const name of ["chief", "outlaw"]) {
        expect(await ask(`${name}@example.com`)).toMatchObject({ success: true });
        await app.ctx.resets.idle();
      }
      await app.ctx.mailer.idle();
      expect(smtp.letters.filter(({ to }) => /chief|outlaw/.test(to.join()))).toEqual([]);
    });

    test("to one of 20 characters that cannot be guessed", () => {
      const samples = Array.from({ length: 10_000 }, () => randomPassword());
      expect(new Set(samples).size).toBe(10_000);
      const counts = new Map<string, number>();
      for (const letter of samples.join("")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
      const expected = 200_000 / counts.size;
      const chi = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      // 99.99 % of fair samples with about 55 letters stay below this.
      expect(counts.size).toBeGreaterThan(50);
      expect(chi).toBeLessThan(110);
    });
  });
});
