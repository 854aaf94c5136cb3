// Switches between light and dark; the choice is remembered.
import { MoonOutlined, SunOutlined } from "@ant-design/icons";
import { chooseTheme, useThemeMode } from "#console/base/theme-mode.ts";
import { PlainButton } from "#console/ui/plain-button.tsx";

export function ThemeSwitch() {
  const isDark = useThemeMode() === "dark";
  const label = isDark ? "切换到浅色主题" : "切换到深色主题";
  return (
    <PlainButton
      kind="text"
      icon={isDark ? <SunOutlined aria-hidden="true" /> : <MoonOutlined aria-hidden="true" />}
      aria-label={label}
      title={label}
      onClick={() => chooseTheme(isDark ? "light" : "dark")}
    />
  );
}
