// Volcengine Ark, Seedance. Charged by LLM tokens as it reports them. Source: vendors/video-ark.
import { aspectOf, hintsAs, numberAt, readState, type StateTable, textAt, type VideoWire } from "./wire.ts";

const PATH = "/api/v3/contents/generations/tasks";

const STATES: StateTable = new Map([
  ["queued", "queued"],
  ["running", "in_progress"],
  ["succeeded", "done"],
  ["failed", "failed"],
  ["expired", "failed"],
  ["cancelled", "cancelled"],
]);

export const ark: VideoWire = {
  unit: "token",
  usualSeconds: 5,
  submit({ model, prompt, seconds, size, resolution, image, hints }) {
    const pictures = image === undefined ? [] : [{ type: "image_url", image_url: { url: image } }];
    return {
      method: "POST",
      fixed: ["/model", "/duration", "/frames", "/resolution", "/generate_audio"],
      path: PATH,
      body: {
        model,
        content: [{ type: "text", text: prompt }, ...pictures],
        duration: seconds,
        ...(resolution !== "" && { resolution }),
        ...(size !== undefined && { ratio: aspectOf(size) ?? "adaptive" }),
        ...hintsAs(hints, { seed: "seed", watermark: "watermark" }),
      },
    };
  },
  taskId: (body) => textAt(body, "id"),
  poll: (id) => ({ method: "GET", path: `${PATH}/${encodeURIComponent(id)}` }),
  polled: (body) =>
    readState(STATES, textAt(body, "status"), {
      result: textAt(body, "content", "video_url"),
      tokens: numberAt(body, "usage", "completion_tokens"),
      code: textAt(body, "error", "code") || textAt(body, "status"),
      message: textAt(body, "error", "message"),
    }),
  cancel: (id) => ({ method: "DELETE", path: `${PATH}/${encodeURIComponent(id)}` }),
};
