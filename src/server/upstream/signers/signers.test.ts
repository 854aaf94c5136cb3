// The signers: the test vectors of the vendors' schemes, what each kind sends, and which keys it refuses.
import { describe, expect, test } from "vitest";
import { wireOf } from "#contract/provider.ts";
import { providers } from "#contract/providers.ts";
import { RewriteRule } from "#contract/rewrite.ts";
import { keyFault, signerFor, signers } from "./index.ts";
import { isFault, type Signed, type SignRequest, secretsOf } from "./signer.ts";
import { createTokenCache } from "./token-cache.ts";

const NOW_MS = 1_700_000_000_000;
const NO_NETWORK = {
  send(): never {
    throw new Error("these kinds send no request");
  },
};

async function sign(
  name: keyof typeof signers,
  key: string,
  request: Partial<SignRequest> = {},
): Promise<Signed> {
  const signer = signers[name];
  const nowMs = request.nowMs ?? NOW_MS;
  const tools = { tokens: createTokenCache({ egress: NO_NETWORK, now: () => nowMs }) };
  const full = {
    method: "POST",
    url: "https://h.example/v1",
    body: new Uint8Array(),
    other: "",
    nowMs,
    ...request,
  } as const;
  const result = signer.kind === "fixed" ? signer.sign(key) : await signer.sign(key, full, tools);
  if (isFault(result)) throw new Error(String(result.code));
  return result;
}

function header(signed: Signed, name: string): string | undefined {
  const at = signed.headers.indexOf(name);
  return at < 0 ? undefined : signed.headers[at + 1];
}

describe("keys that are sent unchanged", () => {
  test.each([
    ["bearer", " Bearer sk-1 ", ["authorization", "Bearer sk-1"]],
    ["bearer", "", []],
    ["azure-key", "k", ["api-key", "k"]],
    ["goog-key", "AIza1", ["x-goog-api-key", "AIza1"]],
    ["x-api-key", "sk-ant-api03-1", ["x-api-key", "sk-ant-api03-1"]],
    ["x-api-key", "sk-ant-oat01-1", ["authorization", "Bearer sk-ant-oat01-1"]],
    ["x-api-key", "sk-other", ["x-api-key", "sk-other", "authorization", "Bearer sk-other"]],
    ["bearer-x-api-key", "k", ["x-api-key", "k", "authorization", "Bearer k"]],
    ["bearer-app-id", "bce-v3/a/b", ["authorization", "Bearer bce-v3/a/b"]],
    ["bearer-app-id", "bce-v3/a/b|app-1", ["authorization", "Bearer bce-v3/a/b", "appid", "app-1"]],
    ["xunfei-pair", "app|secret|key", ["authorization", "Bearer key:secret"]],
  ] as const)("%s sends %j as %j", async (name, key, headers) => {
    expect((await sign(name, key)).headers).toEqual(headers);
  });

  test("are sent in both headers to an Anthropic-compatible address of another vendor", () => {
    expect(signerFor("bearer", "messages")).toBe(signers["bearer-x-api-key"]);
    expect(signerFor("bearer", "count-tokens")).toBe(signers["bearer-x-api-key"]);
    expect(signerFor("bearer", "chat")).toBe(signers.bearer);
    expect(signerFor("x-api-key", "messages")).toBe(signers["x-api-key"]);
  });
});

describe("Spark's signed address", () => {
  const key = "appid000|testsecret0123456789abcdef012345|testkey0123456789abcdef012345678";
  const request = { method: "GET", url: "wss://spark-api.xf-yun.com/v3.5/chat" } as const;
  const nowMs = Date.parse("Fri, 05 May 2023 10:43:39 GMT");

  test("is the vector of vendors/spark-socket", async () => {
    const signed = await sign("xunfei-url", key, { ...request, nowMs });
    const url = new URL(signed.url ?? "");
    expect(signed.headers).toEqual([]);
    expect(url.protocol + url.host + url.pathname).toBe("wss:spark-api.xf-yun.com/v3.5/chat");
    expect(url.searchParams.get("date")).toBe("Fri, 05 May 2023 10:43:39 GMT");
    expect(url.searchParams.get("host")).toBe("spark-api.xf-yun.com");
    expect(url.searchParams.get("authorization")).toBe(
      "aG1hYyB1c2VybmFtZT0idGVzdGtleTAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2NzgiLCBhbGdvcml0aG09ImhtYWMtc2hhMjU2IiwgaGVhZGVycz0iaG9zdCBkYXRlIHJlcXVlc3QtbGluZSIsIHNpZ25hdHVyZT0ic0N2VXFMOEwzRzZ0d1YwcVBVSS9BL2F1QjNObkRNUGUvVVhEQUk1N0xsVT0i",
    );
    expect(signed.secrets).toContain("sCvUqL8L3G6twV0qPUI/A/auB3NnDMPe/UXDAI57LlU=");
  });

  test("has the time of its own call: the upstream accepts a difference of 300 seconds at most", async () => {
    const later = await sign("xunfei-url", key, { ...request, nowMs: nowMs + 301_000 });
    expect(new URL(later.url ?? "").searchParams.get("date")).toBe("Fri, 05 May 2023 10:48:40 GMT");
  });
});

test("Kling's token names the access key and is valid for half an hour; Vidu's key has a scheme of its own", async () => {
  const { headers, secrets } = await sign("kling-jwt", "ak|sk", { nowMs: 1_700_000_000_000 });
  const [, claims = ""] = (headers[1] ?? "").split(".");
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({ iss: "ak" });
  expect(headers).toEqual(["authorization", `Bearer ${secrets?.[0]}`]);
  expect((await sign("token", " vda_1 ")).headers).toEqual(["authorization", "Token vda_1"]);
});

describe("Tencent's TC3", () => {
  const key = "1250000000|AKIDEXAMPLE00000000000000000000000000|EXAMPLEsecretkey0000000000000000";
  const url = "https://hunyuan.tencentcloudapi.com/";
  const chat = Buffer.from(
    '{"Model":"hunyuan-lite","Messages":[{"Role":"user","Content":"hi"}],"Stream":false}',
  );

  test("is the vector of vendors/tencent-tc3", async () => {
    const signed = await sign("tencent-tc3", key, { url, body: chat });
    expect(signed.headers).toEqual([
      "authorization",
      "TC3-HMAC-SHA256 Credential=AKIDEXAMPLE00000000000000000000000000/2023-11-14/hunyuan/tc3_request, SignedHeaders=content-type;host;x-tc-action, Signature=77347e56844c907d00507865a511fcf1fc767e1dc17ca45f0e37134e72fae3ce",
      "x-tc-action",
      "ChatCompletions",
      "x-tc-version",
      "2023-09-01",
      "x-tc-timestamp",
      "1700000000",
    ]);
  });

  test("has the action of the body, whatever its texts contain", async () => {
    const body = Buffer.from(JSON.stringify({ Input: 'say "Messages": to me' }));
    expect(header(await sign("tencent-tc3", key, { url, body }), "x-tc-action")).toBe("GetEmbedding");
    // A view into a larger buffer, as encoders return it.
    const view = Buffer.concat([chat, body]).subarray(chat.length);
    expect(header(await sign("tencent-tc3", key, { url, body: view }), "x-tc-action")).toBe("GetEmbedding");
  });

  test("signs the day of its own call and the host it is sent to", async () => {
    const at = (change: Partial<SignRequest>) => sign("tencent-tc3", key, { url, body: chat, ...change });
    const [plain, nextDay, proxied] = [
      await at({}),
      await at({ nowMs: NOW_MS + 86_400_000 }),
      await at({ url: "http://127.0.0.1:8080/" }),
    ];
    expect(header(nextDay, "authorization")).toContain("/2023-11-15/");
    expect(new Set([plain, nextDay, proxied].map(({ secrets }) => secrets?.[0])).size).toBe(3);
  });
});

describe("AWS's SigV4", () => {
  const url =
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke";
  const body = Buffer.from(
    '{"anthropic_version":"bedrock-2023-05-31","max_tokens":16,"messages":[{"role":"user","content":"hi"}]}',
  );
  const pair = "AKIDEXAMPLE|wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

  test.each([`${pair}|us-east-1`, `us-east-1|${pair}`])(
    "is the vector of vendors/aws-sigv4 (%s)",
    async (key) => {
      const signed = await sign("aws-sigv4", key, { url, body });
      expect(signed.headers).toEqual([
        "authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20231114/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=19ea6fe7c8fd5d589abacbb595b686c3003ec5226332236fcda959067cadad81",
        "x-amz-date",
        "20231114T221320Z",
      ]);
    },
  );

  test("signs a session token too, and sends an API key unchanged", async () => {
    const session = await sign("aws-sigv4", `${pair}|us-east-1|TOKEN`, { url, body });
    expect(header(session, "x-amz-security-token")).toBe("TOKEN");
    expect(header(session, "authorization")).toContain("content-type;host;x-amz-date;x-amz-security-token");
    expect((await sign("aws-sigv4", "ABSKkey|eu-west-3", { url, body })).headers).toEqual([
      "authorization",
      "Bearer ABSKkey",
    ]);
  });
});

describe("Zhipu's token", () => {
  test("is the vector of vendors/zhipu", async () => {
    const jwt =
      "eyJhbGciOiJIUzI1NiIsInNpZ25fdHlwZSI6IlNJR04iLCJ0eXAiOiJKV1QifQ.eyJhcGlfa2V5IjoidGVzdGlkIiwiZXhwIjoxNzAwMDg2NDAwMDAwLCJ0aW1lc3RhbXAiOjE3MDAwMDAwMDAwMDB9.aDSpUV1GWDqtcrlxxb_s4t3cC6x0Xw2VOw_EZ9dd3zk";
    expect(await sign("zhipu-jwt", "testid.testsecret")).toEqual({
      headers: ["authorization", `Bearer ${jwt}`],
      secrets: [jwt],
    });
  });

  test("is not made from a key without exactly one dot, nor for the Anthropic address", async () => {
    for (const key of ["plain", "a.b.c", "a.", ".b"])
      expect((await sign("zhipu-jwt", key)).headers).toEqual(["authorization", `Bearer ${key}`]);
    const url = "https://open.bigmodel.cn/api/anthropic/v1/messages";
    expect((await sign("zhipu-jwt", "id.secret", { url })).headers).toEqual([
      ...["x-api-key", "id.secret", "authorization", "Bearer id.secret"],
    ]);
  });

  test("is valid for a day and is renewed five minutes before its end", async () => {
    let nowMs = NOW_MS;
    const tools = { tokens: createTokenCache({ egress: NO_NETWORK, now: () => nowMs }) };
    const request = {
      method: "POST",
      url: "https://h.example/",
      body: new Uint8Array(),
      other: "",
      nowMs,
    } as const;
    const token = async () => {
      const signer = signers["zhipu-jwt"];
      if (signer.kind !== "call") throw new Error("a call signer");
      const result = await signer.sign("id.secret", request, tools);
      return isFault(result) ? "" : header(result, "authorization");
    };
    const first = await token();
    nowMs += 86_400_000 - 300_001;
    expect(await token()).toBe(first);
    nowMs += 1;
    expect(await token()).not.toBe(first);
  });

  test("that was refused is made again, e.g. after the clock was corrected", async () => {
    let nowMs = NOW_MS + 10 * 86_400_000;
    const tools = { tokens: createTokenCache({ egress: NO_NETWORK, now: () => nowMs }) };
    const signer = signers["zhipu-jwt"];
    if (signer.kind !== "call") throw new Error("a call signer");
    const request = { method: "POST", url: "https://h.example/", body: new Uint8Array(), other: "" } as const;
    const ahead = await signer.sign("id.secret", { ...request, nowMs }, tools);
    nowMs = NOW_MS;
    expect(await signer.sign("id.secret", { ...request, nowMs }, tools)).toEqual(ahead);
    if (isFault(ahead)) throw new Error("a credential");
    expect(signer.forget?.(ahead, tools)).toBe(false);
    expect(await signer.sign("id.secret", { ...request, nowMs }, tools)).not.toEqual(ahead);
  });
});

describe("an API key of Vertex", () => {
  test("is in the query", async () => {
    const url =
      "https://aiplatform.googleapis.com/v1/publishers/google/models/m:streamGenerateContent?alt=sse";
    expect((await sign("vertex", "AIza-1", { url })).url).toBe(`${url}&key=AIza-1`);
  });
});

describe("the form of a key", () => {
  test.each([
    ["bearer", "sk-1", true],
    ["bearer", "", true],
    ["bearer", "钥匙", false],
    ["bearer", "sk-1\r\nx-evil: 1", false],
    ["azure-key", "k\u0000", false],
    ["baidu-token", "id|secret", true],
    ["baidu-token", " Bearer id | secret ", true],
    ["baidu-token", "id|secret|more", false],
    ["baidu-token", "half|", false],
    ["baidu-token", "alone", false],
    ["xunfei-url", "a|b|c", true],
    ["xunfei-url", "a|b", false],
    ["xunfei-url", "a||c", false],
    ["xunfei-pair", "a|b", false],
    ["tencent-tc3", "1|id|key", true],
    ["tencent-tc3", "id|key", false],
    ["aws-sigv4", "AK|SK|us-west-2", true],
    ["aws-sigv4", "AK|SK|us-gov-west-1|token", true],
    ["aws-sigv4", "key|us-west-2", true],
    ["aws-sigv4", "one|two|somewhere", false],
    ["aws-sigv4", "one|two", false],
    ["aws-sigv4", "alone", false],
    ["vertex", "AIza-1", true],
    ["vertex", "a|b", false],
    ["vertex", '{"client_email":"a@b"}', false],
    ["vertex", '{"client_email":"a@b","private_key":"no PEM"}', false],
    ["vertex", '{"client_email"', false],
    ["zhipu-jwt", "id.secret", true],
    ["kling-jwt", "ak|sk", true],
    ["kling-jwt", "ak", false],
    ["kling-jwt", "ak|sk|more", false],
    ["token", "vda_1", true],
    ["token", "vda_钥", false],
  ] as const)("%s: %j → %j", (name, key, isFine) => {
    const problem = signers[name].check(key);
    expect(problem === undefined).toBe(isFine);
    if (isFine) {
      expect(keyFault(name, key)).toBeUndefined();
      return;
    }
    expect(problem).not.toContain(key);
    const fault = keyFault(name, key);
    expect(fault).toMatchObject({ status: 500, code: "invalid_channel_key", retry: true, blame: "none" });
    expect(JSON.stringify(fault)).not.toContain(key);
  });

  test("of several parts is shown as in the row", () => {
    for (const row of providers) {
      if (row.keyParts === undefined) continue;
      const key = row.keyParts.map(() => "x").join("|");
      const { signer } = wireOf(row, { key, baseUrl: "", other: "", model: "" });
      expect(signers[signer].check("wrong"), row.slug).toContain(row.keyParts.join("|"));
    }
  });

  test("a wrong one causes no request and is a fault, never a throw", async () => {
    for (const name of ["baidu-token", "xunfei-url", "tencent-tc3", "aws-sigv4", "vertex"] as const)
      await expect(sign(name, '{"x"|')).rejects.toThrow("invalid_channel_key");
  });
});

describe("a header that holds a key", () => {
  const KEYS = ["secret", "sk-ant-secret", "sk-ant-oat-secret", "secret|app", "app|secret|secret"];
  const kinds = Object.entries(signers).flatMap(([name, { kind, check, sign }]) =>
    kind === "fixed" ? [{ name, check, sign }] : [],
  );

  test.each(kinds)(
    "of $name is neither set, taken away, passed on nor asked about by a channel's rules",
    (signer) => {
      const signed = KEYS.filter((key) => signer.check(key) === undefined).map((key) => signer.sign(key));
      // Beside keys there are names of apps, which open nothing.
      const names = signed.flatMap(({ headers }) =>
        headers.filter((_text, index) => index % 2 === 0 && headers[index + 1]?.includes("secret")),
      );
      expect(names).not.toEqual([]);
      for (const name of names) {
        for (const action of [
          { op: "setHeader", name, value: "x" },
          { op: "set", path: "/user", value: `{{header:${name}}}` },
          { op: "removeHeader", name },
          { op: "passHeader", name },
        ])
          expect(RewriteRule.safeParse({ id: "r", do: [action] }).success, `${action.op} ${name}`).toBe(
            false,
          );
        const asks = { id: "r", when: { header: { [name]: "*" } }, do: [{ op: "remove", path: "/user" }] };
        expect(RewriteRule.safeParse(asks).success, `a condition on ${name}`).toBe(false);
      }
    },
  );
});

describe("the secrets of a key", () => {
  test("are the key and its long parts, but no region", () => {
    expect(secretsOf("")).toEqual([]);
    expect(secretsOf("sk-12345678")).toEqual(["sk-12345678"]);
    expect(secretsOf("AKIDEXAMPLE|secret-key|ap-southeast-1")).toEqual([
      "AKIDEXAMPLE|secret-key|ap-southeast-1",
      "AKIDEXAMPLE",
      "secret-key",
    ]);
  });

  test("of a service account are its private key and its name", () => {
    const file = JSON.stringify({ client_email: "robot@p.example", private_key: "-----BEGIN" });
    expect(secretsOf(file)).toEqual([file, "-----BEGIN", "robot@p.example"]);
  });
});
