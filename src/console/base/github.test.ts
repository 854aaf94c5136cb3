import { describe, expect, it } from "vitest";
import { githubAddress } from "./github.ts";

describe("the way to GitHub", () => {
  it("takes the server's own address, which carries the PKCE challenge", () => {
    const url = "https://github.com/login/oauth/authorize?client_id=a&state=b&code_challenge=c";
    expect(githubAddress({ data: "b", url }, "a")).toBe(url);
  });

  it("builds the plain address for a server that only gives a state", () => {
    expect(githubAddress({ data: "s&1", url: "" }, "abc")).toBe(
      "https://github.com/login/oauth/authorize?client_id=abc&state=s%261&scope=user%3Aemail",
    );
  });

  it("goes nowhere without a client id, or to anything but a web address", () => {
    expect(githubAddress({ data: "s", url: "" }, "")).toBeUndefined();
    expect(githubAddress({ data: "s", url: "javascript:alert(1)" }, "")).toBeUndefined();
  });
});
