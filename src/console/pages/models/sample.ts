// A call of a model that works when pasted, by what the model is for. Pure. A key stands in a header only.
import { curlSample, type SampleInput } from "#console/base/samples.ts";
import type { Ability } from "#contract/catalogue.ts";

/** A call in JSON: its path, and what is sent beside the model. */
const BODIES: Readonly<Partial<Record<Ability, readonly [path: string, fields: object, after?: string]>>> = {
  image: ["images/generations", { prompt: "一扇打开的门，水彩", n: 1 }],
  speech: ["audio/speech", { input: "你好", voice: "alloy" }, "--output speech.mp3"],
  embedding: ["embeddings", { input: "你好" }],
  rerank: ["rerank", { query: "天气", documents: ["今天晴", "股票涨了"] }],
  moderation: ["moderations", { input: "你好" }],
};

/** The call as a line of curl; of realtime models the address to connect to. */
export function abilitySample(ability: Ability, input: SampleInput): string {
  const { server, key, model } = input;
  if (ability === "realtime") {
    const address = `${server.replace(/^http/, "ws")}/v1/realtime?model=${encodeURIComponent(model)}`;
    return `websocat -H "Authorization: Bearer ${key}" "${address}"`;
  }
  if (ability === "transcription")
    return [
      `curl ${server}/v1/audio/transcriptions \\`,
      `  -H "Authorization: Bearer ${key}" \\`,
      `  -F model=${JSON.stringify(model)} \\`,
      "  -F file=@speech.mp3",
    ].join("\n");
  const call = BODIES[ability];
  if (call === undefined) return curlSample(input);
  const [path, fields, after] = call;
  const body = JSON.stringify({ model, ...fields });
  return [
    `curl ${server}/v1/${path} \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'${after === undefined ? "" : ` ${after}`}`,
  ].join("\n");
}
