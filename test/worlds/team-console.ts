// A team in the console, as people use it: links that its owner makes, and who goes through them.
import type { Page } from "playwright-core";

/** The owner's page of a team makes an invitation by its form. Returns where it leads. */
export async function inviteLink(page: Page, role: RegExp): Promise<string> {
  await page.getByRole("button", { name: "邀请成员" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("角色").click();
  await page.locator(".ant-select-item-option").filter({ hasText: role }).click();
  await dialog.getByRole("button", { name: "生成链接" }).click();
  const link = new URL(await dialog.getByLabel("邀请链接", { exact: true }).inputValue());
  await dialog.getByRole("button", { name: /^完\s?成$/ }).click();
  await dialog.waitFor({ state: "hidden" });
  return link.pathname + link.hash;
}
