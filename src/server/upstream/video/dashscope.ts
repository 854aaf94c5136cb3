// Alibaba's DashScope, Wan. Source: vendors/video-dashscope.
import { hintsAs, numberAt, readState, type StateTable, textAt, type VideoWire } from "./wire.ts";

/** UNKNOWN is the vendor's own word for a task that it cannot tell of: it says nothing. */
const STATES: StateTable = new Map([
  ["PENDING", "queued"],
  ["RUNNING", "in_progress"],
  ["SUCCEEDED", "done"],
  ["FAILED", "failed"],
  ["CANCELED", "cancelled"],
]);

export const dashscope: VideoWire = {
  unit: "video",
  usualSeconds: 5,
  submit({ model, prompt, seconds, size, resolution, image, hints }) {
    // From text a size, from a picture a resolution.
    const sized = image === undefined && size !== undefined && { size: `${size.width}*${size.height}` };
    const resolved = image !== undefined && resolution !== "" && { resolution: resolution.toUpperCase() };
    return {
      method: "POST",
      fixed: ["/model", "/parameters/duration", "/parameters/size", "/parameters/resolution"],
      path: "/api/v1/services/aigc/video-generation/video-synthesis",
      headers: ["x-dashscope-async", "enable"],
      body: {
        model,
        input: {
          prompt,
          ...(image !== undefined && { img_url: image }),
          ...hintsAs(hints, { negative_prompt: "negative_prompt" }),
        },
        parameters: {
          duration: seconds,
          ...sized,
          ...resolved,
          ...hintsAs(hints, { seed: "seed", watermark: "watermark", prompt_optimizer: "prompt_extend" }),
        },
      },
    };
  },
  taskId: (body) => textAt(body, "output", "task_id"),
  poll: (id) => ({ method: "GET", path: `/api/v1/tasks/${encodeURIComponent(id)}` }),
  polled: (body) =>
    readState(STATES, textAt(body, "output", "task_status"), {
      result: textAt(body, "output", "video_url"),
      seconds: numberAt(body, "usage", "video_duration") ?? numberAt(body, "usage", "duration"),
      code: textAt(body, "output", "code") || "failed",
      message: textAt(body, "output", "message"),
    }),
  cancel: (id) => ({ method: "POST", path: `/api/v1/tasks/${encodeURIComponent(id)}/cancel` }),
};
