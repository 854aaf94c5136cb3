import { describe, expect, it } from "vitest";
import { type OptionKey, type OptionTab, optionTable } from "#contract/option.ts";
import { changesOf, faultOf, kindOf, shownOf, textOf, valuesOf } from "./option-values.ts";
import { sections } from "./sections.ts";

describe("the layout of the settings", () => {
  it("shows every option exactly once, in the tab its row names, with a sentence", () => {
    const shown = Object.entries(sections).flatMap(([tab, list]) =>
      list.flatMap(({ fields }) => fields.map(({ key, help }) => ({ tab, key, help }))),
    );
    expect(shown.map(({ key }) => key).sort()).toEqual(Object.keys(optionTable).sort());
    for (const { tab, key, help } of shown) {
      expect({ key, tab }).toEqual({ key, tab: optionTable[key].tab as OptionTab });
      expect(help).toMatch(/。$/);
    }
  });

  it("says of limits of calls how they are counted: over all nodes together", () => {
    const limits = sections.operation.find(({ fields }) =>
      fields.some(({ key }) => key === "TokenConcurrency"),
    );
    expect(limits?.text).toContain("所有节点合并计数");
  });
});

describe("a field", () => {
  it("is edited by what its option holds", () => {
    expect(kindOf("PasswordLoginEnabled")).toBe("switch");
    expect(kindOf("RetryTimes")).toBe("number");
    expect(kindOf("QuotaForNewUser")).toBe("quota");
    expect(kindOf("SMTPToken")).toBe("secret");
    expect(kindOf("ServerAddress")).toBe("text");
  });

  it("normalises addresses before they are sent (requirements B5)", () => {
    expect(textOf("ServerAddress", " https://a.example/ ")).toBe("https://a.example");
    expect(textOf("WeChatServerAddress", "https://w.example//")).toBe("https://w.example");
  });

  it("says what is wrong before anything is sent", () => {
    expect(faultOf("RetryTimes", -1)).toMatch("不小于 0");
    expect(faultOf("QuotaForNewUser", null)).toBeDefined();
    expect(faultOf("RetryTimes", 1e30)).toBe("不能大于 9,007,199,254,740,991");
    expect(faultOf("FallbackModelRatio", null)).toBeUndefined();
    expect(faultOf("FallbackModelRatio", -1)).toBe("须留空或为不小于 0 的数字");
    expect(faultOf("ModelRatio", "{")).toBe("模型倍率不是合法的 JSON 字符串");
    expect(faultOf("CompletionRatio", "[]")).toBe("补全倍率不是合法的 JSON 字符串");
    expect(faultOf("CacheRatio", '{"a \\"b":1,"c":2,"a \\"b":1}')).toBe('缓存倍率里“a "b”出现了不止一次');
    expect(faultOf("GroupRatio", "nope")).toBe("分组倍率不是合法的 JSON 字符串");
    for (const twice of [
      ["a.com", "a.com"],
      ["Gmail.com", "gmail.com"],
    ])
      expect(faultOf("EmailDomainWhitelist", twice)).toBe("邮箱域名白名单不能有空项或重复项");
    expect(faultOf("ServerAddress", "ftp://a")).toBeDefined();
    expect(faultOf("SMTPToken", "")).toBeUndefined();
    expect(faultOf("SMTPPort", 587)).toBeUndefined();
  });

  it("takes a ratio that may be left out as a number, in whatever digits it is typed", () => {
    expect(kindOf("FallbackModelRatio")).toBe("number");
    expect([shownOf("FallbackModelRatio", ""), textOf("FallbackModelRatio", null)]).toEqual([null, ""]);
    expect(textOf("FallbackModelRatio", 1.5)).toBe("1.5");
  });

  it("shows nothing of a secret", () => {
    expect(shownOf("SMTPToken", "hunter2")).toBe("");
  });
});

describe("what is sent", () => {
  const keys: OptionKey[] = ["WeChatAuthEnabled", "WeChatServerAddress", "WeChatServerToken"];
  const stored = new Map([
    ["WeChatAuthEnabled", "false"],
    ["WeChatServerAddress", "https://old.example"],
  ]);

  it("is nothing when nothing changed", () => {
    expect(changesOf(keys, valuesOf(keys, stored), stored)).toEqual([]);
  });

  it("is the address before its secret, and the switch that needs both at last (requirements S06)", () => {
    const values = {
      WeChatAuthEnabled: true,
      WeChatServerAddress: "https://new.example/",
      WeChatServerToken: "secret",
    };
    expect(changesOf(keys, values, stored)).toEqual([
      { key: "WeChatServerAddress", value: "https://new.example" },
      { key: "WeChatServerToken", value: "secret" },
      { key: "WeChatAuthEnabled", value: "true" },
    ]);
  });

  it("is a switch going off before what it needs is blanked", () => {
    const on = new Map([...stored, ["WeChatAuthEnabled", "true"]]);
    const values = { WeChatAuthEnabled: false, WeChatServerAddress: "", WeChatServerToken: "" };
    expect(changesOf(keys, values, on).map(({ key }) => key)).toEqual([
      "WeChatAuthEnabled",
      "WeChatServerAddress",
    ]);
  });

  it("never is an empty secret", () => {
    expect(changesOf(["SMTPToken"], { SMTPToken: "  " }, new Map())).toEqual([]);
  });
});
