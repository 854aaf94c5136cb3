// Kling. A task is asked for where it was submitted: from text, or from a picture. Source: vendors/video-kling.
import { aspectOf, hintsAs, numberAt, readState, type StateTable, textAt, type VideoWire } from "./wire.ts";

const PATH = "/v1/videos";
const TEXT = "text2video";
const IMAGE = "image2video";

const STATES: StateTable = new Map([
  ["submitted", "queued"],
  ["processing", "in_progress"],
  ["succeed", "done"],
  ["failed", "failed"],
]);

/** A data URL as the bare Base64 that Kling wants; an address as it is. */
function pictureOf(image: string): string {
  return image.startsWith("data:") ? image.slice(image.indexOf(",") + 1) : image;
}

export const kling: VideoWire = {
  unit: "video",
  usualSeconds: 5,
  submit({ model, prompt, seconds, size, resolution, image, hints }) {
    const aspect = image === undefined ? aspectOf(size) : undefined;
    return {
      method: "POST",
      fixed: ["/model_name", "/mode", "/duration"],
      path: `${PATH}/${image === undefined ? TEXT : IMAGE}`,
      body: {
        model_name: model,
        prompt,
        // The dearer mode is the one of 1080p.
        mode: resolution === "1080p" ? "pro" : "std",
        duration: String(seconds),
        ...(image !== undefined && { image: pictureOf(image) }),
        ...(aspect !== undefined && { aspect_ratio: aspect }),
        ...hintsAs(hints, { negative_prompt: "negative_prompt", cfg_scale: "cfg_scale" }),
      },
    };
  },
  // The kind stands in the address of every question.
  taskId(body, { image }) {
    const id = textAt(body, "data", "task_id");
    return id === "" ? "" : `${image === undefined ? TEXT : IMAGE}/${encodeURIComponent(id)}`;
  },
  refusal(body) {
    const code = numberAt(body, "code");
    return code === undefined || code === 0
      ? undefined
      : { code: String(code), message: textAt(body, "message") };
  },
  poll: (id) => ({ method: "GET", path: `${PATH}/${id}` }),
  polled: (body) =>
    readState(STATES, textAt(body, "data", "task_status"), {
      result: textAt(body, "data", "task_result", "videos", 0, "url"),
      seconds: numberAt(body, "data", "task_result", "videos", 0, "duration"),
      code: "failed",
      message: textAt(body, "data", "task_status_msg"),
    }),
};
