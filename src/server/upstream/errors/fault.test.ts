import { describe, expect, it } from "vitest";
import { retryAfterOf, statusFault } from "./fault.ts";
import { messageOf } from "./message.ts";
import { redact } from "./redact.ts";

function faultOf(status: number, body: unknown, text = "") {
  return statusFault({ status, body, text, retryAfterMs: 0, secrets: ["sk-very-secret", "api.secret.host"] });
}

describe("messages of unknown errors", () => {
  it.each([
    [{ error: "a" }, "a"],
    [{ error: { message: "b" } }, "b"],
    [{ message: "c" }, "c"],
    [{ error_msg: "d", error_code: 110 }, "d"],
    [{ detail: [{ msg: "e" }] }, "e"],
    [{ message: { detail: [{ msg: "f" }] } }, "f"],
    [{ base_resp: { status_msg: "g" } }, "g"],
    [{ header: { message: "h" } }, "h"],
    [{ Response: { Error: { Message: "i" } } }, "i"],
    [{ errors: [{ message: "j" }] }, "j"],
    [{ title: "k" }, "k"],
    [{ error: { message: "" }, msg: "l" }, "l"],
  ])("%j", (body, message) => {
    expect(messageOf(body)).toBe(message);
  });

  it("takes the title of an HTML page, else the status", () => {
    expect(faultOf(503, undefined, "<html><TITLE>Down</TITLE>").publicMessage).toBe("Down");
    expect(faultOf(500, undefined, "").publicMessage).toBe("bad response status code 500");
  });
});

describe("statusFault", () => {
  it.each([
    [400, false, "none", 400],
    [401, true, "credential", 502],
    [402, true, "credential", 502],
    [403, true, "credential", 502],
    [404, true, "none", 404],
    [408, true, "channel", 408],
    [409, true, "none", 409],
    [413, false, "none", 413],
    [422, false, "none", 422],
    [429, true, "channel", 429],
    [500, true, "channel", 500],
    [501, false, "none", 501],
    [529, true, "channel", 529],
    [302, true, "channel", 502],
    [204, true, "channel", 502],
  ])("%i: retry %s, blame %s, told as %i", (status, retry, blame, told) => {
    expect(faultOf(status, { error: { message: "x" } })).toMatchObject({ retry, blame, status: told });
  });

  it("hides the message of a credential failure and redacts all others", () => {
    const hidden = faultOf(401, {
      error: { message: "key sk-very-secret of org-abcdef1", code: "invalid_api_key" },
    });
    expect(JSON.stringify({ ...hidden, signals: [] })).not.toMatch(/very-secret|org-abcdef1/);
    expect(hidden.signals).toContain("invalid_api_key");
    const shown = faultOf(400, {
      error: { message: "at api.secret.host", type: "t", param: 7, code: 8, raw: { key: "sk-very-secret" } },
    });
    expect(shown).toMatchObject({
      publicMessage: "at ***",
      type: "t",
      param: null,
      code: 8,
      extra: { raw: { key: "***" } },
    });
  });
});

describe("redact", () => {
  const secrets = ["Plain4Key9without", "api.secret.host"];

  it("leaves a secret that looks like a word out of what is logged", () => {
    const error = { message: "no", code: "abcdefghijklmnop", type: "invalid_request_error" };
    const secrets = ["abcdefghijklmnop"];
    const fault = statusFault({ status: 400, body: { error }, text: "", retryAfterMs: 0, secrets });
    expect(fault.detail).toBe("status 400 invalid_request_error");
  });

  it.each([
    ["no route at /v1/chat/completions, resets at 12:30:45", undefined],
    ["select a model from the list; update it and set n", undefined],
    ["see https://docs.example.com/app/limits", undefined],
    ["boom\n    at run (/app/server.js:10:15)\n    at node:internal/main:5:3", "boom******"],
    ["failed: INSERT INTO tokens (id) VALUES (1)", "failed: ***"],
    ["cannot open /var/lib/keys.json: ENOENT", "cannot open ***: ENOENT"],
    ["lookup vault.prod.internal on localhost:53", "lookup *** on ***"],
    ["\u001b[31mred\u001b[0m\u0000", "red"],
  ])("tells nothing of the inside of a server, and leaves other words: %j", (text, clean) => {
    expect(redact(text, [])).toBe(clean ?? text);
  });

  it("finds a secret in the escapes of an error within an error", () => {
    const [key = ""] = secrets;
    const escaped = key.replace("4", "\\u0034").replace("K", "\\\\u004B");
    expect(redact(`{"message":"bad ${escaped}"} at https:\\/\\/api\\u002esecret.host\\/v1`, secrets)).toBe(
      '{"message":"bad ***"} at https:\\/\\/***\\/v1',
    );
    const long = `${"x".repeat(1_990)}${key.replace(/./g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)}`;
    expect(redact(long, secrets)).toBe(`${"x".repeat(1_990)}***`);
  });

  it("leaves nothing of a secret in any part of an error", () => {
    const [key = ""] = secrets;
    const error = {
      message: `${"x".repeat(1_990)}${key}`,
      type: key,
      param: `messages.${key}`,
      code: `bad_${key}`,
      [key]: 1,
      deep: [{ [`at ${key}`]: [key] }],
    };
    const fault = statusFault({ status: 400, body: { error }, text: "", retryAfterMs: 0, secrets });
    const shown = JSON.stringify({ ...fault, signals: [], detail: "" });
    expect(shown).not.toContain(key.slice(0, 6));
    expect(fault).toMatchObject({
      param: "messages.***",
      code: "bad_***",
      extra: { deep: [{ "at ***": ["***"] }] },
    });
    expect(fault.publicMessage.length).toBeLessThanOrEqual(2_000);
  });

  it.each([
    ["at ::1 or fe80::1", "at *** or ***"],
    ["[2001:db8::7]:8080 refused", "[***]:8080 refused"],
    ["via ::ffff:10.0.0.1, ok", "via ::ffff:***, ok"],
    ["from 2606:4700:4700:0:0:0:0:1111.", "from ***."],
    [
      "at 12:34:56 in std::vector<a::b>, a ratio of 16:9 :: done",
      "at 12:34:56 in std::vector<a::b>, a ratio of 16:9 :: done",
    ],
  ])("knows addresses of version 6: %s", (text, clean) => {
    expect(redact(text, [])).toBe(clean);
  });

  it("recognizes keys, accounts and addresses by their form", () => {
    const text =
      "sk-proj-abcdef123456 gsk_x AIzaSyA1234567890 org-AbCdEf123 10.0.0.1:8080 see https://platform.openai.com/docs";
    const clean = redact(text, []);
    expect(clean).toBe("*** gsk_x *** *** *** see https://platform.openai.com/docs");
  });
});

describe("retryAfterOf", () => {
  it("reads seconds and dates, within an hour", () => {
    const now = Date.parse("2026-11-20T00:00:00Z");
    expect(retryAfterOf("3", now)).toBe(3000);
    expect(retryAfterOf("Fri, 20 Nov 2026 00:00:05 GMT", now)).toBe(5000);
    expect(retryAfterOf("99999999", now)).toBe(3_600_000);
    expect([retryAfterOf("-1", now), retryAfterOf("soon", now), retryAfterOf(undefined, now)]).toEqual([
      0, 0, 0,
    ]);
  });
});
