// Limits of a token, a member, a project and a team are raised where they are set, in a real browser (requirements L14): with a reason, until a
// moment, and ended before it by hand.
import { expect, it } from "vitest";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld, type Window } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

const RAISE = /^提\s?高$/;

/** Fills in the dialog that is open, and sends it. */
async function raise({ page }: Window, name: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: /^临时提高/ });
  await dialog.getByLabel("增加").fill("1000000");
  await dialog.getByRole("button", { name: RAISE }).click();
  await dialog.getByText("请填写原因").waitFor();
  await dialog.getByLabel("原因").fill("月底赶工");
  await dialog.getByLabel("原因").blur();
  await dialog.getByText("请填写原因").waitFor({ state: "hidden" });
  await screenshots(page, `boost-${name}`);
  await dialog.getByRole("button", { name: RAISE }).click();
  await page.getByText("限额已临时提高").waitFor();
  await dialog.waitFor({ state: "hidden" });
}

/** Sets a cap in the dialog that is open, where it cannot be raised before. */
async function cap({ page }: Window): Promise<void> {
  const dialog = page.getByRole("dialog", { name: /^上限/ });
  expect(await dialog.getByRole("button", { name: "临时提高" }).count()).toBe(0);
  await dialog.getByLabel("额度", { exact: true }).fill("2500000");
  await dialog.getByRole("button", { name: /^保\s?存$/ }).click();
  await dialog.waitFor({ state: "hidden" });
}

it("raises a cap where it is set, and ends it by hand", async () => {
  const { visit, server, setOption } = world;
  await setOption("DisplayInCurrencyEnabled", "true");
  const owner = await visit("wangfang");
  const { page } = owner;
  await page.goto("/team");
  await page.getByRole("button", { name: "创建团队" }).first().click();
  await page.getByLabel("团队名称").fill("三人组");
  await page.getByRole("button", { name: /^创\s?建$/ }).click();
  await page.waitForURL(/\/team\/\d+$/);

  // The team as a whole.
  await page.getByRole("button", { name: /^上\s?限$/ }).click();
  await cap(owner);
  const head = page.getByRole("region", { name: "钱包" });
  await head.getByText(/每月 \$0\.00 \/ \$5\.00/).waitFor();
  await page.getByRole("button", { name: /^上\s?限$/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "临时提高" }).click();
  await raise(owner, "team");
  await head.getByText(/每月 \$0\.00 \/ \$7\.00/).waitFor();
  await head.getByText(/临时提高，.* 止/).waitFor();
  await screenshots(page, "boost-team-raised");

  // A project.
  await page.getByRole("tab", { name: "项目" }).click();
  await page.getByRole("button", { name: "添加新的项目" }).click();
  await page.getByLabel("项目名称").fill("网站");
  await page.getByRole("button", { name: /^保\s?存$/ }).click();
  const row = page.getByRole("row", { name: /网站/ });
  const toCap = () => row.getByRole("button", { name: /^上\s?限$/ }).click();
  await toCap();
  await cap(owner);
  await toCap();
  await page.getByRole("dialog").getByRole("button", { name: "临时提高" }).click();
  await raise(owner, "project");
  await row.getByText(/\$7\.00/).waitFor();
  await screenshots(page, "boost-project-raised");

  // A raise that runs says why and until when, and is ended by hand.
  await toCap();
  await page.getByRole("dialog").getByRole("button", { name: "临时提高" }).click();
  const running = page.getByRole("dialog", { name: /^临时提高/ });
  await running.getByText(/原因：月底赶工/).waitFor();
  await screenshots(page, "boost-running");
  await running.getByRole("button", { name: "立即结束" }).click();
  await page.getByText("已结束临时提高").waitFor();
  await row.getByText(/\$5\.00/).waitFor();

  // A token.
  await page.goto("/token");
  await manage(server.url, "POST", "/api/user/3/token/", { name: "build", unlimited_quota: true });
  await page.reload();
  const token = page.getByRole("row", { name: /build/ });
  await token.waitFor();
  const id = await page.evaluate(async () => {
    const headers = { "new-api-user": "" };
    return (await (await fetch("/api/token/?p=0", { headers })).json()).data[0].id;
  });
  await page.goto(`/token/limit/${id}/add`);
  await page.getByLabel("限额", { exact: true }).fill("2500000");
  await page.getByRole("button", { name: /^提\s?交$/ }).click();
  await page.waitForURL(new RegExp(`/token/limit/${id}$`));
  await page.getByRole("button", { name: "临时提高" }).click();
  await raise(owner, "token");
  await page.getByText("已临时提高", { exact: true }).waitFor();
  await screenshots(page, "boost-token-raised");
  expect(owner.complaints).toEqual([]);
  await owner.context.close();
}, 300_000);
