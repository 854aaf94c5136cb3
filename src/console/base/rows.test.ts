import { QueryClient } from "@tanstack/react-query";
import { beforeEach, describe, expect, it } from "vitest";
import { tokenApi } from "#contract/token.ts";
import { hideRow, patchRow, shownRows } from "./rows.ts";

const LISTS = [tokenApi.list, tokenApi.search];
const KEY = [tokenApi.list.path, { query: { p: 0 } }];
let client: QueryClient;

beforeEach(() => {
  client = new QueryClient();
  client.setQueryData(KEY, {
    data: [
      { id: 1, status: 1 },
      { id: 2, status: 1 },
    ],
    total: 2,
  });
});

describe("shownRows", () => {
  const data = [
    { id: 3, name: "b" },
    { id: 1, name: "c" },
    { id: 2, name: "a" },
  ];
  const ids = (total: number | undefined, order: string, desc = false) =>
    shownRows({ data, total }, { p: 0, size: 10, order, desc }).map(({ id }) => id);

  it("leaves the order of a server that tells a total alone", () => {
    expect(ids(3, "name")).toEqual([3, 1, 2]);
  });

  it("sorts what came from a server that cannot sort", () => {
    expect([ids(undefined, ""), ids(undefined, "name"), ids(undefined, "id", true)]).toEqual([
      [3, 1, 2],
      [2, 3, 1],
      [3, 2, 1],
    ]);
  });

  it("tells entries without a number apart", () => {
    const rows = shownRows({ data: [{ id: 0 }, { id: 0 }] }, { p: 0, size: 10, order: "", desc: false });
    expect(rows.map(({ id }) => id)).toEqual([-1, -2]);
  });

  it("cuts the page out of a list that came whole", () => {
    const whole = {
      data: Array.from({ length: 23 }, (_, at) => ({ id: at + 1 })),
      total: 23,
      isWhole: true,
    } as const;
    const page = (p: number) => shownRows(whole, { p, size: 10, order: "", desc: false }).map(({ id }) => id);
    expect([page(0).length, page(1)[0], page(2), page(3)]).toEqual([10, 11, [21, 22, 23], []]);
  });
});

describe("rows of cached lists", () => {
  it("patches a row at once and takes it back", () => {
    const undo = patchRow(client, LISTS, { id: 2, ...{ status: 2 } });
    expect(client.getQueryData(KEY)).toEqual({
      data: [
        { id: 1, status: 1 },
        { id: 2, status: 2 },
      ],
      total: 2,
    });
    undo();
    expect(client.getQueryData(KEY)).toEqual({
      data: [
        { id: 1, status: 1 },
        { id: 2, status: 1 },
      ],
      total: 2,
    });
  });

  it("hides a row and counts one less", () => {
    const undo = hideRow(client, LISTS, 1);
    expect(client.getQueryData(KEY)).toEqual({ data: [{ id: 2, status: 1 }], total: 1 });
    undo();
    expect(client.getQueryData(KEY)).toMatchObject({ total: 2 });
  });
});
