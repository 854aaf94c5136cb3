// The language of this console. Each is a build of its own (vite.config.ts); the server sends the page of the one that the browser
// asks for, so another language is another page.
import { LANGUAGE_COOKIE, Language } from "#contract/language.ts";

export const LANGUAGE: Language = __LANGUAGE__;

/** The language as browsers name it, for numbers and dates. */
export const LOCALE = LANGUAGE === "en" ? "en-US" : "zh-CN";

const YEAR_SEC = 31_536_000;

/** A noun as it stands within a sentence: English ones begin small there, unless they are initials. */
export function inSentence(noun: string): string {
  return LANGUAGE === "en" ? noun.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase()) : noun;
}

/** Pixels for words: English ones are longer than Chinese ones. */
export function wide(chinese: number, english: number): number {
  return LANGUAGE === "en" ? english : chinese;
}

/** The language that is not on. */
export const OTHER_LANGUAGE: Language = LANGUAGE === "en" ? "zh" : "en";

/** What each is called by its own readers. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { zh: "简体中文", en: "English" };
export const OTHER_NAME = LANGUAGE_NAMES[OTHER_LANGUAGE];
export const OTHER_SHORT = LANGUAGE === "en" ? "中" : "EN";

/** Loads the console in the language that an account chose; "" = the one that the browser prefers stays. */
export function followLanguage(chosen: string): void {
  const { data } = Language.safeParse(chosen);
  if (data !== undefined && data !== LANGUAGE) chooseLanguage(data);
}

/** Remembers a language in this browser and loads its console at the same place. A browser that keeps no cookie stays in its own. */
export function chooseLanguage(language: Language): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store is not in every browser that we serve.
  document.cookie = `${LANGUAGE_COOKIE}=${language}; path=/; max-age=${YEAR_SEC}; samesite=lax`;
  if (document.cookie.includes(`${LANGUAGE_COOKIE}=${language}`)) location.reload();
}
