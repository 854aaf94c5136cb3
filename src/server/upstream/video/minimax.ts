// MiniMax, Hailuo: a finished task names a file, whose address is asked for when it is fetched. Source: vendors/video-minimax.
import { hintsAs, numberAt, readState, type StateTable, textAt, type VideoWire } from "./wire.ts";

const STATES: StateTable = new Map([
  ["Preparing", "queued"],
  ["Queueing", "queued"],
  ["Processing", "in_progress"],
  ["Success", "done"],
  ["Fail", "failed"],
]);

export const minimax: VideoWire = {
  unit: "video",
  usualSeconds: 6,
  submit({ model, prompt, seconds, resolution, image, hints }) {
    return {
      method: "POST",
      fixed: ["/model", "/duration", "/resolution"],
      path: "/v1/video_generation",
      body: {
        model,
        prompt,
        duration: seconds,
        ...(resolution !== "" && { resolution: resolution.toUpperCase() }),
        ...(image !== undefined && { first_frame_image: image }),
        ...hintsAs(hints, { prompt_optimizer: "prompt_optimizer" }),
      },
    };
  },
  taskId: (body) => textAt(body, "task_id"),
  refusal(body) {
    const code = numberAt(body, "base_resp", "status_code");
    return code === undefined || code === 0
      ? undefined
      : { code: String(code), message: textAt(body, "base_resp", "status_msg") };
  },
  poll: (id) => ({ method: "GET", path: `/v1/query/video_generation?task_id=${encodeURIComponent(id)}` }),
  polled: (body) =>
    readState(STATES, textAt(body, "status"), {
      result: textAt(body, "file_id"),
      seconds: numberAt(body, "usage", "total_seconds"),
      code: "failed",
      message: textAt(body, "base_resp", "status_msg"),
    }),
  locate: (file) => ({ method: "GET", path: `/v1/files/retrieve?file_id=${encodeURIComponent(file)}` }),
  located: (body) => textAt(body, "file", "download_url"),
};
