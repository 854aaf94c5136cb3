// No rule of a channel asks for more output than was set aside, nor takes the client's limit away (requirements C35): also those that were
// stored before they were refused.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providers } from "#contract/providers.ts";
import { rulesIn } from "#contract/rewrite.ts";
import { isLimit, segmentsOf } from "#contract/rewrite-law.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import { type LimitAction, limitActions, limitObject, limitValue } from "#test/seeds/limit-rules.ts";
import { waysOf } from "#test/worlds/matrix.ts";
import type { Subject } from "./call.ts";
import { CompiledRules } from "./rewrite.ts";
import { Body } from "./rewrite-body.ts";
import { placesIn } from "./rewrite-lengths.ts";

const bodyOf = (value: unknown) => Body.of(Buffer.from(JSON.stringify(value))) ?? expect.fail("no body");

/** Rules as they may stand in a config of today; undefined = they would end their channel. */
function stored(actions: readonly unknown[]): CompiledRules | undefined {
  const found = rulesIn(JSON.stringify({ rewrite: { v: 1, rules: [{ id: "r", do: actions }] } }), {
    isStored: true,
  });
  if ("refusal" in found) return undefined;
  return new CompiledRules({
    channelId: 1,
    rewrite: found.rewrite,
    statusMap: undefined,
    hash: (text) => text,
  });
}

function sent(rules: CompiledRules, body: unknown, maxTokens: number | undefined): Body {
  const facts = { header: () => undefined, attempt: 1, userId: 1, maxTokens, nowMs: 0 };
  const asked = { endpoint: "chat", model: "m", originModel: "m", isStream: false, seed: "s" } as const;
  const subject: Subject = { ...asked, target: { key: "k" }, facts };
  const made = rules.apply(subject, { reach: "request", body: Buffer.from(JSON.stringify(body)) });
  if (made.kind === "fault") throw new Error(made.publicMessage);
  return Body.of(made.body ?? new Uint8Array()) ?? expect.fail("no body");
}

const jsonOf = (body: Body): unknown => JSON.parse(body.bytes().toString());

describe("the limit of output", () => {
  it("is found in the body of each wire", () => {
    const request: HubRequest = {
      model: "m",
      messages: [{ role: "user", parts: [{ kind: "text", text: "hi" }] }],
      maxTokens: 77,
      isStream: false,
    };
    const found = new Set<string>();
    for (const { wire, channel, model } of providers.flatMap((one) => waysOf(one, { vertex: "{}" }))) {
      const target = { ...channel, model, apiVersion: "", isStream: false };
      const { body } = dialects[wire.dialect].encode({ ...request, model }, { wire, target });
      // What the wire has no field for, it drops.
      if (!JSON.stringify(body).includes(":77")) continue;
      const places = placesIn(bodyOf(body));
      expect([wire.dialect, places.map((place) => bodyOf(body).read(place))]).toEqual([wire.dialect, [77]]);
      found.add(places.join("/"));
    }
    expect(found.size).toBeGreaterThan(5);
  });

  const GEMINI = { generationConfig: { maxOutputTokens: 5, topK: 1 } };
  it.each<[string, unknown, unknown, unknown]>([
    [
      "an object with a limit",
      { op: "set", path: "/generationConfig", value: { maxOutputTokens: 65536 } },
      GEMINI,
      { generationConfig: { maxOutputTokens: 100 } },
    ],
    [
      "one that is merged",
      { op: "append", path: "/options", value: { num_predict: 65536 } },
      { options: { num_predict: 5 } },
      { options: { num_predict: 100 } },
    ],
    ["a text", { op: "set", path: "/max_tokens", value: "65536" }, { max_tokens: 5 }, { max_tokens: 5 }],
    ["a text where there is none", { op: "set", path: "/max_tokens", value: "65536" }, { a: 1 }, { a: 1 }],
    ["null", { op: "set", path: "/max_tokens", value: null }, { max_tokens: 5 }, { max_tokens: 5 }],
    ["none at all", { op: "set", path: "/max_tokens", value: -1 }, { max_tokens: 5 }, { max_tokens: 5 }],
    [
      "none at all in an object",
      { op: "set", path: "/options", value: { num_predict: -1, num_ctx: 9 } },
      { options: { num_predict: 5 } },
      { options: { num_ctx: 9, num_predict: 5 } },
    ],
    [
      "what it stands in, taken out",
      { op: "remove", path: "/generationConfig" },
      GEMINI,
      { generationConfig: { maxOutputTokens: 5 } },
    ],
    [
      "what it stands in, emptied",
      { op: "remove", path: "/options/*" },
      { options: { num_predict: 5, a: 1 } },
      { options: { num_predict: 5 } },
    ],
    [
      "what it stands in, renamed",
      { op: "rename", path: "/generationConfig", to: "/config" },
      GEMINI,
      { config: GEMINI.generationConfig, generationConfig: { maxOutputTokens: 5 } },
    ],
    [
      "the other spelling",
      { op: "rename", path: "/generationConfig", to: "/generation_config" },
      GEMINI,
      { generation_config: GEMINI.generationConfig },
    ],
    ["what it stands in, a text", { op: "set", path: "/generationConfig", value: "none" }, GEMINI, GEMINI],
    [
      "what it stands in, from what a client says elsewhere",
      { op: "copy", path: "/metadata", to: "/options" },
      { metadata: { num_predict: 65536 }, options: { num_predict: 5 } },
      { metadata: { num_predict: 65536 }, options: { num_predict: 100 } },
    ],
    [
      "deeper",
      { op: "remove", path: "/parameter/chat" },
      { parameter: { chat: { max_tokens: 5 } } },
      { parameter: { chat: { max_tokens: 5 } } },
    ],
    [
      "a name of its own",
      { op: "rename", path: "/max_tokens", to: "/extra/max_new_tokens" },
      { max_tokens: 5 },
      { extra: { max_new_tokens: 5 } },
    ],
    ["another case", { op: "set", path: "/Max_Tokens", value: 65536 }, { a: 1 }, { a: 1, Max_Tokens: 100 }],
    ["lower", { op: "cap", path: "/max_tokens", value: 3 }, { max_tokens: 5 }, { max_tokens: 3 }],
    [
      "a member of the client's own",
      { op: "remove", path: "/reasoning" },
      { reasoning: { max_tokens: 5 }, max_tokens: 9 },
      { max_tokens: 9 },
    ],
    [
      "what the client said and no upstream reads",
      { op: "set", path: "/options", value: { a: 1 } },
      { options: { num_predict: 0 } },
      { options: { a: 1 } },
    ],
  ])("%s", (_name, action, body, expected) => {
    const rules = stored([action]) ?? expect.fail("refused");
    expect(jsonOf(sent(rules, body, 100))).toEqual(expected);
  });

  it("is what rules ask for where none is set aside, and no more where they ask for none", () => {
    const raising = stored([{ op: "set", path: "/options", value: { num_predict: 900 } }]);
    expect(raising?.raisesTo).toBe(900);
    expect(jsonOf(sent(raising ?? expect.fail(), {}, undefined))).toEqual({ options: { num_predict: 900 } });
    const copying = stored([{ op: "copy", path: "/metadata", to: "/options" }]) ?? expect.fail();
    expect(copying.raisesTo).toBe(0);
    expect(jsonOf(sent(copying, { metadata: { num_predict: 65536 } }, undefined))).toEqual({
      metadata: { num_predict: 65536 },
      options: {},
    });
    const appending = stored([{ op: "append", path: "/max_tokens", value: 900 }]) ?? expect.fail();
    expect(appending.raisesTo).toBe(900);
    // What a wire has to say where the client says nothing stays, and may be lowered.
    const capping = stored([{ op: "cap", path: "/max_tokens", value: 50 }]) ?? expect.fail();
    expect(jsonOf(sent(capping, { max_tokens: 8192 }, undefined))).toEqual({ max_tokens: 50 });
  });
});

const isWithin = (place: readonly string[], path: string) =>
  (segmentsOf(path) ?? []).every((name, at) => name === place[at]);

describe("rules and bodies of chance", () => {
  const body = fc.record(
    {
      max_tokens: fc.integer({ min: 1, max: 150 }),
      generationConfig: fc.record({ maxOutputTokens: fc.integer({ min: 1, max: 150 }) }),
      options: fc.record({ num_predict: fc.integer({ min: 1, max: 150 }), a: fc.constant(1) }),
      metadata: limitObject,
      x: fc.oneof(limitObject, limitValue),
    },
    { requiredKeys: [] },
  );

  function expectWithin(before: Body, left: Body, most: number): void {
    for (const place of placesIn(left)) {
      const value = left.read(place);
      const isOwn = JSON.stringify(value) === JSON.stringify(before.read(place));
      expect([place, value, isOwn || (isLimit(value) && value <= most)]).toEqual([place, value, true]);
    }
  }

  /** What is not where it was has been renamed. */
  function expectLeft(before: Body, left: Body, made: readonly LimitAction[]): void {
    const targets = made.flatMap((one) => ("to" in one ? [segmentsOf(one.to) ?? []] : []));
    const isLeft = [...placesIn(left), ...targets].some((place) => isLimit(left.read(place)));
    const gone = placesIn(before).filter(
      (place) => isLimit(before.read(place)) && !isLimit(left.read(place)),
    );
    for (const place of gone) {
      const carriers = made.filter(({ op, path: from }) => op === "rename" && isWithin(place, from));
      expect([place, carriers.length > 0, isLeft]).toEqual([place, true, true]);
    }
  }

  it("leave no limit above what was set aside, and none of the client's away", () => {
    fc.assert(
      fc.property(limitActions, body, fc.boolean(), (made, asked, isNamed) => {
        const rules = stored(made) ?? expect.fail("refused");
        const before = bodyOf(asked);
        const limits = placesIn(before).map((place) => before.read(place));
        const own = Math.max(0, ...limits.filter(isLimit));
        // As the relay sets it aside: the client's own limit, or what rules ask for where that is more.
        const most = isNamed || own > 0 ? Math.max(own, rules.raisesTo) : undefined;
        const left = sent(rules, asked, most);
        expectWithin(before, left, most ?? rules.raisesTo);
        expectLeft(before, left, made);
      }),
      { numRuns: 2_000 },
    );
  });
});
