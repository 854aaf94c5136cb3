// Sentences become English at the edge: whole ones, composed ones, joined ones; what others wrote stays as it is.
import { expect, test } from "vitest";
import { faults, renderEnvelope } from "#server/errors.ts";
import { say } from "./sentences.ts";

test.each([
  ["a whole one", "权限不够，无法执行该操作", /^[ -~]+$/],
  ["with a value", "没有这个分组：vip", /^[ -~]*vip[ -~]*$/],
  ["with a number", "最多 50 个通知对象", /^[ -~]*50[ -~]*$/],
  [
    "a computed price",
    "模型倍率 0.075，补全倍率 4，分组倍率 1；(2 + 8 × 4) × 0.075 × 1 = 3（分组 vip）",
    /^Model ratio 0\.075, completion ratio 4, group ratio 1; \(2 \+ 8 × 4\) × 0\.075 × 1 = 3 \(group vip\)$/,
  ],
  [
    "a price with the group by which it was reserved",
    "模型倍率 0.075，补全倍率 4，分组倍率 1；(2 + 8 × 4) × 0.075 × 1 = 3（按分组 vip 预留）（分组 slow）",
    /^Model ratio 0\.075, [ -~]*; \(2 \+ 8 × 4\) × 0\.075 × 1 = 3 \(reserved by group vip\) \(group slow\)$/,
  ],
  [
    "a price with ratios that not every call has",
    "输入超过 1000 tokens，模型倍率 1，补全倍率 4，缓存倍率 0.1，音频补全倍率 2，分组倍率 1；(2 + 8 × 4) × 1 × 1 = 34",
    /^Input over 1000 tokens, [ -~]*, cache ratio 0\.1, audio completion ratio 2, group ratio 1; [ -~×]*= 34$/,
  ],
  [
    "a failure with its code",
    "503 no_available_channel：当前分组 default 下对于模型 gpt-9 无可用渠道",
    /^503 no_available_channel: [ -~]*gpt-9[ -~]*default[ -~]*$/,
  ],
])("%s", (_name, sentence, english) => {
  expect(say(sentence, "en")).toMatch(english);
  expect(say(sentence, "zh")).toBe(sentence);
});

test("a name in Chinese stays within its English sentence", () => {
  expect(say("没有这个分组：研发一组", "en")).toMatch(/^[ -~]*研发一组$/);
});

test("what others wrote stays", () => {
  for (const text of [
    "今晚 23:00 维护",
    "",
    "plain",
    "余额不足，请联系上游商务",
    "今天的公告",
    "张三的团队：李四和王五的渠道",
    "（）",
    "：：：",
    "，".repeat(500),
  ])
    expect(say(text, "en")).toBe(text);
});

test("a text that was made to be hard takes no longer than others", () => {
  const startMs = performance.now();
  for (const text of [
    "好，".repeat(499),
    "没有这个分组：".repeat(140),
    `${"（".repeat(900)}的`,
    "的".repeat(999),
    "好，".repeat(100_000),
  ])
    say(text, "en");
  // Seconds, where trying every way to read them would take for ever.
  expect(performance.now() - startMs).toBeLessThan(10_000);
});

test("a refusal of the management server", () => {
  expect(renderEnvelope(faults.notSignedIn(), "en")).toEqual({
    success: false,
    message: expect.stringMatching(/^[ -~]+$/),
    data: null,
  });
});
