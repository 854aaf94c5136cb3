import { describe, expect, test } from "vitest";
import { fetchBlocks } from "./export.ts";

interface Row {
  readonly id: number;
}

/** A list of this many rows by falling ids, of which a block has `size`; rows in `late` come after the first block. */
function serve(count: number, size: number, late: number[] = []) {
  let ids = Array.from({ length: count }, (_, index) => count - index);
  const asked: number[] = [];
  return {
    asked,
    block: async (before: number): Promise<{ data: Row[]; total?: number }> => {
      asked.push(before);
      const data = ids.filter((id) => before === 0 || id < before).slice(0, size);
      const total = before === 0 ? { total: ids.length } : {};
      ids = [...late, ...ids];
      return { data: data.map((id) => ({ id })), ...total };
    },
  };
}

describe("a list in blocks", () => {
  test("has every row once, tells how far it is, and asks for no block too many", async () => {
    const { asked, block } = serve(2_500, 1_000);
    const steps: string[] = [];
    const rows = await fetchBlocks(block, (fetched, total) => steps.push(`${fetched}/${total}`));
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 2_500 }, (_, index) => 2_500 - index));
    expect(steps).toEqual(["1000/2500", "2000/2500", "2500/2500"]);
    expect(asked).toEqual([0, 1_501, 501]);
  });

  test("is not moved by rows that come meanwhile", async () => {
    const rows = await fetchBlocks(serve(30, 10, [31]).block, () => undefined);
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 30 }, (_, index) => 30 - index));
  });

  test("ends with a server that knows no blocks, and with one that has no rows", async () => {
    const page = [{ id: 3 }, { id: 2 }];
    expect(
      await fetchBlocks(
        async () => ({ data: page }),
        () => undefined,
      ),
    ).toEqual(page);
    expect(
      await fetchBlocks(
        async () => ({ data: [], total: 0 }),
        () => undefined,
      ),
    ).toEqual([]);
  });
});
