// What accounts and channels work with: the objects that stand below them. Types only; context.ts builds them.
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

/** Something the super administrator should know, such as a channel that was switched off. */
export interface Notice {
  readonly title: string;
  /** Plain text of a few lines. No secrets. */
  readonly content: string;
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
  /** Tells the super administrator (requirements W4.8); what cannot be sent is at least in the diagnostic log. */
  readonly notify: Notify;
  /** Aborted when the process takes itself down: runs in the background end. */
  readonly stopping: AbortSignal;
}
