// What is said on one socket of Responses: each `response.create` is a call of its own, made whole from what was said before; one runs at a
// time. What a client sends wrong is answered with an error and closes nothing (requirements C61).
import type { WebSocket } from "ws";
import { faultOf } from "#server/relay/finish.ts";
import type { UpgradeRequest } from "#server/relay/http/exchange.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { Services } from "#server/relay/services.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { asList, asObject, readJson } from "#server/upstream/json/values.ts";
import { type Calls, MessageRequest, MessageResponse } from "./bridge-call.ts";
import { Conversation, type SocketMemory } from "./bridge-memory.ts";
import { bodyOf, type Create, joinItems, NO_ITEMS, readMessage } from "./bridge-request.ts";
import { warmUp } from "./bridge-warm-up.ts";
import { CLOSE, HIGH_WATER_BYTES, type SocketTimes, shut } from "./session.ts";

export interface BridgeParts {
  /** The handshake. */
  readonly req: UpgradeRequest;
  /** Whether calls are turned away now. */
  isTooMuch(): boolean;
  readonly services: Services;
  readonly calls: Calls;
  readonly times: SocketTimes;
  readonly memory: SocketMemory;
  readonly client: WebSocket;
}

/** A call that runs. */
interface Running {
  readonly answer: MessageResponse;
  /** All that was said until its answer; undefined = an upstream knows it. */
  readonly items: Buffer | undefined;
  /** Items of the answer that are complete. */
  readonly made: unknown[];
  /** The answer's last event was sent: its end follows. */
  isTold: boolean;
}

/** Events that say what the next call goes on from, or that there is no more of an answer. */
const TELLING = /"(response\.(completed|incomplete|failed|output_item\.done)|error)"/;

export class BridgeSocket {
  readonly #parts: BridgeParts;
  readonly #conversation: Conversation;
  #running: Running | undefined;
  /** What came between the last event of an answer and its end. */
  #next: Buffer | undefined;
  /** Bytes of messages that are not complete. */
  #arriving = 0;
  #isAlive = true;
  /** Why the socket closes; undefined = it does not. */
  #ending: RelayFault | "drained" | undefined;

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    this.#conversation = new Conversation(parts.memory);
  }

  /** Serves until the socket is closed. */
  run(): Promise<void> {
    const { client, req, times } = this.#parts;
    const ping = setInterval(() => this.#ping(), times.pingMs);
    const life = setTimeout(() => this.#end(localErrors.socketTooOld()), times.lifeMs);
    req.socket.on("data", (bytes: Buffer) => this.#arrive(bytes.length));
    client.on("message", (data: Buffer, isBinary) => this.#hear(data, isBinary));
    client.on("pong", () => {
      this.#isAlive = true;
    });
    // `close` reports what went wrong.
    client.on("error", () => undefined);
    return new Promise((resolve) => {
      client.on("close", () => {
        clearInterval(ping);
        clearTimeout(life);
        this.#leave();
        resolve();
      });
    });
  }

  /** Closes when no call runs, else after it. */
  drain(): void {
    this.#end("drained");
  }

  /** A call whose client has left ends as by HTTP. */
  #leave(): void {
    this.#ending ??= "drained";
    this.#next = undefined;
    this.#running?.answer.destroy();
    this.#conversation.forget();
    this.#settle();
  }

  #arrive(bytes: number): void {
    this.#isAlive = true;
    this.#arriving += bytes;
    if (this.#parts.memory.take(bytes) || this.#ending !== undefined) return;
    // Nothing more is read of it.
    this.#parts.client.pause();
    this.#end(localErrors.overloaded());
  }

  /** What has arrived is a message now, or no longer wanted. */
  #settle(): void {
    this.#parts.memory.give(this.#arriving);
    this.#arriving = 0;
  }

  #hear(data: Buffer, isBinary: boolean): void {
    this.#settle();
    if (isBinary) this.#refuse(localErrors.messageBinary());
    else if (this.#running?.isTold === true && this.#next === undefined) this.#next = data;
    else this.#take(data);
  }

  #take(data: Buffer): void {
    try {
      const create = readMessage(data);
      if (create === undefined) return;
      if (this.#running !== undefined) this.#refuse(localErrors.responseRunning());
      else if (this.#ending !== undefined) this.#refuse(localErrors.serverStopping());
      else if (this.#parts.isTooMuch()) this.#refuse(localErrors.overloaded());
      else this.#create(create);
    } catch (error) {
      this.#refuse(faultOf(error));
    }
  }

  #create(create: Create): void {
    const { services, calls, memory, req } = this.#parts;
    const { previous, input = NO_ITEMS } = create;
    const before = previous === "" ? NO_ITEMS : this.#conversation.until(previous);
    if (before === undefined && !services.ctx.options.get("ResponsesStateEnabled")) {
      this.#refuse(localErrors.previousResponseUnknown(previous));
      return;
    }
    const body = bodyOf(create, before);
    const request = new MessageRequest(req, body);
    const answer = this.#answer((text) => this.#look(text));
    this.#running = { answer, items: before && joinItems(before, input), made: [], isTold: false };
    const hasRoom = memory.take(body.length);
    answer.once("close", () => this.#over(body.length));
    if (!hasRoom) calls.turnAway(request, answer, localErrors.overloaded());
    else if (create.isWarmUp) void warmUp(services, calls, { request, answer, body });
    else calls.serve(request, answer);
  }

  /** Notes what an event of the running answer says. */
  #look(text: string): void {
    const running = this.#running;
    if (running === undefined || !TELLING.test(text)) return;
    const { type, item, response } = readJson(text) ?? {};
    if (type === "response.output_item.done") running.made.push(item);
    running.isTold ||= type === "error" || type === "response.failed";
    if (type !== "response.completed" && type !== "response.incomplete") return;
    running.isTold = true;
    const { id, output } = asObject(response) ?? {};
    const told = asList(output);
    const made = JSON.stringify(told.length > 0 ? told : running.made).slice(1, -1);
    if (running.items === undefined || typeof id !== "string") this.#conversation.forget();
    else this.#conversation.keep(id, joinItems(running.items, Buffer.from(made)));
  }

  #over(bodyBytes: number): void {
    this.#parts.memory.give(bodyBytes);
    this.#running = undefined;
    const next = this.#next;
    this.#next = undefined;
    if (this.#ending !== undefined) this.#close(this.#ending);
    else if (next !== undefined) this.#take(next);
  }

  /** Answers what is no call, or none that is taken; a call that runs goes on. */
  #refuse(fault: RelayFault): MessageResponse {
    const { calls, req } = this.#parts;
    const answer = this.#answer(() => undefined);
    calls.turnAway(new MessageRequest(req, NO_ITEMS), answer, fault);
    return answer;
  }

  #answer(onEvent: (text: string) => void): MessageResponse {
    const { client, req } = this.#parts;
    return new MessageResponse({
      send(text, done) {
        onEvent(text);
        client.send(text, () => {
          if (client.isPaused && client.bufferedAmount < HIGH_WATER_BYTES) client.resume();
          done();
        });
        // Refusals do not wait for the client: while it does not read them, it is not read.
        if (client.bufferedAmount >= HIGH_WATER_BYTES) client.pause();
      },
      hangUp: () => client.terminate(),
      limit(answer, ms) {
        req.socket.removeAllListeners("timeout");
        req.socket.setTimeout(ms, () => answer.emit("timeout"));
      },
    });
  }

  #end(why: RelayFault | "drained"): void {
    if (this.#ending !== undefined) return;
    this.#ending = why;
    if (this.#running === undefined) this.#close(why);
  }

  #close(why: RelayFault | "drained"): void {
    const { client } = this.#parts;
    if (why === "drained") shut(client, CLOSE.goingAway, "server_stopping");
    else this.#refuse(why).once("close", () => shut(client, CLOSE.goingAway, String(why.code)));
  }

  #ping(): void {
    const { client } = this.#parts;
    // A paused socket cannot be heard answering.
    if (!this.#isAlive && !client.isPaused) client.terminate();
    this.#isAlive = false;
    if (client.readyState === client.OPEN) client.ping();
  }
}
