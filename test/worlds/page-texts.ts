// What a page of the console says itself, for readers of English: no Chinese among it.
import type { Page } from "playwright-core";

/** What users and operators of the furnished installation wrote, the names that permission sets begin with, and Chinese by its own name. */
const WRITTEN =
  /上游[一二三]号|账号[甲乙]|十月活动|今晚|维护|生产环境|测试|研发一组|(中 )?简体中文|^中$|审计员|财务|客服|渠道运维/g;

/** Every text of the page that is seen, read out or shown as a hint. */
function textsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const texts = [document.title];
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode())
      if (node.parentElement?.closest("script, style, noscript") === null) texts.push(node.textContent ?? "");
    for (const element of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
      for (const name of ["aria-label", "title", "placeholder", "alt"])
        texts.push(element.getAttribute(name) ?? "");
    return texts;
  });
}

/** Chinese words and punctuation among what the page says itself. */
export async function chineseOn(page: Page): Promise<string[]> {
  const own = (await textsOf(page)).map((text) => text.replace(WRITTEN, ""));
  return [...new Set(own.filter((text) => /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/.test(text)))];
}
