// Statements over the API (requirements Y59): of one's own account and of a team's wallet, with the money that entries stand for.
import { describe, expect, test } from "vitest";
import { InvoiceProfile } from "#contract/invoice.ts";
import { monthAfter, monthOf, monthStart } from "#contract/month.ts";
import { Role } from "#contract/user.ts";
import { statements as job } from "#server/jobs/statements.ts";
import { sealProfile } from "#server/payments/invoices.ts";
import { saveInvoiceProfile } from "#server/store/invoices.ts";
import { listStatements } from "#server/store/statements.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { bill } from "#test/worlds/ledger-world.ts";
import { useEpayWorld } from "#test/worlds/payment-world.ts";
import { readPdf } from "#test/worlds/pdf-reader.ts";

const BUYER = {
  ...{ buyer: "company", kind: "normal", title: "某公司", tax_number: "91350100M000100Y43" },
  ...{ address: "", telephone: "", bank_name: "", bank_account: "", mail: "" },
};

describe.each(databases)("statements on $name", (database) => {
  const world = useEpayWorld(database);

  const month = () => monthOf(world.clock.seconds());
  /** Lets the running month end and be closed. */
  const endMonth = () =>
    world.clock.advance((monthStart(monthAfter(month())) + 3_600 - world.clock.seconds()) * 1_000);
  /** A call of 700 by a new token of a user. Returns the token's id. */
  async function called(userId: number, tokenName?: string): Promise<number> {
    const { ctx } = world.app;
    const { id: tokenId } = await seedToken(ctx, userId, tokenName);
    const call = { requestId: `statement-${tokenId}`, userId, tokenId, amount: 900n, modelName: "gpt-4o" };
    await ctx.ledger.reserve(call);
    await ctx.ledger.settle(bill(call, 700n));
    return tokenId;
  }

  test("name what was paid, refunded and used, and are the ledger's to the unit", async () => {
    const account = await world.site();
    const { user, order } = await world.ordered(account);
    await world.pay(account, order.order_no);
    const refund = { amount: "3.00", reason: "测试" };
    await world.app.call(asRoot, "POST", `/api/payment/manage/${order.order_no}/refund`, refund);
    const tokenId = await called(user.id);
    const name = month();
    const list = await world.app.call(user.who, "GET", "/api/statement/");
    expect(list.data).toEqual({ rows: [], open_month: name, is_pending: false });
    const open = (await world.app.call(user.who, "GET", `/api/statement/${name}`)).data;
    expect(open).toMatchObject({ number: "", account_name: user.username, is_team: false, spent: 700 });
    endMonth();
    const { data } = await world.app.call(user.who, "GET", `/api/statement/${name}`);
    expect(data).toMatchObject({
      number: `ST-${name.replace("-", "")}-${user.id}`,
      opening: 0,
      spent: 700,
      payments: [{ name: "测试", currency: "CNY", paid_minor: 3_000, refunded_minor: 300 }],
      usage: [
        {
          ...{ token_id: tokenId, model_name: "gpt-4o", calls: 1, quota: 700, plan_quota: 0 },
          tokens: { prompt_tokens: 10, cached_tokens: 0, completion_tokens: 5 },
        },
      ],
      tokens: [{ model_name: "gpt-4o", prompt_tokens: 10, completion_tokens: 5 }],
    });
    expect(data.trail_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(data.usage[0].token_name).not.toBe("");
    expect(
      Object.fromEntries(data.sums.map((sum: { kind: string; quota: number }) => [sum.kind, sum.quota])),
    ).toEqual({
      grant: 500_000,
      pay: 25_000_000,
      refund: -2_500_000,
      consume: -700,
    });
    const user_ = (await world.app.call(user.who, "GET", "/api/user/self")).data;
    expect(data.closing).toBe(user_.quota);
    const { number, opening, closing, income, spent } = data;
    const { quota_per_unit, in_currency } = data;
    const head = { number, month: name, opening, closing, income, spent, quota_per_unit, in_currency };
    const closed = await world.app.call(user.who, "GET", "/api/statement/");
    expect(closed.data).toEqual({ rows: [head], open_month: month(), is_pending: false });
    expect((await world.app.call(user.who, "GET", `/api/statement/${name}`)).data).toEqual(data);
    expect(await world.app.call(user.who, "GET", "/api/statement/2020-01")).toMatchObject({ success: false });
    const far = monthAfter(month(), 3);
    expect(await world.app.call(user.who, "GET", `/api/statement/${far}`)).toMatchObject({ success: false });
  });

  test("of a team are for those who see its wallet", async () => {
    const { ctx } = world.app;
    const [owner, member, stranger] = [await world.buyer(), await world.buyer(), await world.buyer()];
    const { data: team } = await world.app.call(owner.who, "POST", "/api/team/", { name: "账单组" });
    const path = `/api/team/${team.id}`;
    const { data: invited } = await world.app.call(owner.who, "POST", `${path}/invitation`, {
      role: "member",
    });
    await world.app.call(member.who, "POST", "/api/team/invitation/accept", { code: invited.code });
    await world.app.call(owner.who, "POST", `${path}/deposit`, { amount: 4_000 });
    const name = month();
    const { data } = await world.app.call(owner.who, "GET", `${path}/statement/${name}`);
    expect(data).toMatchObject({
      account_id: team.id,
      account_name: "账单组",
      is_team: true,
      opening: 0,
      closing: 4_000,
      sums: [{ kind: "transfer", entries: 1, quota: 4_000 }],
    });
    expect((await world.app.call(owner.who, "GET", `${path}/statement`)).data.open_month).toBe(name);
    for (const { who } of [member, stranger])
      for (const end of ["statement", `statement/${name}`])
        expect((await world.app.call(who, "GET", `${path}/${end}`)).success).toBe(false);
    endMonth();
    expect(await job.run(ctx)).toMatch(/^[1-9]\d* accounts$/);
    expect(await listStatements(ctx.db, owner.id)).toHaveLength(1);
    expect(await job.run(ctx)).toBe(`${name} is closed`);
    const closed = (await world.app.call(owner.who, "GET", `${path}/statement`)).data;
    expect(closed.rows).toMatchObject([{ month: name, closing: 4_000, income: 4_000, spent: 0 }]);
  });

  test("tell whom a team's invoices are made out to only to who handles its money, on the page and on paper", async () => {
    const { ctx } = world.app;
    const owner = await world.buyer();
    const { data: team } = await world.app.call(owner.who, "POST", "/api/team/", { name: "抬头组" });
    const path = `/api/team/${team.id}`;
    await world.app.call(owner.who, "POST", `${path}/deposit`, { amount: 4_000 });
    const { wallet_id } = await ctx.db
      .selectFrom("teams")
      .select("wallet_id")
      .where("id", "=", team.id)
      .executeTakeFirstOrThrow();
    const buyer = InvoiceProfile.parse({
      ...{ buyer: "company", kind: "special", title: "秘密科技", tax_number: "91350100M000100Y43" },
      ...{
        address: "福州",
        telephone: "0591-1",
        bank_name: "招商银行",
        bank_account: "622588021234",
        mail: "",
      },
    });
    const profile_sealed = sealProfile(ctx, buyer);
    await saveInvoiceProfile(ctx.db, { user_id: wallet_id, profile_sealed, updated_at: 1 });
    const readers: Record<string, typeof owner> = { owner };
    for (const role of ["manager", "finance"]) {
      const member = await world.buyer();
      const { data: invited } = await world.app.call(owner.who, "POST", `${path}/invitation`, { role });
      await world.app.call(member.who, "POST", "/api/team/invitation/accept", { code: invited.code });
      readers[role] = member;
    }
    const seen = async (role: string) => {
      const who = readers[role]?.who ?? {};
      const { data } = await world.app.call(who, "GET", `${path}/statement/${month()}`);
      const { data: file } = await world.app.call(who, "GET", `${path}/statement/${month()}/pdf`);
      const { texts } = readPdf(Buffer.from(file.content, "base64"));
      return { data, isPrinted: texts.includes("622588021234"), isNamed: texts.includes("秘密科技") };
    };
    for (const role of ["owner", "finance"])
      expect(await seen(role)).toMatchObject({ data: { buyer }, isPrinted: true, isNamed: true });
    // A manager sees what is in the wallet, and no bank account.
    expect(await seen("manager")).toMatchObject({
      data: { buyer: null, closing: 4_000 },
      isPrinted: false,
      isNamed: false,
    });
  });

  test("on paper say what the ledger says, in the language of their reader, and closed ones never change", async () => {
    const { ctx } = world.app;
    const user = await world.buyer();
    await called(user.id, "报表 𠀀");
    const buyer = InvoiceProfile.parse({
      ...{ buyer: "company", kind: "special", title: "a 云上科技", tax_number: "91350100M000100Y43" },
      ...{
        address: "福州",
        telephone: "0591-1",
        bank_name: "招商银行",
        bank_account: "6225880212345678901",
        mail: "",
      },
    });
    const profile_sealed = sealProfile(ctx, buyer);
    await saveInvoiceProfile(ctx.db, { user_id: user.id, profile_sealed, updated_at: 1 });
    const name = month();
    const open = (await world.app.call(user.who, "GET", `/api/statement/${name}/pdf`)).data;
    expect(readPdf(Buffer.from(open.content, "base64")).texts).toContain("未结账");
    endMonth();
    const path = `/api/statement/${name}`;
    const { data } = await world.app.call(user.who, "GET", path);
    const file = (await world.app.call(user.who, "GET", `${path}/pdf`)).data;
    expect(file.name).toBe(`statement-${name}-${user.id}.pdf`);
    const { texts, title } = readPdf(Buffer.from(file.content, "base64"));
    expect(title).toMatch(/^月度账单 \d{4} 年 \d+ 月$/);
    const shown = (quota: number) => [
      // No amount of this month has more decimals.
      (quota / 500_000).toFixed(4).replace(/^(-?)/, "$1$"),
      quota.toLocaleString("zh-CN"),
    ];
    const row = (...cells: string[]) => {
      const at = texts.findIndex((_, index) => cells.every((cell, offset) => texts[index + offset] === cell));
      expect(at, `${cells.join(" | ")} of ${texts.join(" | ")}`).toBeGreaterThanOrEqual(0);
    };
    row(data.number);
    row("期初", ...shown(data.opening));
    row("调用消费", "1", ...shown(-700));
    row("期末", ...shown(data.closing));
    row("报表 \ufffd", "gpt-4o", "1", ...shown(700));
    row("gpt-4o", "10", "0", "5");
    row("报表 \ufffd", "gpt-4o", "10", "0", "5");
    row(data.trail_hash);
    expect(data).toMatchObject({ buyer, debt: 0, tokens: [{ cached_tokens: 0 }] });
    row("发票抬头 · 抬头", "a 云上科技");
    row("发票抬头 · 种类", "专用发票");
    row("发票抬头 · 银行账号", "6225880212345678901");
    expect((await world.app.call(user.who, "GET", `${path}/pdf`)).data).toEqual(file);
    const english = { ...user.who, "accept-language": "en-US" };
    const other = readPdf(
      Buffer.from((await world.app.call(english, "GET", `${path}/pdf`)).data.content, "base64"),
    );
    expect(other.texts.filter((text) => /[\u3000-\u9fff\uff00-\uffef]/.test(text))).toEqual([
      "a 云上科技",
      "福州",
      "招商银行",
      "报表 \ufffd",
      "报表 \ufffd",
    ]);
    expect(other.texts).toEqual(expect.arrayContaining(["Opening", "Closing", "Call charges", data.number]));
  });

  test("closed ones keep names, the price of a dollar and whom invoices are made out to, whatever changes later", async () => {
    const { ctx } = world.app;
    await ctx.options.set("MfaRequiredFor", "none");
    const account = await world.site();
    const { user, order } = await world.ordered(account);
    await world.pay(account, order.order_no);
    const tokenId = await called(user.id, "旧令牌");
    const buyer = InvoiceProfile.parse({
      ...{ buyer: "company", kind: "normal", title: "旧抬头", tax_number: "91350100M000100Y43" },
      ...{ address: "", telephone: "", bank_name: "", bank_account: "6225880212345678901", mail: "" },
    });
    const saved = (profile: InvoiceProfile) => ({
      ...{ user_id: user.id, profile_sealed: sealProfile(ctx, profile), updated_at: 1 },
    });
    await saveInvoiceProfile(ctx.db, saved(buyer));
    const path = `/api/statement/${month()}`;
    endMonth();
    const read = async () => ({
      list: (await world.app.call(user.who, "GET", "/api/statement/")).data.rows,
      month: (await world.app.call(user.who, "GET", path)).data,
      file: (await world.app.call(user.who, "GET", `${path}/pdf`)).data,
    });
    const closed = await read();
    expect(closed.month).toMatchObject({
      ...{ account_name: user.username, quota_per_unit: 500_000, in_currency: true, buyer },
      usage: [{ token_name: "旧令牌" }],
      payments: [{ name: "测试" }],
    });
    const before = { name: ctx.options.get("SystemName"), unit: ctx.options.get("QuotaPerUnit") };
    await ctx.options.set("QuotaPerUnit", "300000");
    await ctx.options.set("DisplayInCurrencyEnabled", "false");
    await ctx.options.set("SystemName", "新站点");
    await ctx.db
      .updateTable("tokens")
      .set({ name: "新令牌", tags: "新" })
      .where("id", "=", tokenId)
      .execute();
    await ctx.db
      .updateTable("payment_instances")
      .set({ name: "新渠道" })
      .where("id", "=", account.id)
      .execute();
    await ctx.db.updateTable("users").set({ username: "renamed" }).where("id", "=", user.id).execute();
    await saveInvoiceProfile(ctx.db, saved({ ...buyer, title: "新抬头" }));
    expect(await read()).toEqual(closed);
    // The month that runs is shown as things are now.
    const open = (await world.app.call(user.who, "GET", `/api/statement/${month()}`)).data;
    expect(open).toMatchObject({ account_name: "renamed", quota_per_unit: 300_000, in_currency: false });
    expect(open).toMatchObject({ issuer: "新站点", buyer: { title: "新抬头" } });

    // A month that was closed before any of it was kept stays readable.
    const row = await ctx.db
      .selectFrom("statements")
      .select(["id", "body"])
      .where("user_id", "=", user.id)
      .executeTakeFirstOrThrow();
    const { style: _, ...old } = JSON.parse(row.body);
    for (const one of old.usage) {
      delete one.token_name;
      delete one.tags;
      delete one.tokens;
    }
    for (const one of old.payments) delete one.name;
    await ctx.db
      .updateTable("statements")
      .set({ body: JSON.stringify(old), account_name: "", buyer_sealed: "" })
      .where("id", "=", row.id)
      .execute();
    const older = await read();
    expect(older.month.usage[0]).not.toHaveProperty("tokens");
    expect(older.month).toMatchObject({
      ...{
        number: closed.month.number,
        account_name: "renamed",
        quota_per_unit: 300_000,
        in_currency: false,
      },
      ...{ issuer: "新站点", buyer: { title: "新抬头" }, closing: closed.month.closing },
      usage: [{ token_name: "新令牌", tags: "新", quota: 700 }],
      payments: [{ name: "新渠道", paid_minor: 3_000 }],
    });
    await ctx.options.set("QuotaPerUnit", String(before.unit));
    await ctx.options.set("DisplayInCurrencyEnabled", "true");
    await ctx.options.set("SystemName", before.name);
  });

  test("of a deleted user forget the name and whom invoices were made out to, and keep the sums", async () => {
    const { ctx } = world.app;
    const user = await world.buyer();
    const profile_sealed = sealProfile(ctx, InvoiceProfile.parse(BUYER));
    await saveInvoiceProfile(ctx.db, { user_id: user.id, profile_sealed, updated_at: 1 });
    endMonth();
    await job.run(ctx);
    const [kept] = await listStatements(ctx.db, user.id);
    expect(kept).toMatchObject({ account_name: user.username, buyer_sealed: profile_sealed });
    expect(await world.app.call(asRoot, "DELETE", `/api/user/${user.id}`)).toMatchObject({ success: true });
    const [left] = await listStatements(ctx.db, user.id);
    expect(left).toEqual({ ...kept, account_name: "", buyer_sealed: "" });
  });

  test("of a user are read by administrators above him who may see money, and that is told", async () => {
    const user = await world.buyer();
    const name = month();
    const path = `/api/user/${user.id}/statement`;
    // The months that passed above have used up the time to add a second factor.
    await world.app.ctx.options.set("MfaRequiredFor", "none");
    const own = (await world.app.call(user.who, "GET", `/api/statement/${name}`)).data;
    expect(await world.app.call(asRoot, "GET", path)).toMatchObject({
      message: "",
      data: { open_month: name },
    });
    const seen = (await world.app.call(asRoot, "GET", `${path}/${name}`)).data;
    expect(seen).toEqual({ ...own, created_at: seen.created_at });
    const file = (await world.app.call(asRoot, "GET", `${path}/${name}/pdf`)).data;
    expect(readPdf(Buffer.from(file.content, "base64")).texts).toContain(`${user.username} (#${user.id})`);
    const { data: trail } = await world.app.call(asRoot, "GET", "/api/audit/?action=statement.read");
    expect(trail.map((row: { target: string }) => row.target).slice(0, 3)).toEqual(
      Array(3).fill(String(user.id)),
    );
    expect(trail.slice(0, 2).map((row: { detail: string }) => JSON.parse(row.detail))).toEqual([
      { month: name, file: true },
      { month: name },
    ]);
    const admin = await seedUser(world.app.ctx, "auditor", { role: Role.admin });
    expect((await world.app.call(admin.who, "GET", `${path}/${name}`)).data.account_id).toBe(user.id);
    // Not of one's equal, and not by a user.
    for (const target of [path, `${path}/${name}`, `${path}/${name}/pdf`]) {
      expect((await world.app.call(user.who, "GET", target)).success, target).toBe(false);
      const equal = target.replace(`/user/${user.id}/`, `/user/${admin.id}/`);
      expect((await world.app.call(admin.who, "GET", equal)).success, equal).toBe(false);
    }
  });
});
