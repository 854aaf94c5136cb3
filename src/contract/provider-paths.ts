// Request paths that several provider rows share. Source: vendors/openai, requirements T2.5.
import type { Paths } from "./provider.ts";

/** Placeholder of the key field for types without a format of their own. */
export const plainKey = "请输入渠道对应的鉴权密钥";

/** What a vendor of OpenAI's wire with a plain key shares with the others. */
export const vendor = { kind: "vendor", keyHint: plainKey, dialect: "openai", signer: "bearer" } as const;

/** What api.openai.com serves, or served: what is compatible with it may have edits still. */
export const openaiPaths = {
  chat: "/v1/chat/completions",
  completions: "/v1/completions",
  edits: "/v1/edits",
  embeddings: "/v1/embeddings",
  images: "/v1/images/generations",
  "image-edits": "/v1/images/edits",
  "image-variations": "/v1/images/variations",
  speech: "/v1/audio/speech",
  transcription: "/v1/audio/transcriptions",
  translation: "/v1/audio/translations",
  moderation: "/v1/moderations",
  responses: "/v1/responses",
  realtime: "/v1/realtime",
  models: "/v1/models",
} as const satisfies Paths;
