// Images and rerank of DashScope (vendors/dashscope-images, vendors/dashscope-errors). An image is an asynchronous task: it is requested,
// and then polled.

import { scoresIn } from "#server/upstream/hub/plain.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asNumber, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { Drawn, ImageWire, Pending, RerankWire, WireError } from "./dialect.ts";

const MOST_IMAGES = 4;
const STILL_AT_IT: ReadonlySet<string> = new Set(["PENDING", "RUNNING", "SUSPENDED"]);

type ErrorIn = (body: JsonRecord) => WireError | undefined;

/** `errorIn` reads the errors of the wire. */
export function aliImages(errorIn: ErrorIn): ImageWire {
  return {
    formats: ["url"],

    encode({ model, prompt, n, size }) {
      if (n > MOST_IMAGES) throw new Unmappable("n", `该模型每次最多生成 ${MOST_IMAGES} 张图片`);
      const parameters = { size: size?.replace("x", "*"), n };
      return { body: { model, input: { prompt }, parameters }, headers: ["x-dashscope-async", "enable"] };
    },

    decode(body): Drawn | Pending | WireError {
      const output = asObject(body["output"]);
      const task = asText(output?.["task_id"]);
      const status = asText(output?.["task_status"]) ?? "";
      if (task !== undefined && STILL_AT_IT.has(status)) return { kind: "pending", task };
      const results = asList(output?.["results"]).map((item) => asObject(item));
      const images = results.flatMap((result): (string | { url: string })[] => {
        const url = asText(result?.["url"]);
        return url === undefined ? textsIn(result?.["b64_image"]) : [{ url }];
      });
      if (images.length > 0) return { kind: "drawn", images, usage: undefined };
      // A failed task has an error, of the whole task or of single images.
      const failed = results.find((result) => asText(result?.["code"]) !== undefined) ?? output ?? {};
      return errorIn(body) ?? errorIn(failed) ?? failure(status);
    },

    taskAddress: (task, { baseUrl }) =>
      `${baseUrl.replace(/\/api\/v1$/, "")}/api/v1/tasks/${encodeURIComponent(task)}`,
  };
}

function textsIn(value: unknown): string[] {
  return typeof value === "string" ? [value] : [];
}

function failure(status: string): WireError {
  return { kind: "error", status: 502, message: "上游没有生成图片", code: status || null, type: "ali_error" };
}

/** `errorIn` reads the errors of the wire. */
export function aliRerank(errorIn: ErrorIn): RerankWire {
  return {
    encode({ model, query, documents, top }) {
      const parameters = { return_documents: false, top_n: top };
      return { body: { model, input: { query, documents }, parameters } };
    },

    decode(body) {
      const error = errorIn(body);
      if (error !== undefined) return error;
      const total_tokens = asNumber(asObject(body["usage"])?.["total_tokens"]);
      const usage = total_tokens === undefined ? undefined : { prompt_tokens: total_tokens, total_tokens };
      return { kind: "ranked", results: scoresIn(asObject(body["output"])?.["results"]), usage };
    },
  };
}
