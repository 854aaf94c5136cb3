// What clients can ask the relay for. Its routes are made of this table (relay/http/routes.ts), and the route explainer can be asked about each
// of its rows.
import type { EndpointName, TextEndpoint } from "./provider.ts";

/** The endpoints of pictures and sound. */
export type MediaEndpoint = Extract<
  EndpointName,
  "images" | "image-edits" | "image-variations" | "speech" | "transcription" | "translation"
>;

/** `text` and `media`: a POST to this very path. `own`: the path says more, or the call goes on after its answer. */
type RelayEndpoint =
  | { readonly kind: "text"; readonly name: TextEndpoint; readonly path: string; readonly label: string }
  | { readonly kind: "media"; readonly name: MediaEndpoint; readonly path: string; readonly label: string }
  | { readonly kind: "own"; readonly name: string; readonly path: string; readonly label: string };

export const RELAY_ENDPOINTS = [
  { kind: "text", name: "chat", path: "/v1/chat/completions", label: "对话" },
  { kind: "text", name: "messages", path: "/v1/messages", label: "Claude 对话" },
  { kind: "own", name: "count-messages", path: "/v1/messages/count_tokens", label: "Claude token 计数" },
  { kind: "text", name: "responses", path: "/v1/responses", label: "Responses" },
  { kind: "own", name: "background", path: "/v1/responses", label: "后台 Responses" },
  { kind: "own", name: "compact", path: "/v1/responses/compact", label: "Responses 压缩" },
  { kind: "own", name: "generate", path: "/v1beta/models/{model}:generateContent", label: "Gemini 对话" },
  {
    kind: "own",
    name: "count-generate",
    path: "/v1beta/models/{model}:countTokens",
    label: "Gemini token 计数",
  },
  { kind: "text", name: "completions", path: "/v1/completions", label: "补全" },
  { kind: "text", name: "edits", path: "/v1/edits", label: "文本编辑" },
  { kind: "text", name: "embeddings", path: "/v1/embeddings", label: "向量" },
  { kind: "own", name: "embed", path: "/v1beta/models/{model}:embedContent", label: "Gemini 向量" },
  { kind: "text", name: "rerank", path: "/v1/rerank", label: "重排" },
  { kind: "text", name: "moderation", path: "/v1/moderations", label: "审核" },
  { kind: "media", name: "images", path: "/v1/images/generations", label: "绘图" },
  { kind: "media", name: "image-edits", path: "/v1/images/edits", label: "图片编辑" },
  { kind: "media", name: "image-variations", path: "/v1/images/variations", label: "图片变体" },
  { kind: "media", name: "speech", path: "/v1/audio/speech", label: "语音合成" },
  { kind: "media", name: "transcription", path: "/v1/audio/transcriptions", label: "语音转写" },
  { kind: "media", name: "translation", path: "/v1/audio/translations", label: "语音翻译" },
  { kind: "own", name: "realtime", path: "/v1/realtime", label: "实时对话" },
  { kind: "own", name: "videos", path: "/v1/videos", label: "视频" },
  { kind: "own", name: "batches", path: "/v1/batches", label: "批处理" },
] as const satisfies readonly RelayEndpoint[];

/** A row's name. */
export type RelayFormat = (typeof RELAY_ENDPOINTS)[number]["name"];

/** Where clients ask for it. */
export function relayPath(format: RelayFormat): string {
  // All names are of the table.
  return RELAY_ENDPOINTS.find(({ name }) => name === format)?.path ?? "";
}
