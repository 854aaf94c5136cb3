// For readers of English: who chooses a language keeps it, in this browser and, with an account, in every other, and the server's refusals
// follow. What each page says: console-pages.test.ts.
import { describe, expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

describe("the choice of a language", () => {
  it("of a guest stays in the browser, and the server's refusals follow it", async () => {
    const { page, context } = await world.visit(undefined, undefined, { locale: "en-US" });
    await page.goto("/login");
    await expect.poll(() => page.evaluate(() => document.documentElement.lang)).toBe("en");
    const refusal = async () => {
      const data = { username: "lihua", password: "not-the-password" };
      const answer: { message: string } = await (
        await context.request.post("/api/user/login", { data })
      ).json();
      return answer.message;
    };
    // The request of a test names no language of its own: the choice is in the cookie.
    await page.getByRole("button", { name: "简体中文" }).click();
    await page.getByRole("button", { name: "English" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
    expect(await refusal()).toMatch(/[\u3400-\u9fff]/);
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("button", { name: "简体中文" }).waitFor();
    expect(await refusal()).toMatch(/^[ -~]+$/);
    await context.close();
  });

  it("of a user goes along to another browser", async () => {
    const first = await world.visit("wangfang");
    await first.page.goto("/token");
    await first.page.getByRole("button", { name: /用户菜单/ }).click();
    await first.page.getByRole("menuitem", { name: "English" }).click();
    await first.page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    await first.context.close();
    const second = await world.visit("wangfang");
    await second.page.goto("/token");
    await second.page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    await second.context.close();
  });
});
