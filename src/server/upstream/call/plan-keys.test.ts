// Plans of channels with several keys: one for all of them where the wire is the same, and to each key what is its own (requirements C24).
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Provider, providers } from "#contract/providers.ts";
import type { UpstreamTarget } from "./call.ts";
import { planCall } from "./plan.ts";

function rowOf(slug: string): Provider {
  return providers.find((provider) => provider.slug === slug) ?? expect.fail(`no row ${slug}`);
}

/** Of an account that does not exist. */
const PEM = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
}).privateKey;

describe("a channel with many keys", () => {
  const asked = { endpoint: "chat", model: "gpt-4o", apiVersion: "", isStream: false } as const;
  const planWith = (target: UpstreamTarget, model = "gpt-4o") => {
    const plan = planCall(target, { ...asked, model }, () => "");
    return plan.kind === "plan" ? plan : expect.fail(String(plan.code));
  };
  const keyed = (base: UpstreamTarget, keyId: number, key: string): UpstreamTarget => ({
    ...base,
    base,
    keyId,
    key,
    route: { owner: "channel 1", proxies: [`http://proxy-${keyId}:1`] },
  });

  it("is planned once for all of them, and no key gets what is another's", () => {
    const row = rowOf("openai");
    let looks = 0;
    const counted = {
      ...row,
      get paths() {
        looks += 1;
        return row.paths;
      },
    };
    const base: UpstreamTarget = { provider: counted, key: "", baseUrl: "", other: "" };
    const targets = Array.from({ length: 6_000 }, (_, at) =>
      keyed(base, at + 1, `sk-canary-${at + 1}-of-many`),
    );
    planWith(targets[0] ?? expect.fail());
    const made = looks;
    expect(made).toBeGreaterThan(0);
    for (let round = 0; round < 2; round += 1) {
      for (const target of targets) {
        const { headers, secrets, credentials, route } = planWith(target);
        const bearer = headers[headers.indexOf("authorization") + 1];
        const masked = credentials.map(({ bytes }) => bytes.toString());
        const { key } = target;
        expect([bearer, secrets[0], masked, route]).toEqual([`Bearer ${key}`, key, [key], target.route]);
      }
    }
    expect(looks).toBe(made);
    // A key that was replaced is another key.
    expect(planWith(keyed(base, 1, "sk-canary-replaced")).secrets[0]).toBe("sk-canary-replaced");
    expect(planWith(targets[0] ?? expect.fail()).secrets[0]).toBe("sk-canary-1-of-many");
  });

  it("keeps the plans of models that are called, however many names come", () => {
    const base: UpstreamTarget = { provider: rowOf("openai"), key: "sk-one", baseUrl: "", other: "" };
    const plan = planWith(base);
    for (let at = 0; at < 3_000; at += 1) {
      planWith(base, `name-${at}`);
      if (at % 100 === 0) expect(planWith(base)).toBe(plan);
    }
  });

  it("has the wire of each key where it depends on the key", () => {
    const of = (slug: string, ...keys: readonly string[]) => {
      const base: UpstreamTarget = { provider: rowOf(slug), key: "", baseUrl: "", other: "" };
      return keys.map((key, at) => {
        const plan = planCall(keyed(base, at + 1, key), { ...asked, model: "m" }, () => "");
        return plan.kind === "plan" ? `${plan.origin} ${plan.target.account ?? ""}`.trim() : plan.code;
      });
    };
    expect(of("bedrock", "AK|SK|us-east-1", "AK|SK|eu-west-1", "wrong", "AK2|SK2|us-east-1")).toEqual([
      "https://bedrock-runtime.us-east-1.amazonaws.com",
      "https://bedrock-runtime.eu-west-1.amazonaws.com",
      "invalid_channel_key",
      "https://bedrock-runtime.us-east-1.amazonaws.com",
    ]);
    expect(of("xunfei", "app1|secret|key", "password", "app2|secret|key")).toEqual([
      "wss://spark-api.xf-yun.com app1",
      "https://spark-api-open.xf-yun.com",
      "wss://spark-api.xf-yun.com app2",
    ]);
    const file = (project: string, place = "") =>
      `${place}${JSON.stringify({ type: "service_account", project_id: project, client_email: "a@b.c", private_key: PEM })}`;
    expect(of("vertex", file("p1"), "AIza-express", file("p1", "eu|p2|"))).toEqual([
      "https://aiplatform.googleapis.com",
      "https://aiplatform.googleapis.com",
      "https://aiplatform.eu.rep.googleapis.com",
    ]);
  });

  it("has the paths of each key's project", () => {
    const base: UpstreamTarget = { provider: rowOf("vertex"), key: "", baseUrl: "", other: "" };
    const paths = ["p1", "p2"].map(
      (project, at) =>
        planWith(
          keyed(
            base,
            at + 1,
            JSON.stringify({
              type: "service_account",
              project_id: project,
              client_email: "a@b.c",
              private_key: PEM,
            }),
          ),
        ).path,
    );
    expect(paths.map((path) => /projects\/(\w+)\//.exec(path)?.[1])).toEqual(["p1", "p2"]);
  });
});
