import fc from "fast-check";
import { expect, test } from "vitest";
import { IdMap } from "./id-map.ts";

// "Aa" and "BB" make the same number, and only the end of an id counts.
const id = fc.string({ unit: fc.constantFrom("Aa", "BB", "C", "é"), maxLength: 8 });
const step = fc.record({ id, what: fc.constantFrom("set", "set", "delete", "clear"), value: fc.nat() });

test("it holds what a Map would, though ids make the same number", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.array(id), (steps, others) => {
      const ids = new IdMap<number>();
      const map = new Map<string, number>();
      for (const { id, what, value } of steps) {
        if (what === "set") {
          ids.set(id, value);
          map.set(id, value);
        } else if (what === "delete") expect(ids.delete(id)).toBe(map.delete(id));
        else if (value % 8 === 0) {
          ids.clear();
          map.clear();
        }
        expect(ids.size).toBe(map.size);
        for (const asked of [...map.keys(), ...others]) {
          expect(ids.get(asked)).toBe(map.get(asked));
          expect(ids.has(asked)).toBe(map.has(asked));
        }
      }
    }),
  );
});
