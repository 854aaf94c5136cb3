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
