// Which theme is on: light or dark by the remembered choice, else what the system prefers; the look by the operator's option.
// Paints the page's colour variables.
import { FONT, FONT_CODE, type Shades, shadesOf, type ThemeMode } from "./colours.ts";
import { DARK, matches, PRINT, useMedia } from "./media.ts";
import { readStored, writeStored } from "./storage.ts";
import { createStore, useStore } from "./store.ts";

const choice = createStore<ThemeMode | undefined>(readStored("theme_mode"));

const look = createStore<string>(readStored("status")?.theme ?? "default");

/** Takes the look that the server's status names. */
export function setLook(name: string): void {
  look.set(name);
}

/** Remembers the user's choice of theme. */
export function chooseTheme(mode: ThemeMode): void {
  writeStored("theme_mode", mode);
  choice.set(mode);
}

/** The theme in force: the remembered choice, else what the system prefers. Paper is light. */
export function useThemeMode(): ThemeMode {
  const chosen = useStore(choice);
  const isDarkSystem = useMedia(DARK);
  if (useMedia(PRINT)) return "light";
  return chosen ?? (isDarkSystem ? "dark" : "light");
}

/** The theme in force before anything is drawn. */
export function currentTheme(): ThemeMode {
  return choice.get() ?? (matches(DARK) ? "dark" : "light");
}

/** The colours in force. */
export function useShades(): Shades {
  return shadesOf(useThemeMode(), useStore(look));
}

/** Name of a shade as a CSS variable: `textSecondary` → `--tg-text-secondary`. */
export function shadeVariable(shade: string): string {
  return `--tg-${shade.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Writes the colours of a theme where the style sheets read them. */
export function paintPage(mode: ThemeMode, shades: Shades = shadesOf(mode, look.get())): void {
  const { documentElement: root } = document;
  root.dataset["theme"] = mode;
  for (const [shade, value] of Object.entries(shades)) root.style.setProperty(shadeVariable(shade), value);
  root.style.setProperty("--tg-sans", FONT);
  root.style.setProperty("--tg-mono", FONT_CODE);
}
