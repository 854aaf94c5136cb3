// What a limit is called, how it stands, and what a form sends of it.
import { expect, it } from "vitest";
import { amountText } from "#console/ui/limit-words.ts";
import type { Limit } from "#contract/limit.ts";
import { draftOf, subjectDraftOf, tokenDrafts, tokenDraftsWithout, valuesOf } from "./values.ts";
import { minuteIn, recoveryText, stateOf, subjectText, whatText } from "./words.ts";

const DAY: Limit = {
  id: 7,
  subject: "token",
  subject_id: 2,
  subject_name: "",
  subject_label: "生产",
  model_pattern: "",
  kind: "quota",
  amount: 1_000,
  time_window: "day",
  anchor: 1,
  mode: "hard",
  boost_amount: 0,
  boost_until: 0,
  boost_reason: "",
  used: 0,
  reserved: 0,
  resets_at: 0,
  time_zone: "Asia/Shanghai",
  is_small: false,
};
const MONEY = { quotaPerUnit: 500_000, inCurrency: true };

it.each([
  [{}, "生效中"],
  [{ used: 799 }, "生效中"],
  [{ used: 800 }, "即将用尽"],
  [{ used: 1_000 }, "已用尽"],
  [{ used: 1_000, mode: "soft" }, "已超出"],
  [{ used: 1_000, boost_amount: 1_000, boost_until: 101 }, "已临时提高"],
  [{ used: 1_000, boost_amount: 1_000, boost_until: 100 }, "已用尽"],
  [{ used: null, kind: "rpm" }, "生效中"],
  [{ is_small: true }, "过低"],
] as const)("%j is %s", (change, label) => {
  expect(stateOf({ ...DAY, ...change }, 100).label).toBe(label);
});

it("names whose a limit is and what it limits", () => {
  expect(subjectText(DAY)).toBe("令牌“生产”");
  expect(subjectText({ ...DAY, subject: "user", subject_label: "" })).toBe("用户“#2”");
  expect(subjectText({ ...DAY, subject: "member", subject_name: "vip" })).toBe("分组 vip（每人）");
  expect(whatText({ ...DAY, time_window: "month", anchor: 15 })).toBe("每月（15 日起） · 额度");
  expect(whatText({ ...DAY, kind: "rpm" })).toBe("每分钟请求数");
});

it("shows amounts of money as money, small ones with their digits, and all others as numbers", () => {
  expect(amountText("quota", 1_000_000, MONEY)).toBe("$2.00");
  expect(amountText("cost", 100, MONEY)).toBe("$0.000200");
  expect(amountText("tpm", 1_000_000, MONEY)).toBe("1,000,000");
});

it("tells when a limit begins anew on the clock it is counted by", () => {
  const midnight = Date.parse("2026-11-29T00:00:00+08:00") / 1_000;
  expect(minuteIn("Asia/Shanghai", midnight)).toBe("2026-11-29 00:00");
  expect(minuteIn("Europe/Berlin", midnight)).toBe("2026-11-28 17:00");
});

it("sends only what the kind has", () => {
  const values = { ...valuesOf(undefined), amount: 60, mode: "soft", anchor: 9 } as const;
  expect(draftOf({ ...values, kind: "rpm" })).toEqual({
    kind: "rpm",
    model_pattern: "",
    amount: 60,
    time_window: "total",
    anchor: 1,
    mode: "hard",
  });
  const named = { ...values, username: " lihua ", subject_name: "vip" };
  expect(subjectDraftOf({ ...named, subject: "all" })).toMatchObject({
    subject: "all",
    subject_id: 0,
    subject_name: "",
    mode: "soft",
    anchor: 9,
  });
  expect(subjectDraftOf({ ...named, subject: "user" }).subject_name).toBe("lihua");
  expect(subjectDraftOf({ ...named, subject: "member" }).subject_name).toBe("vip");
});

it("sends the other limits of a token along with their ids, so that they go on counting", () => {
  const week: Limit = { ...DAY, id: 8, time_window: "week" };
  const changed = draftOf({ ...valuesOf(DAY), amount: 5 });
  expect(tokenDrafts([DAY, week], changed, 7)).toMatchObject([
    { id: 7, amount: 5 },
    { id: 8, amount: 1_000, time_window: "week" },
  ]);
  expect(tokenDrafts([DAY], changed)).toMatchObject([{ id: 7, amount: 1_000 }, { amount: 5 }]);
  expect(tokenDraftsWithout([DAY, week], 7)).toMatchObject([{ id: 8 }]);
});

it("says how a rate, running calls and the cost of one call get room again", () => {
  expect((["rpm", "tpm", "running", "cost"] as const).map(recoveryText)).toEqual([
    ...["随时间恢复", "随时间恢复", "请求结束后", "—"],
  ]);
});
