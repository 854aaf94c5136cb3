// The ids that tool calls go by: of calls that came without one, and on wires where none may stand twice in a request (Anthropic's and
// Converse's). Pure.

/** The id of a call whose wire gave it none: `at` is its place in the answer `index`. */
export function madeCallId(seed: string, at: number, index = 0): string {
  return `call_${seed}${index === 0 ? "" : `x${index}`}x${at}`;
}

/** Gives a call whose id was used before another one, and its result with it. Clients' ids need only be unique in their turn. */
export class CallIds {
  readonly #spell: (id: string) => string;
  readonly #used = new Set<string>();
  /** How often an id was given. */
  readonly #counts = new Map<string, number>();
  /** Ids on the wire whose results have not come yet, by the client's id. */
  readonly #open = new Map<string, string[]>();

  /** `spell` writes an id in the signs that the wire accepts. */
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
