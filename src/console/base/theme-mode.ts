// Which theme is on: the remembered choice, else what the system prefers. Paints the page's colour variables.
import { FONT, FONT_CODE, shades, type ThemeMode } from "./colours.ts";
import { DARK, matches, useMedia } from "./media.ts";
import { readStored, writeStored } from "./storage.ts";
import { createStore, useStore } from "./store.ts";

const choice = createStore<ThemeMode | undefined>(readStored("theme_mode"));

/** Remembers the user's choice of theme. */
export function chooseTheme(mode: ThemeMode): void {
  writeStored("theme_mode", mode);
  choice.set(mode);
}

/** The theme in force: the remembered choice, else what the system prefers. */
export function useThemeMode(): ThemeMode {
  const chosen = useStore(choice);
  const isDarkSystem = useMedia(DARK);
  return chosen ?? (isDarkSystem ? "dark" : "light");
}

/** The theme in force before anything is drawn. */
export function currentTheme(): ThemeMode {
  return choice.get() ?? (matches(DARK) ? "dark" : "light");
}

/** Name of a shade as a CSS variable: `textSecondary` → `--tg-text-secondary`. */
export function shadeVariable(shade: string): string {
  return `--tg-${shade.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Writes the colours of a theme where the style sheets read them. */
export function paintPage(mode: ThemeMode): void {
  const { documentElement: root } = document;
  root.dataset["theme"] = mode;
  for (const [shade, value] of Object.entries(shades[mode]))
    root.style.setProperty(shadeVariable(shade), value);
  root.style.setProperty("--tg-sans", FONT);
  root.style.setProperty("--tg-mono", FONT_CODE);
}
