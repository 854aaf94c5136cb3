// Shared by the wires of configured agents: the agent has its own model, settings and tools, so a request is little more than its texts.
// Pure.
import {
  type Ability,
  type HubMessage,
  type HubPart,
  type HubRequest,
  hintsBeyond,
  textOf,
  Unmappable,
} from "./request.ts";

/** One turn of a text-only conversation. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
}

const ABILITIES: ReadonlySet<Ability> = new Set(["user"]);

/** Throws: Unmappable for members that an agent does not take and that would change its answer. */
export function refuseBeyondAgent({ tools = [], format, stop = [] }: HubRequest): void {
  if (tools.length > 0) throw new Unmappable("tools", "智能体只能使用平台上为其配置的工具");
  if (format !== undefined && format.kind !== "text") throw new Unmappable("response_format");
  if (stop.length > 0) throw new Unmappable("stop");
}

/** Settings that belong to the agent's configuration, by OpenAI's names. Throws: Unmappable. */
export function agentHints(request: HubRequest): string[] {
  const settings: [name: string, value: unknown][] = [
    ["max_tokens", request.maxTokens],
    ["temperature", request.temperature],
    ["top_p", request.topP],
    ["reasoning_effort", request.reasoning],
  ];
  return [
    ...settings.flatMap(([name, value]) => (value === undefined ? [] : [name])),
    ...hintsBeyond(request, ABILITIES),
  ];
}

/**
 * The conversation as turns; system texts are put at the start of the first user turn, since agents have their own. `allows` = parts that
 * the caller sends in another way. Throws: Unmappable for tool calls and for other media.
 */
export function agentTurns(
  messages: readonly HubMessage[],
  allows: (part: HubPart) => boolean = () => false,
): readonly Turn[] {
  const system: string[] = [];
  const turns: Turn[] = [];
  for (const message of messages) {
    const { role, parts } = message;
    if (role === "tool" || (role === "assistant" && message.toolCalls.length > 0))
      throw new Unmappable("messages[].tool_calls", "智能体不接受工具调用记录");
    if (parts.some((part) => part.kind !== "text" && part.kind !== "refusal" && !allows(part)))
      throw new Unmappable("messages[].content", "该渠道不支持此类内容");
    const text = textOf(parts, "\n");
    if (role === "system" || role === "developer") system.push(text);
    // Agents refuse an empty assistant turn.
    else if (role === "user" || text.trim() !== "") turns.push({ role, text });
  }
  if (system.length === 0) return turns;
  const head = system.join("\n\n");
  const at = turns.findIndex(({ role }) => role === "user");
  const first = turns[at];
  if (first === undefined) return [{ role: "user", text: head }, ...turns];
  return turns.with(at, { role: "user", text: `${head}\n\n${first.text}` });
}

/** The end user's id, for platforms that require one. */
export function agentUser({ user }: HubRequest): string {
  return user ?? "tollgate";
}
