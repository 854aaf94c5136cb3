// A super administrator who lost the second factors, in two browsers: asked for by another, stopped by the owner, and carried out a day
// after it was asked for again (requirements I34).
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { codeOf, fromBase32, stepOf } from "#server/accounts/totp.ts";
import { DAY_SEC } from "#server/clock.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const WANGFANG = 3;

const world = createConsoleWorld();
let database: DatabaseSync;

beforeAll(async () => {
  database = new DatabaseSync(join(world.dataDir, "tollgate.db"), { timeout: 10_000 });
  // No call makes another super administrator.
  database.prepare("UPDATE users SET role = 100 WHERE id = ?").run(WANGFANG);
}, 180_000);

afterAll(() => database?.close());

async function enrol({ request }: BrowserContext): Promise<void> {
  const begun = await (await request.post("/api/user/factor/totp/begin")).json();
  const code = codeOf(fromBase32(begun.data.secret), stepOf(Date.now() / 1000));
  const done = await (await request.post("/api/user/factor/totp", { data: { code } })).json();
  expect(done.success, done.message).toBe(true);
}

async function ask(page: Page): Promise<void> {
  await page.getByRole("button", { name: "申请清除两步验证" }).click();
  await page.getByLabel("原因").fill("手机丢失，已视频核实");
  await page.getByRole("button", { name: "提出申请" }).click();
  await page.getByText("root 于").waitFor();
}

it("asked, stopped by the owner, asked again, and carried out a day later", async () => {
  const owner = await world.visit("wangfang");
  await enrol(owner.context);
  const root = await world.visit("root");
  await root.page.goto(`/user/edit/${WANGFANG}`);
  await ask(root.page);
  expect(await root.page.getByRole("button", { name: "执行清除" }).count()).toBe(0);
  await screenshots(root.page, "super-reset-asked");

  await owner.page.goto("/setting?tab=security");
  await owner.page.getByText("root 于").waitFor();
  await screenshots(owner.page, "super-reset-owner");
  await owner.page.getByRole("button", { name: "撤销申请" }).click();
  await owner.page.getByRole("button", { name: "确认撤销" }).click();
  await owner.page.getByText("申请已撤销！").waitFor();
  await owner.page.getByText("root 于").waitFor({ state: "hidden" });

  await root.page.reload();
  await ask(root.page);
  const moved = database.prepare("UPDATE factor_resets SET asked_at = asked_at - ?").run(DAY_SEC);
  expect(moved.changes).toBe(1);
  await root.page.reload();
  await root.page.getByRole("button", { name: "执行清除" }).waitFor();
  await screenshots(root.page, "super-reset-due");
  await root.page.getByRole("button", { name: "执行清除" }).click();
  await root.page.getByLabel("原因").fill("已满一天");
  await root.page.getByRole("button", { name: "确认清除" }).click();
  await root.page.getByText("两步验证已清除").waitFor();

  // The owner's session ended with it, and the password alone opens the account.
  await owner.page.goto("/setting");
  await owner.page.waitForURL(/\/login/);
  const left = database.prepare("SELECT count(*) AS n FROM totp WHERE user_id = ?").get(WANGFANG);
  expect(left).toMatchObject({ n: 0 });
  await owner.context.close();
  await root.context.close();
});
