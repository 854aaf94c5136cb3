// Signatures against published vectors, and texts that mean to ring or to lead astray (requirements I52, I53).
import { describe, expect, test } from "vitest";
import { ALERT_KINDS } from "#contract/alert.ts";
import type { TextResult } from "#server/egress/fetch-text.ts";
import { cleanContent, cleanTitle, messageOf, type Part } from "./message.ts";
import type { Target } from "./targets.ts";
import { verdictOf } from "./verdict.ts";
import { dingtalkSign, feishuSign, type PostKind, postOf, webhookSign } from "./wire.ts";

const KINDS = ALERT_KINDS.filter((kind): kind is PostKind => kind !== "mail");
const NOW = 1_767_225_600_000;

function target(kind: Target["kind"]): Target {
  return {
    ...{
      id: 1,
      kind,
      name: "x",
      events: [],
      tells_end: true,
      language: "zh",
      quiet_from: "",
      quiet_to: "",
      to: "-100",
    },
    address: "https://host.example/path",
    secret: "whsec_dG9sbGdhdGUtd2ViaG9vay1zZWNyZXQtMzItYnl0ZXMh",
  };
}

function part(fields: Partial<Part>): Part {
  const plain = { event: "channel_disabled", about: "channel 1", level: "warning", created_at: 1 } as const;
  return { ...plain, title: "渠道停用", content: "原因：401", ...fields };
}

const SETTING = {
  link: "https://gate.example",
  zone: "Asia/Shanghai",
  system: "Tollgate",
  language: "zh",
} as const;

function bodyOf(kind: PostKind, parts: readonly Part[]): string {
  const moment = { nowMs: NOW, id: "m1", vendorUrl: undefined };
  return postOf(kind, target(kind), messageOf(parts, SETTING), moment).body;
}

describe("signatures", () => {
  test("of 飞书: nothing is signed, with time and secret as the key", () => {
    expect(feishuSign(1_767_225_600, "tollgate-test-secret")).toBe(
      "ljFPgnANAUlSwevjadAJ5IX2WOq3oAMGt5+9KVSQKDc=",
    );
    expect(feishuSign(1_599_360_473, "demo")).toBe("l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8=");
    // The secret counts as UTF-8 (openssl dgst -sha256 -mac HMAC -macopt hexkey:…).
    expect(feishuSign(1_767_225_600, "schlüssel")).toBe("YjpbyYNcBTwqKRF+iXaKIvOtLYuRyFMNyu0L9jWs47c=");
  });

  test("of 钉钉: time and secret are signed with the secret, for an address", () => {
    expect(dingtalkSign(1_767_225_600_000, "this is secret")).toBe(
      "Ihwj8FyPJfT4YIXi%2FadIQljYfR8hNknkj4tQ%2Bv3VTqM%3D",
    );
    expect(dingtalkSign(1_767_225_600_000, "schlüssel")).toBe(
      "%2BkeheK8N%2B7OxLfaTmh00x5lgMP8Zq5okSctQiT9ohwI%3D",
    );
  });

  test("of webhooks: Standard Webhooks", () => {
    const body = '{"type":"budget.soft","data":{"team_id":7}}';
    const secret = "whsec_dG9sbGdhdGUtd2ViaG9vay1zZWNyZXQtMzItYnl0ZXMh";
    expect(webhookSign("msg_0001", 1_767_225_600, { secret, body })).toBe(
      "v1,mJ51HJ+gowIEXXaP/SmkV9CxVnbuWCAmJ/Ule1Y/90A=",
    );
  });
});

describe("texts", () => {
  const HOSTILE =
    '<at id=all></at> @所有人 <@all> [点我](javascript:alert(1)) <!channel> **粗** `x` &lt; "q"';

  test.each(KINDS)("of %s neither ring a member of a chat nor become a link", (kind) => {
    const body = bodyOf(kind, [part({ title: HOSTILE, content: `${HOSTILE}\n# ${HOSTILE}` })]);
    if (kind === "webhook") {
      // A program reads it as it is.
      expect(JSON.parse(body).data.alerts[0].title).toBe(HOSTILE);
      return;
    }
    if (kind === "feishu") {
      const { card } = JSON.parse(body);
      const texts = [card.header.title, ...card.body.elements.map((one: { text: object }) => one.text)];
      expect(texts.map(({ tag }: { tag: string }) => tag)).toEqual([
        "plain_text",
        "plain_text",
        "plain_text",
      ]);
      return;
    }
    if (kind === "bark") return;
    expect(body).not.toMatch(/@/);
    if (kind !== "slack" && kind !== "telegram") {
      expect(body).not.toMatch(/<at|<@|<!|\]\(javascript/);
      expect(body.match(/\]\(/g) ?? []).toHaveLength(1);
    }
    if (kind === "slack") {
      const { text, blocks } = JSON.parse(body);
      expect(text).not.toMatch(/[<>]/);
      expect(blocks.slice(0, 2).map((one: { text: { type: string } }) => one.text.type)).toEqual([
        "plain_text",
        "plain_text",
      ]);
    }
    if (kind === "telegram") expect(JSON.parse(body).parse_mode).toBeUndefined();
  });

  test.each(KINDS)("of %s stay small, however much there is to tell", (kind) => {
    const huge = cleanContent(`${"渠".repeat(5_000_000)}\n`.repeat(2));
    const parts = Array.from({ length: 500 }, (_, index) => part({ title: `第 ${index}`, content: huge }));
    for (const some of [[part({ content: huge })], parts]) {
      const body = bodyOf(kind, some);
      const limit = kind === "wecom" ? 4_500 : 20_000;
      if (kind !== "webhook") expect(Buffer.byteLength(body)).toBeLessThan(limit);
    }
  });

  test("lose controls, turns of direction and secrets", () => {
    expect(cleanTitle("a\u202eb\u0000c\nd")).toBe("a b c d");
    expect(cleanContent("key sk-abcdefghijklmnop1234\n\n  ok")).toBe("key [redacted]\nok");
    expect(cleanContent("x\n".repeat(50)).split("\n").at(-1)).toBe("……以及其他 30 行");
  });

  test("of many alerts name the worst level, the newest first, and how many are left out", () => {
    const parts = Array.from({ length: 20 }, (_, index) =>
      part({ title: `第 ${index} 条`, level: index === 3 ? "critical" : "info", created_at: index * 60 }),
    );
    const { title, lines, level } = messageOf(parts, SETTING);
    expect(title).toBe("【严重】Tollgate 有 20 条通知");
    expect(level).toBe("critical");
    expect(lines[0]).toContain("第 19 条");
    expect(lines).toHaveLength(16);
    expect(lines.at(-1)).toBe("另有 5 条较早的，见控制台的发送记录");
  });

  test("are in the target's language, with its dates; names that operators gave stay", () => {
    const english = { ...SETTING, language: "en" } as const;
    const alone = messageOf([part({})], english);
    expect(alone.title).toBe("[Warning] 渠道停用");
    const test = part({
      title: "测试消息",
      content: "收到这条消息，说明通知对象配置正确。",
      level: "critical",
    });
    const { title, lines } = messageOf([test], english);
    expect(`${title} ${lines[0]}`).not.toMatch(/[\u3000-\u9fff]/);
    const many = messageOf(Array<Part>(20).fill(test), english);
    expect(`${many.title} ${many.lines.join(" ")}`).not.toMatch(/[\u3000-\u9fff\uff00-\uffef]/);
    expect(many.lines[0]).toMatch(/^\d\d\/\d\d, \d\d:\d\d /);
  });
});

describe("what a target answers", () => {
  const verdict = (kind: PostKind, status: number, text: string, headers: Record<string, string> = {}) =>
    verdictOf(kind, { kind: "answer", status, text, headers } satisfies TextResult, NOW);

  test.each([
    ["feishu", '{"code":0}'],
    ["dingtalk", '{"errcode":0}'],
    ["wecom", '{"errcode":0}'],
    ["telegram", '{"ok":true}'],
    ["slack", "ok"],
    ["bark", '{"code":200}'],
    ["webhook", ""],
  ] as const)("%s takes it with %s", (kind, text) => {
    expect(verdict(kind, 200, text)).toEqual({ isSent: true });
  });

  test.each([
    ["feishu", '{"code":19021}', "签名没有通过", false],
    ["feishu", '{"code":19024}', "消息不含机器人要求的关键词", false],
    ["feishu", '{"code":11232}', "发送过于频繁", true],
    ["feishu", '{"code":"0"}', "返回的不是该服务的应答", true],
    ["feishu", "<html>", "返回的不是该服务的应答", true],
    ["dingtalk", '{"errcode":310000}', "签名没有通过，或不符合机器人的关键词、地址限制", false],
    ["dingtalk", '{"errcode":130101}', "发送过于频繁", true],
    ["wecom", '{"errcode":93000}', "机器人的地址无效", false],
    ["wecom", '{"errcode":1}', "没有被接受（错误码 1）", false],
    ["telegram", '{"ok":false}', "没有被接受，请检查令牌与会话", false],
    ["bark", "{}", "没有被接受，请检查设备密钥", false],
    ["slack", "<html>", "返回的不是该服务的应答", true],
  ] as const)("%s refuses with 200 and %s", (kind, text, problem, mayRetry) => {
    expect(verdict(kind, 200, text)).toMatchObject({ isSent: false, problem, mayRetry });
  });

  test("a clock that is off is told as such", () => {
    const date = (seconds: number) => ({ date: new Date(NOW + seconds * 1_000).toUTCString() });
    expect(verdict("feishu", 200, '{"code":19021}', date(3_601))).toMatchObject({
      problem: "本机时间比对方慢 60 分钟，签名因此无效，请校准时间",
    });
    expect(verdict("dingtalk", 200, '{"errcode":310000}', date(-3_601))).toMatchObject({
      problem: "本机时间比对方快 60 分钟，签名因此无效，请校准时间",
    });
    expect(verdict("feishu", 200, '{"code":19021}', date(3_000))).toMatchObject({ problem: "签名没有通过" });
  });

  test("statuses and waits that are asked for", () => {
    expect(verdict("webhook", 410, "")).toMatchObject({ isGone: true, mayRetry: false });
    expect(verdict("webhook", 302, "")).toMatchObject({ mayRetry: true, problem: "返回状态码 302" });
    expect(verdict("slack", 404, "no_service")).toMatchObject({ mayRetry: false });
    expect(verdict("telegram", 429, '{"parameters":{"retry_after":7}}')).toMatchObject({ afterMs: 7_000 });
    expect(verdict("slack", 429, "", { "retry-after": "30" })).toMatchObject({ afterMs: 30_000 });
    expect(verdict("webhook", 429, "", { "retry-after": "999999" })).toMatchObject({ afterMs: 900_000 });
    expect(verdict("webhook", 429, "", { "retry-after": "soon" })).toMatchObject({ afterMs: 60_000 });
    expect(verdict("bark", 502, "")).toMatchObject({ mayRetry: true });
    const blocked = { kind: "fault", code: "blocked", detail: "" } as const;
    expect(verdictOf("webhook", blocked, NOW)).toMatchObject({ mayRetry: false });
    expect(verdictOf("webhook", { ...blocked, code: "timeout" }, NOW)).toMatchObject({ mayRetry: true });
  });
});
