// What a wire must be able to say. A dialect is an object of pure functions: no clock, no network, no chance.
import type { EndpointName, Wire } from "#contract/providers.ts";

/** One request's destination. */
export interface Target {
  /** The channel's base address, or the row's default; no slash at the end. */
  readonly baseUrl: string;
  readonly other: string;
  /** Upstream name, after the model mapping. */
  readonly model: string;
  /** `api-version` of the client's own query; "" = it gave none. */
  readonly apiVersion: string;
}

/**
 * A wire that is OpenAI's own: requests and replies pass as bytes, so all it decides is the address and whether
 * `stream_options` may be asked for.
 */
export interface PassingDialect {
  readonly kind: "passing";
  /** The full URL, query included. */
  address(endpoint: EndpointName, wire: Wire, target: Target): string;
  /** Whether the upstream accepts `stream_options` (usage in streams must be asked for). */
  takesStreamOptions(wire: Wire, target: Target): boolean;
}

export type Dialect = PassingDialect;
