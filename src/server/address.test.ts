import { expect, test } from "vitest";
import { identifyClient, isCidr, isInRanges, limitKey } from "./address.ts";

const headers = (map: Record<string, string>) => (name: string) => map[name];

test.each([
  ["10.1.2.3", "10.0.0.0/8", true],
  ["11.1.2.3", "10.0.0.0/8", false],
  ["::ffff:10.1.2.3", "10.0.0.0/8", true],
  ["127.0.0.1", "127.0.0.1", true],
  ["127.0.0.2", "127.0.0.1", false],
  ["2001:db8::1", "2001:db8::/32", true],
  ["2001:db9::1", "2001:db8::/32", false],
  ["10.1.2.3", "2001:db8::/32", false],
  ["1.2.3.4", "0.0.0.0/0", true],
  ["garbage", "0.0.0.0/0", false],
  ["fe80::1%eth0", "fe80::/10", true],
])("%s in %s is %s", (address, cidr, isInside) => {
  expect(isInRanges(address, [cidr])).toBe(isInside);
});

test.each(["10.0.0.0/33", "300.1.1.1", "::1::2", "1:2:3", "", "10.0.0/8", "::/129"])(
  "refuses the CIDR %j",
  (cidr) => {
    expect(isCidr(cidr)).toBe(false);
  },
);

test("does not believe forwarding headers of an untrusted peer", () => {
  const header = headers({ "x-forwarded-for": "1.1.1.1", "x-forwarded-proto": "https", host: "a.example" });
  expect(identifyClient("9.9.9.9", header, ["10.0.0.0/8"])).toEqual({
    address: "9.9.9.9",
    isHttps: false,
    isLocal: false,
    host: "a.example",
  });
});

test("takes the right-most hop that is no trusted proxy", () => {
  const header = headers({
    "x-forwarded-for": "6.6.6.6, 1.1.1.1, 10.0.0.7",
    "x-forwarded-proto": "https",
    host: "h",
  });
  expect(identifyClient("::ffff:10.0.0.1", header, ["10.0.0.0/8"])).toMatchObject({
    address: "1.1.1.1",
    isHttps: true,
    isLocal: false,
  });
});

test.each([
  // What the proxy wrote has a port: it is read, and what the client wrote before it is not.
  ["6.6.6.6, 1.2.3.4:5678", "1.2.3.4"],
  ["6.6.6.6, [2001:db8::5]:443", "2001:db8::5"],
  ["6.6.6.6, [2001:db8::5]", "2001:db8::5"],
  ["6.6.6.6, 1.2.3.4:5678, 10.0.0.7:80", "1.2.3.4"],
  ["6.6.6.6,2001:db8::5", "2001:db8::5"],
  // What cannot be read tells nothing, and neither does what stands before it.
  ["6.6.6.6, unknown", "10.0.0.1"],
  ["6.6.6.6, 1.2.3.4:5678:9, 10.0.0.7", "10.0.0.1"],
  ["6.6.6.6, ", "10.0.0.1"],
  ["6.6.6.6, 1.2.3.4:", "10.0.0.1"],
  ["6.6.6.6, [1.2.3.4", "10.0.0.1"],
  ["6.6.6.6, 1.2.3.4 5.5.5.5", "10.0.0.1"],
  ["", "10.0.0.1"],
  // Every address is a proxy: the one that is furthest away.
  ["10.0.0.9:1234, 10.0.0.7", "10.0.0.9"],
])("a trusted proxy that says %j means %s", (forwarded, address) => {
  const header = headers({ "x-forwarded-for": forwarded, host: "h" });
  expect(identifyClient("10.0.0.1", header, ["10.0.0.0/8"]).address).toBe(address);
});

test("counts a whole IPv6 /64 as one client", () => {
  expect(limitKey("2001:db8:1:2::1")).toBe(limitKey("2001:db8:1:2:ffff::9"));
  expect(limitKey("2001:db8:1:2::1")).not.toBe(limitKey("2001:db8:1:3::1"));
  expect(limitKey("1.2.3.4")).toBe("1.2.3.4");
});
