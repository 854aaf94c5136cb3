import { expect, test } from "vitest";
import { briefContent, failureIn } from "./failure.ts";

test("a failed call tells its status, code and sentence", () => {
  const entry = { type: 6, content: "503 no_available_channel：模型 a：b 无可用渠道" };
  expect(failureIn(entry)).toEqual({
    status: "503",
    code: "no_available_channel",
    message: "模型 a：b 无可用渠道",
  });
  expect(briefContent(entry)).toBe("模型 a：b 无可用渠道（503 no_available_channel）");
});

test("one of the background has no status", () => {
  const entry = { type: 6, content: "timeout：上游未在期限内完成任务，未收费" };
  expect(failureIn(entry)).toEqual({
    status: "",
    code: "timeout",
    message: "上游未在期限内完成任务，未收费",
  });
  expect(briefContent(entry)).toBe("上游未在期限内完成任务，未收费（timeout）");
});

test("one that another program wrote is shown as it is", () => {
  const entry = { type: 6, content: "status_code=503, no channel" };
  expect(failureIn(entry)).toEqual({ status: "", code: "", message: entry.content });
  expect(briefContent(entry)).toBe(entry.content);
});

test("other entries are none", () => {
  const entry = { type: 1, content: "200 元：充值" };
  expect(failureIn(entry)).toBeUndefined();
  expect(briefContent(entry)).toBe(entry.content);
});
