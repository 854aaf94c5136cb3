// The form of a channel's rules: nothing of a rule is lost in it, and a fault stands at its field (requirements C32, C33).
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  PREVIEW_FORMATS,
  REWRITE_FORMATS,
  Rewrite,
  type RewriteAction,
  TEXT_EDITS,
} from "#contract/rewrite.ts";
import { areWhole, conditionFault, fieldFault, partFault } from "./rewrite-faults.ts";
import { NEW_RULE, oneMore, type RuleRow, rowsOfRules, rulesOfRows } from "./rewrite-rows.ts";
import { SAMPLES } from "./rewrite-samples.ts";
import { configWith, rewriteValues, rowsOfText, rulesFault, textOfRows } from "./rewrite-values.ts";

function rowsOf(rules: readonly unknown[]): readonly RuleRow[] {
  const rows = rowsOfRules(rules);
  if ("unshown" in rows) throw new Error(`rule ${rows.unshown} is not shown`);
  return rows;
}

/** Through the fields and back, and as text. */
function expectKept(rules: readonly unknown[]): void {
  const rows = rowsOf(rules);
  expect(JSON.parse(JSON.stringify(rulesOfRows(rows)))).toEqual(rules);
  expect(rowsOfText(textOfRows(rows))).toEqual(rows);
}

const ACTIONS: { readonly [Op in RewriteAction["op"]]: readonly Extract<RewriteAction, { op: Op }>[] } = {
  set: [0.7, "x", true, null, "", [1], { a: { b: [] } }].map((value) => ({ op: "set", path: "/a/b", value })),
  default: [{ op: "default", path: "/a~1b", value: false }],
  remove: [{ op: "remove", path: "/top_p" }],
  rename: [{ op: "rename", path: "/max_tokens", to: "/max_completion_tokens" }],
  copy: [{ op: "copy", path: "/user", to: "/metadata/user" }],
  text: [
    ...TEXT_EDITS.map((how) => ({ op: "text", path: "/user", how, value: "a", with: "" }) as const),
    { op: "text", path: "/user", how: "toLower" },
  ],
  append: [{ op: "append", path: "/stop", value: ["a"] }],
  prepend: [{ op: "prepend", path: "/stop", value: "a" }],
  cap: [{ op: "cap", path: "/max_tokens", value: 8192 }],
  floor: [{ op: "floor", path: "/top_k", value: -0.5 }],
  system: [
    { op: "system", text: "a\nb" },
    { op: "system", text: "a", before: true },
    { op: "system", text: "a", before: false },
  ],
  refuse: [{ op: "refuse", status: 422, code: "a", message: "b" }],
  setHeader: [{ op: "setHeader", name: "X-A", value: "" }],
  removeHeader: [{ op: "removeHeader", name: "X-A" }],
  passHeader: [{ op: "passHeader", name: "X-A" }],
};

describe("nothing is lost between fields and JSON", () => {
  it.each(Object.entries(ACTIONS))("of the operation %s", (op, actions) => {
    expectKept([{ id: op, do: actions }]);
    expect(areWhole(rowsOf([{ id: op, do: actions }]))).toBe(true);
  });

  it.each([
    { models: ["gpt-*", "o1"] },
    { models: [] },
    { formats: [...REWRITE_FORMATS] },
    { stream: false },
    { stream: true },
    { has: ["/a", "/b/0"] },
    { lacks: ["/a"] },
    { equals: { "/a": 1, "/b": "1", "/c": null, "/d": false } },
    { like: { "/a": "x*", "/b": "*" } },
    { header: { "user-agent": "codex*" } },
    { attempt: "first" },
    { attempt: "retry" },
    { any: [{ stream: true, has: ["/a"] }, {}, { equals: { "/a": "" } }] },
    { models: ["a"], any: [{ attempt: "first" }] },
  ])("of the condition %j", (when) => {
    const rules = [{ id: "r", when, do: [{ op: "remove", path: "/a" }] }];
    expectKept(rules);
    expect(areWhole(rowsOf(rules))).toBe(true);
  });

  const name = fc.stringMatching(/^[a-z][a-z_]{0,6}$/).map((text) => `x${text}`);
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join("/")}`);
  const scalar = fc.oneof(
    fc.string({ maxLength: 9 }).map((text) => text.replaceAll("{{", "")),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
    fc.boolean(),
    fc.constant(null),
  );
  const value = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(name, scalar, { maxKeys: 3 }),
  );
  const conditions = fc.record(
    {
      models: fc.array(name, { maxLength: 3 }),
      formats: fc.subarray([...REWRITE_FORMATS]),
      stream: fc.boolean(),
      has: fc.array(path, { minLength: 1, maxLength: 3 }),
      lacks: fc.array(path, { minLength: 1, maxLength: 3 }),
      equals: fc.dictionary(path, scalar, { minKeys: 1, maxKeys: 3 }),
      like: fc.dictionary(path, name, { minKeys: 1, maxKeys: 3 }),
      header: fc.dictionary(name, name, { minKeys: 1, maxKeys: 3 }),
      attempt: fc.constantFrom("first", "retry"),
    },
    { requiredKeys: [] },
  );
  const when = fc
    .tuple(conditions, fc.option(fc.array(conditions, { minLength: 1, maxLength: 3 }), { nil: undefined }))
    .map(([all, any]) => ({ ...all, ...(any !== undefined && { any }) }));
  const action = fc.oneof(
    fc.record({ op: fc.constantFrom("set", "default", "append", "prepend"), path, value }),
    fc.constantFrom(...Object.values(ACTIONS).flat()),
  );
  const rule = fc.record({ when, do: fc.array(action, { minLength: 1, maxLength: 4 }) });

  it("of any rules that the contract takes", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), (made) => {
        const parsed = Rewrite.safeParse({ v: 1, rules: made.map((one, at) => ({ id: `r${at}`, ...one })) });
        fc.pre(parsed.success);
        // As a config holds them: an empty condition says nothing.
        const rules = JSON.parse(JSON.stringify(parsed.data?.rules)).map((one: { when?: object }) =>
          Object.keys(one.when ?? {}).length === 0 ? { ...one, when: undefined } : one,
        );
        const rows = rowsOf(rules);
        expect(rulesOfRows(rows)).toEqual(rules);
        expect(areWhole(rows)).toBe(true);
      }),
    );
  });

  it("also of what stands in a config beside other settings; what was not edited stays byte for byte", () => {
    const rules = [{ id: "r", when: { has: ["/a"] }, do: ACTIONS.set }];
    const config = JSON.stringify({ region: "x", rewrite: { v: 1, rules }, status_map: { "429": 503 } });
    const values = rewriteValues(config);
    expect(values).toMatchObject({ rules_in: "rows", rules: [{ id: "r" }] });
    expect(configWith(config, values)).toBe(config);
    expect(configWith(config, { ...values, rules_in: "text" })).toBe(config);
    expect(configWith(config, { ...values, rules: [] })).toBe('{"region":"x","status_map":{"429":503}}');
  });

  it.each([
    ["an unknown operation", { id: "r", do: [{ op: "later", path: "/a" }] }],
    ["an unknown member", { id: "r", do: [{ op: "remove", path: "/a", more: 1 }] }],
    ["an unknown condition", { id: "r", when: { later: 1 }, do: [] }],
    ["a value of another type", { id: "r", do: [{ op: "cap", path: "/a", value: "1" }] }],
    ["no rule", 7],
  ])("what has %s is left as JSON", (_, rule) => {
    const good = { id: "a", do: ACTIONS.remove };
    expect(rowsOfRules([good, rule])).toEqual({ unshown: 2 });
    const config = JSON.stringify({ rewrite: { v: 1, rules: [good, rule] } });
    expect(rewriteValues(config)).toMatchObject({ rules_in: "text", rules: [] });
    expect(JSON.parse(rewriteValues(config).rewrite)).toEqual([good, rule]);
  });
});

describe("a fault stands at its field", () => {
  const at = (rule: object) => rowsOf([{ id: "r", do: ACTIONS.remove, ...rule }]);
  it.each<[string, object, (string | number)[], string]>([
    [
      "a path",
      { do: [...ACTIONS.remove, { op: "set", path: "/model", value: 1 }] },
      ["do", 1, "path", "path"],
      "/model：不能修改 model：它由网关决定",
    ],
    [
      "a value",
      { do: [{ op: "set", path: "/a", value: { n: 2 } }] },
      ["do", 0, "json", "value"],
      "不能修改 n：它由网关决定",
    ],
    [
      "a header",
      { do: [{ op: "setHeader", name: "Host", value: "x" }] },
      ["do", 0, "header", "name"],
      "这个请求头由网关决定，不能修改",
    ],
    [
      "a credential",
      { do: [{ op: "setHeader", name: "X-Api-Key", value: "x" }] },
      ["do", 0, "text", "value"],
      "凭证请求头的值须含 {{key}}",
    ],
    [
      "a rename",
      { do: [{ op: "rename", path: "/a", to: "/max_tokens" }] },
      ["do", 0, "path", "to"],
      "长度上限只能改名为另一个长度上限",
    ],
    [
      "a copy",
      { do: [{ op: "copy", path: "/a", to: "/b/*" }] },
      ["do", 0, "path", "to"],
      "复制的路径不能含 *，也不能是长度上限",
    ],
    [
      "an error code",
      { do: [{ op: "refuse", status: 400, code: "A", message: "x" }] },
      ["do", 0, "text", "code"],
      "错误码只能含小写字母、数字和下划线",
    ],
    [
      "a place",
      { when: { has: ["/a", "b"] } },
      ["when", 1, "path", "name"],
      "b：路径须为 JSON Pointer，例如 /temperature",
    ],
    [
      "a compared place",
      { when: { equals: { "/a": 1, b: 1 } } },
      ["when", 1, "path", "name"],
      "b：路径须为 JSON Pointer，例如 /temperature",
    ],
    [
      "a place of a group",
      { when: { any: [{}, { stream: true, lacks: ["b"] }] } },
      ["any", 1, "when", 1, "path", "name"],
      "b：路径须为 JSON Pointer，例如 /temperature",
    ],
  ])("%s", (_, rule, place, text) => {
    expect(fieldFault(at(rule), [0, ...place], "x")).toBe(text);
    expect(areWhole(at(rule))).toBe(false);
  });

  it("what is not filled in, is no JSON or has a name that is taken", () => {
    const rows = [{ ...NEW_RULE, id: "r" }, NEW_RULE];
    expect(fieldFault(rows, [0, "do", 0, "path", "path"], undefined)).toBe("请填写此项");
    expect(fieldFault(rows, [1, "id"], "")).toBe("请填写此项");
    expect(fieldFault(rows, [0, "do", 0, "json", "value"], { type: "json", text: "{" })).toContain("第 1 行");
    expect(fieldFault(rows, [0, "do", 0, "json", "value"], { type: "number", text: "" })).toBe("请填写此项");
    const twice = at({}).concat(at({}));
    expect(fieldFault(twice, [1, "id"], "r")).toBe("规则名称“r”出现了不止一次");
    expect(fieldFault(twice, [0, "id"], "r")).toBeUndefined();
    expect(rulesFault(textOfRows(twice))).toBe("第 2 条规则：规则名称“r”出现了不止一次");
    expect(oneMore(twice, twice[0] ?? NEW_RULE).id).toBe("r 2");
  });

  it("a condition that is empty or there twice; lists may name more places", () => {
    const equals = (name: string) => ({ is: "equals", path: { name } });
    const rows = [equals("/a"), { is: "stream" }, equals("/b"), equals("/a"), { is: "has" }, { is: "has" }];
    const faults = rows.map((_row, place) => conditionFault(rows, place));
    expect(faults).toEqual([undefined, "请填写此项", undefined, "这个条件已经有了", undefined, undefined]);
  });

  it("of a rule as a whole", () => {
    const store = { do: [{ op: "remove", path: "/store" }] };
    expect(partFault(at(store), [0, "do"])).toBe("只有条件要求存在 /messages 的规则才能删除 store");
    const many = Array.from({ length: 51 }, (_, index) => ({ id: `r${index}`, do: ACTIONS.remove }));
    expect(partFault(rowsOf(many), [])).toBe("最多 50 条规则");
  });
});

test("each kind of request that can be shown has an example, and one of them is made in the background", () => {
  expect(new Set([...SAMPLES.values()].map(({ format }) => format))).toEqual(new Set(PREVIEW_FORMATS));
  expect(SAMPLES.get("background")?.bodyOf("m")).toMatchObject({ model: "m", background: true });
});
