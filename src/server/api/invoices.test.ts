// What is told of invoices (requirements Y62): the user by letter, in the language of the account, with nothing of it read as markup.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TeamRole } from "#contract/team-words.ts";
import { fakeClock } from "#server/clock.ts";
import { INVOICE_PROFILE } from "#test/seeds/invoice-recipes.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { orderChange, proofOf, seedInstance, seedOrder } from "#test/worlds/order-rows.ts";
import { seedMember, seedTeam } from "#test/worlds/teams.ts";

const [sqlite] = databases;
if (!sqlite) throw new Error("SQLite is the first");
let mail: MailApp;

beforeAll(async () => {
  mail = await startMailApp(sqlite, fakeClock());
});
afterAll(() => mail.close());

test("the user who asked gets a letter when it is issued, refused or reversed", async () => {
  const { app, smtp } = mail;
  const { ctx, call } = app;
  const user = await seedUser(ctx, "letters");
  const order = await seedOrder(ctx.db, { user_id: user.id, instance_id: await seedInstance(ctx.db) });
  await ctx.ledger.changeOrder(orderChange(order, proofOf(order)));
  const ask = async () => {
    const body = { currency: "CNY", amount: "10", profile: INVOICE_PROFILE };
    return (await call(user.who, "POST", "/api/invoice/", body)).data.id as number;
  };
  const decide = (id: number, verb: string, body: object) =>
    call(asRoot, "POST", `/api/invoice_queue/${id}/${verb}`, body);
  const [one, other] = [await ask(), await ask()];
  await decide(one, "issue", { number: "24<b>1</b>", link: "https://files.example/1?a=1&b=2", note: "" });
  const issued = await smtp.take("letters@example.com");
  expect(issued.subject).toBe("River 发票已开具");
  expect(issued.html).toContain(`FP${one}（10.00 CNY）已开具`);
  expect(issued.html).toContain("24&lt;b&gt;1&lt;/b&gt;");
  expect(issued.html).toContain("https://files.example/1?a=1&amp;b=2");
  expect(issued.html).toContain("https://gate.example/invoice");
  await decide(other, "refuse", { note: "抬头有误" });
  expect((await smtp.take("letters@example.com")).html).toContain("抬头有误");
  await ctx.db.updateTable("users").set({ language: "en" }).where("id", "=", user.id).execute();
  await decide(one, "reverse", { note: "red 1" });
  const reversed = await smtp.take("letters@example.com");
  expect(reversed.subject).toBe("River: your invoice has been reversed");
  expect(reversed.html).toContain(`the invoice FP${one} (10.00 CNY) that you requested has been reversed.`);
});

test("of a team its owner and finance get it, whose link leads to the team's invoices; other members do not", async () => {
  const { app, smtp } = mail;
  const { ctx, call } = app;
  const { teamId, walletId } = await seedTeam(ctx.db, ctx.ledger, { quota: 0n });
  const people = new Map<TeamRole, SeededUser>();
  for (const role of ["owner", "finance", "manager", "viewer"] as const) {
    const user = await seedUser(ctx, `team${role}`);
    await seedMember(ctx.db, user.id, walletId, role);
    people.set(role, user);
  }
  const order = await seedOrder(ctx.db, { user_id: walletId, instance_id: await seedInstance(ctx.db) });
  await ctx.ledger.changeOrder(orderChange(order, proofOf(order)));
  const body = { team_id: teamId, currency: "CNY", amount: "10", profile: INVOICE_PROFILE };
  const finance = people.get("finance") ?? expect.fail();
  const { data } = await call(finance.who, "POST", "/api/invoice/", body);
  await call(asRoot, "POST", `/api/invoice_queue/${data.id}/issue`, { number: "24", link: "", note: "" });
  for (const role of ["owner", "finance"]) {
    const { subject, html } = await smtp.take(`team${role}@example.com`);
    expect([subject, html]).toEqual([
      "River 发票已开具",
      expect.stringContaining(`https://gate.example/t/${teamId}/invoice`),
    ]);
  }
  // What others had got of it would have come before the next ones.
  await call(asRoot, "POST", `/api/invoice_queue/${data.id}/reverse`, { note: "red" });
  for (const role of ["owner", "finance"]) await smtp.take(`team${role}@example.com`);
  const readers = smtp.letters.flatMap(({ to }) => to).filter((to) => to.startsWith("team"));
  expect(new Set(readers)).toEqual(new Set(["teamowner@example.com", "teamfinance@example.com"]));
});
