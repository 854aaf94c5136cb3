// Promises of the addresses that depend on a cloud's region, project or account.
import { describe, expect, it } from "vitest";
import { wireOf } from "./provider.ts";
import { providerOf } from "./providers.ts";

const account = JSON.stringify({
  project_id: "my-project",
  client_email: "robot@my-project.iam.example",
  private_key: "PEM",
});

function addressOf(type: number, target: Partial<Parameters<typeof wireOf>[1]>): string {
  const row = providerOf(type);
  if (row === undefined) throw new Error(`no row for type ${type}`);
  const wire = wireOf(row, { key: "", baseUrl: "", other: "", model: "m", ...target });
  return wire.baseUrl + wire.paths.chat;
}

describe("the address of a cloud", () => {
  it.each([
    ["AK|SK|us-east-1", "https://bedrock-runtime.us-east-1.amazonaws.com/model/{model}/converse"],
    ["key|eu-west-3", "https://bedrock-runtime.eu-west-3.amazonaws.com/model/{model}/converse"],
    ["AK|SK|evil.example/", "https://bedrock-runtime.{region}.amazonaws.com/model/{model}/converse"],
  ])("of Bedrock has the region of the key (%s)", (key, address) => {
    expect(addressOf(33, { key })).toBe(address);
  });

  const google = "publishers/google/models/{model}:generateContent";
  const global = `https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/${google}`;
  const iowa = `https://us-central1-aiplatform.googleapis.com/v1/projects/my-project/locations/us-central1/${google}`;
  it.each([
    ["", global],
    ["us-central1", iowa],
    ["us", `https://aiplatform.us.rep.googleapis.com/v1/projects/my-project/locations/us/${google}`],
    ["us-central1|other-project", iowa.replace("my-project", "other-project")],
    ['{"m":"us-central1","default":"global"}', iowa],
    ['{"x":"us-central1","default":"global"}', global],
    ["{no json", "https://{host}/v1/{scope}publishers/google/models/{model}:generateContent"],
    ["evil.example/", "https://{host}/v1/{scope}publishers/google/models/{model}:generateContent"],
  ])("of Vertex has the region of `other` and the project of the key (%s)", (other, address) => {
    expect(addressOf(42, { key: account, other })).toBe(address);
  });

  it("of Vertex takes region and project from One API's form of the key", () => {
    expect(addressOf(42, { key: `us-central1|my-project|${account}` })).toBe(iowa);
  });

  it("of Vertex has neither with an API key", () => {
    expect(addressOf(42, { key: "AIza-1", other: "us-central1" })).toBe(
      `https://aiplatform.googleapis.com/v1/${google}`,
    );
  });

  it("of Vertex's open models is OpenAI's", () => {
    expect(addressOf(42, { key: account, model: "meta/llama-4" })).toBe(
      "https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/endpoints/openapi/chat/completions",
    );
  });

  it("of Cloudflare has the account of `other`, unless a gateway's address holds it", () => {
    expect(addressOf(37, { other: "acc1" })).toBe(
      "https://api.cloudflare.com/client/v4/accounts/acc1/ai/v1/chat/completions",
    );
    expect(addressOf(37, { other: "acc/../../x" })).toContain("{account}");
    expect(addressOf(37, { baseUrl: "https://gateway.ai.cloudflare.com/v1/acc/gw/workers-ai" })).toMatch(
      /\/v1\/v1\/chat\/completions$/,
    );
  });
});
