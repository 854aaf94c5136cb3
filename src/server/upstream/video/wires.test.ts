// What each vendor of videos is sent, and what its words mean: closed tables (requirements C54).
import { describe, expect, it } from "vitest";
import { type VideoWireName, videoSize } from "#contract/video.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { videoWires } from "./index.ts";
import type { Polled, VideoAsk } from "./wire.ts";

const ASK: VideoAsk = {
  model: "m",
  prompt: "a cat",
  seconds: 5,
  size: videoSize("1920x1080"),
  resolution: "1080p",
  image: undefined,
  hints: {},
};
const HINTS = { negative_prompt: "dogs", seed: 7, watermark: false, cfg_scale: 0.5, prompt_optimizer: true };
const PICTURE = "data:image/png;base64,QUJD";

const names = Object.keys(videoWires) as VideoWireName[]; // the record's own
const stateOf = (name: VideoWireName, body: JsonRecord) => videoWires[name].polled(body).state;

/** A state by the vendor's word, where all else is there. */
const BODIES: Readonly<Record<VideoWireName, (word: unknown) => JsonRecord>> = {
  openai: (status) => ({ id: "v1", status, progress: 40, error: { code: "bad", message: "no" } }),
  ark: (status) => ({
    id: "v1",
    status,
    content: { video_url: "https://v/1.mp4" },
    error: { code: "bad", message: "no" },
  }),
  kling: (status) => ({
    code: 0,
    data: {
      task_status: status,
      task_status_msg: "no",
      task_result: { videos: [{ url: "https://v/1.mp4" }] },
    },
  }),
  minimax: (status) => ({ status, file_id: "f1", base_resp: { status_code: 0, status_msg: "no" } }),
  vidu: (state) => ({ state, err_code: "bad", creations: [{ url: "https://v/1.mp4" }] }),
  dashscope: (status) => ({
    output: { task_status: status, video_url: "https://v/1.mp4", code: "bad", message: "no" },
  }),
  veo: (done) => ({
    done,
    response: { generateVideoResponse: { generatedSamples: [{ video: { uri: "https://v/1.mp4" } }] } },
  }),
};

describe("the words of", () => {
  it.each<[VideoWireName, Record<string, Polled["state"]>]>([
    [
      "openai",
      {
        queued: "queued",
        in_progress: "in_progress",
        completed: "done",
        failed: "failed",
        cancelled: "cancelled",
      },
    ],
    [
      "ark",
      {
        queued: "queued",
        running: "in_progress",
        succeeded: "done",
        failed: "failed",
        expired: "failed",
        cancelled: "cancelled",
      },
    ],
    ["kling", { submitted: "queued", processing: "in_progress", succeed: "done", failed: "failed" }],
    [
      "minimax",
      { Preparing: "queued", Queueing: "queued", Processing: "in_progress", Success: "done", Fail: "failed" },
    ],
    [
      "vidu",
      { created: "queued", queueing: "queued", processing: "in_progress", success: "done", failed: "failed" },
    ],
    [
      "dashscope",
      {
        PENDING: "queued",
        RUNNING: "in_progress",
        SUCCEEDED: "done",
        FAILED: "failed",
        CANCELED: "cancelled",
        UNKNOWN: "unknown",
      },
    ],
  ])("%s mean what its table says", (name, table) => {
    for (const [word, state] of Object.entries(table))
      expect(stateOf(name, BODIES[name](word)), word).toBe(state);
  });

  it.each(names)("%s that are in no table, and answers without any, end nothing", (name) => {
    const odd: JsonRecord[] = [
      {},
      { data: null },
      { output: [] },
      { error: "x" },
      { status: 7 },
      { done: "yes" },
    ];
    for (const word of ["", "finished!", "COMPLETE", 3, null, undefined, {}, "__proto__", "constructor"])
      odd.push(BODIES[name](word));
    for (const body of odd)
      expect(["unknown", "in_progress"], JSON.stringify(body)).toContain(stateOf(name, body));
  });

  it.each(names)("%s for done without a video do not end it either", (name) => {
    const empty: Readonly<Record<VideoWireName, JsonRecord>> = {
      openai: { status: "completed", id: "" },
      ark: { status: "succeeded", content: {} },
      kling: { data: { task_status: "succeed", task_result: { videos: [] } } },
      minimax: { status: "Success", file_id: "" },
      vidu: { state: "success", creations: [] },
      dashscope: { output: { task_status: "SUCCEEDED" } },
      veo: { done: true, response: {} },
    };
    expect(stateOf(name, empty[name])).toBe("unknown");
  });

  it("Veo: an error, and a filter that left nothing, are failures", () => {
    const { polled } = videoWires.veo;
    expect(stateOf("veo", { name: "x" })).toBe("in_progress");
    expect(polled(BODIES.veo(true))).toEqual({ state: "done", result: "https://v/1.mp4" });
    expect(polled({ done: true, error: { code: 3, message: "no" } })).toEqual({
      state: "failed",
      code: "3",
      message: "no",
    });
    const filtered = { generateVideoResponse: { raiMediaFilteredReasons: ["violence"] } };
    expect(polled({ done: true, response: filtered })).toMatchObject({
      code: "content_filtered",
      message: "violence",
    });
  });

  it("say what was made", () => {
    const ark = { ...BODIES.ark("succeeded"), usage: { completion_tokens: 108_900 } };
    expect(videoWires.ark.polled(ark)).toMatchObject({ result: "https://v/1.mp4", tokens: 108_900 });
    const ali = { ...BODIES.dashscope("SUCCEEDED"), usage: { video_duration: 5 } };
    expect(videoWires.dashscope.polled(ali)).toMatchObject({ seconds: 5 });
    const mini = { ...BODIES.minimax("Success"), usage: { total_seconds: "6" } };
    expect(videoWires.minimax.polled(mini)).toMatchObject({ result: "f1", seconds: 6 });
  });
});

describe("a task", () => {
  it.each<[VideoWireName, JsonRecord, string]>([
    ["openai", { id: "video_1" }, "video_1"],
    ["ark", { id: "cgt-1" }, "cgt-1"],
    ["kling", { code: 0, data: { task_id: "77" } }, "text2video/77"],
    ["minimax", { task_id: 106916112212032, base_resp: { status_code: 0 } }, "106916112212032"],
    ["vidu", { task_id: "v" }, "v"],
    ["dashscope", { output: { task_id: "a-b" } }, "a-b"],
    ["veo", { name: "models/veo-3.1/operations/abc" }, "models/veo-3.1/operations/abc"],
  ])("of %s is known by its id", (name, body, id) => {
    const wire = videoWires[name];
    expect(wire.taskId(body, ASK)).toBe(id);
    for (const bad of [{}, { id: "" }, { id: {} }, { data: {} }, { name: "../../v1/files" }])
      expect(wire.taskId(bad, ASK)).toBe("");
    const { method, path } = wire.poll(id);
    expect([method, path]).toEqual(["GET", expect.stringContaining(id.split("/").at(-1) ?? "")]);
  });

  it("of Kling from a picture is asked for where it was submitted", () => {
    const id = videoWires.kling.taskId({ data: { task_id: "a/b" } }, { image: PICTURE });
    expect(videoWires.kling.poll(id).path).toBe("/v1/videos/image2video/a%2Fb");
  });

  it("is refused with status 200 by those that do so", () => {
    expect(videoWires.kling.refusal?.({ code: 1102, message: "no balance" })).toEqual({
      code: "1102",
      message: "no balance",
    });
    const base_resp = { status_code: 1008, status_msg: "insufficient balance" };
    expect(videoWires.minimax.refusal?.({ base_resp })).toEqual({
      code: "1008",
      message: "insufficient balance",
    });
    expect(videoWires.minimax.refusal?.({ base_resp: { status_code: 0 } })).toBeUndefined();
    expect(videoWires.kling.refusal?.({ data: {} })).toBeUndefined();
  });
});

describe("a request", () => {
  it.each<[VideoWireName, JsonRecord]>([
    ["openai", { model: "m", prompt: "a cat", seconds: "5", size: "1920x1080" }],
    [
      "ark",
      {
        model: "m",
        content: [{ type: "text", text: "a cat" }],
        duration: 5,
        resolution: "1080p",
        ratio: "16:9",
        seed: 7,
        watermark: false,
      },
    ],
    [
      "kling",
      {
        model_name: "m",
        prompt: "a cat",
        mode: "pro",
        duration: "5",
        aspect_ratio: "16:9",
        negative_prompt: "dogs",
        cfg_scale: 0.5,
      },
    ],
    ["minimax", { model: "m", prompt: "a cat", duration: 5, resolution: "1080P", prompt_optimizer: true }],
    [
      "vidu",
      {
        model: "m",
        prompt: "a cat",
        duration: 5,
        aspect_ratio: "16:9",
        resolution: "1080p",
        seed: 7,
        watermark: false,
      },
    ],
    [
      "dashscope",
      {
        model: "m",
        input: { prompt: "a cat", negative_prompt: "dogs" },
        parameters: { duration: 5, size: "1920*1080", seed: 7, watermark: false, prompt_extend: true },
      },
    ],
    [
      "veo",
      {
        instances: [{ prompt: "a cat" }],
        parameters: {
          durationSeconds: 5,
          aspectRatio: "16:9",
          resolution: "1080p",
          negativePrompt: "dogs",
          seed: 7,
        },
      },
    ],
  ])("to %s from text says all that was asked", (name, body) => {
    expect(videoWires[name].submit({ ...ASK, hints: HINTS }).body).toEqual(body);
  });

  it.each<[VideoWireName, string, JsonRecord]>([
    ["openai", "/v1/videos", { input_reference: { image_url: PICTURE } }],
    [
      "ark",
      "/api/v3/contents/generations/tasks",
      {
        content: [
          { type: "text", text: "a cat" },
          { type: "image_url", image_url: { url: PICTURE } },
        ],
      },
    ],
    ["kling", "/v1/videos/image2video", { image: "QUJD", mode: "std" }],
    ["minimax", "/v1/video_generation", { first_frame_image: PICTURE }],
    ["vidu", "/ent/v2/img2video", { images: [PICTURE] }],
    [
      "dashscope",
      "/api/v1/services/aigc/video-generation/video-synthesis",
      { input: { prompt: "a cat", img_url: PICTURE }, parameters: { duration: 5, resolution: "720P" } },
    ],
    [
      "veo",
      "/v1beta/models/m:predictLongRunning",
      { instances: [{ prompt: "a cat", image: { bytesBase64Encoded: "QUJD", mimeType: "image/png" } }] },
    ],
  ])("to %s from a picture goes to its place", (name, path, part) => {
    const request = videoWires[name].submit({ ...ASK, size: undefined, resolution: "720p", image: PICTURE });
    expect([request.path, request.body]).toEqual([path, expect.objectContaining(part)]);
  });

  it("with an address of a picture is not for Veo, and stays one for Kling", () => {
    const ask = { ...ASK, image: "https://x/a.png" };
    expect(() => videoWires.veo.submit(ask)).toThrow();
    expect(videoWires.kling.submit(ask).body).toMatchObject({ image: "https://x/a.png" });
  });

  it("of no size says none, and of odd proportions none of the vendor's", () => {
    const plain = { ...ASK, size: undefined, resolution: "" };
    for (const name of names)
      expect(JSON.stringify(videoWires[name].submit(plain).body)).not.toMatch(
        /resolution|aspect|ratio"|size/,
      );
    const odd = { ...ASK, size: videoSize("1000x300"), resolution: "300p" };
    expect(videoWires.ark.submit(odd).body).toMatchObject({ ratio: "adaptive" });
    expect(videoWires.kling.submit(odd).body).not.toHaveProperty("aspect_ratio");
  });

  it("to cancel, or to fetch, names the task", () => {
    const asked = names.flatMap((name) => {
      const request = videoWires[name].cancel?.("t 1");
      return request === undefined ? [] : [[name, request.method, request.path]];
    });
    expect(asked).toEqual([
      ["openai", "POST", "/v1/videos/t%201/cancel"],
      ["ark", "DELETE", "/api/v3/contents/generations/tasks/t%201"],
      ["dashscope", "POST", "/api/v1/tasks/t%201/cancel"],
    ]);
    expect(videoWires.openai.content?.("t 1").path).toBe("/v1/videos/t%201/content");
    expect(videoWires.minimax.locate?.("7").path).toBe("/v1/files/retrieve?file_id=7");
    expect(videoWires.minimax.located?.({ file: { download_url: "https://v/7" } })).toBe("https://v/7");
  });
});
