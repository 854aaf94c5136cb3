// The credentials a signer makes of a channel's key (a token, a signature, a signed address) never reach a reply or an error, whatever the
// status and spelling, just as the key itself never does (requirements R18).
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { clientBody, play } from "#test/worlds/wire-cases.ts";

const CHANNELS: Readonly<Record<string, { type: number; key: string; model: string }>> = {
  baidu: { type: 15, key: "fixture-api-key | fixture-secret-key", model: "ERNIE-3.5-8K" },
  zhipu: { type: 16, key: "testid-0123456789.testsecret-0123456789", model: "chatglm_turbo" },
  spark: { type: 18, key: "fixappid | fixture-secret-0123456 | fixture-api-key-01234", model: "Spark-Max" },
  tencent: { type: 23, key: "1250000000 | AKIDEXAMPLE000000000 | EXAMPLEsecretkey00", model: "hunyuan-pro" },
  bedrock: {
    type: 33,
    key: "AKIDEXAMPLE0 | wJalrXUtnFEMI/K7MDENG+bPxRfi | us-east-1",
    model: "us.anthropic.claude-sonnet-4-6",
  },
};
const request = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}');

/** An error in the formats of all these vendors. */
function refusal(words: string): Buffer {
  const told = { message: words, code: 10013 };
  return Buffer.from(
    JSON.stringify({
      ...{ error: told, header: told, error_code: 336000, error_msg: words, success: false, msg: words },
      Response: { Error: { Code: "InternalError", Message: words } },
    }),
  );
}

function ask(name: string, status: number, reply: Buffer) {
  const { type, key, model } = CHANNELS[name] ?? expect.fail("no such channel");
  const provider = providerOf(type) ?? expect.fail("no such provider");
  const channel = { provider, key, baseUrl: "", other: "" };
  const body = clientBody(request);
  const contentType = "application/json";
  return play({ channel, endpoint: "chat", body, model, isStream: false, status, contentType, reply });
}

describe.each(Object.keys(CHANNELS))("%s", (name) => {
  it.each([200, 400, 500])("tells no credential made of its key, with status %d", async (status) => {
    const { sent } = await ask(name, 200, Buffer.from("{}"));
    const { path = "", headers = [] } = sent ?? {};
    const query = [...new URLSearchParams(path.split("?")[1])];
    const authorization = headers[headers.indexOf("authorization") + 1] ?? "";
    const made = [
      ...query.flatMap(([at, value]) =>
        at === "date" || at === "host" ? [] : [value, encodeURIComponent(value)],
      ),
      ...(headers.includes("authorization") ? [authorization.replace(/^Bearer |.*Signature=/, "")] : []),
    ];
    const parts = (CHANNELS[name]?.key ?? "").split(/[|]/).map((part) => part.trim());
    const words = `bad call ${path} ${[...query.flat(), ...headers, ...parts].join(" ")}`;
    const { result, bytes } = await ask(name, status, refusal(words));
    if (result.kind !== "fault") expect.fail("the refusal was no fault");
    expect(result.publicMessage).toContain("bad call");
    const told = JSON.stringify(result) + bytes.toString();
    expect(made.length).toBeGreaterThan(0);
    for (const secret of [...made, ...parts.filter((part) => part.length > 9)])
      expect(told.includes(JSON.stringify(secret).slice(1, -1))).toBe(false);
  });
});
