// Whether JSON says something twice is found wherever it stands, and nothing else is taken for it.
import { expect, test } from "vitest";
import { repeatedName, repeatedNames } from "./json-names.ts";

test("a name that stands twice in a table is found, whatever its values say", () => {
  const once = ["", "{}", '{"a":"a","b":"a"}', '{"a":"\\"b\\":","b":":"}', '{"a\\"b":1,"a":2}'];
  expect(once.map(repeatedName)).toEqual(once.map(() => undefined));
  expect(repeatedName('{"a":"x","b":"y","\\u0061" : "z"}')).toBe("a");
});

test("names are compared within their own object, and told with the way to it", () => {
  const once = [
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":2}]',
    '{"a":["b","b"],"b":{"a":"a,\\"a\\":1"}}',
    '["a","a"]',
  ];
  expect(once.map(repeatedNames)).toEqual(once.map(() => []));
  expect(repeatedNames('{"x":[{"y":{"a":1,"b":{},"\\u0061":2}}],"x":3}')).toEqual([
    ["x", "", "y", "a"],
    ["x"],
  ]);
});
