// What a 易支付 site says of an order, in every combination: paid only by the full rule (requirements Y16). What it is sent holds constants
// alone (requirements Y10). A site on loopback answers; the protocol's client is the real one.
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEgress } from "#server/egress/dispatcher.ts";
import type { Instance, OrderFacts, ProviderDeps } from "#server/payments/provider.ts";
import { signEpayV2 } from "#server/payments/wire/signatures.ts";
import { type HttpEmulator, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { keyPair } from "#test/emulators/pay-desk.ts";
import { epayV1, epayV2 } from "./epay.ts";

const egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }] });
const NO = "TG20261124AAAAAAAAAAAAAAAA";
let site: HttpEmulator;
/** What the site answers, as it is written. */
let answer = "";

beforeAll(async () => {
  site = await startHttpEmulator(() => ({ body: Buffer.from(answer) }));
});
afterAll(async () => {
  await site.close();
  egress.close();
});

function account(): Instance {
  return {
    id: 1,
    slug: "s",
    provider: "epay-v1",
    name: "测试",
    merchantId: "1001",
    currency: "CNY",
    isEnabled: true,
    methods: ["alipay"],
    feeBp: 0,
    costBp: 0,
    rate: "1",
    baseUrl: site.url,
    field: () => "",
    secrets: () => ["key"],
  };
}

const order: OrderFacts = {
  orderNo: NO,
  method: "alipay",
  amountMinor: 3_000,
  paidMinor: 0,
  currency: "CNY",
  expiresSec: 2_000,
  clientAddress: "203.0.113.7",
  session: "",
  tradeNo: "",
};
const deps = (): ProviderDeps => ({
  egress,
  turn: async () => undefined,
  nowSec: 1_000,
  heardDate: () => undefined,
  notifyUrl: "https://gate.example/api/payment/notify/s",
  returnUrl: `https://gate.example/api/payment/return/${NO}`,
});

/** Members as they are written, "" = absent; some sites nest all but the code. */
function written(members: Readonly<Record<string, string>>, isNested: boolean): string {
  const pairs = Object.entries(members).filter(([, raw]) => raw !== "");
  const text = (some: typeof pairs) => some.map(([name, raw]) => `"${name}":${raw}`).join(",");
  if (!isNested) return `{${text(pairs)}}`;
  const outer = pairs.filter(([name]) => name === "code");
  const inner = pairs.filter(([name]) => name !== "code");
  return `{${text([...outer, ["data", `{${text(inner)}}`]])}}`;
}

const CODES = ["1", '"1"', "0", "-1", "true", '"error"', "1.0", ""];
const STATUSES = ["1", '"1"', "0", '"0"', "2", "true", "1.0", '"paid"', "null", ""];
const TRADE_STATUSES = ["", '"TRADE_SUCCESS"', '"WAITING"', '"trade_success"', '""'];

test("is paid only when code, order, merchant, state and number all say so, however they are written", async () => {
  const isOne = (raw: string) => raw === "1" || raw === '"1"';
  for (const isNested of [false, true])
    for (const code of CODES)
      for (const status of STATUSES)
        for (const tradeStatus of TRADE_STATUSES) {
          const members = {
            code,
            trade_no: '"42"',
            out_trade_no: `"${NO}"`,
            pid: "1001",
            money: '"30.00"',
            status,
            trade_status: tradeStatus,
          };
          answer = written(members, isNested);
          const isPaid = isOne(code) && isOne(status) && ["", '"TRADE_SUCCESS"'].includes(tradeStatus);
          const asked = await epayV1.ask(account(), order, deps());
          expect(asked.kind === "paid", answer).toBe(isPaid);
        }
}, 60_000);

test.each([
  ["another order", { out_trade_no: '"TG-other"' }, "unclear"],
  ["no order", { out_trade_no: "" }, "unclear"],
  ["another merchant", { pid: "1002" }, "unclear"],
  ["a merchant that looks alike", { pid: '"01001"' }, "unclear"],
  ["no merchant", { pid: "" }, "unclear"],
  ["no number", { trade_no: "" }, "unclear"],
  ["an empty number", { trade_no: '""' }, "unclear"],
  ["a merchant as text", { pid: '"1001"' }, "paid"],
])("an answer that names %s: %s", async (_, change, kind) => {
  const members = {
    code: "1",
    trade_no: '"42"',
    out_trade_no: `"${NO}"`,
    pid: "1001",
    money: '"30.00"',
    status: "1",
  };
  for (const isNested of [false, true]) {
    answer = written({ ...members, ...change }, isNested);
    expect((await epayV1.ask(account(), order, deps())).kind, answer).toBe(kind);
  }
});

test.each([
  ['"30.00"', 3_000],
  ["30.0", 3_000],
  ["30", 3_000],
  ['"29.99"', 2_999],
  ['"0"', 0],
  ['"3e1"', -1],
  ["3e1", -1],
  ['"-30.00"', -1],
  ['"30.001"', -1],
  ["", -1],
])("money %s is read as %i fen", async (money, amountMinor) => {
  answer = `{"code":1,"trade_no":"42","out_trade_no":"${NO}","pid":1001,"status":1${money === "" ? "" : `,"money":${money}`}}`;
  expect(await epayV1.ask(account(), order, deps())).toMatchObject({
    kind: "paid",
    payment: { amountMinor, currency: "CNY", tradeNo: "42" },
  });
});

test("what a site answers without its yes is no word about the payment: neither paid nor not", async () => {
  for (const code of ["-1", '"error"', "0", "500", "true", '"1x"']) {
    answer = `{"code":${code},"msg":"系统繁忙","status":0}`;
    const asked = await epayV1.ask(account(), order, deps());
    expect(asked).toEqual({ kind: "odd", problem: `code ${code.replaceAll('"', "")}` });
  }
});

test("of an answer of V2 counts what its signature covers: no nested member is read", async () => {
  const [merchant, platform] = [keyPair("merchant"), keyPair("platform")];
  const fields: Readonly<Record<string, string>> = { platform_key: platform.publicPem };
  const v2: Instance = {
    ...account(),
    ...{ provider: "epay-v2", field: (key) => fields[key] ?? "", secrets: () => [merchant.privatePem] },
  };
  const now = { ...deps(), nowSec: 1_795_492_800 };
  const said = { code: "0", timestamp: String(now.nowSec) };
  const paid = { trade_no: "42", out_trade_no: NO, pid: "1001", money: "30.00", status: "1" };
  const signed = (members: Readonly<Record<string, string>>) => ({
    ...members,
    sign: signEpayV2(Object.entries(members), platform.privateKey),
    sign_type: "RSA",
  });
  answer = JSON.stringify(signed({ ...said, ...paid }));
  expect((await epayV2.ask(v2, order, now)).kind).toBe("paid");
  // A genuine answer to another question, with something added on the way.
  answer = JSON.stringify({ ...signed(said), data: paid });
  expect((await epayV2.ask(v2, order, now)).kind).toBe("unclear");
  answer = JSON.stringify({ ...signed(said), data: { ...paid, pay_type: "jump", pay_info: "https://x" } });
  const made = await epayV2.create(v2, order, now);
  expect(made.kind === "ready" && [made.qr, made.url.startsWith(site.url)]).toEqual(["", true]);
});

test("nothing a user typed is signed: the texts of an order are constants, whatever its other fields hold", async () => {
  const hostile = fc.string({ unit: fc.constantFrom("&", "=", "x", " ", "\n", "支", "trade_no", "%00") });
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (address, typed) => {
      answer = '{"code":-1}';
      // What came from the payer: the address. A name and a remark have no place in the facts of an order at all.
      await epayV1.create({ ...account(), name: typed }, { ...order, clientAddress: address }, deps());
      const sent = new URLSearchParams(site.heard.at(-1)?.body);
      expect([...sent.keys()].sort()).toEqual(
        [
          "clientip",
          "device",
          "money",
          "name",
          "notify_url",
          "out_trade_no",
          "pid",
          "return_url",
          "sign",
          "sign_type",
          "type",
        ].sort(),
      );
      expect([...sent.values()].join("\n")).not.toMatch(/&/);
      expect(sent.get("name")).toBe("账户充值");
      expect(sent.get("clientip")).toMatch(/^[0-9a-f.:]{3,45}$/i);
    }),
    { numRuns: 150 },
  );
});
