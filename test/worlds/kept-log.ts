// Everything that is handed to a logger, before any redaction: tests look in it for what must not be told.
import { Writable } from "node:stream";
import pino from "pino";

export function keptLog() {
  let text = "";
  const sink = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  return { logger: pino({ level: "trace" }, sink), text: () => text };
}
