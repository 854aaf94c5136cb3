// A conversation with a model: what was said, the answer that is coming in, and what each answer cost.
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { call, invalidate, relay } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { type LogEntry, LogType, logApi } from "#contract/log.ts";
import { userApi } from "#contract/user.ts";
import { readAnswer, type Usage } from "./answer.ts";

export interface Setup {
  /** With its `sk-` prefix. */
  readonly key: string;
  readonly model: string;
  readonly system: string;
  /** null = left to the upstream. */
  readonly temperature: number | null;
  readonly maxTokens: number | null;
}

export interface Turn {
  readonly id: number;
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly thought: string;
  readonly model: string;
  readonly state: "coming" | "done" | "stopped" | "failed";
  readonly fault?: string;
  readonly usage?: Usage;
  /** The entry of the log that charged this answer. */
  readonly entry?: LogEntry;
}

/** The log row is written when the call is settled, a moment after the last byte. */
const LOG_WAITS_MS = [150, 500, 1_200, 2_500] as const;
const LOG_PAGE = { p: 0, size: 10, type: LogType.consume } as const;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The log entry of a call; undefined when it cannot be found, e.g. when the log is switched off. */
async function findEntry(requestId: string): Promise<LogEntry | undefined> {
  if (requestId === "") return undefined;
  for (const wait of LOG_WAITS_MS) {
    await sleep(wait);
    const page = await call(logApi.listSelf, { query: LOG_PAGE }).catch(() => undefined);
    const entry = page?.data.find((row) => row.request_id === requestId);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** The body of the call: what was said so far, and only the parameters that were set. */
export function bodyOf(setup: Setup, turns: readonly Turn[]): Record<string, unknown> {
  const said = turns
    .filter((turn) => turn.text !== "" && turn.state !== "failed")
    .map(({ role, text }) => ({ role, content: text }));
  const system = setup.system.trim();
  return {
    model: setup.model,
    messages: [...(system === "" ? [] : [{ role: "system", content: system }]), ...said],
    stream: true,
    stream_options: { include_usage: true },
    ...(setup.temperature === null ? {} : { temperature: setup.temperature }),
    ...(setup.maxTokens === null ? {} : { max_tokens: setup.maxTokens }),
  };
}

function turn(id: number, part: Partial<Turn> & Pick<Turn, "role" | "model">): Turn {
  return { id, text: "", thought: "", state: "done", ...part };
}

type Patch = (change: (turn: Turn) => Partial<Turn>) => void;

/** Reads the answer into its turn. */
async function receive(response: Response, patch: Patch): Promise<void> {
  for await (const part of readAnswer(response)) {
    if (part.kind === "usage") patch(() => ({ usage: part.usage }));
    else if (part.kind === "text") patch(({ text }) => ({ text: text + part.text }));
    else patch(({ thought }) => ({ thought: thought + part.text }));
  }
}

async function price(requestId: string, patch: Patch, client: QueryClient): Promise<void> {
  const entry = await findEntry(requestId);
  if (entry !== undefined) patch(() => ({ entry }));
  await invalidate(client, [userApi.self]);
}

export interface Chat {
  readonly turns: readonly Turn[];
  readonly isComing: boolean;
  readonly send: (text: string, setup: Setup) => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

export function useChat(): Chat {
  const client = useQueryClient();
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const running = useRef<AbortController>(undefined);
  const lastId = useRef(0);
  // Leaving the page ends the call: the rest would not be read.
  useEffect(() => () => running.current?.abort(), []);

  const ask = async (asked: readonly Turn[], answer: Turn, setup: Setup) => {
    const controller = new AbortController();
    running.current = controller;
    const patch: Patch = (change) =>
      setTurns((current) => current.map((one) => (one.id === answer.id ? { ...one, ...change(one) } : one)));
    let requestId = "";
    try {
      const response = await relay("/v1/chat/completions", {
        key: setup.key,
        body: bodyOf(setup, asked),
        signal: controller.signal,
      });
      requestId = response.headers.get("x-oneapi-request-id") ?? "";
      await receive(response, patch);
      patch(() => ({ state: "done" }));
    } catch (error) {
      if (controller.signal.aborted) patch(() => ({ state: "stopped" }));
      else patch(() => ({ state: "failed", fault: faultText(error) }));
    }
    await price(requestId, patch, client);
  };

  const send = (text: string, setup: Setup) => {
    lastId.current += 2;
    const question = turn(lastId.current - 1, { role: "user", text, model: setup.model });
    const answer = turn(lastId.current, { role: "assistant", model: setup.model, state: "coming" });
    const asked = [...turns, question];
    setTurns([...asked, answer]);
    void ask(asked, answer, setup);
  };

  const stop = () => running.current?.abort();
  return {
    turns,
    isComing: turns.at(-1)?.state === "coming",
    send,
    stop,
    clear: () => {
      stop();
      setTurns([]);
    },
  };
}
