import { describe, expect, test } from "vitest";
import { cpuMsOf } from "#test/worlds/cpu-time.ts";
import { addressIn, isHtml, markdownHtml } from "./markdown.ts";

describe("Markdown of notices and pages", () => {
  test.each([
    ["# 公告", "<h1>公告</h1>"],
    ["第一行\n第二行\n\n新段落", "<p>第一行<br>第二行</p><p>新段落</p>"],
    ["- 一\n- 二", "<ul><li>一</li><li>二</li></ul>"],
    ["1. 一\n2. 二", "<ol><li>一</li><li>二</li></ol>"],
    ["> 引用", "<blockquote>引用</blockquote>"],
    ["---", "<hr>"],
    ["**粗** 与 *斜*", "<p><strong>粗</strong> 与 <em>斜</em></p>"],
    ["`a*b*c`", "<p><code>a*b*c</code></p>"],
    ["[文档](https://d.example/a)", '<p><a href="https://d.example/a">文档</a></p>'],
    ["见 https://d.example", '<p>见 <a href="https://d.example">https://d.example</a></p>'],
    ["```\n<b>x</b>\n```", "<pre><code>&lt;b&gt;x&lt;/b&gt;\n</code></pre>"],
    [
      "| 模型 | 价格 |\n|---|--:|\n| `a\\|b` | **$2** |\n| c |",
      '<table><thead><tr><th>模型</th><th align="right">价格</th></tr></thead><tbody><tr><td><code>a|b</code></td><td align="right"><strong>$2</strong></td></tr><tr><td>c</td><td align="right"></td></tr></tbody></table>',
    ],
    ["| 不是 | 表格 |", "<p>| 不是 | 表格 |</p>"],
    ['a < b & "c"', "<p>a &lt; b &amp; &quot;c&quot;</p>"],
  ])("%j", (text, html) => expect(markdownHtml(text)).toBe(html));

  test("cannot break out of an attribute", () => {
    expect(markdownHtml('[x](https://e/"onclick=alert(1))')).not.toContain('"onclick');
    expect(markdownHtml('![x"onerror=1](https://e/a)')).not.toContain('"onerror');
  });

  test("takes time in proportion to the text", () => {
    const text = "[a](".repeat(20_000) + "*".repeat(20_000) + "`".repeat(20_001);
    expect(cpuMsOf(() => markdownHtml(text))).toBeLessThan(2_000);
  });
});

test("HTML, Markdown and addresses are told apart", () => {
  expect(isHtml("<p>a</p>")).toBe(true);
  expect(isHtml("1 < 2 > 0")).toBe(false);
  expect(addressIn(" https://a.example/x ")).toBe("https://a.example/x");
  expect(addressIn("https://a.example 看这里")).toBeUndefined();
  expect(addressIn("javascript:alert(1)")).toBeUndefined();
});
