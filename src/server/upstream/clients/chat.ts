// OpenAI chat completions as a client format (vendors/openai): parses bodies into the hub, renders replies and streams from it.

import type { HubAnswer, HubReply } from "#server/upstream/hub/reply.ts";
import { mediaUrl } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { parseChat } from "./chat-request.ts";
import { ChatRenderer } from "./chat-stream.ts";
import type { ClientDialect, RenderContext } from "./client.ts";

export const chat: ClientDialect = {
  parse: parseChat,

  render(reply: HubReply, context: RenderContext): JsonRecord {
    return {
      id: chatId(reply.id, context.seed),
      object: "chat.completion",
      created: reply.created ?? context.created,
      model: context.model,
      choices: reply.answers.map((answer) => ({
        index: answer.index,
        message: messageOf(answer),
        logprobs: answer.logprobs.length > 0 ? { content: answer.logprobs, refusal: null } : null,
        finish_reason: answer.finish ?? (answer.toolCalls.length > 0 ? "tool_calls" : "stop"),
      })),
      ...(reply.usage !== undefined && { usage: reply.usage }),
    };
  },

  renderer: (context) => new ChatRenderer(context),
};

/** OpenAI's ids are kept, others replaced: clients check the prefix. */
function chatId(id: string | undefined, seed: string): string {
  return id?.startsWith("chatcmpl") === true ? id : `chatcmpl-${seed}`;
}

function messageOf(answer: HubAnswer): JsonRecord {
  const { text, toolCalls, refusal, thoughts, images, annotations, audio } = answer;
  const thinking = thoughts.map((thought) => thought.text).join("");
  const isSilent = text === "" && (toolCalls.length > 0 || refusal !== "" || audio !== undefined);
  return {
    role: "assistant",
    content: isSilent ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...(thinking !== "" && { reasoning_content: thinking }),
    ...thoughtDetails(answer),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toolCallOf) }),
    ...(annotations.length > 0 && { annotations }),
    ...(images.length > 0 && { images: images.map(imageOf) }),
    ...(audio !== undefined && { audio }),
  };
}

/** Signatures of thinking, in the format that several gateways and clients share, so that a client can send them back. */
function thoughtDetails({ thoughts }: HubAnswer): JsonRecord {
  const details = thoughts.flatMap(({ text, signature, redacted }, index): JsonRecord[] => {
    if (redacted !== undefined) return [{ type: "reasoning.encrypted", data: redacted, index }];
    return signature === undefined ? [] : [{ type: "reasoning.text", text, signature, index }];
  });
  return details.length > 0 ? { reasoning_details: details } : {};
}

function toolCallOf(call: HubAnswer["toolCalls"][number]): JsonRecord {
  const { id, name, signature } = call;
  const proof =
    signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } };
  return call.isCustom === true
    ? { id, type: "custom", custom: { name, input: call.arguments }, ...proof }
    : { id, type: "function", function: { name, arguments: call.arguments }, ...proof };
}

/** Generated images, in the format that several gateways and clients share. */
function imageOf({ mime, base64 }: { mime: string; base64: string }): JsonRecord {
  return { type: "image_url", image_url: { url: mediaUrl({ kind: "data", mime, base64 }) } };
}
