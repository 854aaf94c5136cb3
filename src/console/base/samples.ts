// Ready-to-run samples for clients of the relay. Pure. A key only ever stands in a header or a variable, never in an address.

/** Stands where the reader puts a key of their own. */
export const KEY_PLACEHOLDER = "sk-你的令牌";

export interface SampleInput {
  /** Base address without `/v1`, e.g. `https://api.example.com`. */
  readonly server: string;
  /** With its `sk-` prefix. */
  readonly key: string;
  readonly model: string;
}

export function curlSample({ server, key, model }: SampleInput): string {
  return [
    `curl ${server}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    `  -H "Content-Type: application/json" \\`,
    "  -d '{",
    `    "model": ${JSON.stringify(model)},`,
    '    "messages": [{"role": "user", "content": "你好"}]',
    "  }'",
  ].join("\n");
}

export function environmentSample({ server, key }: SampleInput): string {
  return `export OPENAI_BASE_URL="${server}/v1"\nexport OPENAI_API_KEY="${key}"`;
}

/** `~/.claude/settings.json` of Claude Code, which speaks Anthropic's format. */
export function claudeCodeSample({ server, key, model }: SampleInput): string {
  const env = { ANTHROPIC_BASE_URL: server, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: model };
  return JSON.stringify({ env }, null, 2);
}

/** `~/.codex/config.toml` of Codex, which speaks OpenAI's responses; it takes the key from the environment only. */
export function codexSample({ server, key, model }: SampleInput): string {
  return `# 启动前先设置：export GATEWAY_API_KEY="${key}"
model = ${JSON.stringify(model)}
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "${server}/v1"
env_key = "GATEWAY_API_KEY"
wire_api = "responses"`;
}

/** `~/.gemini/.env` of the Gemini CLI, which speaks Gemini's format. */
export function geminiCliSample({ server, key, model }: SampleInput): string {
  return `GOOGLE_GEMINI_BASE_URL="${server}"\nGEMINI_API_KEY="${key}"\nGEMINI_MODEL="${model}"`;
}

/** `~/.continue/config.yaml` of Continue, the assistant in VS Code and JetBrains. */
export function continueSample({ server, key, model }: SampleInput): string {
  return `name: gateway
version: 0.0.1
schema: v1
models:
  - name: ${JSON.stringify(model)}
    provider: openai
    model: ${JSON.stringify(model)}
    apiBase: "${server}/v1"
    apiKey: "${key}"`;
}

export function pythonSample({ server, key, model }: SampleInput): string {
  return `from openai import OpenAI

client = OpenAI(
    base_url="${server}/v1",
    api_key="${key}",
)
reply = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "你好"}],
)
print(reply.choices[0].message.content)`;
}

export function nodeSample({ server, key, model }: SampleInput): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${server}/v1",
  apiKey: "${key}",
});
const reply = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "你好" }],
});
console.log(reply.choices[0].message.content);`;
}
