import { QueryClient } from "@tanstack/react-query";
import { beforeEach, describe, expect, it } from "vitest";
import { tokenApi } from "#contract/token.ts";
import { hideRow, patchRow } from "./rows.ts";

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
