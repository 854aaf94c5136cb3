// Whose account an identity at a login provider opens (requirements I42, I43, I46, I48).
import { describe, expect, test } from "vitest";
import { setUserStatus, updateUserProfile } from "#server/store/users.ts";
import type { Lies } from "#test/emulators/oidc-forger.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { signInNew } from "#test/worlds/mail-app.ts";
import { withPhone } from "#test/worlds/people.ts";
import {
  addProvider,
  beginAt,
  changeProvider,
  comeBackTo,
  somebody,
  useSignOnApp,
} from "#test/worlds/sign-on-app.ts";

const BY_HAND = "该邮箱已有账户：请先用原来的方式登录，再在个人设置中绑定";

describe.each(databases)("identities at login providers on $name", (database) => {
  const sso = useSignOnApp(database);
  const { clock, set, visit, login, self } = sso;
  const proved = (email: string): Lies => ({ claims: { email, email_verified: true } });

  describe("whose account it opens", () => {
    test("a known identity opens its account; nothing of a disabled or deleted one", async () => {
      const sub = somebody();
      const first = await login(visit(), sub);
      expect(first.data).toMatchObject({ username: expect.stringMatching(/^sso_[2-9a-z]{5}$/), role: 1 });
      expect((await login(visit(), sub)).data.id).toBe(first.data.id);
      for (const [from, to] of [
        [1, 2],
        [2, 3],
      ] as const) {
        await setUserStatus(sso.app.ctx.db, first.data.id, from, to);
        expect((await login(visit(), sub)).message).toBe("该账户已停用，请联系管理员");
      }
    });

    test("a new account has the address only when it is proved and of a domain that the provider speaks for", async () => {
      const emails: [unknown, unknown, string][] = [
        ["New1@Corp.example", true, "new1@corp.example"],
        ["new2@corp.example", "true", "new2@corp.example"],
        ["new3@corp.example", false, ""],
        ["new4@corp.example", "true ", ""],
        ["new5@corp.example", undefined, ""],
        ["new6@corp.example", 1, ""],
        ["new7@sub.corp.example", true, ""],
        ["new8@corp.example.evil.example", true, ""],
        ["new9@gmail.com", true, ""],
        ["new10@\u0441orp.example", true, ""],
        ["no address", true, ""],
      ];
      for (const [email, email_verified, kept] of emails) {
        const who = visit();
        expect((await login(who, somebody(), { claims: { email, email_verified } })).success).toBe(true);
        expect((await self(who)).email).toBe(kept);
      }
    });

    test("an address and its flag come from one place", async () => {
      const who = visit();
      await login(who, somebody(), {
        claims: { email: "split@corp.example" },
        profile: { email: "other@corp.example", email_verified: true },
      });
      expect((await self(who)).email).toBe("");
    });

    /** An account with an address, as one that proved it. */
    async function owner(email: string, kind: { role?: number } = {}) {
      const name = email.slice(0, email.indexOf("@"));
      const user = await seedUser(sso.app.ctx, name, kind);
      await updateUserProfile(sso.app.ctx.db, user.id, { email });
      return user;
    }

    test("an account with the proved address is offered to its owner, and not opened", async () => {
      const user = await owner("offer@corp.example");
      const sub = somebody();
      expect((await login(visit(), sub, proved("offer@corp.example"))).message).toBe(BY_HAND);
      // The owner logs in as before and binds; from then on the identity opens the account.
      const who = visit();
      await who.call("POST", "/api/user/login", { username: "offer", password: seedPassword });
      expect(await login(who, sub)).toMatchObject({ success: true, message: "bind", data: null });
      expect((await login(visit(), sub)).data.id).toBe(user.id);
    });

    test("an address that the provider does not vouch for makes another account and leaves the first alone", async () => {
      const user = await owner("victim@corp.example");
      for (const claims of [
        { email: "victim@corp.example", email_verified: false },
        { email: "victim@corp.example" },
      ]) {
        const who = visit();
        const answer = await login(who, somebody(), { claims });
        expect(answer.data.id).not.toBe(user.id);
        expect((await self(who)).email).toBe("");
      }
    });

    test("where the operator lets addresses link, an ordinary account is taken over once, by one subject", async () => {
      const linking = await addProvider(sso.app, {
        issuer: sso.forger.url,
        mail_domains: ["corp.example"],
        links_by_mail: true,
      });
      const through = (sub: string, email: string) => login(visit(), sub, proved(email), linking.slug);
      const user = await owner("linked@corp.example");
      const sub = somebody();
      expect((await through(sub, "linked@corp.example")).data.id).toBe(user.id);
      expect((await through(sub, "linked@corp.example")).data.id).toBe(user.id);
      expect((await through(somebody(), "linked@corp.example")).message).toBe(BY_HAND);

      await owner("staff@corp.example", { role: 10 });
      expect((await through(somebody(), "staff@corp.example")).message).toBe(BY_HAND);
      await owner("super@corp.example", { role: 100 });
      expect((await through(somebody(), "super@corp.example")).message).toBe(BY_HAND);
      const { user: phoned } = await withPhone(sso.app, 1);
      await updateUserProfile(sso.app.ctx.db, phoned.id, { email: "guarded@corp.example" });
      expect((await through(somebody(), "guarded@corp.example")).message).toBe(BY_HAND);
      await owner("tag@corp.example");
      expect((await through(somebody(), "tag+x@corp.example")).message).toBe(BY_HAND);
    });

    test("registration that is closed, for all or at this provider, makes no account; its own domain may still join", async () => {
      const never = await addProvider(sso.app, { issuer: sso.forger.url, sign_up: "never" });
      expect((await login(visit(), somebody(), {}, never.slug)).message).toBe("当前未开放注册");
      await set("RegisterEnabled", "false");
      expect((await login(visit(), somebody())).message).toBe("当前未开放注册");
      const joining = await addProvider(sso.app, {
        issuer: sso.forger.url,
        mail_domains: ["corp.example"],
        sign_up: "domain",
      });
      const join = async (email: string, isProved: unknown = true) =>
        (await login(visit(), somebody(), { claims: { email, email_verified: isProved } }, joining.slug))
          .message;
      expect(await join("join1@corp.example")).toBe("");
      for (const email of [
        "j@sub.corp.example",
        "j@corp.example.evil.example",
        "j@\u0441orp.example",
        "j@qq.com",
      ])
        expect(await join(email)).toBe("当前未开放注册");
      expect(await join("join2@corp.example", false)).toBe("当前未开放注册");
      for (const domain of ["qq.com", "gmail.com", "corp", "*.corp.example", "@corp.example"])
        await expect(
          addProvider(sso.app, { issuer: sso.forger.url, mail_domains: [domain] }),
        ).rejects.toThrow();
    });

    test("50 first logins of one subject at once make one account and one identity", async () => {
      const sub = somebody();
      const visitors = Array.from({ length: 50 }, () => visit());
      const backs = await Promise.all(
        visitors.map(async (who) =>
          sso.forger.agree(await beginAt(who, sso.slug), sub, proved("fifty@corp.example")),
        ),
      );
      const answers = await Promise.all(
        visitors.map((who, at) => comeBackTo(who, sso.slug, backs[at] ?? {})),
      );
      expect(answers.filter(({ success }) => success)).toHaveLength(50);
      expect(new Set(answers.map(({ data }) => data?.id)).size).toBe(1);
      const rows = await sso.app.ctx.db
        .selectFrom("identities")
        .select("id")
        .where("subject", "=", sub)
        .execute();
      expect(rows).toHaveLength(1);
    });

    test("a super administrator comes in only after binding it in a session that just began with the password", async () => {
      const sub = somebody();
      const stale = await signInNew(sso.app, "sso-super", { role: 100 });
      clock.advance(601_000);
      expect((await login(stale, sub)).message).toContain("请先用密码重新登录");
      await stale.call("POST", "/api/user/login", { username: "sso-super", password: seedPassword });
      expect((await login(stale, sub)).message).toBe("bind");
      expect((await login(visit(), sub)).data.username).toBe("sso-super");
    });
  });

  describe("what is bound", () => {
    test("belongs to one account; a second one of the same provider is refused", async () => {
      const sub = somebody();
      const [mine, rival] = [await signInNew(sso.app, "bind-mine"), await signInNew(sso.app, "bind-rival")];
      expect((await login(mine, sub)).message).toBe("bind");
      expect((await login(rival, sub)).message).toBe("该第三方账号已绑定其他用户");
      expect((await login(mine, sub)).message).toBe("已经绑定了该账号");
      expect((await login(mine, somebody())).message).toContain("请先解除绑定");
    });

    test("is unbound with the sessions it began, but never the last way in", async () => {
      const sub = somebody();
      const mine = await signInNew(sso.app, "unbinds");
      await login(mine, sub);
      const through = visit();
      await login(through, sub);
      const { data } = await mine.call("GET", "/api/oauth/identity");
      expect(data).toMatchObject([{ slug: sso.slug, name: sso.row.name, last_login_at: expect.any(Number) }]);
      expect((await mine.call("DELETE", `/api/oauth/identity/${data[0].id}`)).success).toBe(true);
      expect((await through.call("GET", "/api/user/self")).status).toBe(401);
      expect((await self(mine)).username).toBe("unbinds");

      const second = await addProvider(sso.app, { issuer: sso.forger.url });
      const only = visit();
      await login(only, somebody());
      await login(only, somebody(), {}, second.slug);
      const both: { id: number }[] = (await only.call("GET", "/api/oauth/identity")).data;
      expect(both).toHaveLength(2);
      const answers = await Promise.all(
        both.map(({ id }) => only.call("DELETE", `/api/oauth/identity/${id}`)),
      );
      expect(answers.filter(({ success }) => success)).toHaveLength(1);
      const left = await sso.app.ctx.db
        .selectFrom("identities")
        .select("id")
        .where(
          "id",
          "in",
          both.map(({ id }) => id),
        )
        .execute();
      expect(left).toHaveLength(1);
      expect((await rivalUnbind(both[0]?.id ?? 0)).message).toBe("找不到该绑定");
    });

    const rivalUnbind = async (id: number) =>
      (await signInNew(sso.app, `rival-${id}`)).call("DELETE", `/api/oauth/identity/${id}`);

    test("stays while its provider is off or deleted, and counts again when it is back", async () => {
      const mine = await addProvider(sso.app, { issuer: sso.forger.url });
      const sub = somebody();
      const { data } = await login(visit(), sub, {}, mine.slug);
      await changeProvider(sso.app, mine, { is_enabled: false });
      expect((await visit().call("POST", `/api/oauth/${mine.slug}/begin`, {})).message).toBe(
        "管理员未启用该登录方式",
      );
      await changeProvider(sso.app, mine, { is_enabled: true });
      expect((await login(visit(), sub, {}, mine.slug)).data.id).toBe(data.id);
      const remove = (name: string) =>
        sso.app.call(asRoot, "DELETE", `/api/login_provider/${mine.id}?name=${encodeURIComponent(name)}`);
      expect((await remove("wrong")).success).toBe(false);
      expect((await remove(mine.name)).success).toBe(true);
      const again = await addProvider(sso.app, { issuer: sso.forger.url, slug: mine.slug });
      expect((await login(visit(), sub, {}, again.slug)).data.id).toBe(data.id);
      await expect(addProvider(sso.app, { issuer: sso.forger.url, slug: mine.slug })).rejects.toThrow(
        "标识已被",
      );

      await sso.app.call(
        asRoot,
        "DELETE",
        `/api/login_provider/${again.id}?name=${encodeURIComponent(again.name)}`,
      );
      clock.advance(31 * 86_400_000);
      const late = await addProvider(sso.app, { issuer: sso.forger.url, slug: mine.slug });
      expect((await login(visit(), sub, {}, late.slug)).data.id).not.toBe(data.id);
    });
  });

  describe("what the rules give", () => {
    test("the first that fits; an absent claim says nothing; only a group that was given is taken back", async () => {
      const ruled = await addProvider(sso.app, {
        issuer: sso.forger.url,
        rules: [
          { path: "realm.roles", value: "gold", group: "vip" },
          { path: "groups", value: "s", group: "svip" },
        ],
      });
      const sub = somebody();
      const groupAfter = async (claims: Lies["claims"] = {}) => {
        const who = visit();
        expect((await login(who, sub, { claims }, ruled.slug)).success).toBe(true);
        return (await self(who)).group;
      };
      expect(await groupAfter({ groups: ["x", "s"], realm: { roles: ["gold"] } })).toBe("vip");
      expect(await groupAfter()).toBe("vip");
      expect(await groupAfter({ groups: "s" })).toBe("svip");
      expect(await groupAfter({ groups: [] })).toBe("default");
      const { id } = (await login(visit(), sub, {}, ruled.slug)).data;
      await updateUserProfile(sso.app.ctx.db, id, { group: "vip" });
      expect(await groupAfter({ groups: [] })).toBe("vip");
      await expect(
        addProvider(sso.app, { issuer: sso.forger.url, rules: [{ path: "a", value: "b", group: "nobody" }] }),
      ).rejects.toThrow("没有这个分组");
    });

    test("no claim makes a person more than an ordinary user", async () => {
      for (const role of ["100", 100, "root", [10, 100]]) {
        const who = visit();
        await login(who, somebody(), { claims: { role, roles: role, is_admin: true } });
        expect((await self(who)).role).toBe(1);
      }
    });
  });
});
