// OpenAI's Videos API, which ended in September 2026 and lives on among gateways. Source: vendors/video-openai.
import { numberAt, readState, type StateTable, textAt, type VideoWire } from "./wire.ts";

const PATH = "/v1/videos";

const STATES: StateTable = new Map([
  ["queued", "queued"],
  ["in_progress", "in_progress"],
  ["completed", "done"],
  ["failed", "failed"],
  ["cancelled", "cancelled"],
]);

const one = (id: string) => `${PATH}/${encodeURIComponent(id)}`;

export const openai: VideoWire = {
  unit: "video",
  usualSeconds: 4,
  submit({ model, prompt, seconds, size, image }) {
    return {
      method: "POST",
      fixed: ["/model", "/seconds", "/size"],
      path: PATH,
      body: {
        model,
        prompt,
        seconds: String(seconds),
        ...(size !== undefined && { size: `${size.width}x${size.height}` }),
        ...(image !== undefined && { input_reference: { image_url: image } }),
      },
    };
  },
  taskId: (body) => textAt(body, "id"),
  poll: (id) => ({ method: "GET", path: one(id) }),
  polled: (body) =>
    readState(STATES, textAt(body, "status"), {
      progress: numberAt(body, "progress"),
      result: textAt(body, "id"),
      seconds: numberAt(body, "seconds"),
      code: textAt(body, "error", "code") || "failed",
      message: textAt(body, "error", "message"),
    }),
  cancel: (id) => ({ method: "POST", path: `${one(id)}/cancel` }),
  content: (id) => ({ method: "GET", path: `${one(id)}/content` }),
};
