// Which language a client reads: what its user chose, else what its browser prefers.
import { LANGUAGE_COOKIE, LANGUAGES, type Language } from "#contract/language.ts";

const CHOSEN = new RegExp(`(?:^|;)\\s*${LANGUAGE_COOKIE}=(\\w+)`);

/** Language for a request: its cookie, else its Accept-Language, else Chinese. Programs send neither, and get what they always got. */
export function languageOf(header: (name: string) => string | undefined): Language {
  const chosen = CHOSEN.exec(header("cookie") ?? "")?.[1];
  const known = LANGUAGES.find((language) => language === chosen);
  return known ?? preferred(header("accept-language") ?? "");
}

/** The first by weight that we speak (RFC 9110, 12.5.4); English for a browser that names other languages alone. */
function preferred(accepted: string): Language {
  const ranges = accepted
    .split(",")
    .map((range) => {
      const [tag = "", ...parameters] = range.trim().toLowerCase().split(";");
      const weight = parameters.map((parameter) => /^\s*q=([\d.]+)/.exec(parameter)?.[1]).find(Boolean);
      return { tag: tag.trim(), weight: Number(weight ?? 1) };
    })
    .filter(({ tag, weight }) => tag !== "" && tag !== "*" && weight > 0)
    .sort((one, other) => other.weight - one.weight);
  if (ranges.length === 0) return "zh";
  const spoken = ranges.map(({ tag }) => LANGUAGES.find((language) => tag.split("-")[0] === language));
  return spoken.find((language) => language !== undefined) ?? "en";
}
