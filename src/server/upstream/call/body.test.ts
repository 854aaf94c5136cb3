import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wholeObject } from "#server/upstream/json/object.ts";
import { type BodyOrder, type ClientBody, encodeBody, lostFields } from "./body.ts";

function bodyOf(text: string): ClientBody {
  const bytes = Buffer.from(text);
  const object = wholeObject(bytes);
  if (object === undefined) throw new Error("no object");
  return { bytes, object, model: JSON.parse(text).model };
}

const PLAIN: BodyOrder = {
  model: "m",
  asksUsage: false,
  dropsStreamOptions: false,
  edits: undefined,
  toolIdLength: undefined,
};

function encoded(text: string, order: Partial<BodyOrder>): string {
  return Buffer.from(encodeBody(bodyOf(text), { ...PLAIN, ...order })).toString();
}

describe("encodeBody", () => {
  it("hands on the client's own bytes when nothing differs", () => {
    const body = bodyOf('{ "model" : "m",  "x": 1e2, "y":"\\u00e9" }');
    expect(encodeBody(body, PLAIN)).toBe(body.bytes);
  });

  it("changes the model's value and nothing else", () => {
    const text = '{"a":1.0, "model" : "alias" , "big":12345678901234567890,"k":"\\u4f60"}';
    expect(encoded(text, { model: 'up"stream' })).toBe(text.replace('"alias"', '"up\\"stream"'));
  });

  it("adds the model when the path named it", () => {
    expect(encoded('{"input":"x"}', {})).toBe('{"input":"x","model":"m"}');
    expect(encoded("{}", {})).toBe('{"model":"m"}');
  });

  it.each([
    ['{"model":"m"}', '{"model":"m","stream_options":{"include_usage":true}}'],
    ['{"stream_options":null,"model":"m"}', '{"stream_options":{"include_usage":true},"model":"m"}'],
    ['{"stream_options":{},"model":"m"}', '{"stream_options":{"include_usage":true},"model":"m"}'],
    [
      '{"stream_options":{"x":[1]},"model":"m"}',
      '{"stream_options":{"x":[1],"include_usage":true},"model":"m"}',
    ],
    [
      '{"stream_options":{"include_usage":false,"x":1},"model":"m"}',
      '{"stream_options":{"include_usage":true,"x":1},"model":"m"}',
    ],
    [
      '{"stream_options":{"include_usage":true},"model":"m"}',
      '{"stream_options":{"include_usage":true},"model":"m"}',
    ],
  ])("asks for usage in %s", (text, expected) => {
    expect(encoded(text, { asksUsage: true })).toBe(expected);
  });

  it("drops stream_options for upstreams that reject it", () => {
    expect(
      encoded('{"stream_options":{"include_usage":true},"model":"m"}', { dropsStreamOptions: true }),
    ).toBe('{"model":"m"}');
    expect(encoded('{"model":"a","stream_options":{}}', { dropsStreamOptions: true })).toBe('{"model":"m"}');
  });

  it("switches on the field an upstream needs for tools, unless the client sets it", () => {
    const edits = { trueWithTools: ["tool_calls_switch"] };
    expect(encoded('{"model":"m","tools":[]}', { edits })).toBe(
      '{"model":"m","tools":[],"tool_calls_switch":true}',
    );
    for (const text of ['{"model":"m"}', '{"model":"m","tools":[],"tool_calls_switch":false}'])
      expect(encoded(text, { edits })).toBe(text);
  });

  it("sends a vendor with other effort names the nearest stronger one", () => {
    const edits = { efforts: ["low", "high", "max"] } as const;
    const sent = (effort: unknown) =>
      JSON.parse(encoded(JSON.stringify({ model: "m", reasoning_effort: effort }), { edits }))
        .reasoning_effort;
    expect(["none", "minimal", "low", "medium", "high", "xhigh", "max"].map(sent)).toEqual([
      ...["low", "low", "low", "high", "high", "max", "max"],
    ]);
    expect([sent("ultra"), sent(null), sent(7)]).toEqual(["ultra", null, 7]);
    for (const plain of ['{"model":"m", "reasoning_effort" : "high"}', '{"model":"m"}'])
      expect(encoded(plain, { edits })).toBe(plain);
  });

  it("switches thinking off in a vendor's way, and leaves its efforts", () => {
    const edits = { effortAsThinking: "none" } as const;
    const sent = (fields: object) =>
      JSON.parse(encoded(JSON.stringify({ model: "m", ...fields }), { edits }));
    expect(sent({ reasoning_effort: "none" })).toEqual({ model: "m", thinking: { type: "disabled" } });
    const plain = '{"model":"m", "reasoning_effort":"max"}';
    expect(encoded(plain, { edits })).toBe(plain);
  });

  it("renames, drops, clamps and lifts zeros", () => {
    const edits = {
      renameFields: { seed: "random_seed", max_completion_tokens: "max_tokens" },
      dropFields: ["user", "logprobs", "messages[].name"],
      clampTemperature: [0, 1] as const,
      zeroAs: 0.01,
      rejectsZeroPenalties: true as const,
    };
    const text =
      '{"model":"m","user":"u","logprobs":true,"seed":7,"max_tokens":5,"max_completion_tokens":9,"temperature":1.7,"top_p":0,"frequency_penalty":0,"presence_penalty":0.5,"messages":[{"role":"user","name":"n","content":"c"}]}';
    expect(JSON.parse(encoded(text, { edits }))).toEqual({
      model: "m",
      random_seed: 7,
      max_tokens: 5,
      temperature: 1,
      top_p: 0.01,
      presence_penalty: 0.5,
      messages: [{ role: "user", content: "c" }],
    });
    expect(JSON.parse(encoded('{"model":"m","temperature":0}', { edits }))).toEqual({
      model: "m",
      temperature: 0.01,
    });
  });

  it("omits sampling fields for reasoning models, and reports them as dropped", () => {
    const edits = {
      dropFields: ["user"],
      dropWhenThinking: ["temperature", "top_p"],
      oneStop: true,
    } as const;
    const sent = (fields: object) => {
      const text = JSON.stringify({ model: "m", ...fields });
      return { ...JSON.parse(encoded(text, { edits })), lost: lostFields(bodyOf(text), edits) };
    };
    expect(sent({ temperature: 0.5 })).toEqual({ model: "m", temperature: 0.5, lost: [] });
    expect(sent({ temperature: 0.5, reasoning_effort: "none" })).toMatchObject({
      temperature: 0.5,
      lost: [],
    });
    expect(sent({ temperature: 0.5, top_p: 1, user: "u", reasoning_effort: "low" })).toEqual({
      model: "m",
      reasoning_effort: "low",
      lost: ["user", "temperature", "top_p"],
    });
    expect(sent({ stop: ["a", "b"] })).toEqual({ model: "m", stop: ["a"], lost: ["stop"] });
    expect(sent({ stop: ["a"] })).toEqual({ model: "m", stop: ["a"], lost: [] });
  });

  it("gives foreign tool ids a stable form, the same in calls and answers", () => {
    const call = {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_abcdefghijk", type: "function" }, { id: "abcdefghi" }],
    };
    const answer = { role: "tool", tool_call_id: "call_abcdefghijk", content: "1" };
    const text = JSON.stringify({ model: "m", messages: [call, answer, { role: "user", content: "x" }] });
    const sent = JSON.parse(encoded(text, { toolIdLength: 9 }));
    const id = sent.messages[0].tool_calls[0].id;
    expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(sent.messages[0].tool_calls[1].id).toBe("abcdefghi");
    expect(sent.messages[1].tool_call_id).toBe(id);
    const plain = '{"model":"m", "messages":[{"role":"user","content":1e2}]}';
    expect(encoded(plain, { toolIdLength: 9 })).toBe(plain);
  });

  it("sets a vendor's own field from OpenAI's field", () => {
    const edits = {
      oneStop: true,
      userAs: { name: "user_id", min: 6, max: 8 },
      effortAsThinking: true,
      spaceForEmpty: true,
    } as const;
    const sent = (fields: object) => {
      const { model: _, ...rest } = JSON.parse(encoded(JSON.stringify({ model: "m", ...fields }), { edits }));
      return rest;
    };
    expect(sent({ stop: "a", user: "short" })).toEqual({ stop: ["a"] });
    expect(sent({ stop: ["a", "b"], user: "longer" })).toEqual({ stop: ["a"], user_id: "longer" });
    expect(sent({ user: "far too long", user_id: "own id" })).toEqual({ user_id: "own id" });
    expect(sent({ reasoning_effort: "none" })).toEqual({ thinking: { type: "disabled" } });
    expect(sent({ reasoning_effort: "high", thinking: { type: "disabled" } })).toEqual({
      thinking: { type: "disabled" },
    });
    const call = { role: "assistant", content: "", tool_calls: [{ id: "a" }] };
    expect(sent({ messages: [call, { ...call, content: "x" }, { role: "user", content: "" }] })).toEqual({
      messages: [
        { ...call, content: " " },
        { ...call, content: "x" },
        { role: "user", content: "" },
      ],
    });
    const plain = '{"model":"m", "messages":[ {"role":"user","content":""} ], "temperature":1e0}';
    expect(encoded(plain, { edits })).toBe(plain);
  });

  it("makes valid JSON of any combination of edits", () => {
    const names = ["model", "stream_options", "user", "seed", "temperature", "x", "frequency_penalty", "y"];
    const value = fc.oneof(fc.constant(0), fc.constant(3), fc.jsonValue());
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name }),
        fc.boolean(),
        (members, drops) => {
          const text = JSON.stringify(Object.fromEntries(members));
          const edits = {
            renameFields: { seed: "random_seed" },
            dropFields: ["user", "x"],
            clampTemperature: [0, 1] as const,
            rejectsZeroPenalties: true as const,
          };
          const sent = JSON.parse(encoded(text, { edits, dropsStreamOptions: drops, asksUsage: !drops }));
          const given = Object.fromEntries(members);
          expect(sent.model).toBe("m");
          expect("user" in sent || "x" in sent || "seed" in sent).toBe(false);
          expect(JSON.stringify(sent.y)).toBe(JSON.stringify(given["y"]));
          expect("random_seed" in sent).toBe("seed" in given);
          if (drops) expect("stream_options" in sent).toBe(false);
          else expect(sent.stream_options.include_usage).toBe(true);
        },
      ),
    );
  });
});
