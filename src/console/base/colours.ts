// The colours of the console as data: neutrals, brand, states and the twelve tag colours of the spec, per theme.
// Every pair of text and ground keeps a contrast of at least 4.5 (checked by the test beside).

export type ThemeMode = "light" | "dark";

export interface Pair {
  readonly ground: string;
  readonly text: string;
}

/** The spec's colour names of channel types (requirements B3). */
export const tagPalette = {
  light: {
    green: { ground: "#e3f5ea", text: "#126636" },
    black: { ground: "#e6eaed", text: "#262d33" },
    olive: { ground: "#f0f4d6", text: "#535c08" },
    orange: { ground: "#ffecd9", text: "#9a4304" },
    blue: { ground: "#e3eefd", text: "#1554a8" },
    violet: { ground: "#ecebfd", text: "#553bb8" },
    teal: { ground: "#d9f4f1", text: "#0a6462" },
    red: { ground: "#fde7e6", text: "#ad2120" },
    pink: { ground: "#fde6f0", text: "#a82265" },
    purple: { ground: "#f5e6fb", text: "#812699" },
    brown: { ground: "#f3e9e1", text: "#744620" },
    yellow: { ground: "#fcf1c7", text: "#735400" },
  },
  dark: {
    green: { ground: "#14321f", text: "#74d499" },
    black: { ground: "#2b343a", text: "#d6dee4" },
    olive: { ground: "#2b3011", text: "#c4d063" },
    orange: { ground: "#3b2513", text: "#f4a661" },
    blue: { ground: "#152c4d", text: "#8abaf7" },
    violet: { ground: "#29244c", text: "#b2a4f8" },
    teal: { ground: "#0e3534", text: "#62d2ca" },
    red: { ground: "#3f1e1f", text: "#f59898" },
    pink: { ground: "#3e1b2d", text: "#f492c2" },
    purple: { ground: "#361d40", text: "#d99cee" },
    brown: { ground: "#35281d", text: "#dab08f" },
    yellow: { ground: "#362c0d", text: "#e9c962" },
  },
} as const satisfies Record<ThemeMode, Record<string, Pair>>;
export type TagColour = keyof typeof tagPalette.light;
// Object.keys of a constant gives exactly its keys.
export const TAG_COLOURS = Object.keys(tagPalette.light) as TagColour[];

/** Seeds of one theme; everything else is derived by antd's algorithm. */
const neutral = {
  light: {
    brand: "#0b7265",
    brandHover: "#095f54",
    /** Text on the brand colour. */
    onBrand: "#ffffff",
    page: "#f5f7f8",
    surface: "#ffffff",
    raised: "#ffffff",
    line: "#d5dcdf",
    lineSoft: "#e6eaec",
    text: "#141d22",
    textSecondary: "#435059",
    textTertiary: "#5c6a73",
    success: "#14733c",
    warning: "#9a5b00",
    error: "#c0281f",
    errorHover: "#9f1f18",
    onError: "#ffffff",
    info: "#1b5fb0",
    hover: "#f2f6f6",
    selected: "#e2f2ef",
    tooltip: "#1e2a30",
    /** The track of a switch that is off: seen, but less than one that is on. */
    off: "#7f8c95",
  },
  dark: {
    brand: "#35b5a1",
    brandHover: "#4fc8b5",
    onBrand: "#03211c",
    page: "#0d1316",
    surface: "#141b1f",
    raised: "#1b2429",
    line: "#303c43",
    lineSoft: "#232d33",
    text: "#e4eaed",
    textSecondary: "#b3bfc6",
    textTertiary: "#93a1aa",
    success: "#58c98c",
    warning: "#e2a742",
    error: "#f2776d",
    errorHover: "#f7968e",
    onError: "#2a0705",
    info: "#7ab2f2",
    hover: "#1a2328",
    selected: "#12322f",
    tooltip: "#2b373d",
    off: "#64737d",
  },
} as const satisfies Record<ThemeMode, Record<string, string>>;
export type Shades = Readonly<Record<keyof typeof neutral.light, string>>;

/** What the operator chose with the option Theme: the hue of everything that is ours to colour. */
export const LOOKS = ["default", "berry", "air"] as const;
export type Look = (typeof LOOKS)[number];

type Hue = Pick<Shades, "brand" | "brandHover" | "onBrand" | "selected">;

const hues: Readonly<Record<Exclude<Look, "default">, Readonly<Record<ThemeMode, Hue>>>> = {
  berry: {
    light: { brand: "#9a2a6b", brandHover: "#7f1f57", onBrand: "#ffffff", selected: "#f8e6f0" },
    dark: { brand: "#e583bb", brandHover: "#ee9dcb", onBrand: "#33081f", selected: "#3a1a2c" },
  },
  air: {
    light: { brand: "#1b62b5", brandHover: "#154f94", onBrand: "#ffffff", selected: "#e3eefa" },
    dark: { brand: "#6cb0f5", brandHover: "#8bc1f8", onBrand: "#04203d", selected: "#14304c" },
  },
};

const looks: Readonly<Record<Look, Readonly<Record<ThemeMode, Shades>>>> = {
  default: neutral,
  berry: dyed(hues.berry),
  air: dyed(hues.air),
};

function dyed(hue: Readonly<Record<ThemeMode, Hue>>): Readonly<Record<ThemeMode, Shades>> {
  return { light: { ...neutral.light, ...hue.light }, dark: { ...neutral.dark, ...hue.dark } };
}

/** The colours of one look and mode, always the same object. An unknown name is the default. */
export function shadesOf(mode: ThemeMode, look: string = "default"): Shades {
  const known = LOOKS.find((name) => name === look) ?? "default";
  return looks[known][mode];
}

export const FONT =
  '-apple-system, BlinkMacSystemFont, "Segoe UI", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Noto Sans Hans", sans-serif';
export const FONT_CODE =
  'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace';

function channel(hex: string, at: number): number {
  const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function luminance(hex: string): number {
  return 0.2126 * channel(hex, 1) + 0.7152 * channel(hex, 3) + 0.0722 * channel(hex, 5);
}

/** WCAG contrast of two `#rrggbb` colours, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}
