import { expect, it } from "vitest";
import { releasesPage } from "./release.ts";

it("links to a repository only when the operator has named one", () => {
  expect(releasesPage("owner/name")).toBe("https://github.com/owner/name/releases");
  expect(releasesPage("")).toBeUndefined();
  expect(releasesPage("owner/name/../../evil?x")).toBeUndefined();
});
