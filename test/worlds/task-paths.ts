// Every way in which a channel calls its vendor about what the vendor does in the background or keeps (requirements C10): videos, files and
// batches, responses. Each step is a path of its own, so that the proxy may be gone at any of them.
import { type BatchEmulator, startBatches } from "#test/emulators/batch-emulator.ts";
import { json, raw, type Step } from "#test/emulators/fake-upstream.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { answerLine, BATCH_MODEL, batchOrder, requestLine } from "./batch-world.ts";
import { type ChannelExit, shortOf } from "./channel-exit.ts";
import { type ChannelPath, UNREACHED } from "./channel-paths.ts";
import { named } from "./outside-proxies.ts";

const VIDEO_MODEL = "sora-2";
const VIDEO = { model: VIDEO_MODEL, prompt: "a cat", seconds: "5" };
const MODEL = "gpt-4o";
const OPENAI = 1;

/** A vendor whose videos are made when they are looked at for the first time. */
const videos: Step = (res, asked) => {
  if (asked.path.endsWith("/content")) return raw("mp4", { "content-type": "video/mp4" })(res, asked);
  const status = asked.path.endsWith("/cancel") ? "cancelled" : "completed";
  return json({ id: "up-1", status: asked.path.endsWith("/videos") ? "queued" : status })(res, asked);
};

async function filming(exit: ChannelExit): Promise<void> {
  await exit.add({ models: VIDEO_MODEL });
  await exit.world.setOption("ModelRatio", JSON.stringify({ [VIDEO_MODEL]: 50 }));
  exit.world.upstream.script(videos);
}

/** A step about a video that was begun. */
const ofVideo = (step: (exit: ChannelExit, path: string) => Promise<string>): ChannelPath["begin"] => {
  return async (exit) => {
    await filming(exit);
    const id = await exit.made("/v1/videos", VIDEO);
    return () => step(exit, `/v1/videos/${id}`);
  };
};

/** Status of what is under way, as its owner sees it. */
async function stateAt(exit: ChannelExit, path: string): Promise<string> {
  const response = await exit.call("GET", path);
  if (!response.ok) return shortOf(response);
  // Every object of a task has one.
  const { status } = (await response.json()) as { status: string };
  return `${response.status} ${status}`;
}

async function filing(exit: ChannelExit): Promise<BatchEmulator> {
  const upstream = await exit.kept(startBatches());
  await exit.add({ baseUrl: named(upstream.url), models: BATCH_MODEL });
  await exit.world.setOption("BatchesEnabled", "true");
  await exit.world.setOption("ModelRatio", JSON.stringify({ [BATCH_MODEL]: 2 }));
  return upstream;
}

function requests(): FormData {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([requestLine("r-1")]), "requests.jsonl");
  return form;
}

async function batching(exit: ChannelExit): Promise<{ upstream: BatchEmulator; order: object }> {
  const upstream = await filing(exit);
  const input_file_id = await exit.made("/v1/files", requests());
  const order = batchOrder(input_file_id);
  return { upstream, order };
}

/** A step about a batch that was begun; `upstream` has it as `made`. */
const ofBatch = (
  step: (exit: ChannelExit, path: string) => Promise<string>,
  meanwhile: (upstream: BatchEmulator, made: string) => void = () => undefined,
): ChannelPath["begin"] => {
  return async (exit) => {
    const { upstream, order } = await batching(exit);
    const id = await exit.made("/v1/batches", order);
    meanwhile(upstream, upstream.batches().at(-1) ?? "");
    return () => step(exit, `/v1/batches/${id}`);
  };
};

const ended = (upstream: BatchEmulator, made: string) =>
  upstream.end(made, { output: answerLine("r-1"), counts: { completed: 1, failed: 0 } });

let keepers = 0;

async function keeping(exit: ChannelExit): Promise<ResponsesEmulator> {
  // Ids of responses begin with the name, and are of one test.
  keepers += 1;
  const upstream = await exit.kept(startResponses(`kept${keepers}`));
  await exit.add({ type: OPENAI, baseUrl: named(upstream.url), models: MODEL });
  await exit.world.setOption("ResponsesStateEnabled", "true");
  return upstream;
}

const LONG = { model: MODEL, input: "long", background: true };

/** A step about a response that was begun in the background. */
const ofResponse = (
  step: (exit: ChannelExit, path: string) => Promise<string>,
  meanwhile: (upstream: ResponsesEmulator, id: string) => void = () => undefined,
): ChannelPath["begin"] => {
  return async (exit) => {
    const upstream = await keeping(exit);
    const id = await exit.made("/v1/responses", LONG);
    meanwhile(upstream, id);
    return () => step(exit, `/v1/responses/${id}`);
  };
};

/** The events of a response in the background, until the first that says this. */
async function eventsUntil(response: Response, word: string): Promise<string> {
  if (!response.ok || response.body === null) return shortOf(response);
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes(word)) return word;
  }
  return "ended";
}

/** The step that orders it, of a vendor that is made ready before. */
const ofPosting = (
  path: string,
  prepare: (exit: ChannelExit) => Promise<unknown>,
  body: () => object,
): ChannelPath["begin"] => {
  return async (exit) => {
    await prepare(exit);
    return () => exit.told("POST", path, body());
  };
};

export const TASK_PATHS: Readonly<Record<string, ChannelPath>> = {
  "a video that is ordered": {
    begin: ofPosting("/v1/videos", filming, () => VIDEO),
    good: "200",
    down: UNREACHED,
    movesOn: true,
  },
  "a video that is looked after": {
    begin: ofVideo(async (exit, path) => {
      await exit.sweep();
      return stateAt(exit, path);
    }),
    good: "200 completed",
    down: "200 queued",
  },
  "a video that is handed out": {
    begin: async (exit) => {
      await filming(exit);
      const id = await exit.made("/v1/videos", VIDEO);
      await exit.sweep();
      return () => exit.told("GET", `/v1/videos/${id}/content`);
    },
    good: "200",
    down: UNREACHED,
  },
  "a video that is cancelled": {
    begin: ofVideo((exit, path) => exit.told("POST", `${path}/cancel`)),
    good: "200",
    down: UNREACHED,
  },
  "a file": {
    begin: ofPosting("/v1/files", filing, requests),
    good: "200",
    down: UNREACHED,
    movesOn: true,
  },
  // It is where its file is.
  "a batch": {
    begin: async (exit) => {
      const { order } = await batching(exit);
      return () => exit.told("POST", "/v1/batches", order);
    },
    good: "200",
    down: UNREACHED,
  },
  "a batch that is looked at": {
    begin: ofBatch(stateAt, ended),
    good: "200 completed",
    down: "200 validating",
  },
  "a batch that is cancelled": {
    begin: ofBatch((exit, path) => exit.told("POST", `${path}/cancel`)),
    good: "200",
    down: UNREACHED,
  },
  "the results of a batch": {
    begin: async (exit) => {
      const { upstream, order } = await batching(exit);
      const id = await exit.made("/v1/batches", order);
      ended(upstream, upstream.batches().at(-1) ?? "");
      return async () => {
        await exit.sweep();
        // The file of a batch that has ended.
        const { output_file_id } = (await (await exit.call("GET", `/v1/batches/${id}`)).json()) as {
          output_file_id: string | null;
        };
        return output_file_id === null ? "none yet" : exit.told("GET", `/v1/files/${output_file_id}/content`);
      };
    },
    good: "200",
    down: "none yet",
  },
  "a response in the background": {
    begin: ofPosting("/v1/responses", keeping, () => LONG),
    good: "200",
    down: UNREACHED,
    movesOn: true,
  },
  "a response that is looked at": {
    begin: ofResponse(stateAt, (upstream, id) => upstream.finish(id)),
    good: "200 completed",
    down: UNREACHED,
  },
  "a response that is cancelled": {
    begin: ofResponse((exit, path) => exit.told("POST", `${path}/cancel`)),
    good: "200",
    down: UNREACHED,
  },
  "the events of a response in the background": {
    begin: async (exit) => {
      await keeping(exit);
      return async () => {
        const response = await exit.call("POST", "/v1/responses", { ...LONG, stream: true });
        return eventsUntil(response, "response.created");
      };
    },
    good: "response.created",
    down: UNREACHED,
    movesOn: true,
  },
};
