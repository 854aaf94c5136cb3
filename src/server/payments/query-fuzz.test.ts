// Raw queries and forms made from signed ones: nothing but what holds exactly the signed parameters is credited, however it is written
// (requirements Y11). What a text holds is told by another reader than ours.
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { findInstance } from "#server/store/payment-instances.ts";
import { databases } from "#test/worlds/app.ts";
import { useDesksWorld } from "#test/worlds/desks-world.ts";
import { CREDITED } from "#test/worlds/payment-world.ts";
import { rounds } from "#test/worlds/soak.ts";
import { openInstance, providerOf } from "./instances.ts";
import { depsOf } from "./orders.ts";
import type { Instance, Notice } from "./provider.ts";

/** `name=value` as they stand in the text. */
type Pairs = readonly string[];
type Change = (pairs: Pairs) => Pairs;

const at = (pairs: Pairs, where: number) => where % pairs.length;
const replaced = (pairs: Pairs, where: number, by: (pair: string) => string): Pairs =>
  pairs.map((pair, index) => (index === at(pairs, where) ? by(pair) : pair));
const inserted = (pairs: Pairs, where: number, pair: string): Pairs => pairs.toSpliced(where, 0, pair);
const nameOf = (pair: string) => pair.slice(0, pair.indexOf("="));
const escaped = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`;

/** Ways to write the same. */
const place = fc.nat(30);
const rewritings: fc.Arbitrary<Change> = fc.oneof(
  fc.infiniteStream(fc.nat(1_000)).map(
    (dice): Change =>
      (pairs) => {
        const keyed = pairs.map((pair) => [dice.next().value, pair] as const);
        return keyed.sort(([a], [b]) => a - b).map(([, pair]) => pair);
      },
  ),
  // A letter as its escape.
  fc.tuple(place, place).map(
    ([where, nth]): Change =>
      (pairs) =>
        replaced(pairs, where, (pair) => {
          const parts: readonly string[] = pair.match(/%[0-9A-F]{2}|./gi) ?? [];
          const index = nth % Math.max(1, parts.length);
          const part = parts[index] ?? "";
          return /^\w$/.test(part) ? parts.with(index, escaped(part)).join("") : pair;
        }),
  ),
  fc.constant<Change>((pairs) =>
    pairs.map((pair) => pair.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
  ),
  fc.constant<Change>((pairs) => pairs.map((pair) => pair.replaceAll("%20", "+"))),
  // A parameter without a value is not signed.
  fc.tuple(place, fc.constantFrom("param=", "param")).map(
    ([where, pair]): Change =>
      (pairs) =>
        new URLSearchParams(pairs.join("&")).has("param") ? pairs : inserted(pairs, where, pair),
  ),
);

const odd = fc.constantFrom(
  "",
  "=",
  "=x",
  "x[]=1",
  "money[0]=1",
  "a.b=1",
  "a%20b=1",
  "a=%00",
  "a=%0a",
  "a=%ff",
  "a=%c0%ae",
  "a=%e8%b4",
  "a=%ed%a0%80",
  "a=%",
  "a=%zz",
  "a=%u0041",
  "%6do%6eey=1",
  "MONEY=30.00",
  "ｍoney=1",
  "__proto__=1",
  `${"k".repeat(65)}=1`,
  `a=${"x".repeat(30_000)}`,
  Array.from({ length: 1_000 }, (_, index) => `k${index}=1`).join("&"),
  "notify_url=https://x.example",
);
const attacks: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, odd).map(
    ([where, pair]): Change =>
      (pairs) =>
        inserted(pairs, where, pair),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Change =>
      (pairs) =>
        inserted(pairs, to, pairs[at(pairs, from)] ?? ""),
  ),
  fc.tuple(place, place, fc.constantFrom("", "1", "0.01", "%30", "TRADE_SUCCESS")).map(
    ([from, to, value]): Change =>
      (pairs) =>
        inserted(pairs, to, `${nameOf(pairs[at(pairs, from)] ?? "")}=${value}`),
  ),
  place.map(
    (where): Change =>
      (pairs) =>
        pairs.toSpliced(at(pairs, where), 1),
  ),
  fc.tuple(place, fc.constantFrom("[]", "[0]", "%5B%5D", "%00", "+", ".", "%20")).map(
    ([where, tail]): Change =>
      (pairs) =>
        replaced(pairs, where, (pair) => pair.replace("=", `${tail}=`)),
  ),
  fc.tuple(place, fc.constantFrom("%00", "+", "%20", "0", "%ff", "%2B", "&", ";a=1", "%26a=1", "#", "=")).map(
    ([where, tail]): Change =>
      (pairs) =>
        replaced(pairs, where, (pair) => pair + tail),
  ),
  place.map(
    (where): Change =>
      (pairs) =>
        replaced(pairs, where, (pair) => pair.replaceAll("%", "%25")),
  ),
  // The joined text stays what was signed, its parameters do not.
  place.map(
    (where): Change =>
      (pairs) => {
        const sorted = pairs.filter((pair) => !nameOf(pair).startsWith("sign")).toSorted();
        const first = where % Math.max(1, sorted.length - 1);
        const both = `${sorted[first]}%26${(sorted[first + 1] ?? "").replace("=", "%3D")}`;
        return [
          ...sorted.toSpliced(first, 2, both),
          ...pairs.filter((pair) => nameOf(pair).startsWith("sign")),
        ];
      },
  ),
  fc.tuple(place, fc.string({ unit: "binary", maxLength: 8 })).map(
    ([where, text]): Change =>
      (pairs) =>
        inserted(pairs, where, text),
  ),
);

/** What a text holds, by the reader of the platform: parameters that are signed, sorted, and each signature. */
function contentOf(text: string): string {
  // The first mark of a question is no part of the text.
  const all = [...new URLSearchParams(`&${text}`)];
  const signed = all.filter(([name, value]) => value !== "" && name !== "sign" && name !== "sign_type");
  return JSON.stringify([signed.sort(), all.filter(([name]) => name === "sign")]);
}

describe.each(databases)("raw queries on $name", (database) => {
  const world = useDesksWorld(database);

  describe.each([{ provider: "epay-v1" }, { provider: "epay-v2" }, { provider: "alipay" }])(
    "of $provider",
    ({ provider }) => {
      let instance: Instance;
      let signed = "";
      let isForm = false;
      let user: { readonly id: number };
      beforeAll(async () => {
        const { account, desk, method, notice } = world.at(provider);
        const made = await world.ordered(account, { method });
        user = made.user;
        desk.pay(made.order.order_no);
        const { query, body = "" } = notice(made.order.order_no);
        isForm = query === undefined;
        signed = query ?? body;
        const row = await findInstance(world.app.ctx.db, account.id);
        const opened = row && openInstance(world.app.ctx, row);
        if (!opened) throw new Error("no account");
        instance = opened;
      });

      async function read(text: string): Promise<Notice> {
        const request = {
          method: isForm ? ("POST" as const) : ("GET" as const),
          query: isForm ? "" : text,
          body: Buffer.from(isForm ? text : ""),
          header: () => "",
        };
        return providerOf(instance).read(instance, request, depsOf(world.app.ctx, instance, ""));
      }
      const written = (changes: readonly Change[]) =>
        changes.reduce((pairs: Pairs, change) => change(pairs), signed.split("&")).join("&");

      test("the same parameters are the same notice, in any order and with any escapes", async () => {
        const right = await read(signed);
        expect(right.kind).toBe("paid");
        const property = fc.asyncProperty(fc.array(rewritings, { maxLength: 6 }), async (changes) => {
          const text = written(changes);
          expect(contentOf(text)).toBe(contentOf(signed));
          expect(await read(text)).toEqual(right);
        });
        await fc.assert(property, { numRuns: rounds(300, 20_000) });
      });

      test("anything else is none", async () => {
        const right = await read(signed);
        let refused = 0;
        const changes = fc.array(fc.oneof(rewritings, attacks), { minLength: 1, maxLength: 5 });
        const property = fc.asyncProperty(changes, async (list) => {
          const text = written(list);
          const heard = await read(text);
          if (heard.kind === "paid") {
            expect(contentOf(text)).toBe(contentOf(signed));
            expect(heard).toEqual(right);
            return;
          }
          // `ignored`: an unsigned, empty parameter of a refund.
          expect(["refused", "ignored"]).toContain(heard.kind);
          refused += 1;
        });
        await fc.assert(property, { numRuns: rounds(1_000, 100_000) });
        expect(refused).toBeGreaterThan(rounds(300, 30_000));
      });

      test("sent to the server, only the signed one brings quota", async () => {
        const { account } = world.at(provider);
        const texts = fc
          .sample(fc.array(attacks, { minLength: 1, maxLength: 3 }), 120)
          .map((changes) => written(changes))
          // What an address can hold; and the others are what is meant here.
          .filter((text) => contentOf(text) !== contentOf(signed) && text.length < 8_000);
        expect(texts.length).toBeGreaterThan(40);
        const send = (text: string) =>
          world.notify(account, isForm ? { body: text } : { query: text.replaceAll("#", "%23") });
        for (const text of texts) expect((await send(text)).status, text).toBe(400);
        expect(await world.gained(user)).toBe(0);
        expect((await send(signed.split("&").reverse().join("&"))).status).toBe(200);
        expect(await world.gained(user)).toBe(CREDITED);
      });
    },
  );
});
