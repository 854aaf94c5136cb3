// Configurations and links of clients (requirements K17): what each reader makes of its link is what went in, whatever the key and the name.
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { CLIENTS, type ClientInput, cherryLink, trialOf } from "./clients.ts";

const input: ClientInput = {
  server: "https://gate.example",
  key: "sk-0123456789abcdefABCDEF0123456789abcdefABCDEF01",
  model: "gpt-4o",
  site: '网关 (it\'s "ours")',
  chatLink: "https://chat.example",
};

/** As Cherry Studio reads its link (CherryHQ/cherry-studio, providersImport.ts). */
function readByCherry(link: string): unknown {
  const data = new URL(link).searchParams.get("data") ?? "";
  const text = Buffer.from(data.replaceAll("_", "+").replaceAll("-", "/"), "base64").toString("utf8");
  return JSON.parse(text.replaceAll("'", '"').replaceAll("(", "").replaceAll(")", ""));
}

describe("links", () => {
  test("bring 10,000 keys and every name to Cherry Studio as they are", () => {
    const names = ["Tollgate", "网关", "it's (ours)", "“站点” ~~~???>>>", "()'\"\\", "ÿÿÿ🙂"];
    for (let round = 0; round < 10_000; round += 1) {
      const key = `sk-${randomBytes(36).toString("base64").replaceAll(/[+/=]/g, "x")}`;
      const site = names[round % names.length] ?? "";
      const link = cherryLink({ ...input, key, site });
      expect(readByCherry(link)).toMatchObject({ apiKey: key, baseUrl: input.server, type: "openai" });
      if (site === "网关") expect(readByCherry(link)).toMatchObject({ name: "网关" });
    }
  });

  test("have no key in what goes to a server of the web", () => {
    for (const { name, link } of CLIENTS) {
      const address = link?.(input);
      if (address === undefined || !address.startsWith("http")) continue;
      expect(address.split("#")[0], name).not.toContain(input.key);
    }
    expect(CLIENTS.find(({ name }) => name === "LobeChat")?.link).toBeUndefined();
  });

  test("of CC Switch have no key at all, and each application's own address", () => {
    const links = CLIENTS.filter(({ name }) => name.startsWith("CC Switch")).map(
      ({ link }) => link?.(input) ?? "",
    );
    expect(links).toHaveLength(3);
    const read = links.map((link) => Object.fromEntries(new URL(link).searchParams));
    expect(read.map(({ app, endpoint }) => [app, endpoint])).toEqual([
      ["claude", "https://gate.example"],
      ["codex", "https://gate.example/v1"],
      ["gemini", "https://gate.example"],
    ]);
    for (const [index, link] of links.entries()) {
      expect(link).not.toContain("sk-");
      expect(read[index]).toMatchObject({ resource: "provider", name: "网关 its ours", model: "gpt-4o" });
    }
  });

  test("of NextChat go to the operator's own instance, and nowhere without one", () => {
    const link = CLIENTS.find(({ name }) => name === "NextChat")?.link;
    const [address, fragment = ""] = (link?.(input) ?? "").split("#/?settings=");
    expect(address).toBe("https://chat.example/");
    expect(JSON.parse(decodeURIComponent(fragment))).toEqual({ key: input.key, url: input.server });
    for (const chatLink of ["", "javascript:alert(1)", "http://chat.example", "https://a.cn/#/x"])
      expect(link?.({ ...input, chatLink }), chatLink).toBeUndefined();
  });
});

describe("clients", () => {
  test.each(CLIENTS.map((client) => [client.name, client] as const))(
    "%s has a text with the key",
    (_name, client) => {
      expect(client.text(input)).toContain(input.key);
    },
  );

  test("are tried in the format that they speak", () => {
    expect(trialOf("gemini", "a/b c").path).toBe("/v1beta/models/a%2Fb%20c:generateContent");
    const paths = (["chat", "messages", "responses"] as const).map((format) => trialOf(format, "m").path);
    expect(paths).toEqual(["/v1/chat/completions", "/v1/messages", "/v1/responses"]);
  });
});
