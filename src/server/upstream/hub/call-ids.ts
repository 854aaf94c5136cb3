// Ids of tool calls: for calls that came without one, and for wires where ids must be unique in a request (Anthropic's and Converse's).
// Pure.

/** The id of a call whose wire gave it none: `at` is its position in the answer `index`. */
export function madeCallId(seed: string, at: number, index = 0): string {
  return `call_${seed}${index === 0 ? "" : `x${index}`}x${at}`;
}

/** Replaces a call id that was used before, and that of its result. Clients' ids need only be unique within a turn. */
export class CallIds {
  readonly #spell: (id: string) => string;
  readonly #used = new Set<string>();
  /** How often an id was used. */
  readonly #counts = new Map<string, number>();
  /** Wire ids of calls whose results have not come yet, by the client's id. */
  readonly #open = new Map<string, string[]>();

  /** `spell` converts an id to the characters that the wire accepts. */
  constructor(spell: (id: string) => string) {
    this.#spell = spell;
  }

  ofCall(id: string): string {
    let wire = this.#spell(id);
    while (this.#used.has(wire)) {
      const count = (this.#counts.get(id) ?? 1) + 1;
      this.#counts.set(id, count);
      wire = this.#spell(`${id}_${count}`);
    }
    this.#used.add(wire);
    const open = this.#open.get(id) ?? [];
    open.push(wire);
    this.#open.set(id, open);
    return wire;
  }

  ofResult(id: string): string {
    return this.#open.get(id)?.shift() ?? this.#spell(id);
  }
}
