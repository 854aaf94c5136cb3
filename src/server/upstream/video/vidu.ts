// Vidu. Source: vendors/video-vidu.
import { aspectOf, hintsAs, readState, type StateTable, textAt, type VideoWire } from "./wire.ts";

const STATES: StateTable = new Map([
  ["created", "queued"],
  ["queueing", "queued"],
  ["processing", "in_progress"],
  ["success", "done"],
  ["failed", "failed"],
]);

export const vidu: VideoWire = {
  unit: "video",
  usualSeconds: 5,
  submit({ model, prompt, seconds, size, resolution, image, hints }) {
    const aspect = image === undefined ? aspectOf(size) : undefined;
    return {
      method: "POST",
      fixed: ["/model", "/duration", "/resolution"],
      path: image === undefined ? "/ent/v2/text2video" : "/ent/v2/img2video",
      body: {
        model,
        prompt,
        duration: seconds,
        ...(image !== undefined && { images: [image] }),
        ...(aspect !== undefined && { aspect_ratio: aspect }),
        ...(resolution !== "" && { resolution }),
        ...hintsAs(hints, { seed: "seed", watermark: "watermark" }),
      },
    };
  },
  taskId: (body) => textAt(body, "task_id"),
  poll: (id) => ({ method: "GET", path: `/ent/v2/tasks/${encodeURIComponent(id)}/creations` }),
  polled: (body) =>
    readState(STATES, textAt(body, "state"), {
      result: textAt(body, "creations", 0, "url"),
      code: textAt(body, "err_code") || "failed",
      message: textAt(body, "err_msg"),
    }),
};
