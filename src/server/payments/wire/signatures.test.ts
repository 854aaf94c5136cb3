// The vectors of each protocol, byte for byte, and what must be refused. The private half of the published key is nowhere: signing is proven
// with a key made here.

import { createCipheriv, createHash, generateKeyPairSync, sign } from "node:crypto";
import fc from "fast-check";
import Stripe from "stripe";
import { describe, expect, test } from "vitest";
import {
  openGcm,
  rsaPrivateKey,
  rsaPublicKey,
  sameSignature,
  signRsa,
  verifiesRsa,
} from "#server/secrets/payment-crypto.ts";
import { PUBLIC_KEY, vectors } from "#test/seeds/payment-vectors.ts";
import { rounds } from "#test/worlds/soak.ts";
import { joined, parseForm } from "./form.ts";
import { flatMembers, rawMembers } from "./raw-json.ts";
import {
  signAlipay,
  signEpayV1,
  signEpayV2,
  verifiesAlipayNotice,
  verifiesEpayV1,
  verifiesEpayV2,
  verifiesStripe,
  verifyWeChat,
  wechatRequestText,
} from "./signatures.ts";

const platform = rsaPublicKey(PUBLIC_KEY);
if (!platform) throw new Error("the published key is RSA");
const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
const privateKey = rsaPrivateKey(own.privateKey.export({ type: "pkcs8", format: "pem" }).toString());
const publicKey = rsaPublicKey(own.publicKey.export({ type: "spki", format: "der" }).toString("base64"));
if (!privateKey || !publicKey) throw new Error("keys made here are RSA");

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const paramsOf = (text: string) =>
  new Map(
    text.split("&").map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    }),
  );
const NOW = 1_795_492_800;

describe("易支付", () => {
  const key = vectors.epayKey;

  test.each([
    [
      vectors.epayRequest,
      "10d5e1ff0ff811594b05187554acc450",
      181,
      "9b33cad1979d9876816b226819ea15a0d9480213a776c0772d2e12bc4aaf6b24",
    ],
    [
      vectors.epayNotice,
      "40f58de3565c4d0f5870c7216748f93c",
      136,
      "3c1bdc8cdeb61c0a98b2bd3fb0209d3734411b992dc16febdf30823830a87d82",
    ],
  ])("signs and verifies V1: %s", (text, sign, bytes, digest) => {
    const params = new Map([...paramsOf(text)].reverse());
    expect([Buffer.byteLength(joined(params, [])), sha256(joined(params, []))]).toEqual([bytes, digest]);
    expect(signEpayV1(params, key)).toBe(sign);
    expect(
      verifiesEpayV1(new Map([...params, ["sign", sign], ["sign_type", "MD5"], ["param", ""]]), key),
    ).toBe(true);
    for (const wrong of [`${key} `, `${key}\n`, "", key.toLowerCase()])
      expect(verifiesEpayV1(new Map([...params, ["sign", sign]]), wrong)).toBe(false);
  });

  test("refuses what an empty key signed, and every other length and form without an exception", () => {
    const notice = paramsOf(vectors.epayNotice);
    expect(signEpayV1(notice, "")).toBe("54bd97b88ca2c12161e3d21cb240acf5");
    expect(verifiesEpayV1(new Map([...notice, ["sign", "54bd97b88ca2c12161e3d21cb240acf5"]]), "")).toBe(
      false,
    );
    expect(signEpayV1(new Map([...notice, ["money", "0.01"]]), key)).toBe("193884fc4c5a834535379e70bcd939d0");
    const sign = signEpayV1(notice, key);
    const odd = ["", sign.slice(1), `${sign}0`, sign.toUpperCase(), "z".repeat(32), "é".repeat(16)];
    for (const given of odd) expect(verifiesEpayV1(new Map([...notice, ["sign", given]]), key)).toBe(false);
    expect(verifiesEpayV1(notice, key)).toBe(false);
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (given) => sameSignature(given, sign) === (given === sign)),
      { numRuns: rounds(10_000, 100_000) },
    );
  });

  test("verifies V2 with the platform's key within 300 seconds", () => {
    const params = paramsOf(vectors.epayV2);
    expect([Buffer.byteLength(vectors.epayV2), sha256(joined(params, []))]).toEqual([
      157,
      "68ba7aae676a67cb2c704a8bf242f3cc698ae2c7b04a12a6225dc95b3abfd60a",
    ]);
    const notice = new Map([...params, ["sign", vectors.epayV2Sign], ["sign_type", "RSA"]]);
    for (const nowSec of [NOW, NOW - 300, NOW + 300])
      expect(verifiesEpayV2(notice, platform, nowSec)).toBe(true);
    for (const nowSec of [NOW - 301, NOW + 301]) expect(verifiesEpayV2(notice, platform, nowSec)).toBe(false);
    expect(verifiesEpayV2(new Map([...notice, ["money", "30.0"]]), platform, NOW)).toBe(false);
    expect(verifiesEpayV2(notice, publicKey, NOW)).toBe(false);
    const signed = new Map([...params, ["sign", signEpayV2(params, privateKey)]]);
    expect(verifiesEpayV2(signed, publicKey, NOW)).toBe(true);
  });

  test("a request whose address names further parameters has the signature of a notice, which is why none is taken from users", () => {
    const [returnUrl, forged] = [
      "https://tollgate.example/topup",
      { trade_no: "1", trade_status: "TRADE_SUCCESS" },
    ];
    const request = {
      ...{ money: "30.00", name: "x", notify_url: "https://tollgate.example/n", pid: "1001", type: "alipay" },
      out_trade_no: "TG20261124000001",
    };
    const asked = { ...request, return_url: `${returnUrl}&trade_no=1&trade_status=TRADE_SUCCESS` };
    const notice = { ...request, return_url: returnUrl, ...forged };
    for (const params of [asked, notice])
      expect(signEpayV1(Object.entries(params), key)).toBe("fcda1425791a71a249469f28fe68f540");
    // As we ask, it is another text, and no notice.
    const ours = { ...request, return_url: returnUrl };
    expect(joined(Object.entries(ours), [])).not.toBe(joined(Object.entries(notice), []));
    expect(signEpayV1(Object.entries(ours), key)).not.toBe("fcda1425791a71a249469f28fe68f540");
  });

  test("the two readings of 1.2 sign alike, which is why parseForm refuses one of them", () => {
    const pairs = { money: "30.00", pid: "1001" };
    const one = new Map(Object.entries({ ...pairs, name: "x", out_trade_no: "TG-B" }));
    const other = new Map(Object.entries({ ...pairs, name: "x&out_trade_no=TG-B" }));
    expect(signEpayV1(one, key)).toBe("6c19ef03073df54c16a9342de2b208af");
    expect(signEpayV1(other, key)).toBe("6c19ef03073df54c16a9342de2b208af");
  });
});

describe("a query or form", () => {
  test.each([
    "money=1&money=30",
    "sign[]=x",
    "a=%00",
    "a=%0a",
    "a=%zz",
    "a%20b=1",
    "a.b=1",
    `${"a=1&".repeat(2)}b=2`,
  ])("%s is refused whole", (text) => expect(parseForm(text)).toBeUndefined());

  test("a flood of names is refused; plain values come through", () => {
    expect(parseForm(Array.from({ length: 10_000 }, (_, at) => `k${at}=1`).join("&"))).toBeUndefined();
    expect([...(parseForm("name=%E8%B4%A6%E6%88%B7+x&empty=&bare") ?? [])]).toEqual([
      ["name", "账户 x"],
      ["empty", ""],
      ["bare", ""],
    ]);
  });
});

describe("Stripe", () => {
  const { stripeBody: body, stripeSecret } = vectors;
  const sign = "8e50895e50c90f4d7cfe566bc14e8be0fa60b4aa4f641f7a837e0835264fb762";
  const check = (
    header: string,
    secrets: readonly string[] = [stripeSecret],
    nowSec = NOW,
    text: string = body,
  ) => verifiesStripe(Buffer.from(text), header, { secrets, nowSec });

  test("the vector, and the SDK's own header", () => {
    expect([Buffer.byteLength(body), sha256(body)]).toEqual([
      217,
      "3c19c677be27c481e1f890326f8c311dcbff7b633b0f5ff7b5b8155a53ab9efe",
    ]);
    const header = `t=${NOW},v1=${sign}`;
    expect(check(header)).toBe(true);
    const oracle = new Stripe("sk_test_x").webhooks;
    expect(oracle.generateTestHeaderString({ payload: body, secret: stripeSecret, timestamp: NOW })).toBe(
      header,
    );
  });

  test("any v1 counts, v0 does not, the time is bounded on both sides, the body is the bytes", () => {
    expect(check(`t=${NOW},v1=${"0".repeat(64)},v1=${sign}`)).toBe(true);
    expect(check(`t=${NOW},v1=${sign}`, ["whsec_other", stripeSecret])).toBe(true);
    expect([-300, 300].map((by) => check(`t=${NOW},v1=${sign}`, [stripeSecret], NOW + by))).toEqual([
      true,
      true,
    ]);
    expect([-301, 301].map((by) => check(`t=${NOW},v1=${sign}`, [stripeSecret], NOW + by))).toEqual([
      false,
      false,
    ]);
    const spaced = JSON.stringify(JSON.parse(body), null, 1);
    for (const refused of [
      check(`t=${NOW},v0=${sign}`),
      check(`t=${NOW},t=${NOW},v1=${sign}`),
      check(`v1=${sign}`),
      check(""),
      check(`t=${NOW},v1=${sign}`, [stripeSecret], NOW, spaced),
      check(`t=${NOW},v1=${sign}${",v1=00".repeat(200_000)}`),
      check(`t=${NOW},v1=abf547387ad69472b7d861edd2c863829983cc327b74b73c668f123b93d7afb7`, [""]),
    ])
      expect(refused).toBe(false);
  });
});

describe("Alipay", () => {
  test("the bytes of a request, the signature of a notice", () => {
    const request = paramsOf(vectors.alipayRequest);
    expect([Buffer.byteLength(joined(request, ["sign"])), sha256(joined(request, ["sign"]))]).toEqual([
      292,
      "d2e97ab1576acee6c3a7033a2e84069b223b0c29795ede376b295c5deb4ac974",
    ]);
    expect(verifiesRsa(vectors.alipayRequest, signAlipay(request, privateKey), publicKey)).toBe(true);
    const params = paramsOf(vectors.alipayNotice);
    expect([Buffer.byteLength(vectors.alipayNotice), sha256(vectors.alipayNotice)]).toEqual([
      517,
      "44d92137e86121a40f6c0f206ace65dc0eb6ca510c3999d439a9680877b7dc2a",
    ]);
    const notice = new Map([...params, ["sign", vectors.alipaySign], ["sign_type", "RSA2"]]);
    expect(verifiesAlipayNotice(notice, platform)).toBe(true);
    for (const change of [
      ["sign_type", "RSA"],
      ["total_amount", "30.01"],
      ["sign", "AAAA"],
      ["sign", ""],
    ] as const)
      expect(verifiesAlipayNotice(new Map([...notice, change]), platform)).toBe(false);
    // The kind is ours: with SHA-1, which the vendor's package takes when the message says so, nothing is genuine.
    const text = Buffer.from(vectors.alipayNotice);
    for (const [digest, kind, isGenuine] of [
      ["sha256", "RSA2", true],
      ["sha1", "RSA", false],
      ["sha1", "RSA2", false],
      ["sha256", "RSA", false],
    ] as const) {
      const signed = sign(digest, text, own.privateKey).toString("base64");
      const told = new Map([...params, ["sign", signed], ["sign_type", kind]]);
      expect([digest, kind, verifiesAlipayNotice(told, publicKey)]).toEqual([digest, kind, isGenuine]);
    }
  });
});

describe("WeChat Pay", () => {
  test("what a request is signed over", () => {
    const text = wechatRequestText(vectors.wechatRequest);
    expect([Buffer.byteLength(text), sha256(text)]).toEqual([
      338,
      "0be2f2ea10ca11d90cbb839e2046e91abd432b2f28b2869c2f4afedca87ff868",
    ]);
    expect(verifiesRsa(text, vectors.wechatSign, platform)).toBe(true);
    const spaced = { ...vectors.wechatRequest, body: vectors.wechatRequest.body.replace(":", ": ") };
    expect(verifiesRsa(wechatRequestText(spaced), vectors.wechatSign, platform)).toBe(false);
    const asked = {
      ...vectors.wechatRequest,
      path: "/v3/pay/transactions/out-trade-no/TG1?mchid=1900007291",
    };
    const sign = signRsa(wechatRequestText(asked), privateKey);
    const bare = { ...asked, path: "/v3/pay/transactions/out-trade-no/TG1" };
    expect([asked, bare].map((one) => verifiesRsa(wechatRequestText(one), sign, publicKey))).toEqual([
      true,
      false,
    ]);
  });

  test("callbacks count by serial and time; probes are told apart", () => {
    const text = `${NOW}\n5K8264ILTKCH16CQ2502SI8ZNMTM67VS\n{"id":"x"}\n`;
    expect(sha256(text)).toBe("dfaf942c368ded001ff6b170f01f7bb78918196740158cfd480de726752e6f75");
    const signed = {
      timestamp: String(NOW),
      nonce: "5K8264ILTKCH16CQ2502SI8ZNMTM67VS",
      signature: signRsa(text, privateKey),
      serial: "PUB_KEY_ID_1",
      body: Buffer.from('{"id":"x"}'),
    };
    const keys = new Map([
      ["PUB_KEY_ID_1", publicKey],
      ["other", platform],
    ]);
    expect(verifyWeChat(signed, keys, NOW + 300)).toBe("valid");
    expect(verifyWeChat(signed, keys, NOW + 301)).toBe("invalid");
    expect(verifyWeChat({ ...signed, serial: "other" }, keys, NOW)).toBe("invalid");
    expect(verifyWeChat({ ...signed, serial: "unknown" }, keys, NOW)).toBe("invalid");
    expect(verifyWeChat({ ...signed, nonce: "" }, keys, NOW)).toBe("invalid");
    expect(verifyWeChat({ ...signed, body: Buffer.from('{"id": "x"}') }, keys, NOW)).toBe("invalid");
    expect(verifyWeChat({ ...signed, signature: "WECHATPAY/SIGNTEST/abc" }, keys, NOW)).toBe("probe");
  });

  test("resources open with the whole tag, key, nonce and data", () => {
    const parts = { key: "0123456789abcdef0123456789abcdef", nonce: "fdasflkja484", aad: "transaction" };
    const sealed = "DUcclrHBE5NffFMk6pzEyhUOuljyjEMERJUX1td/FQU15RNdrJM=";
    expect(openGcm(sealed, parts)).toBe('{"out_trade_no":"TG1"}');
    const flipped = Buffer.from(sealed, "base64");
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    expect(openGcm(flipped.toString("base64"), parts)).toBeUndefined();
    for (const change of [
      { nonce: "fdasflkja48" },
      { aad: "" },
      { key: parts.key.slice(1) },
      { key: `${parts.key}0` },
    ])
      expect(openGcm(sealed, { ...parts, ...change })).toBeUndefined();
    expect(openGcm("", parts)).toBeUndefined();
    // A nonce of another length could be opened, too.
    const nonce = "fdasflkja484fdas";
    const cipher = createCipheriv("aes-256-gcm", parts.key, nonce, { authTagLength: 16 });
    cipher.setAAD(Buffer.from(parts.aad));
    const longer = Buffer.concat([cipher.update("{}"), cipher.final(), cipher.getAuthTag()]);
    expect(openGcm(longer.toString("base64"), { ...parts, nonce })).toBeUndefined();
  });
});

test("members of a JSON text are found as they were written", () => {
  const text = '{ "a_response" : {"code":"10000","x":"}\\"{", "n": 1.50} ,"money":30.00,"sign":"s" }';
  expect(rawMembers(text)?.get("a_response")).toBe('{"code":"10000","x":"}\\"{", "n": 1.50}');
  expect([...(flatMembers(text) ?? [])]).toEqual([
    ["money", "30.00"],
    ["sign", "s"],
  ]);
  for (const broken of ["", "[]", "{", '{"a":1,"a":2}', "<html>"]) expect(rawMembers(broken)).toBeUndefined();
});
