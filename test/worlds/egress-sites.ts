// Where calls leave: every place in the code that calls the egress or hands it to what does, found in the source, and those of them that a
// test has seen on the stack of a call. So a path that no test has tried is known by its line.
import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { onTestFinished, vi } from "vitest";
import type { Egress } from "#server/egress/dispatcher.ts";
import type { EgressFault, Sink } from "#server/egress/send.ts";

const SERVER = join(import.meta.dirname, "../../src/server");
/**
 * `tools.egress.send`, or the egress as the first argument of a call. What checks addresses opens nothing, and the keys of logouts are asked for
 * later, at a place of their own.
 */
const SITES = [/\begress\.(?:send|connect)\b/g, /\b(?!check|logoutKeys)\w+\(\s*(?:\w+\.)*egress,/g];
const FRAME = /src\/server\/([^:()\s]+\.ts):(\d+)/g;
/** Deep enough for the way from a client's request to the egress. */
const FRAMES = 60;

/** `room/file.ts:line` of all places outside the egress itself. */
export function egressSites(): string[] {
  return globSync("**/*.ts", { cwd: SERVER })
    .filter((file) => !file.endsWith(".test.ts") && !file.startsWith("egress/"))
    .toSorted()
    .flatMap((file) => sitesIn(file, readFileSync(join(SERVER, file), "utf8")));
}

function sitesIn(file: string, source: string): string[] {
  const lines = SITES.flatMap((site) => [...source.matchAll(site)]).map(
    ({ index }) => source.slice(0, index).split("\n").length,
  );
  return [...new Set(lines)].map((line) => `${relative(".", file)}:${line}`);
}

export interface EgressWatch {
  /** The places that calls came from. */
  readonly seen: Set<string>;
  /** How calls failed. */
  readonly faults: EgressFault[];
}

/** Notes where the calls of this egress come from and how they fail, until the test ends. */
export function watchEgress(egress: Egress, seen: Set<string>): EgressWatch {
  const faults: EgressFault[] = [];
  const { send, connect } = egress;
  const note = () => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = FRAMES;
    for (const [, file, line] of (new Error().stack ?? "").matchAll(FRAME)) seen.add(`${file}:${line}`);
    Error.stackTraceLimit = stackTraceLimit;
  };
  const sends = vi.spyOn(egress, "send").mockImplementation((request, sink) => {
    note();
    return send(request, watching(sink, faults));
  });
  const connects = vi.spyOn(egress, "connect").mockImplementation((request) => {
    note();
    const handshake = connect(request);
    void handshake.result.then((result) => result.kind === "failed" && faults.push(result));
    return handshake;
  });
  onTestFinished(() => {
    sends.mockRestore();
    connects.mockRestore();
  });
  return { seen, faults };
}

/** The same sink, of which faults are noted. A sink may be a class with private fields. */
function watching(sink: Sink, faults: EgressFault[]): Sink {
  return {
    onStart: (status, headers) => sink.onStart(status, headers),
    onData: (chunk) => sink.onData(chunk),
    onEnd: () => sink.onEnd(),
    onFault(fault) {
      faults.push(fault);
      sink.onFault(fault);
    },
  };
}
