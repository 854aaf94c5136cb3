// Requests that the preview of a channel's rules begins with, one for each kind that it can show. Pure.
import type { PreviewFormat } from "#contract/rewrite.ts";
import { formatName } from "./rewrite-tables.ts";

const hi = { role: "user", content: "你好" };

/** What a client sends in each format, for a model. */
const BODIES: { readonly [Format in PreviewFormat]: (model: string) => object } = {
  chat: (model) => ({ model, messages: [hi], temperature: 1, max_tokens: 1_000 }),
  completions: (model) => ({ model, prompt: "你好", max_tokens: 1_000 }),
  messages: (model) => ({ model, messages: [hi], max_tokens: 1_000 }),
  responses: (model) => ({ model, input: "你好", max_output_tokens: 1_000 }),
  generate: (model) => ({ model, contents: [{ role: "user", parts: [{ text: "你好" }] }] }),
  embeddings: (model) => ({ model, input: "你好" }),
  rerank: (model) => ({ model, query: "你好", documents: ["你好", "再见"] }),
  moderation: (model) => ({ model, input: "你好" }),
  images: (model) => ({ model, prompt: "一只猫", size: "1024x1024" }),
  speech: (model) => ({ model, input: "你好", voice: "alloy" }),
  videos: (model) => ({ model, prompt: "一只猫", seconds: "4" }),
  realtime: (model) => ({ model, type: "session.update", session: { instructions: "请用中文回答。" } }),
  models: () => ({}),
};

export interface Sample {
  readonly format: PreviewFormat;
  readonly label: string;
  readonly bodyOf: (model: string) => object;
}

/** By the name that it is chosen by. */
export const SAMPLES: ReadonlyMap<string, Sample> = new Map([
  ...Object.entries(BODIES).map(([name, bodyOf]): [string, Sample] => {
    const format = name as PreviewFormat; // a member of the table above
    return [name, { format, label: formatName(format), bodyOf }];
  }),
  [
    "background",
    {
      format: "responses",
      label: "后台响应",
      bodyOf: (model) => ({ ...BODIES.responses(model), background: true }),
    },
  ],
]);
