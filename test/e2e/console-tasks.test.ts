// Tasks in the console: what a user submitted, how far it is, what it cost; cancelling; what administrators see besides (requirements C52).
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

const MODEL = "sora-2";
const world = createConsoleWorld();
let upstream: FakeUpstream;

/** What the upstream says of each task by its id. */
const states = new Map<string, object>();

beforeAll(async () => {
  upstream = await createFakeUpstream();
  let made = 0;
  upstream.script((res, asked) => {
    if (asked.method === "POST" && asked.path === "/v1/videos") {
      made += 1;
      return json({ id: `up-${made}`, status: "queued" })(res, asked);
    }
    const id = /up-\d+/.exec(asked.path)?.[0] ?? "";
    // Not before it is asked to: the poller would see it, and there would be nothing left to cancel.
    if (asked.method !== "GET") states.set(id, { status: "cancelled" });
    return json({ id, ...states.get(id) })(res, asked);
  });
  const { url } = world.server;
  const draft = {
    type: 8,
    name: "视频一号",
    key: "k",
    base_url: upstream.url,
    models: MODEL,
    group: "default",
  };
  await manage(url, "POST", "/api/channel/", draft);
  await world.setOption("ModelRatio", JSON.stringify({ [MODEL]: 50 }));
  states.set("up-1", { status: "completed" });
  states.set("up-2", { status: "failed", error: { code: "moderation", message: "The prompt was refused" } });
  states.set("up-3", { status: "in_progress", progress: 40 });
  const headers = { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" };
  for (const seconds of ["4", "8", "12"]) {
    const order = { model: MODEL, prompt: "a cat", seconds, size: "1280x720" };
    const answer = await fetch(`${url}/v1/videos`, { method: "POST", headers, body: JSON.stringify(order) });
    expect(answer.status).toBe(200);
  }
}, 180_000);

afterAll(() => upstream?.close());

describe("tasks", () => {
  it("are shown with state, cost and channel, and one that runs is cancelled", {
    timeout: 180_000,
  }, async () => {
    const root = await world.visit("root");
    await expect
      .poll(
        async () => {
          const rows = (await manage(world.server.url, "GET", "/api/task/")) as {
            state: string;
            progress: number;
          }[];
          return rows.map(({ state, progress }) => `${state} ${progress}`);
        },
        { timeout: 90_000 },
      )
      .toEqual(["in_progress 40", "failed 0", "completed 100"]);
    const { page } = root;
    await page.goto("/task");
    await page.getByText("进行中 40%").waitFor();
    for (const text of ["已完成", "失败", "视频一号", "The prompt was refused", "12 s · 1280x720"])
      expect(await page.getByText(text).count()).toBeGreaterThan(0);
    await screenshots(page, "tasks");
    await page.setViewportSize({ width: 1440, height: 900 });
    const row = page.getByRole("row").filter({ hasText: "进行中 40%" });
    await row.getByRole("button", { name: "取消" }).click();
    // It is said for a moment only.
    const said = page.getByText("任务已取消！").waitFor();
    await page.getByRole("button", { name: "确认取消" }).click();
    await said;
    await page.getByText("已取消", { exact: true }).waitFor();
    await page.getByTitle("进行中", { exact: true }).click();
    await page.getByText("没有进行中的任务。").waitFor();
    expect(page.url()).toContain("open=true");
    await root.context.close();
  });

  it("of others are not a user's, in English either", async () => {
    const { page, context } = await world.visit("lihua", undefined, { locale: "en" });
    await page.goto("/task");
    await page.getByText("No tasks yet.", { exact: false }).waitFor();
    await screenshot(page, "tasks-none-en");
    await context.close();
  });
});
