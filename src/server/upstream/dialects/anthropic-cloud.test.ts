// Claude at clouds: betas that a client requests are sent in the cloud's own form, as far as it knows them.
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import type { HubRequest } from "#server/upstream/hub/request.ts";
import { bedrock, vertexClaude } from "./anthropic-cloud.ts";

const model = "global.anthropic.claude-sonnet-4-6";
const wire = providerOf(33) ?? expect.fail("no row");
const target = { baseUrl: "https://a.example", other: "", model, apiVersion: "", isStream: true };
const request: HubRequest = {
  model,
  isStream: true,
  messages: [{ role: "user", parts: [{ kind: "text", text: "hi" }] }],
};
const BETAS = "claude-code-20250219,interleaved-thinking-2025-05-14, context-1m-2025-08-07";
const KNOWN = ["interleaved-thinking-2025-05-14", "context-1m-2025-08-07"];

describe("betas", () => {
  const asked = { wire, target, passHeaders: ["anthropic-version", "2023-06-01", "anthropic-beta", BETAS] };

  it("are in Bedrock's body", () => {
    const { body, headers, dropped } = bedrock.encode(request, asked);
    expect(body["anthropic_beta"]).toEqual(KNOWN);
    expect([headers, dropped]).toEqual([undefined, ["anthropic-beta"]]);
  });

  it("are in a header of Vertex AI", () => {
    const { body, headers, dropped } = vertexClaude.encode(request, asked);
    expect(headers).toEqual(["anthropic-beta", KNOWN.join(",")]);
    expect([body["anthropic_beta"], dropped]).toEqual([undefined, ["anthropic-beta"]]);
  });

  it("of our own are added to the client's", () => {
    const thoughtful: HubRequest = {
      ...request,
      model: "global.anthropic.claude-opus-5-5",
      messages: [
        ...request.messages,
        {
          role: "assistant",
          parts: [{ kind: "text", text: "yes" }],
          thoughts: [{ text: "", signature: "S" }],
          toolCalls: [],
        },
        ...request.messages,
      ],
    };
    const own = [...KNOWN, "thinking-binding-controls-2026-08-01"];
    expect(bedrock.encode(thoughtful, asked).body["anthropic_beta"]).toEqual(own);
    expect(vertexClaude.encode(thoughtful, asked).headers).toEqual(["anthropic-beta", own.join(",")]);
  });

  it("are absent if none is requested", () => {
    expect(bedrock.encode(request, { wire, target })).toMatchObject({ dropped: [] });
    expect(bedrock.encode(request, { wire, target }).body).not.toHaveProperty("anthropic_beta");
    expect(vertexClaude.encode(request, { wire, target, passHeaders: [] })).not.toHaveProperty("headers");
  });
});
