// How clients are told our address and a key (requirements K17): a text to copy, or a link that an application on this computer opens. Pure.
// A key is in no query of a web page, which servers, proxies and histories keep; links are made when they are clicked.
import {
  claudeCodeSample,
  codexSample,
  continueSample,
  geminiCliSample,
  type SampleInput,
} from "#console/base/samples.ts";

/** What a client speaks, and what is tried. */
export type ClientFormat = "chat" | "messages" | "responses" | "gemini";

export interface ClientInput extends SampleInput {
  /** What this site is called. */
  readonly site: string;
  /** The operator's own NextChat; "" = none. */
  readonly chatLink: string;
}

export interface Client {
  readonly name: string;
  readonly format: ClientFormat;
  /** Where the text goes, and what else is to be known. */
  readonly where: string;
  readonly text: (input: ClientInput) => string;
  /** Opens the client; undefined = it cannot be opened for this site. */
  readonly link?: (input: ClientInput) => string | undefined;
}

/** Address and key for the fields of a form. */
function fieldsText(address: string, { key, model }: ClientInput): string {
  return `API 地址：${address}\nAPI 密钥：${key}\n模型：${model}`;
}

/** A name that each reader takes as it is: Cherry Studio turns apostrophes into quotes and drops parentheses (vendors/cherry-studio). */
function plainName(site: string): string {
  return site.replace(/['"()\\]/g, "").trim() || "Tollgate";
}

/** CC Switch takes the key by hand: its link has none, since histories keep links (vendors/cc-switch). */
function ccSwitch(app: "claude" | "codex" | "gemini") {
  return ({ server, site, model }: ClientInput) => {
    const endpoint = app === "codex" ? `${server}/v1` : server;
    const search = new URLSearchParams({
      resource: "provider",
      app,
      name: plainName(site),
      endpoint,
      homepage: server,
      model,
    });
    return `ccswitch://v1/import?${search}`;
  };
}

/** Standard base64: the reader of Cherry Studio would take the signs of base64url for the wrong ones and change the key. */
export function cherryLink({ server, key, site }: ClientInput): string {
  const provider = { id: "tollgate", name: plainName(site), type: "openai", baseUrl: server, apiKey: key };
  const bytes = new TextEncoder().encode(JSON.stringify(provider));
  const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `cherrystudio://providers/api-keys?v=1&data=${encodeURIComponent(data)}`;
}

function nextChatSettings({ server, key }: ClientInput): string {
  return JSON.stringify({ key, url: server });
}

/** In the fragment, which stays in the browser; to the operator's own instance alone. */
function nextChatLink(input: ClientInput): string | undefined {
  if (!/^https:\/\/[^#]+$/.test(input.chatLink)) return undefined;
  return `${input.chatLink.replace(/\/?$/, "/")}#/?settings=${encodeURIComponent(nextChatSettings(input))}`;
}

const BY_HAND = "点击打开后，把复制的密钥粘贴到 CC Switch 的密钥一栏：链接里不含密钥。";

export const CLIENTS: readonly Client[] = [
  {
    name: "Claude Code",
    format: "messages",
    where: "写入 ~/.claude/settings.json。不要写进项目目录里的同名文件，那会被提交。",
    text: claudeCodeSample,
  },
  {
    name: "Codex",
    format: "responses",
    where: "写入 ~/.codex/config.toml，密钥放在环境变量里。",
    text: codexSample,
  },
  {
    name: "Gemini CLI",
    format: "gemini",
    where: "写入 ~/.gemini/.env，并在 /auth 里选择 API Key，不要停留在 Google 登录。",
    text: geminiCliSample,
  },
  {
    name: "CC Switch：Claude Code",
    format: "messages",
    where: BY_HAND,
    text: ({ key }) => key,
    link: ccSwitch("claude"),
  },
  {
    name: "CC Switch：Codex",
    format: "responses",
    where: BY_HAND,
    text: ({ key }) => key,
    link: ccSwitch("codex"),
  },
  {
    name: "CC Switch：Gemini CLI",
    format: "gemini",
    where: BY_HAND,
    text: ({ key }) => key,
    link: ccSwitch("gemini"),
  },
  {
    name: "Cherry Studio",
    format: "chat",
    where: "点击打开即可导入；也可以在“模型服务”里手动填写。",
    text: (input) => fieldsText(input.server, input),
    link: cherryLink,
  },
  {
    name: "NextChat",
    format: "chat",
    where: "在设置里填写接口地址与密钥；也可以把这段设置接在自己的 NextChat 地址后面：/#/?settings=",
    text: nextChatSettings,
    link: nextChatLink,
  },
  {
    name: "LobeChat",
    format: "chat",
    where: "在“语言模型”的 OpenAI 设置里填写。LobeChat 的导入链接会把密钥放在网址里，因此不提供。",
    text: ({ server, key }) =>
      JSON.stringify({ keyVaults: { openai: { apiKey: key, baseURL: `${server}/v1` } } }, null, 2),
  },
  {
    name: "Cursor",
    format: "chat",
    where:
      "Settings → Models：填入 OpenAI API Key，打开 Override OpenAI Base URL，再添加模型。需要付费版；请求从 Cursor 的服务器发出，限定了来源 IP 的令牌会被拒绝，本站须能从公网访问。",
    text: (input) => fieldsText(`${input.server}/v1`, input),
  },
  {
    name: "Continue",
    format: "chat",
    where: "写入 ~/.continue/config.yaml。",
    text: continueSample,
  },
  {
    name: "OpenCat",
    format: "chat",
    where: "点击打开即可加入；也可以手动填写。",
    text: (input) => fieldsText(input.server, input),
    link: ({ server, key }) => `opencat://team/join?${new URLSearchParams({ domain: server, token: key })}`,
  },
  {
    name: "AMA",
    format: "chat",
    where: "点击打开即可导入；也可以手动填写。",
    text: (input) => fieldsText(input.server, input),
    link: ({ server, key }) => `ama://set-api-key?${new URLSearchParams({ server, key })}`,
  },
  {
    name: "其他兼容 OpenAI 的客户端",
    format: "chat",
    where: "填入 Base URL 与 API Key。",
    text: (input) => fieldsText(`${input.server}/v1`, input),
  },
];

interface Trial {
  readonly path: string;
  readonly body: unknown;
}

const SAID = "hi";
const MESSAGES = [{ role: "user", content: SAID }];

const TRIALS: Readonly<Record<ClientFormat, (model: string) => Trial>> = {
  chat: (model) => ({ path: "/v1/chat/completions", body: { model, messages: MESSAGES, max_tokens: 16 } }),
  messages: (model) => ({ path: "/v1/messages", body: { model, messages: MESSAGES, max_tokens: 16 } }),
  responses: (model) => ({ path: "/v1/responses", body: { model, input: SAID, max_output_tokens: 16 } }),
  gemini: (model) => ({
    path: `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
    body: {
      contents: [{ role: "user", parts: [{ text: SAID }] }],
      generationConfig: { maxOutputTokens: 16 },
    },
  }),
};

/** The smallest call in a client's format: it shows that the key, the model and the format work together. */
export function trialOf(format: ClientFormat, model: string): Trial {
  return TRIALS[format](model);
}
