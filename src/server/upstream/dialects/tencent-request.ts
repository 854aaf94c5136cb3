// The hub → Hunyuan's ChatCompletions (vendors/hunyuan): capitalized names, alternating roles, schemas as text, no token limit.

import { mediaInResults } from "#server/upstream/hub/chat-body.ts";
import {
  alternated,
  isBlank,
  type Joined,
  offerOf,
  ownExtras,
  plainSchema,
  resultSaid,
} from "#server/upstream/hub/plain.ts";
import {
  type Ability,
  argumentText,
  type HubMessage,
  type HubPart,
  type HubRequest,
  hintsBeyond,
  mediaUrl,
  systemText,
  ToolNames,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { Encoded } from "./dialect.ts";

const ABILITIES: ReadonlySet<Ability> = new Set(["seed", "parallel_tool_calls"]);
/** Members of the wire that clients of OpenAI's wire send in lower case (vendors/hunyuan). */
const OWN_MEMBERS: Readonly<Record<string, string>> = {
  enable_enhancement: "EnableEnhancement",
  citation: "Citation",
  search_info: "SearchInfo",
  force_search_enhancement: "ForceSearchEnhancement",
  enable_thinking: "EnableThinking",
};
const NAME_LIMIT = 64;

interface Turn {
  readonly Role: "user" | "assistant" | "tool";
  readonly Content?: string;
  readonly Contents?: readonly JsonRecord[];
  readonly ToolCalls?: readonly JsonRecord[];
  readonly ToolCallId?: string;
}

/** Throws: Unmappable. */
export function encodeRequest(request: HubRequest): Encoded {
  const { own, rest } = ownExtras(request, Object.keys(OWN_MEMBERS));
  const names = new ToolNames(NAME_LIMIT);
  const { functions, forced, searches } = offerOf(request, names);
  const dropped = [...hintsBeyond(rest, ABILITIES), ...mediaInResults(request, () => false)];
  if (request.maxTokens !== undefined) dropped.push("max_tokens");
  if (request.format !== undefined && request.format.kind !== "text") throw new Unmappable("response_format");
  const system = systemText(request.messages) ?? "";
  const turns = alternated(
    request.messages.flatMap((message) => turnsOf(message, names)),
    {
      isAnswer: ({ Role }) => Role === "assistant",
      isBlank: ({ Content = "", Contents, ToolCalls }) =>
        isBlank(Content) && Contents === undefined && ToolCalls === undefined,
      join: joined,
      say: (Role, Content): Turn => ({ Role, Content }),
    },
  );
  const tools = functions.map(({ name, description, parameters }) => ({
    Type: "function",
    Function: { Name: name, Description: description, Parameters: JSON.stringify(plainSchema(parameters)) },
  }));
  const body = {
    Model: request.model,
    Messages: system === "" ? turns : [{ Role: "system", Content: system }, ...turns],
    Stream: request.isStream,
    Temperature: request.temperature,
    TopP: request.topP,
    Stop: request.stop,
    Seed: request.seed,
    // Some models search by default.
    EnableEnhancement: searches,
    EnableThinking: thinkingOf(request),
    ...(tools.length > 0 && { Tools: tools, ToolChoice: forced === undefined ? "auto" : "custom" }),
    ...(forced !== undefined && { CustomTool: tools[functions.indexOf(forced)] }),
    ...Object.fromEntries(Object.entries(own).map(([name, value]) => [OWN_MEMBERS[name] ?? name, value])),
  };
  return { body, dropped, toolNames: names.changed };
}

function thinkingOf({ reasoning }: HubRequest): boolean | undefined {
  if (reasoning === undefined) return undefined;
  return reasoning.effort !== "none" && reasoning.budgetTokens !== 0;
}

function turnsOf(message: HubMessage, names: ToolNames): Turn[] {
  switch (message.role) {
    case "user":
      return [{ Role: "user", ...contentOf(message.parts) }];
    case "assistant": {
      const Content = textOf(message.parts);
      const calls = message.toolCalls.map((call, Index) => ({
        Id: call.id,
        Type: "function",
        Function: {
          Name: names.wireName(call.name),
          Arguments: argumentText(call),
        },
        Index,
      }));
      if (calls.length > 0) return [{ Role: "assistant", Content, ToolCalls: calls }];
      return [{ Role: "assistant", Content }];
    }
    case "tool":
      return [{ Role: "tool", ToolCallId: message.callId, Content: resultSaid(message) }];
    default:
      return [];
  }
}

function contentOf(parts: readonly HubPart[]): Pick<Turn, "Content" | "Contents"> {
  if (parts.every(({ kind }) => kind === "text" || kind === "refusal"))
    return { Content: textOf(parts, "\n") };
  const Contents = parts.flatMap((part): JsonRecord[] => {
    if (part.kind === "text" || part.kind === "refusal")
      return isBlank(part.text) ? [] : [{ Type: "text", Text: part.text }];
    if (part.kind === "image") return [{ Type: "image_url", ImageUrl: { Url: mediaUrl(part.source) } }];
    throw new Unmappable(`messages[].content[].${part.kind}`, "该渠道只支持文本和图片内容");
  });
  return { Contents };
}

/** Results stay separate; adjacent plain texts of one role are joined. */
function joined(one: Turn, other: Turn): Joined<Turn> {
  if (one.Role === "tool" && other.Role === "tool") return "beside";
  if (one.Role !== other.Role || one.ToolCalls !== undefined) return undefined;
  if (one.Contents !== undefined || other.Contents !== undefined)
    return { Role: one.Role, Contents: [...partsOf(one), ...partsOf(other)] };
  // Template strings concatenate without copying: thousands of adjacent turns cost no more than their texts.
  return { ...other, Content: `${one.Content}\n${other.Content}` };
}

function partsOf({ Content, Contents }: Turn): readonly JsonRecord[] {
  return Contents ?? [{ Type: "text", Text: Content }];
}
