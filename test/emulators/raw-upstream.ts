// An upstream that keeps the bytes of every request as they arrived, and answers each as the test says.
import { listen } from "./raw-http.ts";

export interface RawRequest {
  /** `POST /v1/chat/completions HTTP/1.1`. */
  readonly line: string;
  /** Lower-case name → the bytes behind the colon, without the blanks around them. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawUpstream {
  readonly port: number;
  /** In the order in which they were whole. */
  readonly requests: RawRequest[];
  close(): Promise<void>;
}

const END = "\r\n\r\n";

/** Starts it on a free loopback port; it says `answer` to a request, a whole answer of HTTP, and then ends the connection. */
export async function startRawUpstream(answer: (request: RawRequest) => string): Promise<RawUpstream> {
  const requests: RawRequest[] = [];
  const { port, close } = await listen((socket) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      const request = requestIn(Buffer.concat(chunks));
      if (request === undefined) return;
      requests.push(request);
      socket.end(answer(request));
    });
  });
  return { port, requests, close };
}

/** undefined = more is to come. */
function requestIn(bytes: Buffer): RawRequest | undefined {
  const headEnd = bytes.indexOf(END);
  if (headEnd < 0) return undefined;
  const [line = "", ...rest] = bytes.subarray(0, headEnd).toString("latin1").split("\r\n");
  const headers = new Map(
    rest.map((text) => {
      const colon = text.indexOf(":");
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
    }),
  );
  const body = bytes.subarray(headEnd + END.length);
  return body.length < Number(headers.get("content-length") ?? 0)
    ? undefined
    : { line, headers, body: body.toString() };
}
