// The theme: our own antd tokens for light and dark. Loaded with the shell; guest pages use the same colours without antd.
import { type ThemeConfig, theme } from "antd";
import { FONT, FONT_CODE, type Shades, shadesOf, type ThemeMode } from "./colours.ts";
import { CALM, useMedia } from "./media.ts";
import { useShades, useThemeMode } from "./theme-mode.ts";

/** Popups keep an edge in the dark, where a shadow alone is not seen. */
function popupShadow(mode: ThemeMode, shade: Shades): string {
  const depth = mode === "dark" ? "rgb(0 0 0 / 55%)" : "rgb(12 38 44 / 18%)";
  return `0 0 0 1px ${shade.line}, 0 12px 32px -8px ${depth}`;
}

function tokens(mode: ThemeMode, shade: Shades, isCalm: boolean): NonNullable<ThemeConfig["token"]> {
  return {
    fontFamily: FONT,
    fontFamilyCode: FONT_CODE,
    fontSize: 14,
    borderRadius: 8,
    borderRadiusLG: 10,
    borderRadiusSM: 6,
    controlHeight: 34,
    motion: !isCalm,
    motionDurationFast: "0.1s",
    motionDurationMid: "0.15s",
    motionDurationSlow: "0.18s",
    colorPrimary: shade.brand,
    colorLink: shade.brand,
    // The algorithm of the dark theme would darken these; antd gives them to every link under the pointer.
    colorLinkHover: shade.brandHover,
    colorLinkActive: shade.brandHover,
    colorSuccess: shade.success,
    colorWarning: shade.warning,
    colorError: shade.error,
    colorInfo: shade.info,
    colorTextBase: shade.text,
    colorText: shade.text,
    colorTextSecondary: shade.textSecondary,
    colorTextTertiary: shade.textTertiary,
    colorTextQuaternary: shade.textTertiary,
    colorTextDescription: shade.textTertiary,
    colorTextPlaceholder: shade.textTertiary,
    colorBgBase: shade.surface,
    colorBgLayout: shade.page,
    colorBgContainer: shade.surface,
    colorBgElevated: shade.raised,
    colorBgSpotlight: shade.tooltip,
    colorBorder: shade.line,
    colorBorderSecondary: shade.lineSoft,
    colorBorderDisabled: shade.line,
    colorSplit: shade.lineSoft,
    boxShadow: popupShadow(mode, shade),
    boxShadowSecondary: popupShadow(mode, shade),
    controlItemBgHover: shade.hover,
    controlItemBgActive: shade.selected,
    controlItemBgActiveHover: shade.selected,
  };
}

function componentTokens(mode: ThemeMode, shade: Shades): NonNullable<ThemeConfig["components"]> {
  return {
    Button: {
      // The algorithm of the dark theme would move these; buttons and links show the brand colour itself.
      colorPrimary: shade.brand,
      colorPrimaryHover: shade.brandHover,
      colorPrimaryActive: shade.brandHover,
      colorLink: shade.brand,
      colorLinkHover: shade.brandHover,
      colorLinkActive: shade.brandHover,
      colorError: shade.error,
      colorErrorHover: shade.errorHover,
      colorErrorActive: shade.errorHover,
      primaryColor: shade.onBrand,
      dangerColor: shade.onError,
      primaryShadow: "none",
      defaultShadow: "none",
      dangerShadow: "none",
      fontWeight: 500,
    },
    Table: {
      cellFontSizeMD: 13,
      cellPaddingBlockMD: 9,
      cellPaddingInlineMD: 10,
      headerBg: shade.surface,
      headerColor: shade.textTertiary,
      headerSplitColor: "transparent",
      headerSortActiveBg: shade.hover,
      headerSortHoverBg: shade.hover,
      bodySortBg: "transparent",
      fixedHeaderSortActiveBg: shade.hover,
      rowHoverBg: shade.hover,
      borderColor: shade.lineSoft,
    },
    Menu: {
      itemBg: "transparent",
      itemHeight: 38,
      itemBorderRadius: 8,
      itemMarginInline: 12,
      itemColor: shade.textSecondary,
      itemHoverBg: shade.hover,
      itemSelectedBg: shade.selected,
      itemSelectedColor: mode === "light" ? shade.brand : shade.text,
      groupTitleColor: shade.textTertiary,
      groupTitleFontSize: 12,
      activeBarBorderWidth: 0,
    },
    Layout: {
      headerBg: shade.surface,
      siderBg: shade.surface,
      bodyBg: shade.page,
      headerHeight: 56,
      headerPadding: "0 24px",
    },
    Segmented: { trackBg: shade.lineSoft, itemColor: shade.textSecondary },
    Form: { verticalLabelPadding: "0 0 6px", itemMarginBottom: 20 },
    Switch: { colorTextQuaternary: shade.off, colorTextTertiary: shade.off },
    Select: { optionSelectedBg: shade.selected, optionActiveBg: shade.hover },
    Notification: { width: 360 },
  };
}

/** antd's theme for one mode and its colours; `isCalm` turns motion off. */
export function themeFor(mode: ThemeMode, isCalm: boolean, shade: Shades = shadesOf(mode)): ThemeConfig {
  return {
    algorithm: mode === "dark" ? theme.darkAlgorithm : theme.defaultAlgorithm,
    hashed: false,
    token: tokens(mode, shade, isCalm),
    components: componentTokens(mode, shade),
  };
}

export function useTheme(): ThemeConfig {
  const mode = useThemeMode();
  return themeFor(mode, useMedia(CALM), useShades());
}
