// Which language a client gets: the choice of its user, the preference of its browser, Chinese for programs that name none.
import { expect, test } from "vitest";
import { languageOf } from "./language.ts";

const of = (headers: Record<string, string>) => languageOf((name) => headers[name]);

test.each([
  ["no header", {}, "zh"],
  ["fetch of Node", { "accept-language": "*" }, "zh"],
  ["a Chinese browser", { "accept-language": "zh-CN,zh;q=0.9,en;q=0.8" }, "zh"],
  ["an English one", { "accept-language": "en-US,en;q=0.9,zh-CN;q=0.8" }, "en"],
  ["by weight, not by place", { "accept-language": "en;q=0.4, zh-TW;q=0.9" }, "zh"],
  ["a language that is refused", { "accept-language": "zh;q=0, en" }, "en"],
  ["a third language with English behind it", { "accept-language": "fr-FR, en;q=0.2, zh;q=0.1" }, "en"],
  ["third languages alone", { "accept-language": "fr-FR, de;q=0.5" }, "en"],
  ["nonsense", { "accept-language": ";;,q=,=" }, "en"],
  ["empty", { "accept-language": "" }, "zh"],
  ["the choice before the preference", { "accept-language": "zh-CN", cookie: "a=1; language=en" }, "en"],
  ["an unknown choice", { "accept-language": "en", cookie: "language=fr" }, "en"],
  ["another cookie of a like name", { cookie: "my-language=en" }, "zh"],
])("%s", (_name, headers, language) => {
  expect(of(headers)).toBe(language);
});
