// The independent upstream of the end-to-end tests: aimock with the answers that the tests and the official SDK ask for.
import { LLMock } from "@copilotkit/aimock";

/** The channel key that aimock accepts in the end-to-end tests. */
export const upstreamKey = "sk-upstream-canary-5f2a";

export const poem = "Tollgate counts every token, and lets the rest of the river pass by unharmed.";

/** Starts aimock on a free loopback port: plain text, a paced stream, a tool call and an embedding. */
export async function startAimock(): Promise<LLMock> {
  const mock = new LLMock({ port: 0, host: "127.0.0.1" });
  mock.onMessage("weather", {
    toolCalls: [{ name: "get_weather", arguments: JSON.stringify({ city: "Hangzhou" }) }],
  });
  mock.onMessage("poem", { content: poem });
  mock.onMessage(/.*/, { content: "Hello from the upstream." });
  mock.onEmbedding(/.*/, { embedding: [0.1, 0.2, 0.3, 0.4] });
  await mock.start();
  return mock;
}

/** The same with a usage for the poem on every wire; aimock counts no tokens on Anthropic's. */
export async function startPoet(): Promise<LLMock> {
  const mock = await startAimock();
  const usage = {
    input_tokens: 12,
    output_tokens: 30,
    prompt_tokens: 12,
    completion_tokens: 30,
    total_tokens: 42,
    promptTokenCount: 12,
    candidatesTokenCount: 30,
    totalTokenCount: 42,
  };
  mock.prependFixture({ match: { userMessage: "poem" }, response: { content: poem, usage } });
  return mock;
}
