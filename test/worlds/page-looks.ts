// How tests look at a page of the console: once it has come to rest, by the rules of accessibility (axe), and for its width.
import axe from "axe-core";
import type { Page } from "playwright-core";

export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Waits until a page has what it asked for, is drawn, and nothing on it moves. */
export async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  // Colours of another scheme begin to change with the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  // A page that has not been drawn yet has nothing that loads, either.
  await page.locator("main").first().waitFor();
  await page.waitForFunction(
    () => document.querySelector(".tg-bone, .ant-spin-spinning, .ant-skeleton-active") === null,
  );
  // Colours and places have arrived once nothing moves.
  await page.waitForFunction(() =>
    document.getAnimations().every(({ playState }) => playState !== "running"),
  );
}

/**
 * What axe finds, worst first: rule, where, why. Only what is serious or critical, and icons that are read out. Of a page that was judged
 * in the other colours, contrast alone can differ.
 */
export async function violations(page: Page, isContrastOnly = false): Promise<string[]> {
  if (await page.evaluate(() => !("axe" in window))) await page.evaluate(axe.source);
  return [...(await spokenIcons(page)), ...(await page.evaluate(judgement, isContrastOnly))];
}

/** Icons are called "plus" or "close-circle" by their maker, which becomes a part of the name of their button. */
function spokenIcons(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [
      ...document.querySelectorAll(
        ":is(button, a, [role=button], [role=menuitem]):not([aria-label]) .anticon",
      ),
    ]
      .filter((icon) => icon.classList.contains(`anticon-${icon.getAttribute("aria-label")}`))
      .filter((icon) => icon.checkVisibility({ visibilityProperty: true }))
      .filter((icon) => icon.closest("[aria-hidden=true]") === null)
      .map((icon) => `icon read out: ${icon.parentElement?.outerHTML.slice(0, 200)}`),
  );
}

async function judgement(isContrastOnly: boolean): Promise<string[]> {
  // Put there by what runs this in the page.
  const { axe: judge } = window as unknown as { axe: typeof import("axe-core") };
  const { violations: found } = await judge.run(document, {
    resultTypes: ["violations"],
    ...(isContrastOnly && { runOnly: ["color-contrast"] }),
    // Off by default: cells of a large table belong to a header.
    rules: { "td-has-header": { enabled: true } },
  });
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary = "" }) => `${id} ${target.join(" ")} ${failureSummary}`),
    );
}

/** Whether a page is no wider than a window of this width; it follows its window a moment later. */
export async function fits(page: Page, width: number): Promise<boolean> {
  const asked = page.waitForFunction((most) => document.documentElement.scrollWidth <= most, width, {
    timeout: 5_000,
  });
  return asked.then(
    () => true,
    () => false,
  );
}
