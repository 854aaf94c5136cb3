import { describe, expect, it } from "vitest";
import { ApiFault, bindSignedOut, faultText, handleFault, messages } from "./faults.ts";
import { TOAST_MS, takeToasts } from "./toast.ts";

function told(error: unknown) {
  takeToasts();
  handleFault(error);
  return takeToasts();
}

describe("the error catalogue", () => {
  it.each([
    [new ApiFault("http", "请 16 分钟后再试", { status: 429 }), "error", "请 16 分钟后再试"],
    [new ApiFault("http", "x", { status: 500 }), "error", messages.internal],
    [new ApiFault("http", "x", { status: 405 }), "info", messages.demo],
    [new ApiFault("http", "HTTP 502", { status: 502 }), "error", "错误：HTTP 502"],
    [new ApiFault("refused", "令牌不存在"), "error", "令牌不存在"],
    [new Error("boom"), "error", "boom"],
    ["?", "error", messages.failed],
  ])("tells %s as a toast", (error, kind, text) => {
    expect(told(error)).toEqual([{ kind, text, ms: kind === "info" ? TOAST_MS.info : TOAST_MS.error }]);
  });

  it("leads a 401 to the end of the session, without a toast", () => {
    let ended = 0;
    bindSignedOut(() => {
      ended += 1;
    });
    expect(told(new ApiFault("signed-out", "x", { status: 401 }))).toEqual([]);
    expect(ended).toBe(1);
    expect(faultText(new ApiFault("signed-out", "请登录", { status: 401 }))).toBe("请登录");
  });
});
