// A list that comes whole is shown by its pages.
import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { rowsOf } from "./resource-table.tsx";

test("pages of a whole list are parts of it, each with the total", async () => {
  const client = new QueryClient();
  const whole = { queryKey: ["list"], queryFn: async () => Array.from({ length: 23 }, (_, at) => at) };
  const page = (p: number) => client.fetchQuery(rowsOf(whole, { p, size: 10 }));
  expect(await page(0)).toEqual({ data: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], total: 23 });
  expect(await page(2)).toEqual({ data: [20, 21, 22], total: 23 });
  expect(await page(3)).toEqual({ data: [], total: 23 });
  expect(client.getQueryData(["list"])).toBeUndefined();
});
