// A cap at work, in a real browser (requirements O08, L07, L10): an administrator makes a team of three, caps one; that one's calls are refused
// when it is spent, a letter came at four fifths, the others go on; the owner reads who cost what, and who may only look changes nothing.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { channelDraft, chat, cleanUp, createUpstream } from "#test/worlds/cluster.ts";
import { type ConsoleWorld, openConsoleWorld, type Window } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

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
async function ask<T>({ page }: Window, method: string, path: string, body?: object): Promise<T> {
  const answer = await page.evaluate(
    async ([how, where, sent, id]) => {
      const headers = { "content-type": "application/json", "new-api-user": id ?? "" };
      const response = await fetch(where ?? "", { method: how ?? "", headers, ...(sent && { body: sent }) });
      return response.json();
    },
    [method, path, body === undefined ? "" : JSON.stringify(body), ""],
  );
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
  const join = async (who: Window, role: string) => {
    const { code } = await ask<{ code: string }>(owner, "POST", `/api/team/${team}/invitation`, { role });
    await ask(who, "POST", "/api/team/invitation/accept", { code });
  };
  const member = await visit("lihua");
  const viewer = await visit("root");
  for (const { page } of [member, viewer]) await page.goto("/team");
  const email = "lihua@example.com";
  await ask(member, "GET", `/api/verification?email=${email}`);
  await expect.poll(() => smtp.letters.length, { timeout: 20_000 }).toBe(1);
  const code = /<strong>(\d{6})<\/strong>/.exec(smtp.letters[0]?.html ?? "")?.[1];
  await ask(member, "GET", `/api/oauth/email/bind?email=${email}&code=${code}`);
  await join(member, "member");
  await join(viewer, "viewer");

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
  await ask(owner, "PUT", `/api/team/${team}/member/limit`, {
    user_id: 2,
    limits: [{ kind: "quota", amount: cost * 10, time_window: "day" }],
  });
  const answers: { status: number; text: string }[] = [];
  while (answers.at(-1)?.status !== 429 && answers.length < 40) answers.push(await call(capped));
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(8);
  expect(answers.at(-1)?.text).toContain("usage_limit_reached");
  expect((await call(free)).status).toBe(200);
  // The job looks every minute.
  const subjects = () => smtp.letters.filter(({ to }) => to.includes(email)).map(({ subject }) => subject);
  await expect.poll(() => subjects().join("\n"), { timeout: 150_000 }).toContain("80%");

  await owner.page.goto(`/team/${team}?tab=cost`);
  await owner.page.getByRole("row", { name: /lihua/ }).waitFor();
  await owner.page.getByRole("row", { name: /wangfang/ }).waitFor();
  await screenshots(owner.page, "team-cap-cost");
  await viewer.page.goto(`/team/${team}`);
  await viewer.page.getByText("我的角色").waitFor();
  for (const name of [/^转\s?入$/, /^转\s?出$/, "邀请成员", "上限", "角色", "移出", "解散团队"])
    expect(await viewer.page.getByRole("button", { name }).count()).toBe(0);
  for (const { context } of [owner, member, viewer]) await context.close();
}, 300_000);
