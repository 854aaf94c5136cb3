// How near this process is to what it can hold, and what is turned away first (requirements D02): at 80 % guests of the console, at
// 90 % new relayed calls, at 95 % new connections. What was accepted already is served to the end.
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { getHeapStatistics, type HeapInfo } from "node:v8";
import { collectGarbage } from "#server/store/trim.ts";

/** Shares of what the process can hold. */
const SHED = { guests: 0.8, calls: 0.9, connections: 0.95 } as const;
const SAMPLE_MS = 250;
/** While callers are turned away little is allocated, so that V8 would not collect what they left: it is made to, so often. */
const COLLECT_MS = 5_000;
/** Where the system does not say how many files a process may open. */
const USUAL_FILES = 4_096;
/** Files that are no connections of clients: database, upstreams that are kept, code. */
const OWN_FILES = 200;
/** Memory that is neither the main thread's heap nor its buffers: code, other threads, the database's cache. */
const OWN_BYTES = 128 * 1024 * 1024;

export interface Pressure {
  /** Whether guests of the console are asked to come later. */
  shedsGuests(): boolean;
  /** Whether new relayed calls are asked to come later. */
  shedsCalls(): boolean;
  /** Counts the connections of a server and takes no new ones when there are too many. */
  attach(server: Server): void;
  close(): void;
}

export interface PressureParts {
  /** Connections of clients that the process may hold; 0 = as many as the system's limit of open files allows. */
  readonly maxConnections: number;
  /** What the process may use. */
  readonly memoryBytes: number;
  /** Share of the memory that is in use, from 0 to 1. */
  readonly memoryShare?: () => number;
}

export function createPressure({ maxConnections, memoryBytes, ...parts }: PressureParts): Pressure {
  const memoryShare = parts.memoryShare ?? (() => memoryInUse(getHeapStatistics(), memoryBytes));
  const most = maxConnections > 0 ? maxConnections : connectionsAllowed();
  const connectionLimit = Math.max(1, Math.floor(most * SHED.connections));
  const servers = new Set<Server>();
  let connections = 0;
  let memory = 0;
  let collectedMs = 0;

  function sample(): void {
    memory = memoryShare();
    if (memory >= SHED.guests && performance.now() - collectedMs >= COLLECT_MS) {
      collectGarbage();
      collectedMs = performance.now();
      memory = memoryShare();
    }
    // Node closes each new connection while there are as many as this.
    for (const server of servers) server.maxConnections = memory >= SHED.connections ? 1 : connectionLimit;
  }
  const timer = setInterval(sample, SAMPLE_MS).unref();
  const level = () => Math.max(connections / most, memory);

  return {
    shedsGuests: () => level() >= SHED.guests,
    shedsCalls: () => level() >= SHED.calls,
    attach(server) {
      servers.add(server);
      server.on("connection", (socket) => {
        connections += 1;
        socket.once("close", () => {
          connections -= 1;
        });
      });
      server.once("close", () => servers.delete(server));
      sample();
    },
    close: () => clearInterval(timer),
  };
}

/**
 * The larger of two shares: of the heap that V8 allows, and, since bodies lie outside of it, of the memory there is for both. What is
 * resident is not asked: the allocator keeps what was given back, and an overload would never pass.
 */
export function memoryInUse(
  heap: Pick<HeapInfo, "used_heap_size" | "heap_size_limit" | "external_memory">,
  memoryBytes: number,
): number {
  const { used_heap_size, heap_size_limit, external_memory } = heap;
  const room = Math.max(memoryBytes - OWN_BYTES, memoryBytes / 2);
  return Math.max(used_heap_size / heap_size_limit, (used_heap_size + external_memory) / room);
}

/** Each relayed call needs a second file for its upstream. */
function connectionsAllowed(): number {
  return Math.max(100, Math.floor((openFilesAllowed() - OWN_FILES) / 2));
}

function openFilesAllowed(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
    return soft > 0 ? soft : USUAL_FILES;
  } catch {
    return USUAL_FILES;
  }
}
