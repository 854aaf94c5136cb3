// The rules of channels: what they make of bodies and headers (requirements C34, C36). A preview is what is sent: the relay's test proves that.
import { describe, expect, it } from "vitest";
import { Rewrite, rulesIn } from "#contract/rewrite.ts";
import type { Reach, Subject } from "./call.ts";
import { CompiledRules } from "./rewrite.ts";

function subjectWith(facts: Partial<Subject["facts"]> = {}): Subject {
  return {
    target: { key: "sk-canary-key-0123456789" },
    endpoint: "chat",
    model: "gpt-4o",
    originModel: "smart",
    isStream: false,
    seed: "req-1",
    facts: {
      header: (name) => ({ "x-team": "red", "user-agent": "cli/1" })[name],
      attempt: 1,
      userId: 7,
      maxTokens: undefined,
      nowMs: 1_800_000_000_000,
      ...facts,
    },
  };
}

type Rules = readonly { readonly when?: unknown; readonly do: readonly unknown[] }[];

function compiled(rules: Rules): CompiledRules {
  const named = rules.map((rule, index) => ({ id: `r${index}`, ...rule }));
  const hash = (text: string) => Buffer.from(text.padEnd(8)).toString("base64url");
  return new CompiledRules({
    channelId: 3,
    rewrite: Rewrite.parse({ v: 1, rules: named }),
    statusMap: undefined,
    hash,
  });
}

/** A rule as it may have been saved before more was refused. */
function stored(rule: Rules[number]): CompiledRules {
  const config = JSON.stringify({ rewrite: { v: 1, rules: [{ id: "r", ...rule }] } });
  const found = rulesIn(config, { isStored: true });
  if ("refusal" in found) throw new Error(found.refusal);
  const hash = (text: string) => text;
  return new CompiledRules({ channelId: 3, rewrite: found.rewrite, statusMap: undefined, hash });
}

/** What a body becomes; a refusal is its code. */
function made(rules: Rules, text: string, subject = subjectWith(), reach: Reach = "request"): string {
  const outcome = compiled(rules).apply(subject, { reach, body: Buffer.from(text), format: "chat" });
  return textOf(outcome);
}

function textOf(outcome: ReturnType<CompiledRules["apply"]>): string {
  return outcome.kind === "fault"
    ? `${outcome.status} ${outcome.code}`
    : Buffer.from(outcome.body ?? []).toString();
}

function headersMade(rules: Rules, headers: readonly string[], reach: Reach = "request"): readonly string[] {
  const outcome = compiled(rules).apply(subjectWith(), { reach, format: "chat" });
  return outcome.kind === "fault" ? [] : (outcome.rehead?.(headers) ?? headers);
}

describe("actions on the body", () => {
  const BODY = '{"model":"gpt-4o", "temperature":1.0,"big":12345678901234567890,"a":{"b":[1,2,3]}}';
  it.each<[string, unknown, string, string]>([
    [
      "set",
      { op: "set", path: "/temperature", value: 0 },
      '{"temperature":1,"x":1.0}',
      '{"temperature":0,"x":1.0}',
    ],
    ["set makes what is on the way", { op: "set", path: "/a/b", value: true }, "{}", '{"a":{"b":true}}'],
    ["set at the end of a list", { op: "set", path: "/l/-", value: 4 }, '{"l":[1]}', '{"l":[1,4]}'],
    ["default leaves what is there", { op: "default", path: "/a", value: 2 }, '{"a":null}', '{"a":null}'],
    ["default fills", { op: "default", path: "/a", value: [1] }, '{"b":1}', '{"b":1,"a":[1]}'],
    ["remove", { op: "remove", path: "/a" }, '{"a":1,"b":2}', '{"b":2}'],
    [
      "remove in all",
      { op: "remove", path: "/l/*/x" },
      '{"l":[{"x":1},{"y":2,"x":3}]}',
      '{"l":[{},{"y":2}]}',
    ],
    ["remove all of a list", { op: "remove", path: "/l/*" }, '{"l":[1,2,3]}', '{"l":[]}'],
    ["remove the last", { op: "remove", path: "/l/-1" }, '{"l":[1,2,3]}', '{"l":[1,2]}'],
    ["remove the last one", { op: "remove", path: "/a" }, '{"a":1}', "{}"],
    ["rename", { op: "rename", path: "/a/b", to: "/c" }, '{"a":{"b":[1]}}', '{"a":{},"c":[1]}'],
    ["copy", { op: "copy", path: "/a", to: "/b" }, '{"a":[1]}', '{"a":[1],"b":[1]}'],
    [
      "rename a limit",
      { op: "rename", path: "/max_tokens", to: "/max_completion_tokens" },
      '{"max_tokens":5}',
      '{"max_completion_tokens":5}',
    ],
    [
      "append to a text",
      { op: "append", path: "/m/-1/c", value: "!" },
      '{"m":[{"c":"a"}]}',
      '{"m":[{"c":"a!"}]}',
    ],
    ["append to a list", { op: "append", path: "/l", value: [3, 4] }, '{"l":[1]}', '{"l":[1,3,4]}'],
    ["prepend to a list", { op: "prepend", path: "/l", value: 0 }, '{"l":[1]}', '{"l":[0,1]}'],
    ["append to an object", { op: "append", path: "/o", value: { a: 2 } }, '{"o":{"a":1}}', '{"o":{"a":2}}'],
    [
      "prepend to an object",
      { op: "prepend", path: "/o", value: { a: 2, b: 3 } },
      '{"o":{"a":1}}',
      '{"o":{"a":1,"b":3}}',
    ],
    ["cap", { op: "cap", path: "/max_tokens", value: 10 }, '{"max_tokens":100}', '{"max_tokens":10}'],
    ["cap of nothing", { op: "cap", path: "/a/b", value: 10 }, "{}", "{}"],
    ["floor", { op: "floor", path: "/temperature", value: 0.5 }, '{"temperature":0}', '{"temperature":0.5}'],
    ["text", { op: "text", path: "/user", how: "trimPrefix", value: "u-" }, '{"user":"u-1"}', '{"user":"1"}'],
    [
      "replace",
      { op: "text", path: "/user", how: "replace", value: "a", with: "$&" },
      '{"user":"aa"}',
      '{"user":"$&$&"}',
    ],
    ["a name with ~ and /", { op: "set", path: "/a~1b~0c", value: 1 }, "{}", '{"a/b~c":1}'],
    [
      "system where there is none",
      { op: "system", text: "S" },
      '{"messages":[]}',
      '{"messages":[{"role":"system","content":"S"}]}',
    ],
    [
      "system where there is one",
      { op: "system", text: "S" },
      '{"messages":[{"role":"developer","content":"D"}]}',
      '{"messages":[{"role":"developer","content":"D"}]}',
    ],
    [
      "system before one",
      { op: "system", text: "S", before: true },
      '{"messages":[{"role":"system","content":"D"}]}',
      '{"messages":[{"role":"system","content":"S\\nD"}]}',
    ],
    ["refuse", { op: "refuse", status: 403, code: "no_such", message: "no" }, "{}", "403 no_such"],
  ])("%s", (_name, action, before, after) => {
    expect(made([{ do: [action] }], before)).toBe(after);
  });

  it("leaves every other byte: numbers too large for a parser, spelling, repeated rules", () => {
    expect(made([{ do: [{ op: "set", path: "/top_p", value: 1 }] }], BODY)).toBe(
      '{"model":"gpt-4o","temperature":1.0,"big":12345678901234567890,"a":{"b":[1,2,3]},"top_p":1}',
    );
    expect(made([{ do: [{ op: "remove", path: "/nothing" }] }], BODY)).toBe(BODY);
    const list = { op: "set", path: "/l", value: [1] };
    const twice = [{ do: [list, { op: "append", path: "/l", value: 2 }] }];
    const rules = compiled(twice);
    for (let call = 0; call < 2; call += 1) {
      const unruled = { reach: "request", body: Buffer.from("{}") } as const;
      expect(textOf(rules.apply(subjectWith(), unruled))).toBe('{"l":[1,2]}');
    }
  });

  it("asks for no more output than was set aside", () => {
    const raise = [{ do: [{ op: "set", path: "/max_tokens", value: 4_000 }] }];
    expect(compiled(raise).raisesTo).toBe(4_000);
    const text = '{"max_tokens":5}';
    expect(made(raise, text, subjectWith({ maxTokens: 1_000 }))).toBe('{"max_tokens":1000}');
    expect(made(raise, text)).toBe('{"max_tokens":4000}');
  });
});

describe("conditions", () => {
  const TEXT = '{"a":1,"name":"gpt-4o-mini","n":null}';
  it.each<[unknown, boolean]>([
    [{ models: ["sm*"] }, true],
    [{ models: ["gpt-4o"] }, true],
    [{ models: ["GPT-4o", "x"] }, false],
    [{ formats: ["chat"] }, true],
    [{ formats: ["messages"] }, false],
    [{ stream: true }, false],
    [{ attempt: "first" }, true],
    [{ attempt: "retry" }, false],
    [{ has: ["/a"], lacks: ["/b"] }, true],
    [{ lacks: ["/a"] }, false],
    [{ has: ["/n"] }, true],
    [{ equals: { "/a": 1 } }, true],
    [{ equals: { "/a": "1" } }, false],
    [{ like: { "/name": "gpt-*-mini" } }, true],
    [{ like: { "/a": "*" } }, false],
    [{ header: { "X-Team": "r*" } }, true],
    [{ header: { "x-none": "*" } }, false],
    [{ any: [{ has: ["/b"] }, { equals: { "/a": 1 } }] }, true],
    [{ stream: true, any: [{ has: ["/a"] }] }, false],
  ])("%j: %s", (when, applies) => {
    const fired = made([{ when, do: [{ op: "set", path: "/fired", value: true }] }], TEXT);
    expect(fired.includes("fired")).toBe(applies);
  });
});

it("a stored condition on a header that a client authenticates itself with never applies, whatever its pattern (requirements C36)", () => {
  const when = (name: string) => [{ header: { [name]: "*" } }, { any: [{ header: { [name]: "sk-*" } }] }];
  const names = ["authorization", "X-Api-Key", "Sec-WebSocket-Protocol", "cookie", "x-team"];
  const subject = subjectWith({ header: () => "sk-canary" });
  const applied = names.filter((name) =>
    when(name).some((one) => {
      const rules = stored({ when: one, do: [{ op: "setHeader", name: "x-a", value: "1" }] });
      return rules.run(subject, { reach: "request" }).fired.length > 0;
    }),
  );
  expect(applied).toEqual(["x-team"]);
});

describe("many rules on a large body", () => {
  it("change what they name, and leave every other byte (requirements C34)", () => {
    const message = JSON.stringify({ role: "user", content: "x".repeat(5_000) });
    const messages = `[${Array.from({ length: 210 }, () => message).join(", ")}]`;
    const text = `{"model":"m", "temperature":1.0,"messages": ${messages}}`;
    expect(text.length).toBeGreaterThan(2 ** 20);
    const rules = Array.from({ length: 50 }, (_, index) => ({
      when: { models: ["gpt-*"], has: ["/temperature"] },
      do: [{ op: "set", path: `/x${index}/y`, value: index }],
    }));
    const added = rules.map((_, index) => `"x${index}":{"y":${index}}`).join(",");
    expect(made(rules, text) === `{"model":"m","temperature":1.0,"messages": ${messages},${added}}`).toBe(
      true,
    );
  });
});

describe("a text that a rule makes longer", () => {
  const rules = [
    { do: [{ op: "text", path: "/user", how: "replace", value: "a", with: "b".repeat(1_000) }] },
  ];

  it("is as long as it becomes", () => {
    expect(made(rules, JSON.stringify({ user: "-a".repeat(1_000) })).length).toBe(1_001 * 1_000 + 11);
  });

  it("is refused before the process holds gigabytes of it", () => {
    const body = Buffer.from(JSON.stringify({ user: "a".repeat(1_000_000) }));
    const outcome = compiled(rules).apply(subjectWith(), { reach: "request", body, format: "chat" });
    expect(outcome).toMatchObject({ kind: "fault", status: 413, code: "request_too_large", blame: "none" });
  });
});

describe("how far rules reach", () => {
  const all = [
    {
      when: { lacks: ["/user"] },
      do: [
        { op: "set", path: "/user", value: "u" },
        { op: "setHeader", name: "x-lacks", value: "1" },
        { op: "refuse", status: 403, code: "no_user", message: "no" },
      ],
    },
    {
      do: [
        { op: "setHeader", name: "x-team", value: "{{header:x-team}}" },
        { op: "set", path: "/session/instructions", value: "be brief" },
        { op: "set", path: "/temperature", value: 0 },
      ],
    },
  ];
  const settings = '{"type":"session.update","session":{"voice":"alloy"}}';

  it("into requests with all they do", () => {
    expect(made(all, "{}")).toBe("403 no_user");
    expect(made(all, '{"user":"u"}')).toBe(
      '{"user":"u","session":{"instructions":"be brief"},"temperature":0}',
    );
  });

  it("into calls of control and openings with headers, whatever is asked of a body that is not there", () => {
    for (const reach of ["control", "opening"] as const) {
      expect(headersMade(all, [], reach)).toEqual(["x-team", "red"]);
      expect(made(all, '{"input_file_id":"f"}', subjectWith(), reach)).toBe(
        reach === "control" ? '{"input_file_id":"f"}' : "403 no_user",
      );
    }
    const refusing = [{ do: [{ op: "refuse", status: 422, code: "no_voice", message: "no" }] }];
    expect(made(refusing, "{}", subjectWith(), "opening")).toBe("422 no_voice");
    expect(made(refusing, "{}", subjectWith(), "control")).toBe("{}");
  });

  it("into the settings of a session with what names a place there", () => {
    expect(made(all, settings, subjectWith(), "session")).toBe(
      '{"type":"session.update","session":{"voice":"alloy","instructions":"be brief"}}',
    );
    const refuse = { op: "refuse", status: 403, code: "no_voice", message: "no" };
    const asked = [{ when: { equals: { "/session/voice": "alloy" } }, do: [refuse] }];
    expect(made(asked, settings, subjectWith(), "session")).toBe("403 no_voice");
    expect(made([{ do: [refuse] }], settings, subjectWith(), "session")).toBe(settings);
    const carried = [{ do: [{ op: "rename", path: "/session/voice", to: "/voice" }] }];
    expect(made(carried, settings, subjectWith(), "session")).toBe(settings);
  });
});

describe("headers and templates", () => {
  it("are set in place of others, taken out, and handed on", () => {
    const rules = [
      {
        do: [
          { op: "setHeader", name: "Authorization", value: "Key {{key}}" },
          { op: "removeHeader", name: "X-Old" },
          { op: "passHeader", name: "User-Agent" },
          { op: "passHeader", name: "X-None" },
        ],
      },
    ];
    const before = ["authorization", "Bearer x", "x-old", "1", "user-agent", "Tollgate", "accept", "*/*"];
    expect(headersMade(rules, before)).toEqual([
      "accept",
      "*/*",
      "Authorization",
      "Key sk-canary-key-0123456789",
      "User-Agent",
      "cli/1",
    ]);
  });

  it("fill in what they name and nothing else", () => {
    const value =
      "{{request_id}} {{model}} {{upstream_model}} {{channel_id}} {{date}} {{header:X-Team}} {{header:x-none}}";
    expect(made([{ do: [{ op: "set", path: "/user", value }] }], "{}")).toBe(
      '{"user":"req-1 smart gpt-4o 3 2027-01-15 red "}',
    );
    const hashes = made([{ do: [{ op: "set", path: "/user", value: "{{user_hash}}{{key_hash}}" }] }], "{}");
    expect(hashes).not.toContain("canary");
    const prompt = [{ do: [{ op: "system", text: "{{model}} says {{raw:model}} and {{raw:key}}" }] }];
    expect(made(prompt, '{"messages":[]}')).toContain("smart says {{model}} and {{key}}");
  });

  it("of stored rules tell neither the key nor what opens something, wherever they stand (requirements C36)", () => {
    const canary = "a canary of the client";
    const templates =
      "{{key}} {{header:Authorization}} {{header:sec-websocket-protocol}} {{header:proxy-authorization}} {{header:cookie}} {{name}}";
    const subject = subjectWith({ header: () => canary });
    const told = (action: unknown) => {
      const body = Buffer.from('{"messages":[]}');
      const outcome = stored({ do: [action] }).apply(subject, { reach: "request", body, format: "chat" });
      if (outcome.kind === "fault") return `${outcome.publicMessage} ${outcome.detail}`;
      return `${outcome.body} ${outcome.rehead?.([])}`;
    };
    for (const action of [
      { op: "system", text: templates },
      { op: "refuse", status: 400, code: "no", message: templates },
      { op: "set", path: "/user", value: [{ of: templates }] },
      { op: "append", path: "/user", value: templates },
    ]) {
      expect(told(action)).toContain("{{key}}     {{name}}");
      expect(told(action)).not.toMatch(/canary/);
    }
    const header = told({ op: "setHeader", name: "x-a", value: templates });
    expect(header).toContain("sk-canary-key-0123456789     {{name}}");
    expect(header).not.toContain(canary);
  });
});
