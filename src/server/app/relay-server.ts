// Node's HTTP server, before which plain requests are read and answered with less work (plain-connection.ts, docs/decisions/035).
import { type RequestListener, Server, type ServerOptions } from "node:http";
import { systemClock } from "#server/clock.ts";
import { Roster } from "#server/relay/roster.ts";
import { Connection, type House, type ServePlain, SWEEP_MS } from "./plain-connection.ts";

/** What heads end with, by what becomes of the connection. */
interface Closing {
  readonly last: string;
  readonly kept: string;
}

function closingLines(keepAliveMs: number): Closing {
  const date = `date: ${new Date(systemClock.now()).toUTCString()}\r\n`;
  return {
    last: `${date}connection: close\r\n`,
    kept: `${date}connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`,
  };
}

/** All that Node's server is, and closes plain connections as it closes its own. */
export class RelayServer extends Server {
  readonly #house: House;
  /** Of this sweep; undefined = not written yet. */
  #closing: Closing | undefined;

  constructor(options: ServerOptions, listener: RequestListener, serve: ServePlain) {
    super(options, listener);
    // What Node does with a new connection: that others give it one is foreseen, as the event `connection`.
    const [take] = this.listeners("connection");
    if (take === undefined) throw new Error("node:http takes no connections");
    const house: House = {
      connections: new Roster(),
      serve,
      closingLines: (isLast) => this.#closingLines(isLast),
      hand: (socket) => Reflect.apply(take, this, [socket]),
      // As Node does it: a little longer than clients are told.
      keepSweeps: () => (this.keepAliveTimeout + this.keepAliveTimeoutBuffer) / SWEEP_MS,
      sweeps: 0,
    };
    this.#house = house;
    this.removeAllListeners("connection");
    this.on("connection", (socket) => new Connection(socket, house).begin());
    const timer = setInterval(() => this.#sweep(), SWEEP_MS).unref();
    this.once("close", () => clearInterval(timer));
  }

  override closeAllConnections(): void {
    for (const connection of this.#house.connections.list()) connection.destroy();
    super.closeAllConnections();
  }

  override closeIdleConnections(): void {
    for (const connection of this.#house.connections.list()) if (connection.isIdle) connection.destroy();
    super.closeIdleConnections();
  }

  #sweep(): void {
    this.#house.sweeps += 1;
    this.#closing = undefined;
    for (const connection of this.#house.connections.list()) connection.look();
  }

  #closingLines(isLast: boolean): string {
    this.#closing ??= closingLines(this.keepAliveTimeout);
    return isLast ? this.#closing.last : this.#closing.kept;
  }
}
