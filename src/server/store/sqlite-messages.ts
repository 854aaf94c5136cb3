// What the main thread and the SQLite workers say to each other. Types only.
import type { StoreFaultKind } from "./fault.ts";

export interface WorkerOptions {
  /** Path of the database file. */
  readonly file: string;
  /** A writer holds the instance lock in `lockFile`; a reader cannot write. */
  readonly lockFile: string | undefined;
}

/** Values SQLite stores: integers, reals, texts and nulls. */
export type SqlValue = null | number | bigint | string | Uint8Array;

export type WorkerRequest =
  | {
      readonly id: number;
      readonly kind: "query";
      readonly sql: string;
      readonly values: readonly SqlValue[];
    }
  | { readonly id: number; readonly kind: "load"; readonly module: string }
  | { readonly id: number; readonly kind: "run"; readonly module: string; readonly input: unknown }
  | { readonly id: number; readonly kind: "close" };

export interface QueryAnswer {
  readonly rows: readonly unknown[];
  /** Only of statements that return no rows. */
  readonly changes: number | undefined;
  readonly insertId: number | undefined;
}

export interface WorkerFault {
  readonly kind: StoreFaultKind;
  readonly message: string;
}

export type WorkerReply =
  /** Ahead of the answer with the same id. */
  | { readonly id: number; readonly early: unknown }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly fault: WorkerFault };
