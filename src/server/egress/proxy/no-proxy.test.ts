// NO_PROXY as most tools read it (requirements C09).
import { expect, test } from "vitest";
import { readNoProxy } from "./no-proxy.ts";

/** NO_PROXY, destination, whether it is direct. */
const ROWS: readonly (readonly [string, string, boolean])[] = [
  ["", "example.com:443", false],
  ["*", "example.com:443", true],
  [" * ", "10.0.0.1:80", true],
  ["a,*", "example.com:443", true],
  ["*.*", "example.com:443", false],
  ["example.com", "example.com:443", true],
  ["example.com", "a.example.com:443", true],
  ["example.com", "a.b.example.com:80", true],
  ["example.com", "notexample.com:443", false],
  ["example.com", "example.com.evil.org:443", false],
  ["example.com", "com:443", false],
  ["EXAMPLE.com", "example.COM:443", true],
  ["example.com.", "example.com:443", true],
  ["example.com", "example.com.:443", true],
  ["example.com.", "a.example.com.:443", true],
  [".example.com", "example.com:443", true],
  [".example.com", "a.example.com:443", true],
  [".example.com", "notexample.com:443", false],
  ["*.example.com", "a.example.com:443", true],
  ["*.example.com", "example.com:443", true],
  ["*.example.com", "aexample.com:443", false],
  ["a.*.com", "a.b.com:443", false],
  ["a,b", "b:80", true],
  ["a b", "b:80", true],
  ["a\tb", "b:80", true],
  ["a , , b", "b:80", true],
  [",,", "b:80", false],
  ["example.com:443", "example.com:443", true],
  ["example.com:443", "example.com:80", false],
  ["example.com:443", "a.example.com:443", true],
  [".example.com:8080", "a.example.com:8080", true],
  ["*.example.com:8080", "a.example.com:80", false],
  ["example.com:99999999", "example.com:443", false],
  ["10.0.0.1", "10.0.0.1:80", true],
  ["10.0.0.1", "10.0.0.10:80", false],
  ["10.0.0.1:80", "10.0.0.1:80", true],
  ["10.0.0.1:80", "10.0.0.1:81", false],
  ["0.0.1", "10.0.0.1:80", false],
  ["10.0.0.0/8", "10.255.0.1:443", true],
  ["10.0.0.0/8", "11.0.0.1:443", false],
  ["10.0.0.0/8", "ten.example.com:443", false],
  ["10.0.0.0/33", "10.0.0.1:443", false],
  ["10.0.0.0/0", "192.0.2.1:443", true],
  ["192.168.1.0/24,10.0.0.0/8", "192.168.1.77:80", true],
  ["192.168.1.0/24", "192.168.2.1:80", false],
  ["fd00::/8", "[fd12::1]:443", true],
  ["fd00::/8", "[fe00::1]:443", false],
  ["fd00::/129", "[fd00::1]:443", false],
  ["[fd00::]/8", "[fd12::1]:443", true],
  ["::1", "[::1]:443", true],
  ["[::1]", "[::1]:443", true],
  ["[::1]:443", "[::1]:443", true],
  ["[::1]:443", "[::1]:80", false],
  ["2001:DB8::1", "[2001:db8::1]:80", true],
  ["2001:db8::0001", "[2001:db8::1]:80", true],
  ["2001:db8::1", "[2001:db8::2]:80", false],
  ["[example.com]", "example.com:443", false],
  ["http://example.com", "example.com:443", false],
  ["user@example.com", "example.com:443", false],
  ["münchen.example", "münchen.example:443", true],
];

test.each(ROWS)("NO_PROXY=%j and %s: direct is %s", (text, destination, isDirect) => {
  const colon = destination.lastIndexOf(":");
  const host = destination.slice(0, colon).replace(/^\[|\]$/g, "");
  expect(readNoProxy(text)({ host, port: Number(destination.slice(colon + 1)) })).toBe(isDirect);
});

test("the table is whole", () => expect(ROWS.length).toBeGreaterThanOrEqual(60));
