// A login provider that never answers (requirements I45). Has a process of its own, for it looks at the process's timers.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import type { Forger } from "#test/emulators/oidc-forger.ts";
import { databases, type TestApp } from "#test/worlds/app.ts";
import {
  addProvider,
  beginAt,
  comeBackTo,
  loginThrough,
  type SignOnApp,
  somebody,
  startSignOnApp,
} from "#test/worlds/sign-on-app.ts";
import { visit } from "#test/worlds/visitor.ts";

const FAILED = { success: false, message: expect.stringMatching(/登录失败，请重新发起$/) };

describe.each(databases)("a login provider that hangs on $name", (database) => {
  let world: SignOnApp;
  let app: TestApp;
  let forger: Forger;
  let slug: string;

  beforeAll(async () => {
    world = await startSignOnApp(database, fakeClock());
    ({ app, forger } = world);
    slug = world.row.slug;
  });
  afterAll(() => world.close());

  test("a provider that hangs holds up no other caller while it hangs, and is given up after five seconds by one sentence", async () => {
    const silent = await startHttpEmulator(() => undefined);
    const timers = vi.spyOn(globalThis, "setTimeout");
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    try {
      const hanging = await addProvider(app, { issuer: silent.url });
      const late = visit(app);
      const back = forger.agree(await beginAt(late, slug), somebody(), { hangs: true });
      const exchanges = () => forger.heard.filter(({ path }) => path === "/token").length;
      const before = exchanges();
      timers.mockClear();
      const ended: unknown[] = [];
      // At discovery, of two browsers at once, and when the code is exchanged.
      const waiting = [
        visit(app).call("POST", `/api/oauth/${hanging.slug}/begin`, {}),
        visit(app).call("POST", `/api/oauth/${hanging.slug}/begin`, {}),
        comeBackTo(late, slug, back),
      ];
      for (const one of waiting) void one.then((answer) => ended.push(answer));
      await expect.poll(() => [silent.heard.length, exchanges() - before]).toEqual([1, 1]);
      expect((await loginThrough(visit(app), slug, { forger, sub: somebody() })).success).toBe(true);
      expect((await visit(app).call("GET", "/api/status")).success).toBe(true);
      expect(ended).toEqual([]);
      // Of what ends after five seconds the two calls' own limits still run; they are reached at once.
      const running = () => {
        const over = new Set(cleared.mock.calls.map(([timer]) => timer));
        return timers.mock.calls.filter(
          ([, ms], at) => ms === 5_000 && !over.has(timers.mock.results[at]?.value),
        );
      };
      // Those of the database end with its answers.
      await expect.poll(() => running().length).toBe(2);
      const limits = running();
      for (const [giveUp] of limits) giveUp();
      for (const answer of await Promise.all(waiting)) expect(answer).toMatchObject(FAILED);
      expect(late.cookies.has("session")).toBe(false);
    } finally {
      timers.mockRestore();
      cleared.mockRestore();
      await silent.close();
    }
  });
});
