// Exchanged credentials: one exchange for all waiting calls, renewal before the end, errors and failures as faults.
import { generateKeyPairSync, verify } from "node:crypto";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { createEgress } from "#server/egress/dispatcher.ts";
import {
  type Heard,
  type HttpEmulator,
  type Reply,
  startHttpEmulator,
} from "#test/emulators/http-emulator.ts";
import { signers } from "./index.ts";
import { isFault, type SignResult, type SignTools } from "./signer.ts";
import { createTokenCache } from "./token-cache.ts";

const HOUR_MS = 3_600_000;
const egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }] });
afterAll(() => egress.close());

let clock: ReturnType<typeof fakeClock>;
let tools: SignTools;
let provider: HttpEmulator;
let reply: (heard: Heard) => Reply | undefined | Promise<Reply | undefined>;

beforeEach(async () => {
  clock = fakeClock();
  tools = { tokens: createTokenCache({ egress, now: clock.now }) };
  provider = await startHttpEmulator((heard) => reply(heard));
  let count = 0;
  reply = () => {
    count += 1;
    return { json: { access_token: `token-${count}`, expires_in: 2_592_000 } };
  };
});
afterEach(() => provider.close());

async function baidu(key = "my-api-key|my-secret-key", base = `${provider.url}/proxy`): Promise<SignResult> {
  const signer = signers["baidu-token"];
  if (signer.kind !== "call") throw new Error("a call signer");
  const url = `${base}/rpc/2.0/ai_custom/v1/wenxinworkshop/chat/completions`;
  return signer.sign(
    key,
    { method: "POST", url, body: new Uint8Array(), nowMs: clock.now(), other: "" },
    tools,
  );
}

function tokenOf(result: SignResult): string | null {
  return isFault(result) ? null : new URL(result.url ?? "").searchParams.get("access_token");
}

describe("Baidu's access token", () => {
  test("is exchanged at the host that uses it, with the two halves of the key", async () => {
    const signed = await baidu();
    expect(signed).toEqual({
      headers: [],
      url: `${provider.url}/proxy/rpc/2.0/ai_custom/v1/wenxinworkshop/chat/completions?access_token=token-1`,
      secrets: ["token-1"],
    });
    const [heard] = provider.heard;
    expect(heard).toMatchObject({ method: "POST", path: "/proxy/oauth/2.0/token" });
    expect(Object.fromEntries(heard?.query ?? [])).toEqual({
      grant_type: "client_credentials",
      client_id: "my-api-key",
      client_secret: "my-secret-key",
    });
  });

  test("is exchanged once for a hundred concurrent calls, and cached", async () => {
    const results = await Promise.all(Array.from({ length: 100 }, () => baidu()));
    expect(new Set(results.map(tokenOf))).toEqual(new Set(["token-1"]));
    expect(tokenOf(await baidu())).toBe("token-1");
    expect(provider.heard.length).toBe(1);
  });

  test("belongs to one key and one address", async () => {
    expect(tokenOf(await baidu("a|b"))).toBe("token-1");
    expect(tokenOf(await baidu("a|c"))).toBe("token-2");
    expect(tokenOf(await baidu("a|b", provider.url))).toBe("token-3");
    expect(tokenOf(await baidu("a|b"))).toBe("token-1");
  });

  test("is renewed in the background when less than an hour is left, once", async () => {
    await baidu();
    clock.advance(2_592_000_000 - HOUR_MS + 1);
    const results = await Promise.all(Array.from({ length: 100 }, () => baidu()));
    expect(new Set(results.map(tokenOf))).toEqual(new Set(["token-1"]));
    await expect.poll(async () => tokenOf(await baidu())).toBe("token-2");
    expect(provider.heard.length).toBe(2);
  });

  test("is used while its renewal fails, until its end", async () => {
    await baidu();
    clock.advance(2_592_000_000 - HOUR_MS + 1);
    reply = () => ({ status: 503, json: {} });
    expect(tokenOf(await baidu())).toBe("token-1");
    await expect.poll(() => provider.heard.length).toBe(2);
    expect(tokenOf(await baidu())).toBe("token-1");
    clock.advance(HOUR_MS);
    expect(await baidu()).toMatchObject({ kind: "fault", status: 503, blame: "channel" });
  });

  test("that was refused is exchanged again, once for all calls that were refused with it", async () => {
    const signer = signers["baidu-token"];
    const used = await Promise.all(Array.from({ length: 100 }, () => baidu()));
    const again = await Promise.all(
      used.map(async (signed) => {
        if (signer.kind !== "call" || isFault(signed)) throw new Error("a credential");
        expect(signer.forget?.(signed, tools)).toBe(true);
        return tokenOf(await baidu());
      }),
    );
    expect(new Set(again)).toEqual(new Set(["token-2"]));
    // The answer to a slow call comes last: it must not discard the new token.
    if (signer.kind === "call" && used[0] !== undefined && !isFault(used[0])) signer.forget?.(used[0], tools);
    expect(tokenOf(await baidu())).toBe("token-2");
    expect(provider.heard.length).toBe(2);
  });

  test("is not trusted longer when the clock jumps ahead", async () => {
    await baidu();
    clock.advance(2_592_000_000 + 1);
    expect(tokenOf(await baidu())).toBe("token-2");
  });
});

describe("a failed exchange", () => {
  test.each([
    [200, { error: "invalid_client", error_description: "unknown client id" }],
    [401, { error: "invalid_client", error_description: "Client authentication failed for my-secret-key" }],
    [400, { error: "invalid_grant" }],
  ])("that the provider refuses (%d %j) blames the credential and tells no key", async (status, json) => {
    reply = () => ({ status, json });
    const fault = await baidu();
    expect(fault).toMatchObject({
      kind: "fault",
      code: "upstream_credential",
      blame: "credential",
      retry: true,
    });
    expect(JSON.stringify(fault)).not.toContain("my-secret-key");
    expect(JSON.stringify(fault)).not.toContain("my-api-key");
  });

  test("because of our clock blames no key, and is not repeated at once", async () => {
    const words =
      "Invalid JWT: Token must be a short-lived token (60 minutes). Check your iat and exp values";
    reply = () => ({ status: 400, json: { error: "invalid_grant", error_description: words } });
    expect(await baidu()).toMatchObject({
      kind: "fault",
      code: "server_clock",
      blame: "channel",
      retry: true,
    });
    await baidu();
    expect(provider.heard.length).toBe(1);
  });

  test("is the result of all waiting calls, is retried only after a moment, and then may succeed", async () => {
    reply = () => ({ status: 401, json: { error: "invalid_client" } });
    const results = await Promise.all(Array.from({ length: 100 }, () => baidu()));
    for (const result of results) expect(result).toMatchObject({ code: "upstream_credential" });
    await baidu();
    expect(provider.heard.length).toBe(1);
    clock.advance(2_000);
    reply = () => ({ json: { access_token: "better", expires_in: 60 } });
    expect(tokenOf(await baidu())).toBe("better");
  });

  test("is not kept longer when the clock, which was wrong, is set back an hour", async () => {
    reply = () => ({ status: 401, json: { error: "invalid_client" } });
    await baidu();
    clock.advance(-HOUR_MS);
    reply = () => ({ json: { access_token: "better", expires_in: 60 } });
    expect(tokenOf(await baidu())).toBe("better");
  });

  test.each([
    ["the provider is busy", () => ({ status: 429, json: {} }), { blame: "channel", upstreamStatus: 429 }],
    ["the provider fails", () => ({ status: 500, json: {} }), { blame: "channel", upstreamStatus: 500 }],
    ["the answer holds no token", () => ({ json: { ok: true } }), { blame: "channel", code: "bad_response" }],
    [
      "the token could break a header",
      () => ({ json: { access_token: "a\r\nb" } }),
      { code: "bad_response" },
    ],
  ])("because %s is the channel's", async (_, answer, expected) => {
    reply = answer;
    expect(await baidu()).toMatchObject({ kind: "fault", retry: true, ...expected });
  });

  test("because no server listens is a network fault, and the next call tries again", async () => {
    const base = provider.url;
    await provider.close();
    expect(await baidu("a|b", base)).toMatchObject({ code: "do_request_failed", blame: "channel" });
    provider = await startHttpEmulator((heard) => reply(heard));
    expect(tokenOf(await baidu("a|b"))).toBe("token-1");
  });

  test("because the address is forbidden sends no request", async () => {
    const strict = createEgress({ allow: [] });
    tools = { tokens: createTokenCache({ egress: strict, now: clock.now }) };
    expect(await baidu()).toMatchObject({ kind: "fault", status: 502 });
    expect(provider.heard).toEqual([]);
    await strict.close();
  });
});

describe("Google's access token", () => {
  const pair = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });

  function account(): string {
    return JSON.stringify({
      type: "service_account",
      project_id: "my-project",
      private_key_id: "kid-1",
      private_key: pair.privateKey,
      client_email: "robot@my-project.iam.example",
      token_uri: `${provider.url}/token`,
    });
  }

  async function vertex(key: string): Promise<SignResult> {
    const signer = signers.vertex;
    if (signer.kind !== "call") throw new Error("a call signer");
    const url = "https://us-central1-aiplatform.googleapis.com/v1/projects/p";
    return signer.sign(
      key,
      { method: "POST", url, body: new Uint8Array(), nowMs: clock.now(), other: "" },
      tools,
    );
  }

  test("is exchanged for an assertion that the service account signed", async () => {
    reply = () => ({ json: { access_token: "ya29.token", expires_in: 3_600, token_type: "Bearer" } });
    expect(signers.vertex.check(account())).toBeUndefined();
    expect(await vertex(account())).toEqual({
      headers: ["authorization", "Bearer ya29.token"],
      secrets: ["ya29.token"],
    });
    const [heard] = provider.heard;
    expect(heard).toMatchObject({ method: "POST", path: "/token" });
    expect(heard?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    const form = new URLSearchParams(heard?.body);
    expect(form.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const [head = "", claims = "", signature = ""] = (form.get("assertion") ?? "").split(".");
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
    expect(read(head)).toEqual({ alg: "RS256", typ: "JWT", kid: "kid-1" });
    expect(read(claims)).toEqual({
      iss: "robot@my-project.iam.example",
      scope: "https://www.googleapis.com/auth/cloud-platform",
      aud: `${provider.url}/token`,
      iat: clock.seconds(),
      exp: clock.seconds() + 3_600,
    });
    const isGenuine = verify(
      "sha256",
      Buffer.from(`${head}.${claims}`),
      pair.publicKey,
      Buffer.from(signature, "base64url"),
    );
    expect(isGenuine).toBe(true);
  });

  test("is cached for fifty minutes", async () => {
    let count = 0;
    reply = () => {
      count += 1;
      return { json: { access_token: `g-${count}`, expires_in: 3_600 } };
    };
    await Promise.all(Array.from({ length: 100 }, () => vertex(account())));
    clock.advance(50 * 60_000 - 1);
    await vertex(account());
    expect(provider.heard.length).toBe(1);
    clock.advance(1);
    await vertex(account());
    await expect.poll(() => provider.heard.length).toBe(2);
  });
});

describe("the cache", () => {
  test("holds a thousand keys and forgets the oldest", async () => {
    const made: string[] = [];
    const make = (id: string) =>
      tools.tokens.made({
        id,
        aheadMs: 1,
        make: () => {
          made.push(id);
          return { text: id, lifetimeMs: HOUR_MS };
        },
      });
    for (let index = 0; index <= 1_000; index += 1) make(`key-${index}`);
    make("key-1");
    expect(made.length).toBe(1_001);
    make("key-0");
    expect(made.length).toBe(1_002);
  });
});
