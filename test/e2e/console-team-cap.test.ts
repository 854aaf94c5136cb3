// A cap at work, in a real browser (requirements O08, L07, L10): an administrator makes a team of three, caps one; that one's calls are refused
// when it is spent, a letter came at four fifths, the others go on; the owner reads who cost what, and who may only look changes nothing.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { channelDraft, chat, cleanUp, createUpstream } from "#test/worlds/cluster.ts";
import { type ConsoleWorld, openConsoleWorld, type Window } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";
import { inviteLink } from "#test/worlds/team-console.ts";

let world: ConsoleWorld;
let smtp: SmtpEmulator;

beforeAll(async () => {
  [world, smtp] = await Promise.all([openConsoleWorld(), startSmtp()]);
}, 180_000);

afterAll(async () => {
  await world?.close();
  await smtp?.close();
  await cleanUp();
});

/** A call of the management API as the user who is signed in in a window. */
function send({ page }: Window, method: string, path: string, body?: object) {
  return page.evaluate(
    async ([how, where, sent, id]) => {
      const headers = { "content-type": "application/json", "new-api-user": id ?? "" };
      const response = await fetch(where ?? "", { method: how ?? "", headers, ...(sent && { body: sent }) });
      return response.json();
    },
    [method, path, body === undefined ? "" : JSON.stringify(body), ""],
  );
}

/** The same, which succeeds. */
async function ask<T>(who: Window, method: string, path: string, body?: object): Promise<T> {
  const answer = await send(who, method, path, body);
  expect(answer.message, path).toBe("");
  return answer.data as T;
}

it("caps one member of three, who is refused at its end and told before", async () => {
  const { server, visit, setOption } = world;
  for (const [key, value] of Object.entries({
    ...{ ServerAddress: server.url, SMTPServer: "127.0.0.1", SMTPPort: String(smtp.port) },
    ...{ SMTPFrom: "gate@example.com", PreConsumedQuota: "0" },
  }))
    await setOption(key, value);
  await manage(server.url, "POST", "/api/channel/", channelDraft(await createUpstream()));
  await manage(server.url, "POST", "/api/topup", { user_id: 3, quota: 5_000_000, remark: "test" });

  // The administrator makes it in the browser and pays in.
  const owner = await visit("wangfang");
  await owner.page.goto("/team");
  await owner.page.getByRole("button", { name: "创建团队" }).first().click();
  await owner.page.getByLabel("团队名称").fill("三人组");
  await owner.page.getByRole("button", { name: /^创\s?建$/ }).click();
  await owner.page.waitForURL(/\/team\/\d+$/);
  const team = Number(/\d+$/.exec(owner.page.url())?.[0]);
  await ask(owner, "POST", `/api/team/${team}/deposit`, { amount: 4_000_000 });
  const join = async ({ page }: Window, role: RegExp) => {
    await page.goto(await inviteLink(owner.page, role));
    await page.getByRole("button", { name: "加入团队" }).click();
    await page.waitForURL(/\/team\/\d+$/);
  };
  const member = await visit("lihua");
  const viewer = await visit("root");
  for (const { page } of [member, viewer]) await page.goto("/team");
  const email = "lihua@example.com";
  await ask(member, "GET", `/api/verification?email=${email}`);
  await expect.poll(() => smtp.letters.length, { timeout: 20_000 }).toBe(1);
  const code = /<strong>(\d{6})<\/strong>/.exec(smtp.letters[0]?.html ?? "")?.[1];
  await ask(member, "GET", `/api/oauth/email/bind?email=${email}&code=${code}`);
  await join(member, /^成员/);
  await join(viewer, /^只读/);
  await owner.page.reload();
  for (const [name, role] of [
    ["wangfang", "所有者"],
    ["lihua", "成员"],
    ["root", "只读"],
  ] as const)
    await owner.page
      .getByRole("row", { name: new RegExp(name) })
      .getByText(role)
      .waitFor();

  const key = async (who: Window) =>
    (
      await ask<{ key: string }>(who, "POST", "/api/token/", {
        name: "t",
        unlimited_quota: true,
        team_id: team,
      })
    ).key;
  const [capped, free] = [await key(member), await key(owner)];
  const call = async (with_: string) => {
    const response = await chat(server.url, with_, { max_tokens: 10 });
    return { status: response.status, text: await response.text() };
  };
  // One call of each tells what it costs: the cap is ten of them.
  expect([(await call(capped)).status, (await call(free)).status]).toEqual([200, 200]);
  const usage = () =>
    ask<{ members: { username: string; quota: number; requests: number }[] }>(
      owner,
      "GET",
      `/api/team/${team}/usage`,
    );
  const cost = (await usage()).members.find(({ username }) => username === "lihua")?.quota ?? 0;
  expect(cost).toBeGreaterThan(0);
  await owner.page.reload();
  const row = owner.page.getByRole("row", { name: /lihua/ });
  await row.getByRole("button", { name: "上限" }).click();
  const dialog = owner.page.getByRole("dialog");
  await dialog.getByLabel("额度").fill(String(cost * 10));
  await dialog.getByLabel("统计周期").click();
  await owner.page.locator(".ant-select-item-option").filter({ hasText: "每日" }).click();
  await dialog.getByRole("button", { name: /^保\s?存$/ }).click();
  await dialog.waitFor({ state: "hidden" });
  await row.getByText(/ \/ \$/).waitFor();
  const answers: { status: number; text: string }[] = [];
  while (answers.at(-1)?.status !== 429 && answers.length < 40) answers.push(await call(capped));
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(8);
  expect(answers.at(-1)?.text).toContain("usage_limit_reached");
  expect((await call(free)).status).toBe(200);
  // Who is refused reads it on the page of the team's tokens, where a client is set up.
  await member.page.goto(`/t/${team}/token`);
  await member.page.getByRole("button", { name: "复制令牌 t 的其他形式" }).click();
  await member.page.getByRole("menuitem", { name: "客户端配置…" }).click();
  const setup = member.page.getByRole("dialog", { name: "客户端配置：t" });
  await setup.getByRole("button", { name: "检测" }).click();
  await setup
    .getByText(/^不可用：已达到团队成员每日额度上限，将于 \S+ 00:00（Asia\/Shanghai） 恢复/)
    .waitFor();
  await screenshots(member.page, "team-cap-refused");
  // The job looks every minute.
  const subjects = () => smtp.letters.filter(({ to }) => to.includes(email)).map(({ subject }) => subject);
  await expect.poll(() => subjects().join("\n"), { timeout: 150_000 }).toContain("80%");

  // The cap of the whole team is told to all, what is used of it to those who see the calls of all.
  const cap = { kind: "quota", amount: 4_000_000, time_window: "month" };
  await ask(owner, "PUT", `/api/team/${team}/limit`, { limits: [cap] });
  const teamCap = async ({ page }: Window) => {
    await page.goto(`/team/${team}`);
    return page.locator("dt", { hasText: "团队上限" }).locator("xpath=../dd").textContent();
  };
  expect(await teamCap(owner)).toMatch(/^每月 \$0\.\d+ \/ \$8\.00$/);
  for (const who of [member, viewer]) expect(await teamCap(who)).toBe("每月 $8.00");
  await member.page
    .getByRole("row", { name: /lihua/ })
    .getByText(/每日 \$\S+ \/ \$/)
    .waitFor();
  await screenshots(member.page, "team-cap-member");
  await screenshots(viewer.page, "team-cap-viewer");
  await screenshots(owner.page, "team-cap-owner");

  // What each cost, as the ledger says.
  await owner.page.goto(`/t/${team}/dashboard`);
  const ranked = owner.page.locator("section, article, div.tg-card").filter({ hasText: "成员排行" }).last();
  const shares = ranked.getByRole("row", { name: /lihua|wangfang/ });
  await expect.poll(() => shares.count()).toBe(2);
  const passed = answers.filter(({ status }) => status === 200).length + 1;
  expect(
    (await shares.allTextContents()).map((text) => /^(lihua|wangfang).*%(\d+)$/.exec(text)?.slice(1)),
  ).toEqual([
    ["lihua", String(passed)],
    ["wangfang", "2"],
  ]);
  await screenshots(owner.page, "team-cap-cost");
  await viewer.page.goto(`/team/${team}`);
  await viewer.page.getByText("我的角色").waitFor();
  for (const name of [/^转\s?入$/, /^转\s?出$/, "邀请成员", "上限", "角色", "移出", "解散团队"])
    expect(await viewer.page.getByRole("button", { name }).count()).toBe(0);
  // Nor past the page, though this one is a super administrator elsewhere.
  const asItIs = async () => [
    await ask(owner, "GET", `/api/team/${team}`),
    await ask(owner, "GET", `/api/team/${team}/limit`),
    await ask(owner, "GET", `/api/team/${team}/project`),
    await ask(owner, "GET", `/api/team/${team}/member`),
    await ask(owner, "GET", `/api/team/${team}/invitation`),
    await ask(owner, "GET", `/api/token/?team_id=${team}`),
  ];
  const before = await asItIs();
  const none = { user_id: 2, limits: [] };
  for (const [method, path, body] of [
    ["PUT", "", { name: "改名" }],
    ["PUT", "/limit", { limits: [{ kind: "quota", amount: 1 }] }],
    ["PUT", "/member/limit", none],
    ["PUT", "/member", { user_id: 2, role: "viewer" }],
    ["DELETE", "/member?user_id=2", undefined],
    ["POST", "/invitation", { role: "viewer" }],
    ["POST", "/project", { name: "项目" }],
    ["POST", "/deposit", { amount: 1 }],
    ["POST", "/withdraw", { amount: 1 }],
    ["POST", "/offer", { user_id: 1 }],
    ["DELETE", `?name=${encodeURIComponent("三人组")}`, undefined],
  ] as const) {
    const answer = await send(viewer, method, `/api/team/${team}${path}`, body);
    expect([path, answer.message]).toEqual([path, "您在该团队中的角色不能执行该操作"]);
  }
  const ofTeam = { name: "t", unlimited_quota: true, team_id: team };
  expect((await send(viewer, "POST", "/api/token/", ofTeam)).success).toBe(false);
  expect(await asItIs()).toEqual(before);
  for (const { context } of [owner, member, viewer]) await context.close();
}, 300_000);
