// Errors that come with status 200 (requirements T21.2).
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { errorIn200 } from "./classify.ts";

function faultOf(type: number, reply: Readonly<Record<string, unknown>>) {
  return errorIn200(reply, { endpoint: "chat", quirks: providerOf(type)?.quirks, secrets: [] });
}

describe("an error with status 200", () => {
  it.each([
    [{ code: 10007, message: "traffic", sid: "s" }, 429],
    [{ code: 11200, message: "no licence", sid: "s" }, 502],
    [{ code: 10013, message: "audit", sid: "s" }, 400],
    [{ code: 10001, message: "other", sid: "s" }, 500],
    [{ error: { message: "traffic", code: "10007" } }, 429],
  ])("of Spark's HTTP service is read by its code (%j → %d)", (reply, status) => {
    expect(faultOf(48, reply)?.status).toBe(status);
  });

  it("is not what a reply with the code 0 is", () => {
    expect(faultOf(48, { code: 0, message: "Success", choices: [] })).toBeUndefined();
    expect(faultOf(48, { code: 0, message: "Success", usage: {} })).toBeUndefined();
    expect(faultOf(1, { code: 10007 })).toBeUndefined();
  });
});
