// What the matrix of client formats and channel types is made of: every wire a row can speak, and one request of each kind in each
// format. The answers are the recorded ones of the wire's dialect.
import { type GenerationEndpoint, type Provider, type Wire, wireOf } from "#contract/provider.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import type { Fixture } from "./wire-cases.ts";

export const FORMATS = ["chat", "completions", "messages", "generate", "responses"] as const;
export const KINDS = ["plain", "stream", "tools", "stream-tools", "image", "fault"] as const;
export type Kind = (typeof KINDS)[number];

/** One way a row speaks: its own, or an alternate. */
export interface Spoken {
  readonly provider: Provider;
  readonly wire: Wire;
  /** What distinguishes the alternate, for people; "" = the row itself. */
  readonly when: string;
  readonly channel: { provider: Provider; key: string; baseUrl: string; other: string };
  readonly model: string;
}

/** A throw-away key of a service account, for these tests only. */
export interface SampleKeys {
  readonly vertex: string;
}

/** All wires of a row. */
export function waysOf(provider: Provider, keys: SampleKeys): Spoken[] {
  const alternates = (provider.alternates ?? []).map(({ when }) => when);
  return [undefined, ...alternates].flatMap((when) => {
    const baseUrl = when?.baseHas?.[0] ?? when?.baseEnds?.[0];
    const base =
      baseUrl === undefined ? ownBase(provider) : `https://${hostFor(baseUrl, when?.baseEnds !== undefined)}`;
    const model = when?.modelPrefixes?.[0] ?? "some-model";
    const other = when?.otherIs?.[0] ?? (provider.other?.fallback || otherOf(provider));
    const key = sampleKey(provider, when?.keyBars, keys);
    const channel = { provider, key, baseUrl: base, other };
    const wire = wireOf(provider, { ...channel, model });
    return [{ provider, wire, when: describe(when), channel, model }];
  });
}

function hostFor(part: string, isEnd: boolean): string {
  if (isEnd) return `upstream.example${part.startsWith("/") ? "" : "/"}${part}`;
  return part.includes(".") && !part.startsWith(".") && !part.startsWith("/")
    ? part
    : `upstream.example${part}`;
}

/** Rows without an address of their own get one. */
function ownBase(provider: Provider): string {
  return provider.baseUrl === "" || provider.baseUrl.includes("{") ? "https://upstream.example" : "";
}

function otherOf(provider: Provider): string {
  return provider.other?.required === true ? "sample" : "";
}

function sampleKey(provider: Provider, bars: number | undefined, keys: SampleKeys): string {
  if (provider.signer === "vertex") return keys.vertex;
  const parts = bars === undefined ? (provider.keyParts?.length ?? 1) : bars + 1;
  const key = Array.from({ length: parts }, (_, index) => `sample-key-${index}`).join("|");
  return provider.signer === "aws-sigv4" ? "AKIASAMPLE|sample-secret|us-east-1" : key;
}

function describe(
  when: Provider["alternates"] extends readonly (infer A)[] | undefined
    ? (A extends { when: infer W } ? W : never) | undefined
    : never,
): string {
  if (when === undefined) return "";
  const parts = [
    when.keyBars === undefined ? [] : [`密钥含 ${when.keyBars} 个 |`],
    when.baseHas === undefined ? [] : [`地址含 ${when.baseHas.join(" 或 ")}`],
    when.baseEnds === undefined ? [] : [`地址以 ${when.baseEnds.join(" 或 ")} 结尾`],
    when.modelPrefixes === undefined
      ? []
      : [
          `模型以 ${when.modelPrefixes.slice(0, 3).join("、")}${when.modelPrefixes.length > 3 ? " 等" : ""} 开头`,
        ],
    when.otherIs === undefined ? [] : [`附加参数为 ${when.otherIs.join(" 或 ")}`],
  ];
  return parts.flat().join("，");
}

const PICTURE = "aGk=";
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const named = { name: "get_weather", description: "d" };

/** The body of a kind of request in a format; undefined = the format cannot say it. */
export function requestOf(format: GenerationEndpoint, kind: Kind, model: string): Buffer | undefined {
  const isStream = kind === "stream" || kind === "stream-tools";
  const hasTools = kind === "tools" || kind === "stream-tools";
  const body = BODIES[format](hasTools, kind === "image");
  if (body === undefined) return undefined;
  const head = format === "generate" ? {} : { model, ...(isStream && { stream: true }) };
  return Buffer.from(JSON.stringify({ ...head, ...body }));
}

const BODIES: Readonly<
  Record<GenerationEndpoint, (hasTools: boolean, hasImage: boolean) => object | undefined>
> = {
  chat: (hasTools, hasImage) => ({
    messages: [
      {
        role: "user",
        content: hasImage
          ? [
              { type: "text", text: "hi" },
              { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}` } },
            ]
          : "hi",
      },
    ],
    ...(hasTools && { tools: [{ type: "function", function: { ...named, parameters } }] }),
  }),
  completions: (hasTools, hasImage) => (hasTools || hasImage ? undefined : { prompt: "hi" }),
  messages: (hasTools, hasImage) => ({
    max_tokens: 100,
    messages: [
      {
        role: "user",
        content: hasImage
          ? [
              { type: "text", text: "hi" },
              { type: "image", source: { type: "base64", media_type: "image/png", data: PICTURE } },
            ]
          : "hi",
      },
    ],
    ...(hasTools && { tools: [{ ...named, input_schema: parameters }] }),
  }),
  generate: (hasTools, hasImage) => ({
    contents: [
      {
        role: "user",
        parts: [
          { text: "hi" },
          ...(hasImage ? [{ inlineData: { mimeType: "image/png", data: PICTURE } }] : []),
        ],
      },
    ],
    ...(hasTools && { tools: [{ functionDeclarations: [{ ...named, parameters }] }] }),
  }),
  responses: (hasTools, hasImage) => ({
    input: hasImage
      ? [
          {
            role: "user",
            content: [
              { type: "input_text", text: "hi" },
              { type: "input_image", image_url: `data:image/png;base64,${PICTURE}` },
            ],
          },
        ]
      : "hi",
    ...(hasTools && { tools: [{ type: "function", ...named, parameters }] }),
  }),
};

/** Dialects that borrow another's answers entirely. */
const BORROWED: Readonly<Record<string, string>> = {
  azure: "openai",
  "vertex-claude": "anthropic",
};

/** The recorded answer of a wire; a picture in the question changes nothing about it. */
export function answerOf(
  fixtures: ReadonlyMap<string, Fixture>,
  { wire, model: _ }: Spoken,
  { format, way, kind }: { format: GenerationEndpoint; way: string; kind: Kind },
): Fixture | undefined {
  const native = Object.entries(dialects).find(([, dialect]) => dialect.native === format)?.[0];
  const isOwn = way === "native" && dialects[wire.dialect]?.native !== format;
  const speaker = isOwn && native !== undefined ? native : wire.dialect;
  const plainKind = kind === "image" ? "plain" : kind;
  // Old completions that pass have answers of their own.
  const name =
    format === "completions" && way === "pass" && kind !== "fault" ? `completions-${plainKind}` : plainKind;
  return fixtures.get(`${speaker}/${name}`) ?? fixtures.get(`${BORROWED[speaker] ?? ""}/${name}`);
}

/** Where each format keeps its answer: what a reply must hold, streamed or not. */
export const ENVELOPES: Readonly<Record<GenerationEndpoint, RegExp>> = {
  chat: /"chat\.completion(\.chunk)?"/,
  completions: /"text_completion"/,
  messages: /"(message|message_start)"/,
  generate: /"candidates"/,
  responses: /"response(\.completed)?"/,
};
