import { expect, it } from "vitest";
import { type PageRow, pageAt, titleIn } from "./shell/nav.ts";
import { mayIn, pathIn, placeAt } from "./team-context.ts";

it("a path says whose things it shows, and what is no number is no team", () => {
  expect(placeAt("/token")).toEqual({ team: 0, path: "/token" });
  expect(placeAt("/t/3/token/edit/5")).toEqual({ team: 3, path: "/token/edit/5" });
  for (const path of ["/t/0/token", "/t/-1/token", "/t/x/token", "/t/3", "/t/03/token", "/terms/3/x"])
    expect(placeAt(path)).toEqual({ team: 0, path });
});

it("an address in a context leads back to it", () => {
  for (const team of [0, 7]) expect(placeAt(pathIn(team, "/log"))).toEqual({ team, path: "/log" });
});

it("of a team there are only the pages that show its things", () => {
  const row = { access: "user", load: () => Promise.reject(new Error("not drawn")) } as const;
  const token: PageRow = { ...row, path: "/token", title: "我的", ofTeam: { right: "token", title: "团队" } };
  const pages = [token, { ...row, path: "/setting", title: "设置" }];
  expect(pageAt(pages, "/t/3/token")).toBe(token);
  expect(pageAt(pages, "/t/3/setting")).toBeUndefined();
  expect([titleIn(0, token), titleIn(3, token)]).toEqual(["我的", "团队"]);
});

it("an administrator from outside may do nothing in a team", () => {
  expect(mayIn({ role: "" }, "see")).toBe(false);
  expect(mayIn({ role: "viewer" }, "see")).toBe(true);
  expect(mayIn({ role: "viewer" }, "token")).toBe(false);
});
