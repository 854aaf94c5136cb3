import { theme } from "antd";
import { describe, expect, it } from "vitest";
import { contrast, LOOKS, shadesOf, TAG_COLOURS, type ThemeMode, tagPalette } from "./colours.ts";
import { themeFor } from "./theme.ts";

const MODES: readonly ThemeMode[] = ["light", "dark"];

const THEMES = MODES.flatMap((mode) => LOOKS.map((look) => [mode, look] as const));

it("an unknown look is the default", () => {
  expect(shadesOf("dark", "neon")).toEqual(shadesOf("dark"));
  expect(shadesOf("light", "berry").brand).not.toBe(shadesOf("light").brand);
});

describe.each(THEMES)("%s theme, %s look", (mode, look) => {
  const shade = shadesOf(mode, look);

  it.each(TAG_COLOURS)("keeps the %s tag readable", (name) => {
    const { ground, text } = tagPalette[mode][name];
    expect(contrast(ground, text)).toBeGreaterThanOrEqual(4.5);
  });

  it("keeps text of every rank readable on every ground", () => {
    for (const ground of [shade.page, shade.surface, shade.raised, shade.hover]) {
      for (const text of [shade.text, shade.textSecondary, shade.textTertiary, shade.brand]) {
        expect(contrast(ground, text), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  it("keeps a chosen entry of the menu readable", () => {
    const text = mode === "light" ? shade.brand : shade.text;
    expect(contrast(shade.selected, text)).toBeGreaterThanOrEqual(4.5);
  });

  it("keeps the states readable as text and their buttons readable", () => {
    for (const state of [shade.success, shade.warning, shade.error, shade.info]) {
      expect(contrast(shade.surface, state), state).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(shade.brand, shade.onBrand)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(shade.error, shade.onError)).toBeGreaterThanOrEqual(4.5);
  });

  it("keeps dangerous buttons and links readable under the pointer, on a row that is under it as well", () => {
    for (const ground of [shade.surface, shade.raised, shade.hover, shade.selected])
      expect(contrast(ground, shade.errorHover), ground).toBeGreaterThanOrEqual(4.5);
    expect(contrast(shade.errorHover, shade.onError)).toBeGreaterThanOrEqual(4.5);
  });

  it("shows a switch that is off, and no more of it than of one that is on", () => {
    for (const ground of [shade.surface, shade.raised]) {
      expect(contrast(shade.off, ground)).toBeGreaterThanOrEqual(3);
      expect(contrast(shade.off, ground)).toBeLessThan(contrast(shade.brand, ground));
    }
  });

  it("gives antd a primary colour that stays readable after its algorithm", () => {
    const token = theme.getDesignToken(themeFor(mode, false, shade));
    expect(contrast(token.colorPrimary, shade.surface), token.colorPrimary).toBeGreaterThanOrEqual(4.5);
    expect(contrast(token.colorPrimary, shade.onBrand)).toBeGreaterThanOrEqual(4.5);
    for (const link of [token.colorLink, token.colorLinkHover, token.colorLinkActive])
      for (const ground of [shade.page, shade.surface, shade.raised, shade.hover])
        expect(contrast(link, ground), `${link} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    expect(contrast(token.colorPrimaryHover, shade.onBrand), token.colorPrimaryHover).toBeGreaterThanOrEqual(
      3,
    );
  });
});
