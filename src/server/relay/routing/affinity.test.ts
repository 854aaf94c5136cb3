import { describe, expect, it } from "vitest";
import type { TextEndpoint } from "#contract/providers.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { readIncoming } from "#server/relay/text/incoming.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";
import { conversationOf } from "./affinity.ts";

const world = createRelayWorld();
const long = (text: string) => `${text} ${"Tollgate counts every token. ".repeat(200)}`;
const caller: Pick<Caller, "userId" | "group"> = { userId: 1, group: "default" };

interface Asked {
  readonly endpoint?: TextEndpoint;
  readonly session?: string;
  readonly indent?: number | undefined;
  readonly who?: Partial<typeof caller>;
}

function conversation(body: object, { endpoint = "chat", session = "", indent, who }: Asked = {}) {
  const outside = {
    endpoint,
    pathModel: MODEL,
    wantsEvents: true,
    apiVersion: "",
    passHeaders: [],
    session,
  };
  const text = JSON.stringify({ model: MODEL, ...body }, null, indent);
  // Only these two fields of a caller are read.
  return conversationOf(readIncoming(outside, Buffer.from(text)), { ...caller, ...who } as Caller);
}

/** The first `turns` calls of a chat, as each client sends it: the whole history every time. */
function calls(system: string, question: string, turns: number) {
  const messages: object[] = [
    { role: "system", content: system },
    { role: "user", content: question },
  ];
  return Array.from({ length: turns }, (_, turn) => {
    if (turn > 0)
      messages.push(
        { role: "assistant", content: `answer ${turn}` },
        { role: "user", content: `more ${turn}` },
      );
    return { messages: [...messages], stream: turn % 2 === 0 };
  });
}

describe("a conversation", () => {
  it.each([undefined, 1])("is recognised at each turn, whatever its length (indent %s)", (indent) => {
    const seen = new Set(calls(long("Be kind."), "Hello?", 6).map((body) => conversation(body, { indent })));
    expect(seen.size).toBe(1);
    expect(seen.has(undefined)).toBe(false);
  });

  it("is recognised when it has grown very long, or its question is very far back", () => {
    const near = calls(long("Be kind."), "Hello?", 2);
    const [first, second] = near.map((body) => conversation(body));
    const grown = {
      messages: [...(near[1]?.messages ?? []), { role: "user", content: "x".repeat(400_000) }],
    };
    expect([second, conversation(grown)]).toEqual([first, first]);
    const far = calls("x".repeat(300_000), "Hello?", 2).map((body) => conversation(body));
    expect(far[0]).toBe(far[1]);
    expect(far[0]).not.toBe(first);
  });

  it("is another one with another begin, question, user, group or model", () => {
    const [body] = calls(long("Be kind."), "Hello?", 1);
    const seen = new Set([
      conversation({ ...body }),
      ...["Hello!", "Hello? ", "你好"].map((question) =>
        conversation({ ...calls(long("Be kind."), question, 1)[0] }),
      ),
      conversation({ ...calls(long("Be rude."), "Hello?", 1)[0] }),
      conversation({ ...body }, { who: { userId: 2 } }),
      conversation({ ...body }, { who: { group: "vip" } }),
      conversation({ ...body, model: "other" }),
    ]);
    expect(seen.size).toBe(8);
  });

  it("is none when it is short, and none for embeddings", () => {
    expect(conversation({ messages: [{ role: "user", content: "hi" }] })).toBeUndefined();
    expect(conversation({ input: long("x") }, { endpoint: "embeddings" })).toBeUndefined();
  });

  it("goes by the client's own key where there is one", () => {
    const key = { prompt_cache_key: "session-1" };
    const [one, two] = [long("one"), long("two")].map((content) => ({
      messages: [{ role: "user", content }],
    }));
    expect(conversation({ ...one, ...key })).toBe(conversation({ ...two, ...key }));
    expect(conversation({ ...one, ...key })).not.toBe(
      conversation({ ...one, prompt_cache_key: "session-2" }),
    );
    const anthropic = { metadata: { user_id: "user_1_session_2" } };
    const messages = { endpoint: "messages" } as const;
    expect(conversation({ ...one, ...anthropic }, messages)).toBe(
      conversation({ ...two, ...anthropic }, messages),
    );
    // General tags are no key.
    const tags = { metadata: { request: "7" } };
    expect(conversation({ ...one, ...tags })).toBe(conversation({ ...one }));
    const session = { session: "abc" };
    expect(conversation({ ...one }, session)).toBe(conversation({ ...two }, session));
  });

  it("is not broken by a cache marker that moves on, nor by a line that changes before the system prompt", () => {
    const mark = { cache_control: { type: "ephemeral" } };
    const ask = (line: string, first: object, more: readonly object[]) =>
      conversation(
        {
          system: [
            { type: "text", text: `x-anthropic-billing-header: ${line}` },
            { type: "text", text: long("Be kind.") },
          ],
          messages: [{ role: "user", content: [first] }, ...more],
        },
        { endpoint: "messages" },
      );
    const more = [
      { role: "assistant", content: "Hi" },
      { role: "user", content: "More" },
    ];
    // Of every length, so that the marker is at the edge of the sample, too.
    for (let length = 1; length < 400; length += 1) {
      const text = { type: "text", text: "x".repeat(length) };
      const first = ask("cch=1", { ...text, ...mark }, []);
      expect(first).not.toBe(undefined);
      expect(ask("cch=22", text, more), `a question of ${length}`).toBe(first);
    }
  });

  it("is recognised in every format", () => {
    const answer = { role: "model", parts: [{ text: "Hi" }] };
    const gemini = (more: readonly object[]) => ({
      systemInstruction: { parts: [{ text: long("Be kind.") }] },
      contents: [{ role: "user", parts: [{ text: "Hello?" }] }, ...more],
    });
    const generate = { endpoint: "generate" } as const;
    expect(conversation(gemini([]), generate)).toBe(conversation(gemini([answer, answer]), generate));
    const responses = (more: readonly object[]) => ({
      instructions: long("Be kind."),
      input: [{ role: "user", content: "Hello?" }, ...more],
    });
    const codex = { endpoint: "responses" } as const;
    expect(conversation(responses([]), codex)).toBe(conversation(responses([{ type: "reasoning" }]), codex));
  });
});

describe("the relay", () => {
  /** The channel of each call, recognised by its key. */
  async function ways(bodies: readonly object[]): Promise<string[]> {
    world.upstream.script(json(chatReply("hi")));
    const from = world.upstream.journal.length;
    for (const body of bodies)
      expect((await world.ask({ model: MODEL, max_tokens: 5, ...body })).status).toBe(200);
    return world.upstream.journal.slice(from).map(({ headers }) => String(headers["authorization"]));
  }

  it("keeps a conversation on one channel, another may be on another; not when SessionAffinityEnabled is off", async () => {
    for (let index = 0; index < 4; index += 1) await world.addChannel({ key: `sk-affinity-test-${index}` });
    const homes = new Set<string | undefined>();
    for (let index = 0; index < 8; index += 1) {
      const used = new Set(await ways(calls(long(`Be kind, ${index}.`), "Hello?", 4)));
      expect(used.size).toBe(1);
      homes.add([...used][0]);
    }
    expect(homes.size).toBeGreaterThan(1);
    await world.setOption("SessionAffinityEnabled", "false");
    // By chance this happens once in 4^15.
    expect(new Set(await ways(calls(long("Be kind."), "Hello?", 16))).size).toBeGreaterThan(1);
    await world.setOption("SessionAffinityEnabled", "true");
  });
});
