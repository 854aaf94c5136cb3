import { describe, expect, it } from "vitest";
import { createPolicy, judgeUrl } from "./policy.ts";

const strict = createPolicy({ allow: [], ownPorts: [3000] });

describe("addresses", () => {
  const refused = [
    ["0.0.0.0", "never"],
    ["0.1.2.3", "never"],
    ["169.254.169.254", "never"],
    ["100.100.100.200", "never"],
    ["168.63.129.16", "never"],
    ["224.0.0.1", "never"],
    ["255.255.255.255", "never"],
    ["::", "never"],
    ["::7f00:1", "never"],
    ["::10.0.0.1", "never"],
    ["fe80::1", "never"],
    ["fe80::1%eth0", "never"],
    ["ff02::1", "never"],
    ["fd00:ec2::254", "never"],
    ["64:ff9b:1::7f00:1", "never"],
    ["::ffff:0:127.0.0.1", "never"],
    ["::ffff:0:a9fe:a9fe", "never"],
    ["2001:0:7f00:1::", "never"],
    ["2002:7f00:1::", "never"],
    ["2002:a00:1::1", "never"],
    ["::ffff:169.254.169.254", "never"],
    ["64:ff9b::169.254.169.254", "never"],
    ["64:ff9b::a9fe:a9fe", "never"],
    ["127.0.0.1", "private"],
    ["127.255.255.254", "private"],
    ["::1", "private"],
    ["0:0:0:0:0:0:0:1", "private"],
    ["::ffff:127.0.0.1", "private"],
    ["::ffff:7f00:1", "private"],
    ["0:0:0:0:0:ffff:a00:1", "private"],
    ["64:ff9b::10.0.0.1", "private"],
    ["64:ff9b::c0a8:101", "private"],
    ["10.0.0.1", "private"],
    ["100.64.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["192.0.0.8", "private"],
    ["198.18.0.1", "private"],
    ["fc00::1", "private"],
    ["fd12:3456::1", "private"],
    ["fec0::1", "private"],
    ["2001:db8::1", "private"],
    ["3fff:123::1", "private"],
    ["5f00::1", "private"],
    ["not an address", "never"],
    ["", "never"],
    ["1.2.3", "never"],
  ] as const;
  it.each(refused)("%s is %s", (address, verdict) => {
    expect(strict.judge(address, 443)).toBe(verdict);
  });

  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])(
    "%s is public",
    (address) => {
      expect(strict.judge(address, 443)).toBe("public");
    },
  );
});

describe("the operator's allow list", () => {
  const policy = createPolicy({
    allow: [
      { cidr: "10.0.0.0/8", port: 8000 },
      { cidr: "127.0.0.0/8", port: undefined },
      { cidr: "169.254.0.0/16", port: undefined },
      { cidr: "fd00::/8", port: undefined },
      { cidr: "192.168.7.7", port: undefined },
    ],
    ownPorts: [3000],
  });

  it("opens a range, or one port of it", () => {
    expect(policy.judge("10.1.2.3", 8000)).toBe("allowed");
    expect(policy.judge("10.1.2.3", 8001)).toBe("private");
    expect(policy.judge("127.0.0.1", 9999)).toBe("allowed");
    expect(policy.judge("::ffff:127.0.0.1", 9999)).toBe("allowed");
    expect(policy.judge("fd00::1", 443)).toBe("allowed");
    expect(policy.judge("192.168.7.7", 443)).toBe("allowed");
    expect(policy.judge("192.168.7.8", 443)).toBe("private");
  });

  it("never opens metadata, link-local or our own listener", () => {
    expect(policy.judge("169.254.169.254", 80)).toBe("never");
    expect(policy.judge("fd00:ec2::254", 80)).toBe("never");
    expect(policy.judge("127.0.0.1", 3000)).toBe("never");
    expect(policy.judge("::1", 3000)).toBe("never");
  });

  it("opens a local model server's loopback port and no other", () => {
    const local = createPolicy({ allow: [], ownPorts: [3000], loopbackPort: 11_434 });
    expect(local.judge("127.0.0.1", 11_434)).toBe("allowed");
    expect(local.judge("::1", 11_434)).toBe("allowed");
    expect(local.judge("127.0.0.1", 6379)).toBe("private");
    expect(local.judge("127.0.0.1", 3000)).toBe("never");
    expect(local.judge("10.0.0.1", 11_434)).toBe("private");
    expect(strict.judge("127.0.0.1", 11_434)).toBe("private");
  });
});

describe("typed addresses", () => {
  const forms = [
    "http://127.0.0.1",
    "http://127.1",
    "http://127.0.1",
    "http://2130706433",
    "http://0x7f000001",
    "http://0x7f.0.0.1",
    "http://0177.0.0.1",
    "http://017700000001",
    "http://127.0.0.1.",
    "http://１２７.０.０.１",
    "http://①②⑦.0.0.1",
    "http://[::1]",
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:7f00:1]",
    "http://[0:0:0:0:0:0:0:1]",
    "http://[::]",
    "http://[2002:7f00:1::]",
    "http://[64:ff9b::7f00:1]",
    "http://[fec0::1]",
    "http://[fe80::1]",
    "http://0",
    "http://0.0.0.0",
    "http://169.254.169.254/latest/meta-data",
    "http://2852039166",
    "http://10.0.0.1:8080",
    "http://192.168.0.1",
    "http://100.64.0.1",
    "http://metadata.google.internal",
    "http://METADATA.google.internal.",
    "http://user@example.com",
    "http://user:pw@example.com",
    "http://127.0.0.1@example.com",
    "ftp://example.com",
    "file:///etc/passwd",
    "gopher://example.com",
    "javascript:alert(1)",
    "http://",
    "example.com",
    "",
  ];
  it.each(forms)("%s is refused", (text) => {
    expect(judgeUrl(text, strict)).toHaveProperty("refusal");
  });

  it.each([
    "https://api.openai.com",
    "http://8.8.8.8:8080/v1",
    "https://[2606:4700::1111]/",
    "wss://spark-api.xf-yun.com",
  ])("%s passes", (text) => {
    expect(judgeUrl(text, strict)).toHaveProperty("url");
  });
});
