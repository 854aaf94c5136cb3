// What accounts and channels work with: the objects that stand below them. Types only; context.ts builds them.
import type { AlertEvent } from "#contract/alert-events.ts";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { Coord } from "./coord/coord.ts";
import type { Egress } from "./egress/dispatcher.ts";
import type { Events } from "./events.ts";
import type { Limits } from "./limits/limits.ts";
import type { Logger } from "./log.ts";
import type { Ledger } from "./money/ledger.ts";
import type { PriceBook } from "./money/price-book.ts";
import type { Options } from "./options.ts";
import type { Secrets } from "./secrets.ts";
import type { Db, Store } from "./store/db.ts";
import type { TokenCache } from "./upstream/signers/token-cache.ts";

/** Something operators should know, such as a channel that was switched off. */
export interface Notice {
  readonly event: AlertEvent;
  /** What it is about, e.g. `channel 12`: what lasts ends under the same name, and what happens once is told once in ten minutes. */
  readonly about: string;
  readonly title: string;
  /** Plain text of a few lines. No secrets. */
  readonly content: string;
  /** The end of what lasted; told only if it did. */
  readonly isOver?: true;
  /** It lasts already, and there is something new about it. */
  readonly isAgain?: true;
}

/** Sends a notice on its way and returns at once; never throws. */
export type Notify = (notice: Notice) => void;

export interface Tools {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Events;
  readonly secrets: Secrets;
  readonly store: Store;
  readonly db: Db;
  readonly coord: Coord;
  readonly limits: Limits;
  readonly options: Options;
  /** The prices of this moment; rebuilt when an option changes. */
  prices(): PriceBook;
  readonly ledger: Ledger;
  readonly egress: Egress;
  /** Channels' credentials that live for a while. */
  readonly credentials: TokenCache;
  /** Tells the targets of alerts, and the super administrator of what concerns him (requirements W4.8, I50). */
  readonly notify: Notify;
  /** Aborted when the process takes itself down: runs in the background end. */
  readonly stopping: AbortSignal;
}
