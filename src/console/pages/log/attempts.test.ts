import { expect, test } from "vitest";
import { failureText } from "#console/ui/failure-words.ts";
import { attemptsText, channelLabel } from "./failure.ts";

test.each([
  ["upstream_500", "上游返回 500"],
  ["upstream_200", "回答无法识别（状态码 200）"],
  ["do_request_failed", "无法连接或等待超时"],
  ["proxy_failed", "出站代理不可用"],
  ["overtaken", "比同时请求的渠道慢，已中断，上游可能仍收提示的费用"],
  ["something_new", "something_new"],
])("a failure %s reads %s", (error, text) => {
  expect(failureText(error)).toBe(text);
});

test("a channel that is gone keeps its number", () => {
  expect(channelLabel({ channel: 3, channel_name: "备用" })).toBe("#3 备用");
  expect(channelLabel({ channel: 3, channel_name: "" })).toBe("#3");
});

test("failed attempts in one line say which channel failed how, in their order", () => {
  expect(attemptsText([])).toBe("");
  const attempts = [
    { channel: 3, channel_name: "备用", error: "upstream_401", said: "no credit" },
    { channel: 4, channel_name: "", error: "do_request_failed", said: "" },
  ];
  const proxied = { channel: 5, channel_name: "代", error: "proxy_failed", said: "代理：无法连接" };
  expect(attemptsText([proxied, { ...proxied, said: "" }])).toBe(
    "#5 代：代理：无法连接 → #5 代：出站代理不可用",
  );
  expect(attemptsText(attempts)).toBe("#3 备用：上游返回 401（no credit） → #4：无法连接或等待超时");
});
