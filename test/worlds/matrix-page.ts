// docs/providers.md: which client format reaches which channel type in which way, and what is lost on the way.
import type { EndpointName, GenerationEndpoint } from "#contract/provider.ts";
import { FORMATS, type Kind, type Spoken } from "./matrix.ts";

/** What a cell came to: bytes pass, or are translated; the format cannot say it; it is refused by name; an error is told as one. */
export type Cell = "passed" | "translated" | "unsayable" | "refused" | "fault";

const TITLES: Readonly<Record<GenerationEndpoint, string>> = {
  chat: "OpenAI 对话",
  completions: "OpenAI 补全",
  messages: "Anthropic Messages",
  generate: "Gemini generateContent",
  responses: "OpenAI Responses",
};

const SIGNS: readonly (readonly [kind: Kind, sign: string])[] = [
  ["plain", "文"],
  ["stream", "流"],
  ["tools", "具"],
  ["image", "图"],
  ["fault", "错"],
];

const INTRO = `# 渠道类型与客户端格式

<!-- Printed by \`npx vitest run src/server/upstream/matrix.test.ts -u\` from what the test saw; do not edit. -->

每一格都由 src/server/upstream/matrix.test.ts 用该线路录制的应答实际走过一遍。**直通**：请求与应答的字节原样经过，仅改写模型名；
**转换**：经中间形式逐事件翻译。其后列出走通的种类：文（普通应答）、流（流式应答）、具（工具调用，含流式）、图（图片输入）、错（上游错误以客户端
自己的格式告知）；括号内的种类会以 \`unsupported_parameter\` 明确拒绝，不会被悄悄丢弃。
`;

/** Source: requirements T18.7. */
const LOSSES = `## 转换时的取舍

同格式直通除会改变价格的参数外没有任何损失。跨格式转换时：

- **会改变答案而对方没有对应物的参数**（如对 Claude 使用 \`n > 1\`、\`logprobs\`、音频输入，对 Responses 使用音频）：返回 400，\`code\` 为
  \`unsupported_parameter\`，\`param\` 指明是哪一个；有其他渠道能够满足时自动换渠道。
- **只是提示的参数**（如对 Claude 的 \`seed\`、\`logit_bias\`、频率与存在惩罚，对 Responses 的 \`stop\`，跨厂商的 \`service_tier\`、\`user\`、
  提示缓存标记）：不发给上游，并在应答头 \`x-tollgate-dropped\` 中逐一列出。
- **会改变价格的参数**：按标价以外计费的 \`service_tier\`、Claude 的 \`speed\`、OpenRouter 的 \`models\`、\`route\` 与 \`plugins\`，直通时也不发给上游，
  同样逐一列出；Claude 的 \`inference_geo\`（\`global\` 除外）返回 400。
- 思考签名只对签发它的厂商有效，跨厂商时最多保留思考的文字（对方不收时列为 \`messages[].reasoning_content\`）；Anthropic 的服务器工具、MCP 连接器与容器，Responses 的托管工具与服务端会话状态，
  Gemini 的安全评级不转换；引用只保留网页引用（url_citation）。
- Responses 客户端自行运行的工具若不是函数（文本工具、终端、命名空间、工具搜索，Codex 都会用到），OpenRouter（\`openai/\` 开头的模型除外）、
  Groq 与 xAI 自有的 Responses 接口并不都接受：这类请求改为转换成对话发出，其余仍直通。DeepSeek（文本工具只接受 apply_patch）、Mistral（公开预览）、
  Together（测试版）与 MiniMax（不写 \`reasoning\` 便不思考）自有的 Responses 接口支持不全，一律转换。
- \`wss://…/v1/responses\`（OpenAI SDK 的 ResponsesWS，Codex 自带的 OpenAI 提供方默认使用）可到任何渠道：每个 \`response.create\` 都是一次单独的调用，与 HTTP 一样换渠道、限额、
  计费、记日志；本服务按连接保留上一个响应与此前的内容（至多 4 MiB），\`previous_response_id\` 加新增内容由此补成完整请求，所以上游不必支持 WebSocket 或保存响应。
  \`generate: false\` 只返回 ID，不收费。同时只有一个响应，连接最长 55 分钟。默认开启：有的 Codex 版本收到 426 后仍反复重试，开着时一次握手便能用，每轮只上传新增内容；
  关闭“允许 Responses 使用 WebSocket”后回答 426，客户端改用 HTTP。
- \`/v1/responses/compact\`（需开启“允许上游保存 Responses”）只发往使用 Responses 接口的渠道，按一次调用计费；压缩结果只有生成它的上游账户能读取，带有它的后续请求固定到原渠道和密钥，
  原渠道或密钥不可用时去掉压缩结果，改走其他渠道。没有渠道支持时返回 400，\`code\` 为 \`unsupported_relay_mode\`。
- 服务端会话状态（\`previous_response_id\`、\`conversation\`、\`background\`，Messages 的 \`thread\`）默认明确拒绝：下一次请求可能由另一个渠道应答。开启“允许上游保存 Responses”后，\`previous_response_id\` 与 \`background\`（可加 \`stream\`，断开后用 \`starting_after\` 续接）由生成它的渠道和密钥应答；\`conversation\` 仍拒绝：创建会话时不指明模型，无从选定之后都能应答的渠道。
`;

/** The endpoints besides generation, in the order of the page. */
export const TASKS = {
  edits: "编辑",
  embeddings: "向量",
  images: "绘图",
  "image-edits": "改图",
  "image-variations": "变体",
  speech: "朗读",
  transcription: "转写",
  translation: "译写",
  moderation: "审查",
  rerank: "重排",
  realtime: "实时",
} as const satisfies Partial<Record<EndpointName, string>>;

export type TaskName = keyof typeof TASKS;

/** Prints the page. Throws: when a cell was not played. */
export function printMatrix(
  ways: readonly Spoken[],
  cell: (way: Spoken, format: GenerationEndpoint, kind: Kind) => Cell | undefined,
  isServed: (way: Spoken, task: TaskName) => boolean,
): string {
  const head = ["类型", "渠道", "线路", ...FORMATS.map((format) => TITLES[format])];
  const rows = ways.map((way) => [...rowHead(way), ...FORMATS.map((format) => textOf(way, format, cell))]);
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  const table = [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
  const tasks = Object.keys(TASKS) as TaskName[]; // the keys of the table just above
  const taskRows = ways.map((way) => [
    ...rowHead(way),
    ...tasks.map((task) => (isServed(way, task) ? "✓" : "")),
  ]);
  const taskHead = ["类型", "渠道", "线路", ...Object.values(TASKS)];
  const others = [line(taskHead), line(taskHead.map(() => "---")), ...taskRows.map(line)].join("\n");
  return `${INTRO}\n## 矩阵\n\n${table}\n\n## 其他接口\n\n空格表示该渠道没有此接口，请求会改由其他渠道应答或被明确拒绝。\n\n${others}\n\n${LOSSES}`;
}

function rowHead({ provider, when, wire }: Spoken): string[] {
  return [String(provider.type), provider.label, when === "" ? wire.dialect : `${wire.dialect}（${when}）`];
}

function textOf(
  way: Spoken,
  format: GenerationEndpoint,
  cell: (way: Spoken, format: GenerationEndpoint, kind: Kind) => Cell | undefined,
): string {
  const cells = SIGNS.map(([kind, sign]) => {
    const seen = cell(way, format, kind);
    if (seen === undefined) throw new Error(`not played: ${way.provider.slug} ${format} ${kind}`);
    return { sign, seen };
  });
  const served = cells.filter(({ seen }) => seen === "passed" || seen === "translated" || seen === "fault");
  const refused = cells.filter(({ seen }) => seen === "refused");
  const manner = cells[0]?.seen === "passed" ? "直通" : "转换";
  const signs = served.map(({ sign }) => sign).join("");
  return refused.length === 0
    ? `${manner} ${signs}`
    : `${manner} ${signs}（${refused.map(({ sign }) => sign).join("")}）`;
}
