// The languages of the console and of the server's sentences. Chinese is the source of both.
import { z } from "zod";

export const LANGUAGES = ["zh", "en"] as const;
export const Language = z.enum(LANGUAGES);
export type Language = z.output<typeof Language>;

/** Cookie in which a browser keeps the language that its user chose. */
export const LANGUAGE_COOKIE = "language";
