// Google's Veo in the Gemini API: an operation that is asked for until it is done; the video's address needs the key. Source:
// vendors/video-veo.
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { aspectOf, hintsAs, textAt, type VideoWire } from "./wire.ts";

/** The name of an operation as it stands in an address. */
const OPERATION = /^models\/[\w.-]+\/operations\/[\w.-]+$/;

function pictureOf(image: string): { readonly bytesBase64Encoded: string; readonly mimeType: string } {
  const [, mimeType, data] = /^data:([\w/+.-]+);base64,(.+)$/s.exec(image) ?? [];
  if (mimeType === undefined || data === undefined)
    throw new Unmappable("input_reference", "该渠道只接受随请求上传的图片，不接受网络地址");
  return { bytesBase64Encoded: data, mimeType };
}

export const veo: VideoWire = {
  unit: "video",
  usualSeconds: 8,
  isKeyed: true,
  submit({ model, prompt, seconds, size, resolution, image, hints }) {
    const aspect = aspectOf(size);
    return {
      method: "POST",
      fixed: [
        "/parameters/durationSeconds",
        "/parameters/resolution",
        "/parameters/sampleCount",
        "/parameters/generateAudio",
      ],
      path: `/v1beta/models/${encodeURIComponent(model)}:predictLongRunning`,
      body: {
        instances: [{ prompt, ...(image !== undefined && { image: pictureOf(image) }) }],
        parameters: {
          durationSeconds: seconds,
          ...(aspect !== undefined && { aspectRatio: aspect }),
          ...(resolution !== "" && { resolution }),
          ...hintsAs(hints, { negative_prompt: "negativePrompt", seed: "seed" }),
        },
      },
    };
  },
  taskId(body) {
    const name = textAt(body, "name");
    return OPERATION.test(name) ? name : "";
  },
  poll: (id) => ({ method: "GET", path: `/v1beta/${id}` }),
  polled(body) {
    if (body["done"] !== true)
      return { state: body["done"] === undefined || body["done"] === false ? "in_progress" : "unknown" };
    const error = asObject(body["error"]);
    if (error !== undefined)
      return {
        state: "failed",
        code: textAt(error, "status") || textAt(error, "code") || "failed",
        message: textAt(error, "message"),
      };
    const made = asObject(asObject(body["response"])?.["generateVideoResponse"]);
    const result = textAt(made, "generatedSamples", 0, "video", "uri");
    if (result !== "") return { state: "done", result };
    const reason = textAt(made, "raiMediaFilteredReasons", 0);
    return made === undefined
      ? { state: "unknown" }
      : { state: "failed", code: "content_filtered", message: reason };
  },
};
