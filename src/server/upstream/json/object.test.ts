import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editObject, findMember, readMember, wholeObject } from "./object.ts";
import { newTally } from "./scan.ts";

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

function textOf(data: Uint8Array): string {
  return Buffer.from(data).toString();
}

/** JSON with blanks in every allowed place. */
function spread(value: unknown, blank: string): string {
  if (Array.isArray(value))
    return `[${blank}${value.map((item) => spread(item, blank)).join(`${blank},${blank}`)}${blank}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}${blank}:${blank}${spread(item, blank)}`,
  );
  return `${blank}{${blank}${members.join(`${blank},${blank}`)}${blank}}${blank}`;
}

const blanks = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const objects = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 8 });

describe("objectAt", () => {
  it("sees exactly the members that JSON.parse sees", () => {
    fc.assert(
      fc.property(objects, blanks, (value, blank) => {
        const text = spread(value, blank);
        const data = bytes(text);
        const found = wholeObject(data);
        const parsed: Record<string, unknown> = JSON.parse(text);
        expect(found?.members.map(({ name }) => name).toSorted()).toEqual(Object.keys(parsed).toSorted());
        for (const member of found?.members ?? []) {
          const slice = textOf(data.subarray(member.valueStart, member.valueEnd));
          expect(JSON.parse(slice)).toEqual(parsed[member.name]);
        }
      }),
    );
  });

  it("decodes the escapes of JSON.stringify", () => {
    const found = wholeObject(bytes('{"mod\\u0065l":"a","x\\"y":1,"键":2}'));
    expect(found?.members.map(({ name }) => name)).toEqual(["model", 'x"y', "键"]);
  });

  it("lists a repeated name twice and finds the last", () => {
    const found = wholeObject(bytes('{"a":1,"b":2,"a":3}'));
    expect(found?.members.length).toBe(3);
    expect(found && findMember(found, "a")?.valueStart).toBe(17);
  });

  it("refuses every proper prefix", () => {
    const data = bytes('{"a":"x\\"}","b":[1,{"c":null}],"d":-1.5e3}');
    for (let end = 0; end < data.length; end += 1) expect(wholeObject(data.subarray(0, end))).toBeUndefined();
    expect(wholeObject(data)).toBeDefined();
  });

  it.each([
    '{"a":1}x',
    '{"a":1}{}',
    "[1]",
    '"a"',
    "1",
    "",
    "{a:1}",
    '{"a" 1}',
    '{"a":1,}',
    '{"a":}',
    '{"a":[}',
    '{"a":{]}',
  ])("refuses %s", (text) => {
    expect(wholeObject(bytes(text))).toBeUndefined();
  });

  it("refuses excessive nesting and numbers of members", () => {
    const nested = (depth: number) => bytes(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
    expect(wholeObject(nested(500))).toBeDefined();
    expect(wholeObject(nested(100_000))).toBeUndefined();
    const wide = (count: number) =>
      bytes(`{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(",")}}`);
    expect(wholeObject(wide(2_000))).toBeDefined();
    expect(wholeObject(wide(1_000_000))).toBeUndefined();
  });
});

/** The result of JSON.parse. */
function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

describe("strictness", () => {
  const alphabet = fc.constantFrom(
    ...'{}[]:,"\\u0d8Fe+-.1 \n\tabtrufalsenl/é\u0001'.split(""),
    "true",
    "null",
    '"a"',
    "\\ud83c",
    "\\udfb9",
    "1e5",
    "-0",
  );

  it("accepts exactly what JSON.parse accepts", () => {
    fc.assert(
      fc.property(
        fc.array(alphabet, { maxLength: 14 }).map((parts) => parts.join("")),
        (text) => {
          for (const whole of [text, `{${text}}`, `{"a":${text}}`, `{"a":[${text}]}`, `{"a":"${text}"}`]) {
            expect([whole, wholeObject(bytes(whole)) !== undefined]).toEqual([whole, isJsonObject(whole)]);
          }
        },
      ),
      { numRuns: 4_000 },
    );
  });

  it("accepts any mutation of a text exactly when JSON.parse does", () => {
    fc.assert(
      fc.property(
        objects,
        fc.nat(),
        fc.constantFrom("", "0", ",", "}", '"', "\\", "-", "e", " ", "\u0000"),
        (value, at, put) => {
          const text = JSON.stringify(value);
          const cut = at % (text.length + 1);
          const mutated = text.slice(0, cut) + put + text.slice(cut + 1);
          expect([mutated, wholeObject(bytes(mutated)) !== undefined]).toEqual([
            mutated,
            isJsonObject(mutated),
          ]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("counts lone surrogates, data URLs and the bytes of texts", () => {
    const heard = (text: string) => {
      const tally = newTally();
      wholeObject(bytes(text), tally);
      return tally;
    };
    expect(heard('{"a":"\\ud83c\\udfb9","b":"\\\\ud800"}').hasLoneSurrogate).toBe(false);
    for (const lone of ["\\ud83c", "\\udfb9", "\\udfb9\\ud83c", "\\ud83cx", "\\ud83c\\n"]) {
      expect(heard(`{"a":"${lone}"}`).hasLoneSurrogate).toBe(true);
      expect(heard(`{"${lone}":1}`).hasLoneSurrogate).toBe(true);
    }
    const file = `data:image/png;base64,${"AAAA".repeat(20)}`;
    expect(
      heard(`{"a":"xyz","b":{"c":["12","é"]},"x":[{"image_url":{"url":"${file}"}}, 1, -2.5]}`),
    ).toMatchObject({ textBytes: 7, media: 1, numbers: 2 });
  });

  it("refuses a request of a million lists", () => {
    const text = (lists: number) => bytes(`{"a":[${"[],".repeat(lists)}1]}`);
    expect(wholeObject(text(100_000), newTally())).toBeDefined();
    expect(wholeObject(text(1_000_000), newTally())).toBeUndefined();
  });

  it("takes no text for a file, nor a file in place of a text", () => {
    const heard = (text: string) => {
      const tally = newTally();
      wholeObject(bytes(text), tally);
      return tally.textBytes;
    };
    const base64 = "Ab+/".repeat(40);
    expect(heard(`{"x":{"data":"${base64}"}}`)).toBe(0);
    expect(heard(`{"x":{"url":"data:image/png;base64,${base64.replaceAll("/", "\\/")}"}}`)).toBe(0);
    expect(heard(`{"x":{"text":"${base64}"}}`)).toBe(160);
    expect(heard(`{"x":[{"url":""},"${base64}"]}`)).toBe(160);
    expect(heard(`{"x":{"data":"${base64} ${base64}"}}`)).toBe(321);
    expect(heard(`{"x":{"url":"data:text/plain,${"a ".repeat(80)}"}}`)).toBe(176);
  });

  it("reads a member as JSON.parse does, in any spelling", () => {
    const written = fc.oneof(
      fc.json(),
      fc.integer().map(String),
      fc.maxSafeNat().map(String),
      fc.constantFrom("0", "-0", "1e2", "0.7", "999999999999999", "1000000000000001", "12345678901234567890"),
      fc.constantFrom('""', '"\\u00e9"', '"é"', '"\\\\"', "true", "false", "null"),
    );
    fc.assert(
      fc.property(written, blanks, (text, blank) => {
        const data = bytes(`{"a":${blank}${text}${blank}}`);
        const found = wholeObject(data);
        expect(found && readMember(data, found, "a")).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it("parses one value alone", () => {
    const data = bytes('{"a":[1,{"b":"é"}],"c":null}');
    const found = wholeObject(data);
    expect(
      found && [readMember(data, found, "a"), readMember(data, found, "c"), readMember(data, found, "d")],
    ).toEqual([[1, { b: "é" }], null, undefined]);
  });
});

describe("editObject", () => {
  const names = ["a", "b", "c", "d", "__proto__", "键"];
  const members = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.jsonValue()), {
    selector: ([name]) => name,
  });
  const some = fc.subarray(names);

  it("replaces one value and keeps every other byte", () => {
    fc.assert(
      fc.property(objects, blanks, fc.jsonValue(), (value, blank, replacement) => {
        fc.pre(Object.keys(value).length > 0);
        const data = bytes(spread(value, blank));
        const found = wholeObject(data);
        const [member] = found?.members ?? [];
        if (found === undefined || member === undefined) throw new Error("no member");
        const text = JSON.stringify(replacement);
        expect(textOf(editObject(data, found, { set: new Map([[member.name, text]]) }))).toBe(
          textOf(data.subarray(0, member.valueStart)) + text + textOf(data.subarray(member.valueEnd)),
        );
      }),
    );
  });

  it("has the same effect as the edits of the parsed value", () => {
    fc.assert(
      fc.property(
        members,
        blanks,
        fc.tuple(some, some, fc.boolean()),
        (list, blank, [dropped, changed, renames]) => {
          const value = new Map(list);
          const spreadText = `${blank}{${blank}${list.map(([name, item]) => `${JSON.stringify(name)}${blank}:${spread(item, blank)}`).join(`,${blank}`)}${blank}}${blank}`;
          const data = bytes(spreadText);
          const found = wholeObject(data);
          if (found === undefined) throw new Error("no object");
          const set = new Map(changed.filter((name) => !dropped.includes(name)).map((name) => [name, "[1]"]));
          const rename = new Map(renames ? [["d", "z"]] : []);
          const edited = wholeObject(editObject(data, found, { set, drop: new Set(dropped), rename }));
          const expected = new Map<string, unknown>([...value].filter(([name]) => !dropped.includes(name)));
          for (const [name] of set) expected.set(name, [1]);
          const isRenamed = renames && value.has("d") && !dropped.includes("d");
          const expectedNames = [...expected.keys()].map((name) => (name === "d" && isRenamed ? "z" : name));
          expect(edited?.members.map(({ name }) => name)).toEqual(expectedNames);
        },
      ),
    );
  });

  it("adds to full and empty objects, and leaves the bytes around them", () => {
    for (const text of ["{}", "{ }", '{"a":1}', ' {"a":1 } \n']) {
      const data = bytes(text);
      const found = wholeObject(data);
      if (found === undefined) throw new Error("no object");
      const edited = textOf(editObject(data, found, { set: new Map([["b", '{"c":true}']]) }));
      expect(JSON.parse(edited)).toEqual({ ...JSON.parse(text), b: { c: true } });
    }
  });
});
